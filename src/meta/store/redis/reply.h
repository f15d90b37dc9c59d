// What a server answered: a checked view of one reply, and the code that an error reply stands for.
#pragma once

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::meta::redis {

// A view into an owned reply: valid as long as the owner is. Every accessor checks the type.
class View {
 public:
  explicit View(const redisReply* r) : r_(r) {}
  bool isNil() const { return r_->type == REDIS_REPLY_NIL; }
  bool isText() const { return r_->type == REDIS_REPLY_STRING || r_->type == REDIS_REPLY_STATUS; }
  bool isInteger() const { return r_->type == REDIS_REPLY_INTEGER; }
  bool isArray() const { return r_->type == REDIS_REPLY_ARRAY; }
  bool isError() const { return r_->type == REDIS_REPLY_ERROR; }
  std::string_view text() const { return isText() || isError() ? std::string_view(r_->str, r_->len) : std::string_view(); }
  int64_t integer() const { return isInteger() ? r_->integer : 0; }
  size_t size() const { return isArray() ? r_->elements : 0; }
  View operator[](size_t i) const { return View(r_->element[i]); }

 private:
  const redisReply* r_;
};

class Reply {
 public:
  Reply() = default;
  explicit Reply(void* raw) : raw_(static_cast<redisReply*>(raw), freeReplyObject) {}
  View view() const { return View(raw_.get()); }

 private:
  std::unique_ptr<redisReply, void (*)(void*)> raw_{nullptr, freeReplyObject};
};

// An error reply means that the command was refused before it changed anything, so none of these is maybeCommitted.
Status errorOf(std::string_view text);
Status unexpectedReply(std::string_view what);

// Decimal numbers as the server and other clients write them. nullopt: something else.
std::optional<int64_t> parseInt(std::string_view text);
std::optional<uint64_t> parseUint(std::string_view text);
std::optional<int64_t> parseScore(std::string_view text);  // of a sorted set: a double that holds whole seconds

}  // namespace aquifer::meta::redis
