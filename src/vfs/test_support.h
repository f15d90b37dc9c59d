// For the tests of this folder and the model test: a volume in memory (or in a SQLite file, for several clients), and file systems on it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "meta/ops/meta.h"
#include "meta/store/registry.h"
#include "vfs/data_hooks.h"
#include "vfs/vfs.h"

namespace aquifer::vfs::testing {

inline std::span<const std::byte> bytesOf(std::string_view s) { return {reinterpret_cast<const std::byte*>(s.data()), s.size()}; }

// One client: metadata, blocks and file system, torn down in the right order.
struct Client {
  std::unique_ptr<meta::Meta> meta;
  std::unique_ptr<chunk::BlockStore> blocks;
  std::unique_ptr<Vfs> vfs;
  ~Client() {
    vfs.reset();
    if (meta) {
      meta->setDataHooks({});
      EXPECT_TRUE(meta->closeSession().isOk());
    }
    if (blocks) {
      EXPECT_TRUE(blocks->close().isOk());
    }
    meta.reset();
  }
};

class Volume {
 public:
  enum class Kind { mem, sqlite };
  explicit Volume(Kind kind = Kind::mem, const std::function<void(meta::Format&)>& tweak = {}) {
    static std::atomic<int> number{0};
    name_ = "vfs_" + std::to_string(getpid()) + "_" + std::to_string(number++);
    if (kind == Kind::sqlite) {
      dir_ = std::filesystem::temp_directory_path() / ("aquifer_" + name_);
      std::filesystem::create_directories(dir_);
      url_ = "sqlite3://" + (dir_ / "meta.db").string();
    } else {
      url_ = "mem://" + name_;
    }
    format_.name = "vol";
    format_.uuid = "6a8a5a8e-6d5c-4f4c-9d3f-3d6b8f7f0c11";
    format_.storage = "mem";
    format_.bucket = name_;
    format_.trashDays = 0;
    if (tweak) tweak(format_);
    auto meta = open({});
    EXPECT_TRUE(meta->init(format_, false).isOk());
  }
  ~Volume() {
    if (!dir_.empty()) std::filesystem::remove_all(dir_);
  }

  static VfsConfig plain() {
    VfsConfig c;
    c.enableXattr = true;
    return c;
  }
  std::unique_ptr<Client> mount(const VfsConfig& config = plain(), meta::MetaConfig metaConfig = quiet(), bool cache = true) {
    auto client = std::make_unique<Client>();
    client->meta = open(metaConfig);
    EXPECT_TRUE(client->meta->load(true).isOk());
    EXPECT_TRUE(client->meta->openSession().isOk());
    object::StoreConfig objects;
    objects.storage = "mem";
    objects.bucket = name_;
    objects.volumeName = format_.name;
    objects.metrics = false;
    auto store = object::openObjectStore(objects);
    EXPECT_TRUE(store.isOk());
    chunk::BlockConfig blocks;
    blocks.blockSize = format_.blockSize();
    blocks.uuid = format_.uuid;
    blocks.cacheDirs = cache ? "memory" : "";
    blocks.cacheSize = cache ? 256u << 20 : 0;
    blocks.bufferSize = 64u << 20;
    auto opened = chunk::openBlockStore(*std::move(store), blocks);
    EXPECT_TRUE(opened.isOk());
    client->blocks = *std::move(opened);
    wireDataHooks(*client->meta, *client->blocks);
    client->vfs = makeVfs(*client->meta, *client->blocks, config);
    return client;
  }
  static meta::MetaConfig quiet() {
    meta::MetaConfig c;
    c.noBgJob = true;
    c.heartbeat = std::chrono::minutes(10);
    c.version = "1.4.2";
    c.skipDirMtime = std::chrono::nanoseconds(0);
    return c;
  }
  const std::string& url() const { return url_; }

 private:
  std::unique_ptr<meta::Meta> open(meta::MetaConfig config) {
    auto store = meta::openStore(url_, {.create = true});
    EXPECT_TRUE(store.isOk());
    return meta::makeMeta(*std::move(store), config);
  }
  std::string name_, url_;
  std::filesystem::path dir_;
  meta::Format format_;
};

// Short forms over a Vfs, as root.
class Fs {
 public:
  explicit Fs(Vfs& vfs) : vfs(vfs) {}
  Vfs& vfs;
  Context ctx;

  struct File {
    Ino ino = 0;
    Handle fh = 0;
    uint32_t flags = 0;
  };
  File create(Ino parent, const std::string& name, uint32_t flags = O_RDWR, uint16_t mode = 0644) {
    auto r = vfs.create(ctx, parent, name, mode, 022, flags, 0);
    EXPECT_TRUE(r.isOk()) << name << ": " << r.status().text();
    return r ? File{r->first.ino, r->second.fh, flags} : File{};
  }
  File open(Ino ino, uint32_t flags = O_RDWR) {
    auto r = vfs.open(ctx, ino, flags);
    EXPECT_TRUE(r.isOk()) << r.status().text();
    return r ? File{ino, r->fh, flags} : File{};
  }
  Status write(const File& f, uint64_t off, std::string_view data) {
    auto r = vfs.write(ctx, f.ino, f.fh, off, bytesOf(data), f.flags);
    if (r) {
      EXPECT_EQ(*r, data.size());
    }
    return r.status();
  }
  std::string read(const File& f, uint64_t off, size_t n) {
    std::string out(n, '\xEE');
    auto r = vfs.read(ctx, f.ino, f.fh, off, {reinterpret_cast<std::byte*>(out.data()), n}, f.flags);
    EXPECT_TRUE(r.isOk()) << r.status().text();
    out.resize(r ? *r : 0);
    return out;
  }
  void close(const File& f) {
    EXPECT_TRUE(vfs.flush(ctx, f.ino, f.fh, 1).isOk());
    EXPECT_TRUE(vfs.release(ctx, f.ino, f.fh, f.flags, 0, false).isOk());
  }
  void put(Ino parent, const std::string& name, std::string_view data) {
    auto f = create(parent, name);
    EXPECT_TRUE(write(f, 0, data).isOk());
    close(f);
  }
  std::string get(Ino ino) {
    auto f = open(ino, O_RDONLY);
    auto s = read(f, 0, attr(ino).attr.length);
    close(f);
    return s;
  }
  Ino mkdir(Ino parent, const std::string& name) {
    auto r = vfs.mkdir(ctx, parent, name, 0755, 0, 0);
    EXPECT_TRUE(r.isOk()) << name << ": " << r.status().text();
    return r ? r->ino : 0;
  }
  EntryReply attr(Ino ino) {
    auto r = vfs.getattr(ctx, ino, 0);
    EXPECT_TRUE(r.isOk()) << r.status().text();
    return r ? *r : EntryReply();
  }
  Ino find(Ino parent, const std::string& name) {
    auto r = vfs.lookup(ctx, parent, name);
    return r ? r->ino : 0;
  }
  Code truncate(Ino ino, uint64_t size) {
    meta::SetAttr set;
    set.mask = meta::kSetSize;
    return vfs.setattr(ctx, ino, 0, false, set, size).code();
  }
  // All names, `perCall` rows a request, as the kernel asks: each time from the last cookie it used.
  std::vector<std::string> list(Ino dir, size_t perCall = 1000, bool plus = false, const std::function<void(const std::string&)>& each = {}) {
    std::vector<std::string> names;
    auto opened = vfs.opendir(ctx, dir, 0);
    EXPECT_TRUE(opened.isOk()) << opened.status().text();
    if (!opened) return names;
    uint64_t off = 0;
    while (true) {
      std::vector<std::pair<std::string, uint64_t>> rows;
      auto s = vfs.readdir(ctx, dir, opened->fh, off, plus, [&](const DirRow& r) {
        if (rows.size() >= perCall) return false;
        rows.emplace_back(r.name, r.nextOffset);
        return true;
      });
      EXPECT_TRUE(s.isOk()) << s.text();
      if (!s || rows.empty()) break;
      for (auto& [name, next] : rows) {
        off = next;
        if (name == "." || name == "..") continue;
        names.push_back(name);
        if (each) each(name);
      }
    }
    EXPECT_TRUE(vfs.releasedir(ctx, dir, opened->fh).isOk());
    return names;
  }
};

}  // namespace aquifer::vfs::testing
