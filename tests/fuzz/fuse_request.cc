// needs: base access/fuse access/fuse/stub_vfs_test.cc
// Messages as they would come from /dev/fuse, one after the other, into the dispatcher over a file system in memory. Input: for
// each message two bytes of length, then its bytes; the length word of its header is put right unless the top bit of the length
// is set.
#include "tests/fuzz/check.h"

#include <cstring>
#include <vector>

#include "access/fuse/dispatcher.h"
#include "access/fuse/server.h"
#include "access/fuse/stub_vfs.h"
#include "base/log.h"

using namespace aquifer;
using namespace aquifer::fuse;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  log::setLevel(log::Level::fatal);
  StubVfs vfs;
  vfs.cfg.enableXattr = true;
  vfs.addFile("a", "some bytes");
  ServerConfig config;
  vfs::Ino next = 100;
  config.allocateIno = [&]() -> Result<vfs::Ino> { return next++; };
  Dispatcher dispatcher(vfs, config, [](uint64_t) {});
  static Reply reply(1 << 16);
  InflightSlot slot;
  slot.interruptedAt = 1;  // nothing may wait
  JournalEntry note;
  while (size >= 2) {
    const size_t word = data[0] | data[1] << 8, length = std::min<size_t>(word & 0x7FFF, size - 2);
    std::vector<std::byte> message(length);
    if (length) std::memcpy(message.data(), data + 2, length);
    data += 2 + length, size -= 2 + length;
    if (!(word & 0x8000) && length >= 4) {
      const auto own = static_cast<uint32_t>(length);
      std::memcpy(message.data(), &own, sizeof own);
    }
    Call call;
    if (!call.in.parse(message)) continue;
    call.out = &reply, call.slot = &slot, call.note = &note, call.known = call.in.resent();
    dispatcher.handle(call);
    const auto answer = reply.finish(call.in.head().unique);
    FUZZ_CHECK(answer.size() == sizeof(OutHeader) + reply.size() && reply.size() <= reply.limit());
    FUZZ_CHECK(reply.error() >= 0 && reply.error() < 512 && (reply.error() == 0 || reply.size() == 0));
  }
  return 0;
}
