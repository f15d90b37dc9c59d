// What survives a worker's death: memory that the supervisor holds and the worker maps. Open handles, inodes with written bytes
// that only the worker knows, what every thread is just doing to names, and a heartbeat. Everything in it is an array of fixed
// size of plain words; where each thing stands is kept in the worker's own memory and rebuilt by a scan after a restart.
//
// Thread-safe. One process writes at a time: the supervisor starts a successor only after the worker is gone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "access/fuse/journal.h"
#include "base/status.h"
#include "vfs/vfs.h"

namespace aquifer::fuse {

struct SurvivingHandle {
  vfs::Handle fh = 0;
  vfs::Ino ino = 0;
  uint32_t flags = 0;
  bool lost = false;  // written bytes of the inode died with the old worker
};
struct Survivors {
  std::vector<SurvivingHandle> handles;
  vfs::Handle nextHandle = 0;  // 0: nothing was ever opened
  size_t lostInodes = 0;
};

class CrashState : public vfs::OpenRecorder {
 public:
  static constexpr size_t kThreadNotes = 1024, kOrphans = 4096, kHandles = 1 << 20, kDirty = 1 << 16;

  // Fresh memory; the caller keeps the descriptor (close-on-exec) open over the life of all workers.
  static Result<int> create();
  // Maps the memory. Code::corrupt if it has another layout (a supervisor of another version).
  static Result<std::unique_ptr<CrashState>> map(int fd);
  // Memory of this process only, for a server without supervisor and for tests.
  static std::unique_ptr<CrashState> inProcess();
  ~CrashState() override;

  // After a restart: reads what is there. Thread notes become orphans, which findOrphan knows; dirty marks are cleared.
  Survivors recover();
  std::vector<SurvivingHandle> openHandles();  // what is open now, for a successor of another kind

  void clearHandles();  // they were handed over in another way

  JournalEntry& note(size_t thread);            // thread < kThreadNotes
  JournalEntry* findOrphan(uint64_t identity);  // nullptr: that request had not begun
  void dropOrphan(JournalEntry* entry);
  // The thread's running request, to which handles that it opens are noted.
  static void setCurrent(JournalEntry* entry);

  void opened(vfs::Handle fh, vfs::Ino ino, uint32_t flags) override;
  void closed(vfs::Handle fh) override;
  void dirty(vfs::Ino ino, bool isDirty) override;

  void reserveHandles(vfs::Handle next);  // numbers below are taken
  // Said by the supervisor before it starts a successor: the last worker died by its own fault, and what it was working on is
  // suspect.
  void setCrashed(bool crashed);
  void beat();
  uint64_t beats() const;
  void setSession(uint64_t sid);
  uint64_t session() const;

 private:
  struct Layout;
  CrashState(Layout* layout, size_t bytes);
  void indexOrphan(JournalEntry& entry);

  Layout* const m_;
  const size_t bytes_;
  std::mutex mu_;  // of the indexes below and of the arrays that they describe
  std::unordered_map<vfs::Handle, uint32_t> handleAt_;
  std::unordered_map<vfs::Ino, uint32_t> dirtyAt_;
  std::unordered_map<uint64_t, JournalEntry*> orphanAt_;
  std::vector<uint32_t> freeHandles_, freeDirty_;
  uint32_t handleTop_ = 0, dirtyTop_ = 0;
  bool full_ = false;
};

}  // namespace aquifer::fuse
