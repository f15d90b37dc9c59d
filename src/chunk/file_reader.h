// Reads a file through one handle: painted slice lists, pieces from the block store, zeros for holes. Thread-safe.
#pragma once

#include "chunk/file_data.h"
#include "chunk/read_ahead.h"

namespace aquifer::chunk {

class FileDataImpl;

class FileReaderImpl final : public FileReader {
 public:
  FileReaderImpl(FileDataImpl& data, meta::Ino ino);
  Result<size_t> read(uint64_t off, object::MutableBytes out, uint64_t fileLength, const std::function<bool()>& interrupted) override;

 private:
  struct Failure {
    Status status;
    bool metadata = false;   // the slice list could not be had, as opposed to a block
  };
  Status readStored(uint64_t off, object::MutableBytes out, const std::function<bool()>& interrupted);
  Failure readOnce(uint64_t off, object::MutableBytes out);
  void readAhead(uint64_t off, uint64_t len, uint64_t fileLength);
  FileDataImpl& data_;
  const meta::Ino ino_;
  ReadAhead readAhead_;
};

}  // namespace aquifer::chunk
