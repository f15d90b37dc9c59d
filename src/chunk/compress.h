// Block compression as the objects have it (docs/formats/data.md): none, one raw LZ4 block, one zstd frame of level 1.
// Pure functions, thread-safe. Decoding treats its input as hostile.
#pragma once

#include <string_view>

#include "base/status.h"
#include "object/object_store.h"

namespace aquifer::chunk {

enum class Compression { none, lz4, zstd };

// Case-insensitive; "" is none. Anything else: Code::config.
Result<Compression> parseCompression(std::string_view name);
// The most bytes that `bytes` can become.
size_t compressBound(Compression how, size_t bytes);
// `out` has at least compressBound(in.size()) bytes; returns how many were used.
Result<size_t> compress(Compression how, object::Bytes in, object::MutableBytes out);
// Fills out exactly, or Code::corrupt.
Status decompress(Compression how, object::Bytes in, object::MutableBytes out);

}  // namespace aquifer::chunk
