#include "object/drivers/file_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/log.h"

namespace aquifer::object {

Status statusOfErrno(int error, std::string_view what) {
  Code code = Code::io;
  switch (error) {
    case ENOENT:
    case ENOTDIR: code = Code::notFound; break;
    case EACCES:
    case EPERM: code = Code::accessDenied; break;
    case ENOSPC:
    case EDQUOT: code = Code::noSpace; break;
    case EINVAL: code = Code::invalid; break;
    case ENAMETOOLONG: code = Code::nameTooLong; break;
    case ENOTEMPTY:
    case EEXIST: code = Code::notEmpty; break;
    case EISDIR: code = Code::isDirectory; break;
    case EROFS: code = Code::readOnly; break;
    case ETIMEDOUT: code = Code::timedOut; break;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EBUSY: code = Code::unavailable; break;
    default: break;
  }
  return {code, fmt::format("{}: {}", what, codeText(static_cast<Code>(error)))};
}

namespace {

struct FolderId {
  dev_t device;
  ino_t inode;
  bool operator==(const FolderId&) const = default;
};

enum class Sort { file, folder, other, gone };

Sort sortOf(mode_t mode) { return S_ISREG(mode) ? Sort::file : S_ISDIR(mode) ? Sort::folder : Sort::other; }

Sort sortOf(int folder, const dirent& entry) {
  if (entry.d_type == DT_REG) return Sort::file;
  if (entry.d_type == DT_DIR) return Sort::folder;
  struct stat st {};
  if (entry.d_type == DT_LNK || entry.d_type == DT_UNKNOWN)
    return fstatat(folder, entry.d_name, &st, 0) == 0 ? sortOf(st.st_mode) : Sort::gone;
  return Sort::other;
}

class Walk {
 public:
  Walk(const std::string& bucket, std::string_view startAfter, const std::function<bool(const ObjectInfo&)>& visit, size_t batch)
      : bucket_(bucket), start_(startAfter.empty() ? "" : bucket + std::string(startAfter)), visit_(visit), batch_(batch) {}

  // `path` ends in '/' (or is empty: the working folder). Only names that start with `filter` count.
  Status folder(const std::string& path, std::string_view filter);

 private:
  struct Wanted {
    std::string_view filter;  // beginning of the names
    std::string_view from;    // names after it, and the folder on the way to it; empty: all
    std::string after;        // names after it: the last one of the batch before
    bool operator()(std::string_view name) const {
      if (!name.starts_with(filter)) return false;
      if (!after.empty() && name <= after) return false;
      return from.empty() || name > from || (name.back() == '/' && from.starts_with(name));
    }
  };
  Status readBatch(DIR* dir, const std::string& path, const Wanted& wanted, std::vector<std::string>* names, bool* more) const;
  Status emit(DIR* dir, const std::string& path, const std::string& name);

  const std::string& bucket_;
  const std::string start_;
  const std::function<bool(const ObjectInfo&)>& visit_;
  const size_t batch_;
  std::vector<FolderId> open_;  // from the top down to here
  bool stopped_ = false;
};

// The smallest `batch_` wanted names, in order. `more`: there are others behind them.
Status Walk::readBatch(DIR* dir, const std::string& path, const Wanted& wanted, std::vector<std::string>* names,
                       bool* more) const {
  rewinddir(dir);
  names->clear();
  *more = false;
  auto cut = [&] {
    std::nth_element(names->begin(), names->begin() + static_cast<ptrdiff_t>(batch_), names->end());
    names->resize(batch_);
    *more = true;
  };
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(dir);
    if (!entry) {
      if (errno != 0) return statusOfErrno(errno, "readdir " + path);
      break;
    }
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const Sort sort = sortOf(dirfd(dir), *entry);
    if (sort == Sort::gone) continue;
    if (sort == Sort::other) {
      LOG_WARN("skip {}{}: not a regular file", path, name);
      continue;
    }
    if (sort == Sort::folder) name += '/';
    if (!wanted(name)) continue;
    names->push_back(std::move(name));
    if (names->size() >= 2 * batch_) cut();
  }
  if (names->size() > batch_) cut();
  std::sort(names->begin(), names->end());
  return {};
}

Status Walk::emit(DIR* dir, const std::string& path, const std::string& name) {
  const bool isFolder = name.back() == '/';
  const std::string full = path + name;
  // A folder on the way to the start has been told already; what comes after the start lies in it.
  if ((start_.empty() || full > start_) && full.size() > bucket_.size()) {
    struct stat st {};
    if (fstatat(dirfd(dir), name.c_str(), &st, 0) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return {};  // deleted meanwhile
      return statusOfErrno(errno, "stat " + full);
    }
    ObjectInfo info{.key = full.substr(bucket_.size()), .mtime = st.st_mtim.tv_sec, .isDir = isFolder};
    if (!isFolder) info.size = static_cast<uint64_t>(st.st_size);
    if (!visit_(info)) {
      stopped_ = true;
      return {};
    }
  }
  return isFolder ? folder(full, "") : Status();
}

Status Walk::folder(const std::string& path, std::string_view filter) {
  const int fd = open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return statusOfErrno(errno, "open " + path);
  }
  struct stat st {};
  const FolderId id = fstat(fd, &st) == 0 ? FolderId{st.st_dev, st.st_ino} : FolderId{};
  if (std::find(open_.begin(), open_.end(), id) != open_.end()) {
    close(fd);
    LOG_WARN("skip {}: a link back to a folder above it", path);
    return {};
  }
  DIR* dir = fdopendir(fd);
  if (!dir) {
    const int error = errno;
    close(fd);
    return statusOfErrno(error, "open " + path);
  }
  open_.push_back(id);
  Wanted wanted{.filter = filter};
  if (start_.starts_with(path)) wanted.from = std::string_view(start_).substr(path.size());
  Status result;
  std::vector<std::string> names;
  bool more = true;
  while (more && result && !stopped_) {
    result = readBatch(dir, path, wanted, &names, &more);
    if (!result) break;
    for (const auto& name : names) {
      result = emit(dir, path, name);
      if (!result || stopped_) break;
    }
    if (!names.empty()) wanted.after = names.back();
  }
  open_.pop_back();
  closedir(dir);
  return result;
}

}  // namespace

Status listTree(const std::string& bucket, std::string_view prefix, std::string_view startAfter,
                const std::function<bool(const ObjectInfo&)>& visit, size_t batch) {
  const std::string full = bucket + std::string(prefix);
  const size_t slash = full.rfind('/');
  const size_t nameAt = slash == std::string::npos ? 0 : slash + 1;
  const std::string path = full.substr(0, nameAt);
  // The folder named by a prefix "a/" is an object of that prefix as well, but lies outside the walk.
  return Walk(bucket, startAfter, visit, batch).folder(path, std::string_view(full).substr(nameAt));
}

}  // namespace aquifer::object
