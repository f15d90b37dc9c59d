#include "object/http/exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace aquifer::object::http {

namespace {

constexpr size_t kBufferBytes = 16 * 1024;
constexpr int kMaxInterim = 8;             // 1xx answers before the real one
constexpr size_t kMaxTrailerBytes = 8 * 1024;
constexpr uint64_t kWorthReading = 256 * 1024;  // of an unwanted body, to keep the connection

const Status kEnded{Code::unavailable, "the connection ended in the middle of an answer"};

// Bytes of the answer: what came along with something before it first, then straight from the connection.
class Source {
 public:
  Source(Connection& connection, int64_t deadline, bool* heard) : connection_(connection), deadline_(deadline), heard_(heard) {
    buffer_.resize(kBufferBytes);
  }

  // Up to and with the separator. Errors: io when that takes more than `limit` bytes.
  Result<std::string> until(std::string_view separator, size_t limit) {
    std::string out;
    for (;;) {
      const size_t searchFrom = out.size() < separator.size() ? 0 : out.size() - separator.size() + 1;
      out.append(buffer_.data() + at_, end_ - at_);
      const size_t found = out.find(separator, searchFrom);
      if (found != std::string::npos) {
        const size_t extra = out.size() - found - separator.size();
        at_ = end_ - extra;
        out.resize(found + separator.size());
        return out.size() > limit ? Result<std::string>(Status(Code::io, "the server's answer is not HTTP")) : out;
      }
      if (out.size() > limit) return Status(Code::io, "the server's answer is not HTTP");
      TRY_ASSIGN(const bool more, fill());
      if (!more) return kEnded;
    }
  }

  // Some bytes, at most out.size(); 0 at the end.
  Result<size_t> some(std::span<std::byte> out) {
    if (at_ == end_ && out.size() < kBufferBytes) {
      TRY_ASSIGN(const bool more, fill());
      if (!more) return size_t{0};
    }
    if (at_ == end_) return connection_.read(out, deadline_);
    const size_t n = std::min(out.size(), end_ - at_);
    std::memcpy(out.data(), buffer_.data() + at_, n);
    at_ += n;
    return n;
  }

  bool empty() const { return at_ == end_; }

 private:
  Result<bool> fill() {
    TRY_ASSIGN(const size_t n, connection_.read(std::as_writable_bytes(std::span(buffer_)), deadline_));
    at_ = 0;
    end_ = n;
    if (n > 0) *heard_ = true;
    return n > 0;
  }

  Connection& connection_;
  const int64_t deadline_;
  bool* const heard_;
  std::string buffer_;
  size_t at_ = 0, end_ = 0;
};

// Where a body goes: the caller's memory, or a string up to a limit; what does not fit is counted and dropped.
class Sink {
 public:
  Sink(const Request& request, Response* response)
      : response_(*response),
        into_(response->status == 200 || response->status == 206 ? request.into : std::span<std::byte>()),
        limit_(into_.empty() ? request.bodyLimit : into_.size()) {}

  // Takes `bytes` from the source, or up to its end if that is unknown. False: no more is wanted, and some is left.
  Result<bool> take(Source& source, uint64_t bytes, bool toEnd) {
    while (bytes > 0) {
      const bool full = stored() >= limit_;
      if (full && (toEnd ? dropped_ : bytes) > kWorthReading) {
        response_.cut = true;
        return false;
      }
      std::span<std::byte> place = full ? std::span<std::byte>(waste_) : room();
      if (place.size() > bytes) place = place.first(static_cast<size_t>(bytes));
      TRY_ASSIGN(const size_t n, source.some(place));
      if (n == 0) return toEnd ? Result<bool>(true) : kEnded;
      bytes -= n;
      if (full) {
        response_.cut = true;
        dropped_ += n;
      } else if (into_.empty()) {
        used_ += n;
      } else {
        response_.stored += n;
      }
    }
    return true;
  }

  void finish() {
    if (into_.empty()) response_.body.resize(used_);
  }

 private:
  size_t stored() const { return into_.empty() ? used_ : response_.stored; }

  std::span<std::byte> room() {
    if (!into_.empty()) return into_.subspan(response_.stored);
    if (used_ == response_.body.size())
      response_.body.resize(std::min(limit_, std::max<size_t>(kBufferBytes, used_ * 2)));
    return std::as_writable_bytes(std::span(response_.body)).subspan(used_);
  }

  Response& response_;
  const std::span<std::byte> into_;
  const size_t limit_;
  size_t used_ = 0;
  uint64_t dropped_ = 0;
  std::array<std::byte, 4096> waste_;
};

Result<bool> takeChunks(Source& source, Sink& sink) {
  for (;;) {
    TRY_ASSIGN(std::string line, source.until("\r\n", 1024));
    const auto size = parseChunkSize(std::string_view(line).substr(0, line.size() - 2));
    if (!size) return Status(Code::io, "the server's answer is not HTTP: a chunk without a size");
    if (*size == 0) break;
    TRY_ASSIGN(const bool goOn, sink.take(source, *size, false));
    if (!goOn) return false;
    TRY_ASSIGN(line, source.until("\r\n", 2));
  }
  for (size_t trailer = 0;;) {
    TRY_ASSIGN(const std::string line, source.until("\r\n", kMaxTrailerBytes));
    if (line.size() == 2) return true;
    trailer += line.size();
    if (trailer > kMaxTrailerBytes) return Status(Code::io, "the server's answer is not HTTP: an endless trailer");
  }
}

}  // namespace

Result<Response> Exchange::run(const std::string& head, const Request& request) {
  bool interrupted = false;
  TRY(connection.write(std::as_bytes(std::span(head)), !request.body.empty(), deadline, &interrupted));
  if (!interrupted) TRY(connection.write(request.body, false, deadline, &interrupted));

  Source source(connection, deadline, &heard);
  Response response;
  for (int i = 0;; i++) {
    TRY_ASSIGN(const std::string text, source.until("\r\n\r\n", kMaxHeadBytes));
    TRY_ASSIGN(static_cast<Head&>(response), parseHead(text));
    if (response.status >= 200) break;
    if (i >= kMaxInterim) return Status(Code::io, "the server's answer does not come to an end");
  }
  Sink sink(request, &response);
  bool whole = true, bounded = true;
  const std::string* coding = response.header("transfer-encoding");
  const std::string* length = response.header("content-length");
  if (request.method == "HEAD" || response.status == 204 || response.status == 304) {
    response.sized = true;
  } else if (coding) {
    if (lower(*coding) != "chunked") return Status(Code::io, "the server's answer has an unknown transfer coding");
    response.sized = true;
    TRY_ASSIGN(whole, takeChunks(source, sink));
  } else if (length) {
    const auto bytes = parseNumber(*length);
    if (!bytes) return Status(Code::io, "the server's answer has a length that is no number");
    response.sized = true;
    TRY_ASSIGN(whole, sink.take(source, *bytes, false));
  } else {
    bounded = false;
    TRY_ASSIGN(whole, sink.take(source, std::numeric_limits<uint64_t>::max(), true));
  }
  sink.finish();
  reusable = response.keepAlive && whole && bounded && !interrupted && source.empty();
  return response;
}

}  // namespace aquifer::object::http
