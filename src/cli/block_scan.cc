#include "cli/block_scan.h"

#include <algorithm>

#include "chunk/block_store.h"

namespace aquifer::cli {

namespace {
// What a put that died with its process leaves in file-like stores: `.jfs.<block>.tmp.<number>`.
bool isLeftover(std::string_view key) {
  auto name = key.substr(key.rfind('/') + 1);
  return name.substr(0, 5) == ".jfs." && name.find(".tmp.") != std::string_view::npos;
}
}  // namespace

Status forEachBlock(object::ObjectStore& store, const std::function<Status(const BlockObject&)>& visit) {
  Status result;
  TRY(store.list("chunks/", "", [&](const object::ObjectInfo& info) {
    BlockObject block;
    if (info.isDir) return true;
    block.leftover = isLeftover(info.key);
    if (!block.leftover && !chunk::parseBlockKey(info.key, &block.id, &block.index, &block.size)) return true;
    block.key = info.key;
    block.bytes = info.size;
    block.mtime = info.mtime;
    if (block.bytes == 0 || block.mtime == 0) {
      auto head = store.head(info.key);
      if (head.is(Code::notFound)) return true;   // removed while we list
      if (!head) {
        result = head.status();
        return false;
      }
      block.bytes = head->size;
      block.mtime = head->mtime;
    }
    result = visit(block);
    return result.isOk();
  }));
  return result;
}

uint32_t blockCount(uint32_t sliceSize, uint64_t blockSize) {
  return sliceSize == 0 ? 0 : static_cast<uint32_t>((sliceSize - 1) / blockSize + 1);
}
uint32_t blockLength(uint32_t sliceSize, uint64_t blockSize, uint32_t index) {
  return static_cast<uint32_t>(std::min<uint64_t>(blockSize, sliceSize - index * blockSize));
}

void BlockSet::sort() { std::sort(blocks_.begin(), blocks_.end()); }
bool BlockSet::has(meta::SliceId id, uint32_t index, uint32_t size) const {
  return std::binary_search(blocks_.begin(), blocks_.end(), Block{id, index, size});
}

}  // namespace aquifer::cli
