// Objects as files: bucket string + key is the path, so a bucket normally ends in '/'.
//
// A put writes a temporary file beside the final one and renames it: readers see the old object, the new one or none. Nothing
// is synced to disk: the bytes survive the process, not the machine, as with the other clients of this layout.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "base/page_ledger.h"
#include "base/random.h"
#include "object/drivers/drivers.h"
#include "object/drivers/file_list.h"

namespace aquifer::object {

namespace {

constexpr size_t kListBatch = 16 * 1024;  // names per folder in memory; a block folder holds about that many
constexpr size_t kWritePiece = 4u << 20;
constexpr size_t kTempNameBytes = 200;    // of the object's own name in the temporary one, which has to stay below 255

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

// "..": the bucket would not hold what is in it. NUL: the path would end there.
Status checkKey(std::string_view key) {
  if (key.find('\0') != std::string_view::npos) return {Code::invalid, "a key must not contain a zero byte"};
  for (size_t at = 0; at <= key.size();) {
    const size_t slash = std::min(key.find('/', at), key.size());
    if (key.substr(at, slash - at) == "..") return {Code::invalid, "a key must not contain `..`: " + std::string(key)};
    at = slash + 1;
  }
  return {};
}

// Every folder above the last '/' of `path`.
Status makeFolders(const std::string& path) {
  const size_t last = path.rfind('/');
  if (last == std::string::npos || last == 0) return {};
  // From the bottom up to the first that exists, then down again: usually one folder is missing.
  std::vector<size_t> missing;
  for (size_t end = last; end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
    const std::string folder = path.substr(0, end);
    if (mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) break;
    if (errno != ENOENT) return statusOfErrno(errno, "mkdir " + folder);
    missing.push_back(end);
  }
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    const std::string folder = path.substr(0, *it);
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return statusOfErrno(errno, "mkdir " + folder);
  }
  return {};
}

// `.jfs.<name>.tmp.<number>` beside the object. Numbers are unique in this process; O_EXCL sorts out the others.
std::string tempPath(const std::string& path) {
  static std::atomic<uint64_t> next{randomU64() >> 16};
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, name) + ".jfs." + path.substr(name, kTempNameBytes) + ".tmp." + std::to_string(next.fetch_add(1));
}

// In pieces, so that the bound on dirty pages holds for objects of any size.
Status writeAll(int fd, Bytes data, const std::string& path) {
  for (uint64_t done = 0; done < data.size();) {
    const Bytes piece = data.subspan(done, std::min<size_t>(data.size() - done, kWritePiece));
    PageGrant pages(piece.size());
    for (size_t at = 0; at < piece.size();) {
      const ssize_t n = ::write(fd, piece.data() + at, piece.size() - at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return statusOfErrno(errno, "write " + path);
      at += static_cast<size_t>(n);
    }
    pages.wrote(fd, done, piece.size());
    done += piece.size();
  }
  return {};
}

class FileObjectStore : public ObjectStore {
 public:
  explicit FileObjectStore(std::string bucket) : bucket_(std::move(bucket)) {}

  std::string describe() const override { return "file://" + bucket_; }
  Capabilities capabilities() const override { return {}; }
  Status create() override { return makeFolders(bucket_); }

  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override {
    TRY_ASSIGN(const std::string path, pathOf(key));
    File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd() < 0) return statusOfErrno(errno, "open " + path);
    if (off > static_cast<uint64_t>(INT64_MAX) - out.size()) return size_t{0};  // past the end of any file
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = pread(file.fd(), out.data() + done, out.size() - done, static_cast<off_t>(off + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EISDIR) return size_t{0};  // a folder is an empty object
      if (n < 0) return statusOfErrno(errno, "read " + path);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    if (done) dropReadPages(file.fd(), off, done);
    return done;
  }

  Status put(std::string_view key, Bytes data, uint8_t) override {
    if (key.empty()) return {Code::invalid, "an object needs a key"};
    TRY_ASSIGN(const std::string path, pathOf(key));
    if (path.back() == '/') return makeFolders(path);
    std::string temp;
    TRY_ASSIGN(File file, openTemp(path, &temp));
    Status result = writeAll(file.fd(), data, temp);
    // A network file system tells of a full disk here.
    if (file.close() != 0 && result && errno != EINTR) result = statusOfErrno(errno, "close " + temp);
    if (result && ::rename(temp.c_str(), path.c_str()) != 0) result = statusOfErrno(errno, "rename " + temp);
    if (!result) ::unlink(temp.c_str());
    return result;
  }

  Status remove(std::string_view key) override {
    if (key.empty()) return {Code::invalid, "an object needs a key"};
    TRY_ASSIGN(const std::string path, pathOf(key));
    const bool folder = path.back() == '/';
    int rc = folder ? ::rmdir(path.c_str()) : ::unlink(path.c_str());
    if (rc != 0 && !folder && errno == EISDIR) rc = ::rmdir(path.c_str());
    if (rc == 0 || errno == ENOENT || errno == ENOTDIR) return {};
    return statusOfErrno(errno, "remove " + path);
  }

  Result<ObjectInfo> head(std::string_view key) override {
    TRY_ASSIGN(const std::string path, pathOf(key));
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) return statusOfErrno(errno, "stat " + path);
    ObjectInfo info{.key = std::string(key), .mtime = st.st_mtim.tv_sec, .isDir = S_ISDIR(st.st_mode)};
    if (info.isDir) {
      if (!info.key.empty() && info.key.back() != '/') info.key += '/';
    } else {
      info.size = static_cast<uint64_t>(st.st_size);
    }
    return info;
  }

  Status list(std::string_view prefix, std::string_view startAfter,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    TRY(checkKey(prefix));
    return listTree(bucket_, prefix, startAfter, visit, kListBatch);
  }

 private:
  Result<std::string> pathOf(std::string_view key) const {
    TRY(checkKey(key));
    std::string path;
    path.reserve(bucket_.size() + key.size());
    path += bucket_;
    path += key;
    return path;
  }

  // Parents are made only when the file cannot be: nearly every put finds its folder there.
  static Result<File> openTemp(const std::string& path, std::string* temp) {
    constexpr int kTries = 8;
    int error = 0;
    for (int i = 0; i < kTries; i++) {
      *temp = tempPath(path);
      File file(open(temp->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file.fd() >= 0) return file;
      error = errno;
      if (error == ENOENT)
        TRY(makeFolders(path));
      else if (error != EEXIST)
        break;
    }
    return statusOfErrno(error, "open " + *temp);
  }

  const std::string bucket_;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> openFileDriver(const StoreConfig& config) {
  std::string_view bucket = config.bucket;
  if (bucket.starts_with("file://")) bucket.remove_prefix(7);
  if (bucket.empty()) return Status(Code::config, "storage `file` needs a folder as its bucket");
  if (bucket.find('\0') != std::string_view::npos) return Status(Code::config, "a folder's name cannot contain a zero byte");
  return std::unique_ptr<ObjectStore>(std::make_unique<FileObjectStore>(std::string(bucket)));
}

}  // namespace aquifer::object
