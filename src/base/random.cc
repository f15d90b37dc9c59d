#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace aquifer {

void randomBytes(void* out, size_t bytes) {
  auto* p = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t n = getrandom(p, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    // Without the kernel's generator no key or id is safe; there is nothing to fall back to.
    if (n <= 0) std::abort();
    p += n;
    bytes -= static_cast<size_t>(n);
  }
}

uint64_t randomU64() {
  uint64_t v;
  randomBytes(&v, sizeof v);
  return v;
}

uint64_t randomBelow(uint64_t limit) {
  if (limit == 0) return 0;
  // Values of the last, incomplete run would favour small results; draw again.
  const uint64_t usable = UINT64_MAX - UINT64_MAX % limit;
  uint64_t v;
  do v = randomU64();
  while (v >= usable);
  return v % limit;
}

std::string randomText(size_t length, std::string_view alphabet) {
  std::string out(length, '\0');
  for (char& c : out) c = alphabet[randomBelow(alphabet.size())];
  return out;
}

}  // namespace aquifer
