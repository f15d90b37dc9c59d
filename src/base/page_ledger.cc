#include "base/page_ledger.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/log.h"
#include "base/stages.h"

namespace aquifer {

namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kFiles = 512;

std::atomic<PageLedger*> theLedger{nullptr};

uint64_t pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Whole pages around the range: the kernel keeps a page that is covered in part.
void dropPages(int fd, uint64_t off, uint64_t bytes) {
  const uint64_t from = off / kPage * kPage;
  const uint64_t to = bytes == 0 ? from : pages(off + bytes);
  (void)posix_fadvise(fd, static_cast<off_t>(from), static_cast<off_t>(to - from), POSIX_FADV_DONTNEED);
}

void writeOutAndDrop(int fd, uint64_t off, uint64_t bytes) {
  struct stat st {};
  // The pages of a file that has been removed go with its last descriptor; to write them would be for nothing.
  if (fstat(fd, &st) != 0 || st.st_nlink == 0) return;
  constexpr unsigned kWait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  while (sync_file_range(fd, static_cast<off64_t>(off), static_cast<off64_t>(bytes), kWait) != 0) {
    if (errno == EINTR) continue;
    if (errno == EIO || errno == ENOSPC) LOG_ERROR("write-back of a file's pages failed: {}", std::strerror(errno));
    break;
  }
  dropPages(fd, off, bytes);
}

}  // namespace

PageLedger::PageLedger(uint64_t bound, size_t files) : bound_(bound), files_(files) {}

PageLedger::~PageLedger() { drain(); }

bool PageLedger::dropOldest(std::unique_lock<std::mutex>& lock) {
  if (ranges_.empty()) return false;
  const Range range = ranges_.front();
  ranges_.pop_front();
  lock.unlock();
  writeOutAndDrop(range.fd, range.off, range.bytes);
  close(range.fd);
  lock.lock();
  held_ -= range.charged;
  freed_.notify_all();
  return true;
}

void PageLedger::reserve(uint64_t bytes) {
  bytes = pages(bytes);
  std::unique_lock lock(mu_);
  if (held_ != 0 && held_ + bytes > bound_) {
    ScopedStage stage(Stage::queue);
    while (held_ != 0 && held_ + bytes > bound_)
      if (!dropOldest(lock)) freed_.wait(lock);
  }
  held_ += bytes;
}

void PageLedger::giveBack(uint64_t bytes) {
  std::lock_guard lock(mu_);
  held_ -= pages(bytes);
  freed_.notify_all();
}

void PageLedger::wrote(int fd, uint64_t off, uint64_t bytes, uint64_t reserved) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {  // no descriptor to be had: then at once
    writeOutAndDrop(fd, off, bytes);
    return giveBack(reserved);
  }
  (void)sync_file_range(own, static_cast<off64_t>(off), static_cast<off64_t>(bytes), SYNC_FILE_RANGE_WRITE);
  std::unique_lock lock(mu_);
  ranges_.push_back({own, off, bytes, pages(reserved)});
  while (ranges_.size() > files_) dropOldest(lock);
  freed_.notify_all();  // who waits may drop it
}

void PageLedger::drain() {
  std::unique_lock lock(mu_);
  while (dropOldest(lock)) {
  }
}

uint64_t PageLedger::held() const {
  std::lock_guard lock(mu_);
  return held_;
}

PageLedger* PageLedger::installed() { return theLedger.load(std::memory_order_acquire); }

void PageLedger::install(uint64_t bound) {
  // It lives as long as the process: threads that end late may still write.
  theLedger.store(new PageLedger(bound, kFiles), std::memory_order_release);
}

PageGrant::PageGrant(uint64_t bytes) : bytes_(bytes) {
  if (auto* ledger = PageLedger::installed())
    ledger->reserve(bytes_);
  else
    bytes_ = 0;
}

PageGrant::~PageGrant() {
  if (bytes_) PageLedger::installed()->giveBack(bytes_);
}

void PageGrant::wrote(int fd, uint64_t off, uint64_t bytes) {
  if (!bytes_) return;
  PageLedger::installed()->wrote(fd, off, bytes, bytes_);
  bytes_ = 0;
}

void dropReadPages(int fd, uint64_t off, uint64_t bytes) {
  if (PageLedger::installed()) dropPages(fd, off, bytes);
}

void dropPagesOfOpenFiles() {
  DIR* dir = opendir("/proc/self/fd");
  if (!dir) return;
  while (const dirent* entry = readdir(dir)) {
    const std::string_view name = entry->d_name;
    int fd = -1;
    // The descriptor may be closed meanwhile, or be another's: advice about its pages harms nobody.
    if (std::from_chars(name.data(), name.data() + name.size(), fd).ec != std::errc() || fd == dirfd(dir)) continue;
    struct stat st {};
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) dropPages(fd, 0, 0);
  }
  closedir(dir);
}

}  // namespace aquifer
