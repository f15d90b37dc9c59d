#include "access/fuse/reply.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace aquifer::fuse {
namespace {

constexpr size_t kPage = 4096;

std::byte* mapPages(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();  // as operator new would
  return static_cast<std::byte*>(p);
}
size_t roundUp(size_t n) { return (n + kPage - 1) / kPage * kPage; }

}  // namespace

Reply::Reply(size_t payloadLimit) : limit_(payloadLimit), mapped_(kPage + roundUp(payloadLimit)) {
  map_ = mapPages(mapped_);
  payload_ = map_ + kPage;
}

Reply::~Reply() { munmap(map_, mapped_); }

std::span<const std::byte> Reply::finish(uint64_t unique) {
  OutHeader head{static_cast<uint32_t>(sizeof(OutHeader) + size_), -error_, unique};
  std::memcpy(payload_ - sizeof head, &head, sizeof head);
  return {payload_ - sizeof head, sizeof head + size_};
}

PageBuffer::PageBuffer(size_t bytes, size_t present) : data_(mapPages(roundUp(bytes))), size_(roundUp(bytes)) {
  for (size_t at = 0; at < std::min(present, size_); at += kPage) *const_cast<volatile std::byte*>(data_ + at) = std::byte{0};
}
PageBuffer::~PageBuffer() { munmap(data_, size_); }

}  // namespace aquifer::fuse
