// Rates of a metadata store through its transaction interface, with bodies shaped like the operations of a file system.
//   meta_store_bench [url] [seconds per row] [threads…]        default: a fresh SQLite file under /tmp, 2 s, 1 2 4 8
#include <stdlib.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "meta/store/registry.h"
#include "meta/store/with_txn.h"

using namespace aquifer;
using namespace aquifer::meta;

namespace {

constexpr int64_t kSkip = 100'000'000;  // a directory's times change at most every 100 ms

Time now() {
  auto n = unixNanos();
  return {n / 1'000'000'000, static_cast<uint32_t>(n % 1'000'000'000)};
}

Attr nodeOf(FileType type, Ino parent) {
  Attr a;
  a.type = type;
  a.mode = 0755;
  a.nlink = type == FileType::directory ? 2 : 1;
  a.length = type == FileType::directory ? 4096 : 0;
  a.parent = parent;
  a.atime = a.mtime = a.ctime = now();
  return a;
}

// Processor time of this process, user and system: on a busy machine the rate says less than this.
double cpuSeconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

class Bench {
 public:
  Bench(MetaStore& store, double seconds) : store_(store), seconds_(seconds) {}

  void setUp(int threads) {
    threads_ = threads;
    made_.assign(static_cast<size_t>(threads), {});
    for (int i = 0; i < threads; ++i) {
      dirs_.push_back(nextIno_++);
      check(withTxn(store_, {.operation = "mkdir"}, [&](MetaTxn& t) -> Status {
        t.put(key::node(dirs_.back()), nodeOf(FileType::directory, 1));
        t.put(key::dirStat(dirs_.back()), DirStat{});
        return {};
      }));
    }
  }

  Status create(int thread, uint64_t i) {
    Ino dir = dirs_[static_cast<size_t>(thread)], ino = nextIno_++;
    auto name = "file" + std::to_string(i);
    made_[static_cast<size_t>(thread)] = i + 1;
    return withTxn(store_, {.operation = "create"}, [&](MetaTxn& t) -> Status {
      t.shared(dir);
      TRY(t.node(dir, kFieldsParent));
      TRY_ASSIGN(auto found, t.lookup(dir, name));
      if (found) return Code::exists;
      t.insert(key::node(ino), nodeOf(FileType::regular, dir));
      t.insert(key::dentry(dir, name), Dentry{FileType::regular, ino});
      t.touch(dir, now(), kSkip);
      t.addDirStat(dir, {0, 4096, 1});
      t.add(key::counter(counter::kUsedSpace), 4096);
      t.add(key::counter(counter::kTotalInodes), 1);
      return {};
    });
  }

  Status lookup(int thread, uint64_t i) {
    auto name = "file" + std::to_string(i % made_[static_cast<size_t>(thread)]);
    return withRead(store_, "lookup", [&](MetaTxn& t) -> Status {
      TRY_ASSIGN(auto found, t.lookup(dirs_[static_cast<size_t>(thread)], name));
      return found && found->attr ? Status() : Status(Code::notFound);
    });
  }

  Status getattr(int thread, uint64_t) {
    return withRead(store_, "getattr", [&](MetaTxn& t) -> Status { return t.node(dirs_[static_cast<size_t>(thread)]).status(); });
  }

  Status write(int thread, uint64_t i) {
    Ino dir = dirs_[static_cast<size_t>(thread)];
    auto name = "file" + std::to_string(i % made_[static_cast<size_t>(thread)]);
    SliceId slice = nextSlice_++;
    uint32_t records = 0;
    return withTxn(store_, {.operation = "write"}, [&](MetaTxn& t) -> Status {
      TRY_ASSIGN(auto found, t.lookup(dir, name));
      if (!found || !found->attr) return Code::notFound;
      auto attr = *found->attr;
      attr.length += 4096;
      attr.mtime = attr.ctime = now();
      t.appendSlice(found->dentry.ino, 0, {0, slice, 4096, 0, 4096}, &records);
      t.insert(key::sliceRef(slice, 4096), int64_t{1});
      t.put(key::node(found->dentry.ino), attr);
      t.addDirStat(dir, {4096, 4096, 0});
      t.add(key::counter(counter::kUsedSpace), 4096);
      return {};
    });
  }

  Status list(int thread, uint64_t) {
    return withRead(store_, "readdir",
                    [&](MetaTxn& t) -> Status { return t.listDir(dirs_[static_cast<size_t>(thread)], "", 1000, true).status(); });
  }

  Status unlink(int thread, uint64_t i) {
    Ino dir = dirs_[static_cast<size_t>(thread)];
    if (i >= made_[static_cast<size_t>(thread)]) return Code::noAttribute;  // all gone
    auto name = "file" + std::to_string(i);
    return withTxn(store_, {.operation = "unlink"}, [&](MetaTxn& t) -> Status {
      t.shared(dir);
      TRY(t.node(dir, kFieldsParent));
      TRY_ASSIGN(auto found, t.lookup(dir, name));
      if (!found || !found->attr) return Code::notFound;
      t.erase(key::dentry(dir, name));
      t.erase(key::node(found->dentry.ino));
      t.put(key::delFile(found->dentry.ino, found->attr->length), unixSeconds());
      t.touch(dir, now(), kSkip);
      t.addDirStat(dir, {0, -4096, -1});
      t.add(key::counter(counter::kUsedSpace), -4096);
      t.add(key::counter(counter::kTotalInodes), -1);
      return {};
    });
  }

  void measure(const char* name, const std::function<Status(int, uint64_t)>& one) {
    std::atomic<uint64_t> done{0};
    auto started = monotonicNanos();
    auto cpu = cpuSeconds();
    auto until = started + static_cast<int64_t>(seconds_ * 1e9);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads_; ++t)
      workers.emplace_back([&, t] {
        uint64_t i = 0;
        for (; monotonicNanos() < until; ++i) {
          auto s = one(t, i);
          if (s.is(Code::noAttribute)) break;
          check(s);
        }
        done += i;
      });
    for (auto& w : workers) w.join();
    double elapsed = static_cast<double>(monotonicNanos() - started) * 1e-9;
    auto n = static_cast<double>(done);
    std::printf("%-10s %2d threads %10.0f /s %9.2f us latency %8.2f us of processor each\n", name, threads_, n / elapsed,
                elapsed * 1e6 * threads_ / n, (cpuSeconds() - cpu) * 1e6 / n);
    std::fflush(stdout);
  }

 private:
  static void check(const Status& s) {
    if (s) return;
    std::fprintf(stderr, "%s\n", s.text().c_str());
    std::exit(1);
  }
  MetaStore& store_;
  double seconds_;
  int threads_ = 1;
  std::vector<Ino> dirs_;
  std::vector<uint64_t> made_;
  std::atomic<Ino> nextIno_{2};
  std::atomic<SliceId> nextSlice_{1};
};

}  // namespace

int main(int argc, char** argv) {
  std::string directory, url = argc > 1 ? argv[1] : "";
  if (url.empty()) {
    char pattern[] = "/tmp/meta-store-bench-XXXXXX";
    directory = ::mkdtemp(pattern);
    url = "sqlite3://" + directory + "/meta.db";
  }
  double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  std::vector<int> threads;
  for (int i = 3; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
  if (threads.empty()) threads = {1, 2, 4, 8};
  {
    auto store = openStore(url, {.create = true});
    if (!store || !(*store)->prepareSchema(true)) {
      std::fprintf(stderr, "cannot open %s\n", maskUrl(url).c_str());
      return 1;
    }
    for (int n : threads) {
      if (!(*store)->drop() || !(*store)->prepareSchema(true)) return 1;
      Bench b(**store, seconds);
      b.setUp(n);
      b.measure("create", [&](int t, uint64_t i) { return b.create(t, i); });
      b.measure("lookup", [&](int t, uint64_t i) { return b.lookup(t, i); });
      b.measure("getattr", [&](int t, uint64_t i) { return b.getattr(t, i); });
      b.measure("list 1000", [&](int t, uint64_t i) { return b.list(t, i); });
      b.measure("write", [&](int t, uint64_t i) { return b.write(t, i); });
      b.measure("unlink", [&](int t, uint64_t i) { return b.unlink(t, i); });
    }
  }
  if (!directory.empty()) std::filesystem::remove_all(directory);
  return 0;
}
