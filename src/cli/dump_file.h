// The files of `dump` and `load`: plain, gzip (`.gz`) or zstd (`.zstd`, `.zst`); written beside their place and renamed, so that a
// broken-off dump never looks like one. One thread each.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "object/encryption.h"

namespace aquifer::cli {

class DumpWriter {
 public:
  virtual ~DumpWriter() = default;    // without finish(): the file goes away
  virtual Status write(std::string_view bytes) = 0;
  virtual Status finish() = 0;        // synced and in its place
};
// path "": stdout.
Result<std::unique_ptr<DumpWriter>> createDump(const std::string& path);

class DumpReader {
 public:
  virtual ~DumpReader() = default;
  // At most `size` bytes, 0 at the end. The compression is seen from the bytes, not from the name. A file that is cut off is
  // Code::corrupt, not a short one.
  virtual Result<size_t> read(char* buffer, size_t size) = 0;
};
// path "": stdin. With `encryptor` the file is one envelope of it, at most 2 GiB, which is held in memory.
Result<std::unique_ptr<DumpReader>> openDump(const std::string& path, const object::Encryptor* encryptor = nullptr);

}  // namespace aquifer::cli
