#include "meta/model/codec.h"

#include "base/bytes.h"

namespace aquifer::meta {
namespace {

constexpr size_t kSliceBytes = 24, kDelayedBytes = 12, kLockBytes = 24, kDentryBytes = 9;
constexpr size_t kAttrWithoutParent = 63;  // the oldest records end after rdev
constexpr uint32_t kNanosPerSecond = 1'000'000'000;

void appendTime(std::string& out, const Time& t) {
  appendBig<int64_t>(out, t.sec);
  appendBig<uint32_t>(out, t.nsec);
}

Time readTime(ByteReader& in) {
  Time t;
  t.sec = in.big<int64_t>();
  t.nsec = in.big<uint32_t>() % kNanosPerSecond;  // a damaged value must not break the range that Time promises
  return t;
}

Result<FileType> fileType(unsigned raw) {
  if (raw > static_cast<unsigned>(FileType::socket)) return Status(Code::corrupt, "unknown file type");
  return static_cast<FileType>(raw);
}

}  // namespace

std::string encodeAttr(const Attr& a) {
  std::string out;
  out.reserve(81);
  appendBig<uint8_t>(out, a.flags);
  appendBig<uint16_t>(out, static_cast<uint16_t>((static_cast<unsigned>(a.type) << 12) | (a.mode & 07777)));
  appendBig(out, a.uid);
  appendBig(out, a.gid);
  appendTime(out, a.atime);
  appendTime(out, a.mtime);
  appendTime(out, a.ctime);
  appendBig(out, a.nlink);
  appendBig(out, a.length);
  appendBig(out, a.rdev);
  appendBig(out, a.parent);
  if (a.accessAcl || a.defaultAcl) {
    appendBig(out, a.accessAcl);
    appendBig(out, a.defaultAcl);
  }
  if (a.tier) appendBig(out, a.tier);
  out.push_back('\0');  // other clients write this byte always; backups compare bytes
  return out;
}

Result<Attr> decodeAttr(std::string_view bytes) {
  if (bytes.size() < kAttrWithoutParent) return Status(Code::corrupt, "attribute record is too short");
  ByteReader in(bytes);
  Attr a;
  a.flags = in.big<uint8_t>();
  const auto typeAndMode = in.big<uint16_t>();
  TRY_ASSIGN(a.type, fileType(typeAndMode >> 12));
  a.mode = typeAndMode & 07777;
  a.uid = in.big<uint32_t>();
  a.gid = in.big<uint32_t>();
  a.atime = readTime(in);
  a.mtime = readTime(in);
  a.ctime = readTime(in);
  a.nlink = in.big<uint32_t>();
  a.length = in.big<uint64_t>();
  a.rdev = in.big<uint32_t>();
  // The tail is told by what is left only: the padding byte of a plain record reads as tier 0.
  if (in.left() >= 8) a.parent = in.big<uint64_t>();
  if (in.left() >= 8) {
    a.accessAcl = in.big<uint32_t>();
    a.defaultAcl = in.big<uint32_t>();
  }
  if (in.left() >= 1) a.tier = in.big<uint8_t>();
  return a;
}

std::string encodeDentry(const Dentry& d) {
  std::string out;
  out.reserve(kDentryBytes);
  appendBig<uint8_t>(out, static_cast<uint8_t>(d.type));
  appendBig(out, d.ino);
  return out;
}

Result<Dentry> decodeDentry(std::string_view bytes) {
  if (bytes.size() != kDentryBytes) return Status(Code::corrupt, "directory entry has a wrong length");
  ByteReader in(bytes);
  Dentry d;
  TRY_ASSIGN(d.type, fileType(in.big<uint8_t>()));
  d.ino = in.big<uint64_t>();
  return d;
}

void encodeSlice(std::string& out, const Slice& s) {
  appendBig(out, s.pos);
  appendBig(out, s.id);
  appendBig(out, s.size);
  appendBig(out, s.off);
  appendBig(out, s.len);
}

std::string encodeSlices(const std::vector<Slice>& slices) {
  std::string out;
  out.reserve(slices.size() * kSliceBytes);
  for (const auto& s : slices) encodeSlice(out, s);
  return out;
}

Result<std::vector<Slice>> decodeSlices(std::string_view bytes) {
  if (bytes.size() % kSliceBytes) return Status(Code::corrupt, "slice list is not a multiple of 24 bytes");
  std::vector<Slice> out;
  out.reserve(bytes.size() / kSliceBytes);
  ByteReader in(bytes);
  while (in.left()) {
    Slice s;
    s.pos = in.big<uint32_t>();
    s.id = in.big<uint64_t>();
    s.size = in.big<uint32_t>();
    s.off = in.big<uint32_t>();
    s.len = in.big<uint32_t>();
    if (uint64_t{s.pos} + s.len > kChunkSize) return Status(Code::corrupt, "slice record reaches beyond its chunk");
    if (s.id && uint64_t{s.off} + s.len > s.size) return Status(Code::corrupt, "slice record reaches beyond its slice");
    out.push_back(s);
  }
  return out;
}

std::string encodeDelayed(const std::vector<DelayedSlice>& slices) {
  std::string out;
  out.reserve(slices.size() * kDelayedBytes);
  for (const auto& s : slices) {
    appendBig(out, s.id);
    appendBig(out, s.size);
  }
  return out;
}

Result<std::vector<DelayedSlice>> decodeDelayed(std::string_view bytes) {
  if (bytes.size() % kDelayedBytes) return Status(Code::corrupt, "delayed slices are not a multiple of 12 bytes");
  std::vector<DelayedSlice> out;
  out.reserve(bytes.size() / kDelayedBytes);
  ByteReader in(bytes);
  while (in.left()) {
    DelayedSlice s;
    s.id = in.big<uint64_t>();
    s.size = in.big<uint32_t>();
    out.push_back(s);
  }
  return out;
}

std::string encodeLockRanges(const std::vector<LockRange>& ranges) {
  std::string out;
  out.reserve(ranges.size() * kLockBytes);
  for (const auto& r : ranges) {
    appendBig(out, r.type);
    appendBig(out, r.pid);
    appendBig(out, r.start);
    appendBig(out, r.end);
  }
  return out;
}

Result<std::vector<LockRange>> decodeLockRanges(std::string_view bytes) {
  if (bytes.size() % kLockBytes) return Status(Code::corrupt, "lock record is not a multiple of 24 bytes");
  std::vector<LockRange> out;
  out.reserve(bytes.size() / kLockBytes);
  ByteReader in(bytes);
  while (in.left()) {
    LockRange r;
    r.type = in.big<uint32_t>();
    r.pid = in.big<uint32_t>();
    r.start = in.big<uint64_t>();
    r.end = in.big<uint64_t>();
    out.push_back(r);
  }
  return out;
}

std::string escapeLog(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(bytes.size());
  for (const char c : bytes) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 32 || u >= 127 || c == ',' || c == '%' || c == '(' || c == ')' || c == '"' || c == '\\') {
      out.push_back('%');
      out.push_back(kHex[u >> 4]);
      out.push_back(kHex[u & 15]);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace aquifer::meta
