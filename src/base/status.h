// Errors as values: Status, Result<T>, TRY, TRY_ASSIGN.
//
// A Code below 1000 *is* the errno that a POSIX caller sees; codes from 1000 on are states of the machinery that the
// retry loop or a command handles, and that leave the process as EIO. `toErrno` is the only place that maps.
// Status and Result are values without locks: as thread-safe as an int.
#pragma once

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace aquifer {

enum class Code : int {
  ok = 0,
  notPermitted = EPERM,
  notFound = ENOENT,
  interrupted = EINTR,
  io = EIO,
  noSuchAddress = ENXIO,
  tooBig = E2BIG,
  badHandle = EBADF,
  wouldBlock = EAGAIN,
  noMemory = ENOMEM,
  accessDenied = EACCES,
  exists = EEXIST,
  crossDevice = EXDEV,
  notDirectory = ENOTDIR,
  isDirectory = EISDIR,
  invalid = EINVAL,
  noTty = ENOTTY,
  fileTooBig = EFBIG,
  noSpace = ENOSPC,
  readOnly = EROFS,
  tooManyLinks = EMLINK,
  brokenPipe = EPIPE,
  range = ERANGE,
  deadlock = EDEADLK,
  nameTooLong = ENAMETOOLONG,
  notImplemented = ENOSYS,
  notEmpty = ENOTEMPTY,
  tooManySymlinks = ELOOP,
  noAttribute = ENODATA,
  unsupported = ENOTSUP,
  busy = EBUSY,
  timedOut = ETIMEDOUT,
  stale = ESTALE,
  quotaExceeded = EDQUOT,
  // Not errnos:
  conflict = 1000,    // the transaction met a concurrent change; run it again
  maybeCommitted,     // the outcome of a commit is unknown
  unavailable,        // the engine or store cannot be reached now; back off and try again
  corrupt,            // stored bytes do not decode, or fail their checksum
  notFormatted,       // the database holds no volume
  config,             // a flag, URL or setting that a person has to correct
};

// The errno for a file-system caller. Machinery codes become EIO.
int toErrno(Code code);
// "no such file or directory" for errno codes, a short phrase for the others.
std::string_view codeText(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code) : code_(code) {}  // NOLINT(google-explicit-constructor): `return Code::notFound;` reads well
  Status(Code code, std::string message)
      : code_(code), message_(message.empty() ? nullptr : std::make_unique<std::string>(std::move(message))) {}
  Status(const Status& o) : code_(o.code_), message_(o.message_ ? std::make_unique<std::string>(*o.message_) : nullptr) {}
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& o) {
    if (this != &o) *this = Status(o);
    return *this;
  }
  Status& operator=(Status&&) noexcept = default;

  static Status ok() { return {}; }
  bool isOk() const { return code_ == Code::ok; }
  explicit operator bool() const { return isOk(); }
  Code code() const { return code_; }
  bool is(Code code) const { return code_ == code; }
  int toErrno() const { return aquifer::toErrno(code_); }
  // The message, or codeText(code()).
  std::string text() const;
  // The same status with `context: ` in front of its text.
  Status annotate(std::string_view context) const;

 private:
  Code code_ = Code::ok;
  std::unique_ptr<std::string> message_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}                // NOLINT
  Result(Status status) : v_(std::in_place_index<1>, std::move(status)) {}        // NOLINT: must not be ok
  Result(Code code) : v_(std::in_place_index<1>, Status(code)) {}                 // NOLINT
  bool isOk() const { return v_.index() == 0; }
  explicit operator bool() const { return isOk(); }
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }
  Code code() const { return isOk() ? Code::ok : std::get<1>(v_).code(); }
  bool is(Code code) const { return this->code() == code; }
  Status status() const& { return isOk() ? Status() : std::get<1>(v_); }
  Status status() && { return isOk() ? Status() : std::get<1>(std::move(v_)); }

 private:
  std::variant<T, Status> v_;
};

#define AQ_CONCAT2(a, b) a##b
#define AQ_CONCAT(a, b) AQ_CONCAT2(a, b)
// Return the status of `expr` from this function unless it is ok. `expr`: Status or Result.
#define TRY(expr)                                                        \
  do {                                                                   \
    if (auto&& aq_s = (expr); !aq_s) return ::aquifer::statusOf(std::move(aq_s)); \
  } while (0)
// `TRY_ASSIGN(auto x, call())`: x is the value of the Result, or this function returns its status.
#define TRY_ASSIGN(decl, expr)                                           \
  auto AQ_CONCAT(aq_r_, __LINE__) = (expr);                              \
  if (!AQ_CONCAT(aq_r_, __LINE__)) return std::move(AQ_CONCAT(aq_r_, __LINE__)).status(); \
  decl = *std::move(AQ_CONCAT(aq_r_, __LINE__))

inline Status statusOf(Status&& s) { return std::move(s); }
template <class T>
Status statusOf(Result<T>&& r) {
  return std::move(r).status();
}

}  // namespace aquifer
