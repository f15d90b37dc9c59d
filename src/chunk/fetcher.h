// Gets blocks from the object store: the bound on requests in flight, decompression, one fetch per block at a time. It does not
// retry: its caller does, with a fresh slice list. Thread-safe.
#pragma once

#include "chunk/block_id.h"
#include "chunk/block_store.h"
#include "chunk/compress.h"
#include "chunk/single_flight.h"
#include "chunk/tokens.h"

namespace aquifer::chunk {

class Fetcher {
 public:
  Fetcher(object::ObjectStore& objects, const BlockConfig& config, Compression compression);
  bool canRange() const { return rangeGet_; }
  // Exactly out.size() bytes at `off` of an uncompressed block.
  Status range(const BlockId& block, uint32_t off, object::MutableBytes out);
  // The whole block in the buffer that `buffer` gives (of at least block.size bytes). `arrived` runs once per fetch, before the
  // waiters go on.
  Result<BufferRef> whole(const BlockId& block, const std::function<Result<BufferRef>()>& buffer,
                          const std::function<void(const BufferRef&)>& arrived);
  SingleFlight& flights() { return flights_; }

 private:
  Status fetch(const BlockId& block, Buffer& into);
  object::ObjectStore& objects_;
  const bool hashPrefix_;
  const Compression compression_;
  const bool rangeGet_;
  Tokens tokens_;
  BufferPool scratch_;   // compressed bytes, bounded by the tokens
  SingleFlight flights_;
};

}  // namespace aquifer::chunk
