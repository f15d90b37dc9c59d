#include "cli/zip_file.h"

#include <zlib.h>

#include <ctime>

namespace aquifer::cli {

namespace {

constexpr size_t kMostBytes = 2u << 30;
constexpr uint16_t kMostEntries = 60000;
constexpr uint16_t kVersion = 20, kDeflated = 8, kUtf8Names = 1 << 11;

void put(std::string& out, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(v >> (8 * i)));
}

bool deflated(std::string_view in, std::string* out) {
  z_stream z{};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) return false;
  out->resize(deflateBound(&z, in.size()));
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out->data());
  z.avail_out = static_cast<uInt>(out->size());
  const bool ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
  out->resize(z.total_out);
  deflateEnd(&z);
  return ok;
}

// Date and time as DOS had them, in two seconds' steps.
uint32_t dosTime() {
  std::time_t now = std::time(nullptr);
  std::tm t{};
  localtime_r(&now, &t);
  const auto date = static_cast<uint32_t>((t.tm_year - 80) << 9 | (t.tm_mon + 1) << 5 | t.tm_mday);
  return date << 16 | static_cast<uint32_t>(t.tm_hour << 11 | t.tm_min << 5 | t.tm_sec / 2);
}

}  // namespace

Status ZipFile::add(const std::string& name, std::string_view content) {
  if (entries_ >= kMostEntries || name.size() > 0xFFFF || content.size() > kMostBytes) return Code::tooBig;
  std::string packed;
  if (!deflated(content, &packed)) return Status(Code::io, "deflate failed");
  if (body_.size() + packed.size() + directory_.size() > kMostBytes) return Code::tooBig;
  std::string common;   // what the entry and its line in the directory share
  put(common, kVersion, 2), put(common, kUtf8Names, 2), put(common, kDeflated, 2), put(common, dosTime(), 4);
  put(common, crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())), 4);
  put(common, packed.size(), 4), put(common, content.size(), 4), put(common, name.size(), 2), put(common, 0, 2);
  put(directory_, 0x02014b50, 4), put(directory_, kVersion, 2);
  directory_ += common;
  put(directory_, 0, 2), put(directory_, 0, 2), put(directory_, 0, 2), put(directory_, 0, 4), put(directory_, body_.size(), 4);
  directory_ += name;
  put(body_, 0x04034b50, 4);
  body_ += common + name + packed;
  ++entries_;
  return {};
}

std::string ZipFile::finish() {
  const auto start = body_.size();
  body_ += directory_;
  put(body_, 0x06054b50, 4), put(body_, 0, 2), put(body_, 0, 2), put(body_, entries_, 2), put(body_, entries_, 2);
  put(body_, directory_.size(), 4), put(body_, start, 4), put(body_, 0, 2);
  return std::move(body_);
}

}  // namespace aquifer::cli
