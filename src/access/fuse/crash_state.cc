#include "access/fuse/crash_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/log.h"

namespace aquifer::fuse {
namespace {

constexpr uint64_t kMagic = 0x4151435241534831ull;  // "AQCRASH1"
thread_local JournalEntry* current = nullptr;

void clear(JournalEntry& e) {
  e.identity.store(0, std::memory_order_release);
  e.op.store(0), e.flags.store(0), e.ino.store(0), e.fh.store(0), e.active.store(0), e.deaths.store(0);
}

}  // namespace

struct CrashState::Layout {
  struct HandleRecord {
    std::atomic<uint64_t> fh;  // written last, cleared first: 0 = nothing here
    std::atomic<uint64_t> ino;
    std::atomic<uint32_t> flags;
  };
  uint64_t magic, size;
  std::atomic<uint64_t> beats, session, nextHandle;
  std::atomic<uint32_t> handleTop, dirtyTop;  // records from here on were never used
  std::atomic<uint32_t> crashed;              // see setCrashed
  std::atomic<uint32_t> dirtyOverflow;        // an inode did not fit: every writable handle counts as having lost bytes
  JournalEntry notes[kThreadNotes];
  JournalEntry orphans[kOrphans];
  std::atomic<uint64_t> dirty[kDirty];
  HandleRecord handles[kHandles];
};

Result<int> CrashState::create() {
  const int fd = memfd_create("aquifer-mount-state", MFD_CLOEXEC);
  if (fd < 0) return Status(Code::io, std::string("memfd_create: ") + std::strerror(errno));
  // Sparse: pages that nobody touches cost nothing.
  if (ftruncate(fd, sizeof(Layout)) != 0) {
    close(fd);
    return Status(Code::io, std::string("size of the state memory: ") + std::strerror(errno));
  }
  return fd;
}

Result<std::unique_ptr<CrashState>> CrashState::map(int fd) {
  struct stat st {};
  if (fstat(fd, &st) != 0 || static_cast<size_t>(st.st_size) != sizeof(Layout))
    return Status(Code::corrupt, "state memory has another layout");
  void* p = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return Status(Code::io, std::string("map the state memory: ") + std::strerror(errno));
  auto* layout = static_cast<Layout*>(p);
  if (layout->magic != 0 && (layout->magic != kMagic || layout->size != sizeof(Layout))) {
    munmap(p, sizeof(Layout));
    return Status(Code::corrupt, "state memory has another layout");
  }
  layout->size = sizeof(Layout), layout->magic = kMagic;
  return std::unique_ptr<CrashState>(new CrashState(layout, sizeof(Layout)));
}

std::unique_ptr<CrashState> CrashState::inProcess() {
  void* p = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return std::unique_ptr<CrashState>(new CrashState(static_cast<Layout*>(p), sizeof(Layout)));
}

CrashState::CrashState(Layout* layout, size_t bytes) : m_(layout), bytes_(bytes) {}
CrashState::~CrashState() { munmap(m_, bytes_); }

Survivors CrashState::recover() {
  std::lock_guard lock(mu_);
  Survivors s;
  s.nextHandle = m_->nextHandle.load();
  const bool allLost = m_->dirtyOverflow.exchange(0) != 0;
  std::unordered_map<vfs::Ino, bool> lost;
  const uint32_t dirtyTop = std::min<uint32_t>(m_->dirtyTop.load(), kDirty);
  for (uint32_t i = 0; i < dirtyTop; ++i)
    if (vfs::Ino ino = m_->dirty[i].exchange(0)) lost[ino] = true;
  m_->dirtyTop = 0;
  dirtyTop_ = 0, dirtyAt_.clear(), freeDirty_.clear();
  s.lostInodes = lost.size();

  handleTop_ = std::min<uint32_t>(m_->handleTop.load(), kHandles);
  handleAt_.clear(), freeHandles_.clear();
  for (uint32_t i = 0; i < handleTop_; ++i) {
    auto& h = m_->handles[i];
    const uint64_t fh = h.fh.load(std::memory_order_acquire);
    if (fh == 0) {
      freeHandles_.push_back(i);
      continue;
    }
    handleAt_[fh] = i;
    const uint32_t flags = h.flags.load();
    const bool writable = (flags & O_ACCMODE) != O_RDONLY;
    s.handles.push_back({fh, h.ino.load(), flags, writable && (allLost || lost.contains(h.ino.load()))});
  }

  // Orphans of an earlier death stay until their request was answered, at most kOrphans of them.
  orphanAt_.clear();
  const uint32_t crash = m_->crashed.exchange(0) != 0;
  for (auto& o : m_->orphans) {
    if (o.identity.load() == 0) continue;
    if (o.active.exchange(0)) o.deaths.fetch_add(crash);
    orphanAt_[o.identity.load()] = &o;
  }
  for (auto& n : m_->notes) {
    if (n.identity.load(std::memory_order_acquire) == 0) continue;
    n.deaths.store(crash);
    indexOrphan(n);
    clear(n);
  }
  return s;
}

std::vector<SurvivingHandle> CrashState::openHandles() {
  std::lock_guard lock(mu_);
  std::vector<SurvivingHandle> out;
  const uint32_t top = std::min<uint32_t>(m_->handleTop.load(), kHandles);
  for (uint32_t i = 0; i < top; ++i) {
    const auto& h = m_->handles[i];
    if (const uint64_t fh = h.fh.load(std::memory_order_acquire)) out.push_back({fh, h.ino.load(), h.flags.load(), false});
  }
  return out;
}

void CrashState::indexOrphan(JournalEntry& from) {
  // A free place, else that of the oldest request: numbers grow, and one that was not asked for again by now never will be.
  JournalEntry* place = &m_->orphans[0];
  for (auto& o : m_->orphans) {
    if (o.identity.load() < place->identity.load()) place = &o;
    if (place->identity.load() == 0) break;
  }
  JournalEntry& to = *place;
  if (to.identity.load()) orphanAt_.erase(to.identity.load());
  clear(to);
  to.op.store(from.op.load()), to.flags.store(from.flags.load()), to.ino.store(from.ino.load()), to.fh.store(from.fh.load());
  to.deaths.store(from.deaths.load());
  to.identity.store(from.identity.load(), std::memory_order_release);
  orphanAt_[to.identity.load()] = &to;
}

void CrashState::clearHandles() {
  std::lock_guard lock(mu_);
  const uint32_t top = std::min<uint32_t>(m_->handleTop.load(), kHandles);
  for (uint32_t i = 0; i < top; ++i) m_->handles[i].fh.store(0, std::memory_order_release);
  m_->handleTop.store(0);
  handleTop_ = 0, handleAt_.clear(), freeHandles_.clear();
}

JournalEntry& CrashState::note(size_t thread) { return m_->notes[thread]; }

JournalEntry* CrashState::findOrphan(uint64_t identity) {
  std::lock_guard lock(mu_);
  auto it = orphanAt_.find(identity);
  return it == orphanAt_.end() ? nullptr : it->second;
}

void CrashState::dropOrphan(JournalEntry* entry) {
  std::lock_guard lock(mu_);
  orphanAt_.erase(entry->identity.load());
  clear(*entry);
}

void CrashState::setCurrent(JournalEntry* entry) { current = entry; }

void CrashState::opened(vfs::Handle fh, vfs::Ino ino, uint32_t flags) {
  {
    std::lock_guard lock(mu_);
    uint32_t at = 0;
    if (auto it = handleAt_.find(fh); it != handleAt_.end()) {
      at = it->second;
    } else if (!freeHandles_.empty()) {
      at = freeHandles_.back();
      freeHandles_.pop_back();
    } else if (handleTop_ < kHandles) {
      at = handleTop_++;
      m_->handleTop.store(handleTop_);
    } else {
      if (!full_) LOG_WARN("more than {} open files: those above would not survive a restart", kHandles);
      full_ = true;
      return;
    }
    handleAt_[fh] = at;
    auto& h = m_->handles[at];
    h.ino.store(ino), h.flags.store(flags);
    h.fh.store(fh, std::memory_order_release);
    if (fh >= m_->nextHandle.load()) m_->nextHandle.store(fh + 1);
  }
  if (current) {
    current->fh.store(fh);
    if (current->ino.load() == 0) current->ino.store(ino);
    current->flags.fetch_or(kJournalOpened, std::memory_order_release);
  }
}

void CrashState::closed(vfs::Handle fh) {
  std::lock_guard lock(mu_);
  auto it = handleAt_.find(fh);
  if (it == handleAt_.end()) return;
  m_->handles[it->second].fh.store(0, std::memory_order_release);
  freeHandles_.push_back(it->second);
  handleAt_.erase(it);
}

void CrashState::dirty(vfs::Ino ino, bool isDirty) {
  std::lock_guard lock(mu_);
  auto it = dirtyAt_.find(ino);
  if (!isDirty) {
    if (it == dirtyAt_.end()) return;
    m_->dirty[it->second].store(0);
    freeDirty_.push_back(it->second);
    dirtyAt_.erase(it);
    return;
  }
  if (it != dirtyAt_.end()) return;
  uint32_t at;
  if (!freeDirty_.empty()) {
    at = freeDirty_.back();
    freeDirty_.pop_back();
  } else if (dirtyTop_ < kDirty) {
    at = dirtyTop_++;
    m_->dirtyTop.store(dirtyTop_);
  } else {
    m_->dirtyOverflow.store(1);
    return;
  }
  m_->dirty[at].store(ino);
  dirtyAt_[ino] = at;
}

void CrashState::reserveHandles(vfs::Handle next) {
  std::lock_guard lock(mu_);
  if (next > m_->nextHandle.load()) m_->nextHandle.store(next);
}

void CrashState::setCrashed(bool crashed) { m_->crashed.store(crashed); }
void CrashState::beat() { m_->beats.fetch_add(1, std::memory_order_relaxed); }
uint64_t CrashState::beats() const { return m_->beats.load(std::memory_order_relaxed); }
void CrashState::setSession(uint64_t sid) { m_->session.store(sid); }
uint64_t CrashState::session() const { return m_->session.load(); }

}  // namespace aquifer::fuse
