#include "chunk/cache/block_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/page_ledger.h"

namespace aquifer::chunk {

namespace {

constexpr uint16_t kFooterMagic = 0x4653;

bool dropsPageCache() {
  static const bool on = std::getenv("JFS_DROP_OSCACHE") != nullptr;
  return on;
}

// Takes what has been transferred off the front.
void skip(iovec*& iov, int& count, size_t done) {
  while (count > 0 && done >= iov->iov_len) {
    done -= iov->iov_len;
    ++iov, --count;
  }
  if (count > 0) {
    iov->iov_base = static_cast<char*>(iov->iov_base) + done;
    iov->iov_len -= done;
  }
}

// Fills all of iov or fails; a file that ends early is corrupt (it was cut after it was opened).
Status readFully(int fd, iovec* iov, int count, uint64_t off) {
  while (count > 0) {
    const ssize_t got = preadv(fd, iov, count, static_cast<off_t>(off));
    if (got < 0) {
      if (errno == EINTR) continue;
      return errnoStatus(errno);
    }
    if (got == 0) return Status(Code::corrupt, "cached block is cut");
    off += static_cast<uint64_t>(got);
    skip(iov, count, static_cast<size_t>(got));
  }
  return {};
}

Status writeFully(int fd, iovec* iov, int count) {
  for (;;) {
    while (count > 0 && iov->iov_len == 0) ++iov, --count;
    if (count == 0) return {};
    const ssize_t n = ::writev(fd, iov, count);
    if (n < 0) {
      if (errno == EINTR) continue;
      return errnoStatus(errno);
    }
    skip(iov, count, static_cast<size_t>(n));
  }
}

}  // namespace

Status errnoStatus(int error) { return Status(static_cast<Code>(error)); }

std::string crcTrailer(object::Bytes data) {
  std::string out;
  out.reserve(crcPieces(static_cast<uint32_t>(data.size())) * 4);
  for (size_t at = 0; at < data.size(); at += kCrcPiece)
    appendBig<uint32_t>(out, crc32c(data.data() + at, std::min<size_t>(kCrcPiece, data.size() - at)));
  return out;
}

std::string tierFooter(uint8_t tier, bool hasTrailer) {
  if (tier == 0) return {};
  // The pad makes the whole tail a multiple of four exactly when there are checksums: that is how a reader tells.
  const uint8_t pad = hasTrailer ? 2 : 0;
  std::string out;
  appendBig<uint16_t>(out, kFooterMagic);
  appendBig<uint16_t>(out, 14 + pad);
  out += "\x82\xA4tier\xCC";
  out += static_cast<char>(tier);
  out += "\xA3pad\xC4";
  out += static_cast<char>(pad);
  out.append(pad, '\0');
  return out;
}

bool parseTail(uint64_t fileSize, uint32_t n, FileTail* tail) {
  *tail = {};
  if (fileSize < n) return false;
  const uint64_t extra = fileSize - n, trailer = uint64_t{crcPieces(n)} * 4;
  if (extra == 0) return true;
  if (extra % 4 != 0) {
    tail->hasFooter = true;
    return true;
  }
  if (extra < trailer) return false;
  tail->hasTrailer = true;
  tail->hasFooter = extra > trailer;
  return true;
}

uint8_t parseTierFooter(std::string_view footer) {
  ByteReader r(footer);
  if (r.big<uint16_t>() != kFooterMagic || !r.ok()) return 0;
  auto map = r.take(r.big<uint16_t>());
  if (!r.ok() || map.empty() || (static_cast<uint8_t>(map[0]) & 0xF0) != 0x80) return 0;
  const auto at = map.find("\xA4tier");
  if (at == std::string_view::npos) return 0;
  map.remove_prefix(at + 5);
  if (map.empty()) return 0;
  uint8_t tier = static_cast<uint8_t>(map[0]);
  if (tier == 0xCC) {
    if (map.size() < 2) return 0;
    tier = static_cast<uint8_t>(map[1]);
  }
  return tier <= 3 ? tier : 0;
}

BlockFile::~BlockFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::shared_ptr<BlockFile>> BlockFile::open(const std::string& path, uint32_t n, Checksum level) {
  std::shared_ptr<BlockFile> file(new BlockFile);
  file->fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file->fd_ < 0) return errnoStatus(errno);
  struct stat st {};
  if (fstat(file->fd_, &st) != 0) return errnoStatus(errno);
  FileTail tail;
  if (!parseTail(static_cast<uint64_t>(st.st_size), n, &tail)) return Status(Code::corrupt, "cached block has an impossible size");
  file->n_ = n;
  file->mtime_ = st.st_mtim.tv_sec;
  file->level_ = tail.hasTrailer ? level : Checksum::none;
  file->dropPageCache_ = dropsPageCache();
  if (file->level_ != Checksum::none) {
    file->crcs_.resize(crcPieces(n));
    iovec iov{file->crcs_.data(), file->crcs_.size() * 4};
    TRY(readFully(file->fd_, &iov, 1, n));
    for (auto& c : file->crcs_) c = toBig(c);
  }
  if (tail.hasFooter) {
    const uint64_t at = n + (tail.hasTrailer ? uint64_t{crcPieces(n)} * 4 : 0);
    std::string footer(std::min<uint64_t>(static_cast<uint64_t>(st.st_size) - at, 4096), '\0');
    iovec iov{footer.data(), footer.size()};
    TRY(readFully(file->fd_, &iov, 1, at));
    file->tier_ = parseTierFooter(footer);
  }
  return file;
}

Status BlockFile::read(uint32_t off, object::MutableBytes out) const {
  if (off > n_ || out.size() > n_ - off) return Code::invalid;
  if (out.empty()) return {};
  const uint32_t end = off + static_cast<uint32_t>(out.size());
  const bool whole = off == 0 && end == n_;
  uint32_t from = off, to = end;  // what is checked
  switch (level_) {
    case Checksum::none: from = to = 0; break;
    case Checksum::full:
      if (!whole) from = to = 0;
      break;
    case Checksum::shrink:
      from = (off + kCrcPiece - 1) / kCrcPiece * kCrcPiece;
      to = end == n_ ? end : end / kCrcPiece * kCrcPiece;
      if (from >= to) from = to = 0;
      break;
    case Checksum::extend:
      from = off / kCrcPiece * kCrcPiece;
      to = std::min<uint32_t>(n_, (end + kCrcPiece - 1) / kCrcPiece * kCrcPiece);
      break;
  }
  // One preadv: what lies outside the request but in its pieces goes to scratch, the rest straight to the caller.
  thread_local std::array<std::byte, kCrcPiece> head, tail;
  const uint32_t start = from < to ? std::min(from, off) : off, stop = from < to ? std::max(to, end) : end;
  iovec iov[3];
  int count = 0;
  if (start < off) iov[count++] = {head.data(), off - start};
  iov[count++] = {out.data(), out.size()};
  if (stop > end) iov[count++] = {tail.data(), stop - end};
  TRY(readFully(fd_, iov, count, start));
  if (dropPageCache_) (void)posix_fadvise(fd_, start, stop - start, POSIX_FADV_DONTNEED);
  dropReadPages(fd_, start, stop - start);
  for (uint32_t at = from; at < to;) {
    const uint32_t pieceEnd = std::min(to, at / kCrcPiece * kCrcPiece + kCrcPiece);
    uint32_t crc = 0, p = at;
    if (p < off) {
      const uint32_t e = std::min(pieceEnd, off);
      crc = crc32c(head.data() + (p - start), e - p, crc);
      p = e;
    }
    if (p < pieceEnd && p < end) {
      const uint32_t e = std::min(pieceEnd, end);
      crc = crc32c(out.data() + (p - off), e - p, crc);
      p = e;
    }
    if (p < pieceEnd) crc = crc32c(tail.data() + (p - end), pieceEnd - p, crc);
    if (crc != crcs_[at / kCrcPiece]) return Status(Code::corrupt, "checksum of a cached block is wrong");
    at = pieceEnd;
  }
  return {};
}

uint32_t dirModeFor(uint32_t fileMode) {
  uint32_t mode = fileMode;
  for (uint32_t shift : {6u, 3u, 0u})
    if (fileMode & (4u << shift)) mode |= 3u << shift;
  return mode;
}

Status makeDirs(const std::string& path, uint32_t mode, bool fix) {
  if (::mkdir(path.c_str(), mode) == 0) {
    // The umask has taken bits away that the group is meant to have.
    if (::chmod(path.c_str(), mode) != 0) return errnoStatus(errno);
    return {};
  }
  if (errno == EEXIST) {
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) return errnoStatus(errno);
    if (!S_ISDIR(st.st_mode)) return Code::notDirectory;
    if (fix && st.st_uid == ::geteuid() && (st.st_mode & 07777) != mode) (void)::chmod(path.c_str(), mode);
    return {};
  }
  if (errno != ENOENT) return errnoStatus(errno);
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return Code::notFound;
  TRY(makeDirs(path.substr(0, slash), mode));
  if (::mkdir(path.c_str(), mode) == 0) {
    if (::chmod(path.c_str(), mode) != 0) return errnoStatus(errno);
    return {};
  }
  return errno == EEXIST ? Status() : errnoStatus(errno);
}

Status writeBlockFile(const std::string& path, object::Bytes data, std::string_view trailer, std::string_view footer, uint32_t mode,
                      uint32_t dirMode) {
  const std::string tmp = path + ".tmp";
  const uint64_t bytes = data.size() + trailer.size() + footer.size();
  PageGrant pages(bytes);
  int fd = -1;
  // The folder may be removed as an empty one between its making and the open: once more, then give up.
  for (int attempt = 0; attempt < 5; ++attempt) {
    fd = ::open(tmp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd >= 0 || errno != ENOENT) break;
    if (auto s = makeDirs(path.substr(0, path.find_last_of('/')), dirMode); !s && !s.is(Code::notFound)) return s;
  }
  if (fd < 0) return errnoStatus(errno);
  // One call: with 128 KiB files the calls are what caching costs.
  iovec iov[] = {{const_cast<std::byte*>(data.data()), data.size()},
                 {const_cast<char*>(trailer.data()), trailer.size()},
                 {const_cast<char*>(footer.data()), footer.size()}};
  Status s = writeFully(fd, iov, 3);
  if (s && dropsPageCache()) (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  if (s) pages.wrote(fd, 0, bytes);
  if (::close(fd) != 0 && s) s = errnoStatus(errno);
  if (s && ::rename(tmp.c_str(), path.c_str()) != 0) s = errnoStatus(errno);
  if (!s) (void)::unlink(tmp.c_str());
  return s;
}

}  // namespace aquifer::chunk
