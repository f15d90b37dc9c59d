#include "vfs/dir_cursor.h"

#include <algorithm>

#include "base/clock.h"

namespace aquifer::vfs {

namespace {
size_t bytesOf(const std::string& name) { return sizeof(std::string) + (name.size() > 15 ? name.size() + 16 : 0); }
}  // namespace

Status DirCursor::seek(uint64_t cookie, bool plus) {
  wantPlus_ = plus;
  if (cookie <= kStart) {
    history_.clear();
    checkpoints_.clear();
    historyBytes_ = checkpointBytes_ = 0;
    page_.clear();
    index_ = from_ = 0;
    limit_ = 256;
    return load("", kStart, limit_);
  }
  if (loaded_) {
    if (cookie == startCookie_) {
      index_ = from_ = 0;
      return {};
    }
    if (cookie >= firstCookie_ && cookie < firstCookie_ + page_.size()) {
      index_ = from_ = cookie - firstCookie_ + 1;
      return {};
    }
  }
  for (auto& h : history_)
    if (cookie >= h.first && cookie < h.first + h.names.size()) {
      std::string after = h.names[cookie - h.first];
      retire();
      return load(std::move(after), cookie, limit_);
    }
  // Count on from the nearest remembered name.
  std::string after;
  uint64_t at = kStart;
  for (auto& c : checkpoints_)
    if (c.cookie <= cookie && c.cookie > at) {
      at = c.cookie;
      after = c.name;
    }
  retire();
  while (at < cookie) {
    size_t want = std::min<uint64_t>(cookie - at, kMaxPage);
    TRY_ASSIGN(auto names, list_(after, want, false));
    if (names.empty()) break;
    at += names.size();
    after = names.back().name;
    if (names.size() < want) break;
  }
  return load(std::move(after), cookie, limit_);
}

Status DirCursor::load(std::string after, uint64_t startCookie, size_t limit) {
  listedAt_ = monotonicNanos();
  TRY_ASSIGN(page_, list_(after, limit, wantPlus_));
  plus_ = wantPlus_;
  end_ = page_.size() < limit;
  after_ = std::move(after);
  startCookie_ = startCookie;
  firstCookie_ = nextCookie_;
  nextCookie_ += page_.size();
  index_ = from_ = 0;
  loaded_ = true;
  return {};
}

// Keep the names whose cookies may have been given out.
void DirCursor::retire() {
  size_t used = std::min(index_, page_.size());
  if (used > 0) {
    Names n{firstCookie_, {}};
    n.names.reserve(used);
    for (size_t i = 0; i < used; i++) {
      historyBytes_ += bytesOf(page_[i].name);
      n.names.push_back(std::move(page_[i].name));
    }
    history_.push_back(std::move(n));
    trim();
  }
  page_.clear();
  index_ = 0;
}

void DirCursor::trim() {
  while (historyBytes_ > kNamesBytes && history_.size() > 1) {
    auto& old = history_.front();
    for (auto& n : old.names) historyBytes_ -= bytesOf(n);
    Checkpoint c{old.first + old.names.size() - 1, std::move(old.names.back())};
    checkpointBytes_ += sizeof(Checkpoint) + bytesOf(c.name);
    checkpoints_.push_back(std::move(c));
    history_.pop_front();
  }
  if (checkpointBytes_ <= kCheckpointBytes) return;
  // Every second one goes: seeks far back get slower, memory stays.
  std::deque<Checkpoint> kept;
  checkpointBytes_ = 0;
  for (size_t i = 1; i < checkpoints_.size(); i += 2) {
    checkpointBytes_ += sizeof(Checkpoint) + bytesOf(checkpoints_[i].name);
    kept.push_back(std::move(checkpoints_[i]));
  }
  checkpoints_ = std::move(kept);
}

Result<const meta::DirEntry*> DirCursor::peek() {
  if (!loaded_) TRY(load("", kStart, limit_));
  if (index_ >= page_.size()) {
    if (end_ || page_.empty()) return static_cast<const meta::DirEntry*>(nullptr);
    std::string after = page_.back().name;
    uint64_t at = firstCookie_ + page_.size() - 1;
    limit_ = std::min(limit_ * 2, kMaxPage);
    retire();
    TRY(load(std::move(after), at, limit_));
    if (page_.empty()) return static_cast<const meta::DirEntry*>(nullptr);
  }
  return static_cast<const meta::DirEntry*>(&page_[index_]);
}

uint64_t DirCursor::cookie() const { return firstCookie_ + index_; }

Status DirCursor::relist(bool plus) {
  wantPlus_ = plus;
  if (!loaded_) return {};
  size_t used = index_ > from_ ? index_ - from_ : index_;
  limit_ = std::clamp(used * 2, kMinPage, kMaxPage);
  std::string after = index_ == 0 ? after_ : page_[std::min(index_, page_.size()) - 1].name;
  uint64_t at = index_ == 0 ? startCookie_ : firstCookie_ + std::min(index_, page_.size()) - 1;
  retire();
  return load(std::move(after), at, limit_);
}

size_t DirCursor::memory() const {
  size_t n = historyBytes_ + checkpointBytes_;
  for (auto& e : page_) n += sizeof e + bytesOf(e.name) - sizeof(std::string);
  return n;
}

}  // namespace aquifer::vfs
