#include "chunk/fetcher.h"

#include <fmt/core.h>

namespace aquifer::chunk {

Fetcher::Fetcher(object::ObjectStore& objects, const BlockConfig& config, Compression compression)
    : objects_(objects),
      hashPrefix_(config.hashPrefix),
      compression_(compression),
      rangeGet_(compression == Compression::none && objects.capabilities().rangeGet),
      tokens_(config.maxDownloads),
      scratch_(SIZE_MAX / 2) {}

Status Fetcher::range(const BlockId& block, uint32_t off, object::MutableBytes out) {
  TokenHold hold(tokens_);
  const std::string key = blockKey(block.id, block.index, block.size, hashPrefix_);
  TRY_ASSIGN(const size_t n, objects_.get(key, off, out));
  if (n != out.size()) return Status(Code::corrupt, fmt::format("{} is too short: {} of {} bytes at {}", key, n, out.size(), off));
  return {};
}

Status Fetcher::fetch(const BlockId& block, Buffer& into) {
  into.size = block.size;
  if (compression_ == Compression::none) return range(block, 0, {into.data(), block.size});
  TokenHold hold(tokens_);
  const std::string key = blockKey(block.id, block.index, block.size, hashPrefix_);
  const size_t bound = compressBound(compression_, block.size);
  TRY_ASSIGN(auto packed, scratch_.get(bound));
  TRY_ASSIGN(const size_t n, objects_.get(key, 0, {packed->data(), bound}));
  if (auto s = decompress(compression_, {packed->data(), n}, {into.data(), block.size}); !s) return s.annotate(key);
  return {};
}

Result<BufferRef> Fetcher::whole(const BlockId& block, const std::function<Result<BufferRef>()>& buffer,
                                 const std::function<void(const BufferRef&)>& arrived) {
  return flights_.run(block, [&]() -> Result<BufferRef> {
    TRY_ASSIGN(auto data, buffer());
    TRY(fetch(block, *data));
    arrived(data);
    return data;
  });
}

}  // namespace aquifer::chunk
