// needs: base meta/model meta/store meta/store/mem meta/store/sql meta/store/redis meta/ops meta/jobs meta/dump
#include "tests/fuzz/check.h"

#include <algorithm>

#include "meta/dump/dump.h"
#include "meta/store/mem/mem_store.h"

using namespace aquifer;
using namespace aquifer::meta;

// The first byte chooses the format. Whatever is refused leaves no volume; whatever is loaded can be dumped again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const bool binary = data[0] & 1;
  std::string_view rest = asText(data, size).substr(1);
  auto store = openMemStore("fuzz", {.create = true});
  FUZZ_CHECK(store.isOk());
  {
    auto meta = makeMeta(*std::move(store), {});
    const DumpSource source = [&](char* buffer, size_t room) -> Result<size_t> {
      const size_t n = std::min(room, rest.size());
      std::copy_n(rest.data(), n, buffer);
      rest.remove_prefix(n);
      return n;
    };
    const auto report = binary ? loadBinary(*meta, source, {}) : loadJson(*meta, source, {});
    if (report) {
      std::string out;
      const auto s = dumpJson(*meta, {}, [&](std::string_view bytes) { return out += bytes, Status(); }, {});
      FUZZ_CHECK(s.isOk() || s.is(Code::notFound));   // a backup may lack a node
    } else {
      FUZZ_CHECK(meta->load(false).is(Code::notFormatted));
    }
  }
  forgetMemStore("fuzz");
  return 0;
}
