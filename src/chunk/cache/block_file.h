// One cached or staged block on disk: the plain bytes, then a CRC-32C (big-endian) per 32 KiB piece, then perhaps the footer
// of a staged block that carries its tier (docs/formats/data.md). Files are written beside their name and renamed.
//
// A BlockFile is immutable and thread-safe. Nothing is fsync-ed: a cache may be lost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "chunk/block_store.h"

namespace aquifer::chunk {

inline constexpr uint32_t kCrcPiece = 32u << 10;
inline constexpr uint32_t crcPieces(uint32_t bytes) { return (bytes + kCrcPiece - 1) / kCrcPiece; }

// The trailer of these bytes.
std::string crcTrailer(object::Bytes data);
// The footer that names a tier; empty for tier 0.
std::string tierFooter(uint8_t tier, bool hasTrailer);

// What follows the n bytes of data. False: it is neither of the known forms.
struct FileTail {
  bool hasTrailer = false, hasFooter = false;
};
bool parseTail(uint64_t fileSize, uint32_t n, FileTail* tail);
// 0 for a damaged footer or an unknown tier.
uint8_t parseTierFooter(std::string_view footer);

class BlockFile {
 public:
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;
  // notFound: no such file. corrupt: shorter than n or an impossible tail. Else the errno of the disk.
  static Result<std::shared_ptr<BlockFile>> open(const std::string& path, uint32_t n, Checksum level);
  // Exactly out.size() bytes from `off`, straight into `out`, checked as the level says. corrupt: a checksum is wrong.
  Status read(uint32_t off, object::MutableBytes out) const;
  uint8_t tier() const { return tier_; }
  int64_t mtime() const { return mtime_; }

 private:
  BlockFile() = default;
  int fd_ = -1;
  uint32_t n_ = 0;
  Checksum level_ = Checksum::none;
  uint8_t tier_ = 0;
  bool dropPageCache_ = false;
  int64_t mtime_ = 0;
  std::vector<uint32_t> crcs_;  // empty: the file has none
};

// Writes data ‖ trailer ‖ footer to <path>.tmp and renames it. Missing folders are made with dirMode. On failure nothing stays.
Status writeBlockFile(const std::string& path, object::Bytes data, std::string_view trailer, std::string_view footer, uint32_t mode,
                      uint32_t dirMode);
// mkdir -p; a folder of ours that is there already gets the mode when `fix`.
Status makeDirs(const std::string& path, uint32_t mode, bool fix = false);
// The mode of folders around files of `fileMode`: write and search for every class that may read.
uint32_t dirModeFor(uint32_t fileMode);
// The errno as a Status.
Status errnoStatus(int error);

}  // namespace aquifer::chunk
