#include "cli/dump_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "cli/errno_text.h"

namespace aquifer::cli {
namespace {

constexpr size_t kBuffer = 256 << 10, kMaxSealed = size_t{2} << 30;

Status ioError(const std::string& what, const std::string& path) {
  return Status(errno == ENOSPC ? Code::noSpace : Code::io, fmt::format("{} {}: {}", what, path.empty() ? "STDOUT" : path, errnoText(errno)));
}

// ---- writing ----

class PlainWriter : public DumpWriter {
 public:
  PlainWriter(int fd, std::string path, std::string temporary) : fd_(fd), path_(std::move(path)), temporary_(std::move(temporary)) {}
  ~PlainWriter() override {
    if (path_.empty()) return;
    if (fd_ >= 0) close(fd_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }
  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ioError("write", path_);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }
  Status finish() override {
    if (path_.empty()) return {};
    if (!temporary_.empty() && fsync(fd_) != 0) return ioError("sync", path_);
    if (close(std::exchange(fd_, -1)) != 0) return ioError("close", path_);
    if (!temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0) return ioError("rename to", path_);
    temporary_.clear();
    return {};
  }

 private:
  int fd_;
  const std::string path_;
  std::string temporary_;
};

class GzipWriter : public DumpWriter {
 public:
  explicit GzipWriter(std::unique_ptr<DumpWriter> out) : out_(std::move(out)), buffer_(kBuffer) {
    good_ = deflateInit2(&z_, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~GzipWriter() override { deflateEnd(&z_); }
  Status write(std::string_view bytes) override { return pump(bytes, Z_NO_FLUSH); }
  Status finish() override {
    TRY(pump({}, Z_FINISH));
    return out_->finish();
  }

 private:
  Status pump(std::string_view bytes, int mode) {
    if (!good_) return Status(Code::noMemory, "no memory for gzip");
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z_.avail_in = static_cast<uInt>(bytes.size());
    for (;;) {
      z_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      z_.avail_out = static_cast<uInt>(buffer_.size());
      const int rc = deflate(&z_, mode);
      if (rc == Z_STREAM_ERROR) return Status(Code::io, "gzip failed");
      TRY(out_->write({buffer_.data(), buffer_.size() - z_.avail_out}));
      if (mode == Z_FINISH ? rc == Z_STREAM_END : z_.avail_out > 0) return {};
    }
  }
  std::unique_ptr<DumpWriter> out_;
  std::vector<char> buffer_;
  z_stream z_{};
  bool good_ = false;
};

class ZstdWriter : public DumpWriter {
 public:
  explicit ZstdWriter(std::unique_ptr<DumpWriter> out) : out_(std::move(out)), z_(ZSTD_createCCtx()), buffer_(kBuffer) {}
  ~ZstdWriter() override { ZSTD_freeCCtx(z_); }
  Status write(std::string_view bytes) override { return pump(bytes, ZSTD_e_continue); }
  Status finish() override {
    TRY(pump({}, ZSTD_e_end));
    return out_->finish();
  }

 private:
  Status pump(std::string_view bytes, ZSTD_EndDirective mode) {
    if (!z_) return Status(Code::noMemory, "no memory for zstd");
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const size_t left = ZSTD_compressStream2(z_, &out, &in, mode);
      if (ZSTD_isError(left)) return Status(Code::io, "zstd failed");
      TRY(out_->write({buffer_.data(), out.pos}));
      if (mode == ZSTD_e_end ? left == 0 : in.pos == in.size && out.pos < out.size) return {};
    }
  }
  std::unique_ptr<DumpWriter> out_;
  ZSTD_CCtx* z_;
  std::vector<char> buffer_;
};

// ---- reading ----

class PlainReader : public DumpReader {
 public:
  PlainReader(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PlainReader() override {
    if (!path_.empty()) close(fd_);
  }
  Result<size_t> read(char* buffer, size_t size) override {
    for (;;) {
      const ssize_t n = ::read(fd_, buffer, size);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) return ioError("read", path_.empty() ? "STDIN" : path_);
    }
  }

 private:
  const int fd_;
  const std::string path_;
};

// Bytes that are there already, then what the reader behind it gives.
class AheadReader : public DumpReader {
 public:
  AheadReader(std::string ahead, std::unique_ptr<DumpReader> rest) : ahead_(std::move(ahead)), rest_(std::move(rest)) {}
  Result<size_t> read(char* buffer, size_t size) override {
    if (at_ == ahead_.size()) return rest_ ? rest_->read(buffer, size) : Result<size_t>(size_t{0});
    const size_t n = std::min(size, ahead_.size() - at_);
    std::memcpy(buffer, ahead_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  const std::string ahead_;
  size_t at_ = 0;
  const std::unique_ptr<DumpReader> rest_;
};

// Up to `want` bytes.
Result<std::string> take(DumpReader& in, size_t want) {
  std::string out;
  while (out.size() < want) {
    const size_t had = out.size(), step = std::min(want - had, kBuffer);
    out.resize(had + step);
    TRY_ASSIGN(size_t n, in.read(out.data() + had, step));
    out.resize(had + n);
    if (n == 0) break;
  }
  return out;
}

class GzipReader : public DumpReader {
 public:
  explicit GzipReader(std::unique_ptr<DumpReader> in) : in_(std::move(in)), buffer_(kBuffer) { good_ = inflateInit2(&z_, 15 + 16) == Z_OK; }
  ~GzipReader() override { inflateEnd(&z_); }
  Result<size_t> read(char* buffer, size_t size) override {
    if (!good_) return Status(Code::noMemory, "no memory for gzip");
    z_.next_out = reinterpret_cast<Bytef*>(buffer);
    z_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1 << 30));
    const uInt room = z_.avail_out;
    while (z_.avail_out == room) {
      if (z_.avail_in == 0) {
        TRY_ASSIGN(size_t n, in_->read(buffer_.data(), buffer_.size()));
        if (n == 0) {
          if (inside_) return Status(Code::corrupt, "the gzip file is cut off");
          return size_t{0};
        }
        z_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
        z_.avail_in = static_cast<uInt>(n);
      }
      if (!inside_ && inflateReset(&z_) != Z_OK) return Status(Code::io, "gzip failed");   // the next of several members
      inside_ = true;
      const int rc = inflate(&z_, Z_NO_FLUSH);
      if (rc == Z_STREAM_END)
        inside_ = false;
      else if (rc != Z_OK && rc != Z_BUF_ERROR)
        return Status(Code::corrupt, "the gzip file is damaged");
    }
    return size_t{room - z_.avail_out};
  }

 private:
  std::unique_ptr<DumpReader> in_;
  std::vector<char> buffer_;
  z_stream z_{};
  bool good_ = false, inside_ = false;
};

class ZstdReader : public DumpReader {
 public:
  explicit ZstdReader(std::unique_ptr<DumpReader> in) : in_(std::move(in)), z_(ZSTD_createDCtx()), buffer_(kBuffer) {}
  ~ZstdReader() override { ZSTD_freeDCtx(z_); }
  Result<size_t> read(char* buffer, size_t size) override {
    if (!z_) return Status(Code::noMemory, "no memory for zstd");
    ZSTD_outBuffer out{buffer, size, 0};
    while (out.pos == 0) {
      if (left_.pos == left_.size) {
        TRY_ASSIGN(size_t n, in_->read(buffer_.data(), buffer_.size()));
        if (n == 0) {
          if (inside_) return Status(Code::corrupt, "the zstd file is cut off");
          return size_t{0};
        }
        left_ = {buffer_.data(), n, 0};
      }
      const size_t rc = ZSTD_decompressStream(z_, &out, &left_);
      if (ZSTD_isError(rc)) return Status(Code::corrupt, "the zstd file is damaged");
      inside_ = rc != 0;
    }
    return out.pos;
  }

 private:
  std::unique_ptr<DumpReader> in_;
  ZSTD_DCtx* z_;
  std::vector<char> buffer_;
  ZSTD_inBuffer left_{nullptr, 0, 0};
  bool inside_ = false;
};

}  // namespace

Result<std::unique_ptr<DumpWriter>> createDump(const std::string& path) {
  if (path.empty()) return std::unique_ptr<DumpWriter>(std::make_unique<PlainWriter>(STDOUT_FILENO, "", ""));
  // A device or a pipe is written as it is.
  struct stat st {};
  const bool special = stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode);
  const std::string temporary = special ? "" : path + ".tmp";
  const int fd = open(special ? path.c_str() : temporary.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC), 0644);
  if (fd < 0) return ioError("open", special ? path : temporary);
  std::unique_ptr<DumpWriter> out = std::make_unique<PlainWriter>(fd, path, temporary);
  if (path.ends_with(".gz")) out = std::make_unique<GzipWriter>(std::move(out));
  if (path.ends_with(".zstd") || path.ends_with(".zst")) out = std::make_unique<ZstdWriter>(std::move(out));
  return out;
}

Result<std::unique_ptr<DumpReader>> openDump(const std::string& path, const object::Encryptor* encryptor) {
  const int fd = path.empty() ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status(Code::config, fmt::format("open {}: {}", path, errnoText(errno)));
  std::unique_ptr<DumpReader> in = std::make_unique<PlainReader>(fd, path);
  if (encryptor) {   // one sealed envelope: it cannot be trusted before its last byte
    TRY_ASSIGN(auto sealed, take(*in, kMaxSealed + 1));
    if (sealed.size() > kMaxSealed) return Status(Code::config, fmt::format("{} is too large for an encrypted backup", path));
    TRY_ASSIGN(auto opened, encryptor->decrypt(sealed));
    in = std::make_unique<AheadReader>(std::move(opened), nullptr);
  }
  TRY_ASSIGN(auto head, take(*in, 4));
  const bool gzip = head.starts_with("\x1F\x8B"), zstd = head == "\x28\xB5\x2F\xFD";
  in = std::make_unique<AheadReader>(std::move(head), std::move(in));
  if (gzip) return std::unique_ptr<DumpReader>(std::make_unique<GzipReader>(std::move(in)));
  if (zstd) return std::unique_ptr<DumpReader>(std::make_unique<ZstdReader>(std::move(in)));
  return in;
}

}  // namespace aquifer::cli
