// Cache and staging files come from a disk that others write to as well: any bytes must give an answer, never a crash.
// Input: u32 length of the block, u32 offset, u32 count (little-endian, reduced), level, then the file.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/bytes.h"
#include "chunk/cache/block_file.h"

using namespace aquifer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteReader in({reinterpret_cast<const char*>(data), size});
  const uint32_t n = in.little<uint32_t>() % (256u << 10), off = in.little<uint32_t>() % (256u << 10);
  const uint32_t count = in.little<uint32_t>() % (256u << 10);
  const auto level = static_cast<chunk::Checksum>(in.little<uint8_t>() % 4);
  if (!in.ok()) return 0;
  const auto file = in.take(in.left());
  (void)chunk::parseTierFooter(file);
  const int fd = ::memfd_create("cache", 0);
  if (fd < 0) return 0;
  if (::write(fd, file.data(), file.size()) == static_cast<ssize_t>(file.size())) {
    auto opened = chunk::BlockFile::open("/proc/self/fd/" + std::to_string(fd), n, level);
    if (opened) {
      std::vector<std::byte> out(count);
      (void)(*opened)->read(off, out).isOk();
      if ((*opened)->tier() > 3) __builtin_trap();
    }
  }
  ::close(fd);
  return 0;
}
