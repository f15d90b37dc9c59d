#include "chunk/file_reader.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "chunk/file_data_impl.h"
#include "chunk/file_writer.h"
#include "chunk/parallel.h"

namespace aquifer::chunk {

namespace {

constexpr size_t kPiecesAtOnce = 16;

// Calls fn(piece, offset in the range, count) for the painted pieces that meet [pos, pos+len) of the chunk.
template <class Fn>
void eachPiece(const ChunkView& view, uint32_t pos, uint32_t len, const Fn& fn) {
  const uint32_t end = pos + len;
  auto it = std::partition_point(view.begin(), view.end(), [&](const meta::Slice& s) { return s.pos + s.len <= pos; });
  for (; it != view.end() && it->pos < end; ++it) {
    const uint32_t from = std::max(pos, it->pos), to = std::min(end, it->pos + it->len);
    if (from < to) fn(*it, from, to - from);
  }
}

int64_t retryDelayMs(int attempt) { return attempt < 30 ? (attempt - 1) * 300 + 1 : 10'000; }

}  // namespace

FileReaderImpl::FileReaderImpl(FileDataImpl& data, meta::Ino ino)
    : data_(data),
      ino_(ino),
      readAhead_(data.blocks().config().blockSize, data.blocks().config().maxReadahead, data.blocks().buffers().limit()) {}

FileReaderImpl::Failure FileReaderImpl::readOnce(uint64_t off, object::MutableBytes out) {
  struct Piece {
    meta::Slice slice;
    uint32_t off;
    object::MutableBytes out;
  };
  std::vector<Piece> missing;
  for (uint64_t at = off, end = off + out.size(); at < end;) {
    const auto index = static_cast<uint32_t>(at >> meta::kChunkBits);
    const auto pos = static_cast<uint32_t>(at & (meta::kChunkSize - 1));
    const auto n = static_cast<uint32_t>(std::min<uint64_t>(end - at, meta::kChunkSize - pos));
    auto view = data_.views().get(ino_, index);
    if (!view) return {std::move(view).status(), true};
    const auto part = out.subspan(at - off, n);
    uint32_t filled = pos;   // everything before is filled
    eachPiece(**view, pos, n, [&](const meta::Slice& s, uint32_t from, uint32_t count) {
      if (from > filled) std::memset(part.data() + (filled - pos), 0, from - filled);
      filled = from + count;
      const auto target = part.subspan(from - pos, count);
      const uint32_t inSlice = s.off + (from - s.pos);
      if (s.id == 0)
        std::memset(target.data(), 0, target.size());
      else if (!data_.blocks().readCached(s.id, s.size, inSlice, target))
        missing.push_back({s, inSlice, target});
    });
    if (filled < pos + n) std::memset(part.data() + (filled - pos), 0, pos + n - filled);
    at += n;
  }
  return {parallelFor(data_.pool(), missing.size(), kPiecesAtOnce, [&](size_t i) {
    return data_.blocks().read(missing[i].slice.id, missing[i].slice.size, missing[i].off, missing[i].out);
  })};
}

Result<size_t> FileReaderImpl::read(uint64_t off, object::MutableBytes out, uint64_t fileLength,
                                    const std::function<bool()>& interrupted) {
  if (off >= fileLength || out.empty()) return size_t{0};
  out = out.first(std::min<uint64_t>(out.size(), fileLength - off));
  // First what is only in memory, then the rest as committed: what moves from here to there meanwhile is seen at one of them.
  std::vector<ByteRange> covered;
  if (data_.anyDirty()) {
    if (auto w = data_.find(ino_)) {
      TRY_ASSIGN(const bool copied, w->overlay(off, out, covered, interrupted));
      if (!copied) {
        covered.clear();
        // What the flush meets is the business of those who wrote.
        if (auto s = w->flush(interrupted); s.is(Code::interrupted)) return s;
      }
    }
  }
  uint64_t at = off;
  const uint64_t end = off + out.size();
  for (const ByteRange& r : covered) {
    if (at < r.begin) TRY(readStored(at, out.subspan(at - off, r.begin - at), interrupted));
    at = r.end;
  }
  if (at < end) {
    TRY(readStored(at, out.subspan(at - off, end - at), interrupted));
    readAhead(off, out.size(), fileLength);
  }
  return out.size();
}

// The committed bytes. A block that fails is tried again, with a fresh slice list.
Status FileReaderImpl::readStored(uint64_t off, object::MutableBytes out, const std::function<bool()>& interrupted) {
  const int retries = data_.blocks().config().ioRetries;
  bool relisted = false;
  for (int attempt = 0;; ++attempt) {
    auto failure = readOnce(off, out);
    if (failure.status) return {};
    data_.views().invalidate(ino_, off, out.size());
    if (failure.metadata && failure.status.is(Code::notFound)) return Code::badHandle;
    // A block that is gone was most likely compacted by somebody: the fresh list names another.
    if (!relisted && failure.status.is(Code::notFound)) {
      relisted = true;
      --attempt;
      continue;
    }
    if (attempt >= retries) {
      LOG_ERROR("read inode {} [{}, +{}): {}", ino_, off, out.size(), failure.status.text());
      return Status(Code::io, failure.status.text());
    }
    LOG_WARN("read inode {} [{}, +{}), attempt {}: {}", ino_, off, out.size(), attempt + 1, failure.status.text());
    for (int64_t until = monotonicNanos() + retryDelayMs(attempt + 1) * 1'000'000; monotonicNanos() < until;) {
      if (interrupted && interrupted()) return Code::interrupted;
      sleepMs(std::clamp<int64_t>((until - monotonicNanos()) / 1'000'000, 1, 100));
    }
  }
}

void FileReaderImpl::readAhead(uint64_t off, uint64_t len, uint64_t fileLength) {
  const auto range = readAhead_.next(off, len, fileLength, data_.blocks().buffers().used());
  for (uint64_t at = range.off, end = range.off + range.len; at < end;) {
    const auto index = static_cast<uint32_t>(at >> meta::kChunkBits);
    const auto pos = static_cast<uint32_t>(at & (meta::kChunkSize - 1));
    const auto n = static_cast<uint32_t>(std::min<uint64_t>(end - at, meta::kChunkSize - pos));
    auto plan = [&data = data_, ino = ino_, index, pos, n] {
      auto view = data.views().get(ino, index);
      if (!view) return;
      eachPiece(**view, pos, n, [&](const meta::Slice& s, uint32_t from, uint32_t count) {
        if (s.id) data.blocks().prefetch(s.id, s.size, s.off + (from - s.pos), count);
      });
    };
    // The list of the chunk just read is at hand; that of the next one may be a trip to the metadata.
    if (index == (off + len - 1) >> meta::kChunkBits)
      plan();
    else
      (void)data_.pool().trySubmit(plan);
    at += n;
  }
}

}  // namespace aquifer::chunk
