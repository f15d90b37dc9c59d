#include "chunk/compress.h"

#include <fmt/core.h>
#include <lz4.h>
#include <strings.h>
#include <zstd.h>

#include <climits>
#include <cstring>
#include <memory>
#include <string>

namespace aquifer::chunk {

namespace {

constexpr int kZstdLevel = 1;

// A context costs more to make than a small block costs to compress, so each thread keeps one.
ZSTD_CCtx* zstdWriter() {
  thread_local std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  return context.get();
}
ZSTD_DCtx* zstdReader() {
  thread_local std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  return context.get();
}

const char* chars(object::Bytes b) { return reinterpret_cast<const char*>(b.data()); }
char* chars(object::MutableBytes b) { return reinterpret_cast<char*>(b.data()); }

}  // namespace

Result<Compression> parseCompression(std::string_view name) {
  const std::string n(name);
  if (n.empty() || strcasecmp(n.c_str(), "none") == 0) return Compression::none;
  if (strcasecmp(n.c_str(), "lz4") == 0) return Compression::lz4;
  if (strcasecmp(n.c_str(), "zstd") == 0) return Compression::zstd;
  return Status(Code::config, fmt::format("unknown compression algorithm: {}", n));
}

size_t compressBound(Compression how, size_t bytes) {
  switch (how) {
    case Compression::none: return bytes;
    case Compression::lz4: return bytes + bytes / 255 + 16;
    case Compression::zstd: return ZSTD_compressBound(bytes);
  }
  return bytes;
}

Result<size_t> compress(Compression how, object::Bytes in, object::MutableBytes out) {
  switch (how) {
    case Compression::none:
      if (out.size() < in.size()) return Code::invalid;
      std::memcpy(out.data(), in.data(), in.size());
      return in.size();
    case Compression::lz4: {
      if (in.size() > LZ4_MAX_INPUT_SIZE) return Code::invalid;
      const int room = static_cast<int>(std::min<size_t>(out.size(), INT_MAX));
      const int n = LZ4_compress_default(chars(in), chars(out), static_cast<int>(in.size()), room);
      if (n <= 0) return Status(Code::io, "LZ4 compression failed");
      return static_cast<size_t>(n);
    }
    case Compression::zstd: {
      auto* context = zstdWriter();
      if (!context) return Code::noMemory;
      const size_t n = ZSTD_compressCCtx(context, out.data(), out.size(), in.data(), in.size(), kZstdLevel);
      if (ZSTD_isError(n)) return Status(Code::io, fmt::format("zstd compression failed: {}", ZSTD_getErrorName(n)));
      return n;
    }
  }
  return Code::invalid;
}

Status decompress(Compression how, object::Bytes in, object::MutableBytes out) {
  if (out.empty()) return {};
  switch (how) {
    case Compression::none:
      if (in.size() < out.size()) return Status(Code::corrupt, "block is too short");
      std::memcpy(out.data(), in.data(), out.size());
      return {};
    case Compression::lz4: {
      if (in.size() > INT_MAX || out.size() > INT_MAX) return Code::corrupt;
      const int n = LZ4_decompress_safe(chars(in), chars(out), static_cast<int>(in.size()), static_cast<int>(out.size()));
      if (n < 0 || static_cast<size_t>(n) != out.size()) return Status(Code::corrupt, "LZ4 block does not decode to its size");
      return {};
    }
    case Compression::zstd: {
      auto* context = zstdReader();
      if (!context) return Code::noMemory;
      const size_t n = ZSTD_decompressDCtx(context, out.data(), out.size(), in.data(), in.size());
      if (ZSTD_isError(n) || n != out.size()) return Status(Code::corrupt, "zstd frame does not decode to its size");
      return {};
    }
  }
  return Code::invalid;
}

}  // namespace aquifer::chunk
