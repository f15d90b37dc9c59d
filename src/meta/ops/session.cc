// The life of this client's registration: open, renew, hand over, close; and what is left of a dead one.
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {
constexpr int64_t kForever = 365 * 86400;  // lifetime of a session without heartbeats
constexpr size_t kPage = 1000;
constexpr size_t kMaxRootEntries = 100'000;  // a larger root is left to fsck

// A volume that another client made has no statistics of its root until that client flushes some, and operations change
// only statistics that exist. While others have sessions this is left to them: what they have not flushed yet would be
// counted here and then added once more.
Status countRoot(MetaImpl& meta) {
  if (!meta.formatNow()->dirStats) return {};
  bool leave = false;
  TRY(meta.read("countRoot", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(auto stat, tx.find<DirStat>(key::dirStat(kRootIno)));
    leave = stat.has_value();
    if (leave) return {};
    return tx.list({.kind = Kind::session}, [&](const Key&, const Value& value) {
      auto* record = std::get_if<SessionRecord>(&value);
      leave = record && (record->legacy || record->expire > unixSeconds());
      return !leave;
    });
  }));
  if (leave) return {};
  return meta.txn(
      "countRoot",
      [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(auto present, tx.find<DirStat>(key::dirStat(kRootIno)));
        if (present) return {};
        DirStat sum;
        std::string after;
        for (bool more = true; more;) {
          TRY_ASSIGN(auto page, tx.listDir(kRootIno, after, kPage, true));
          for (auto& entry : page) {
            if (!entry.attr) continue;
            if (entry.attr->isRegular()) sum.length += static_cast<int64_t>(entry.attr->length);
            sum.space += spaceOf(*entry.attr);
            sum.inodes++;
          }
          more = page.size() == kPage;
          if (more) after = page.back().name;
          if (sum.inodes > static_cast<int64_t>(kMaxRootEntries)) return {};
        }
        tx.insert(key::dirStat(kRootIno), sum);
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; });
}

}  // namespace

std::string MetaImpl::sessionInfo() const {
  SessionInfo info;
  info.version = config_.version;
  info.hostName = config_.hostName;
  info.mountPoint = config_.mountPoint;
  info.mountTime = mountTime_;
  info.ipAddrs = config_.ipAddrs;
  info.processId = getpid();
  return encodeSessionInfo(info);
}

int64_t MetaImpl::sessionExpiry() const {
  if (config_.heartbeat.count() <= 0) return unixSeconds() + kForever;
  return unixSeconds() + config_.heartbeat.count() * 5 / 1000;
}

Status MetaImpl::refreshSession() {
  auto sid = this->sid();
  if (sid == 0) return {};
  SessionRecord record{.expire = sessionExpiry(), .info = sessionInfo()};
  return txn(
      "refreshSession",
      [&](MetaTxn& tx) -> Status {
        tx.put(key::session(sid), record);
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; });
}

Status MetaImpl::openSession() {
  if (!config_.readOnly) TRY(store_->prepareSchema(false));
  if (formatNow()->uuid.empty())
    TRY(load(true));
  else
    TRY(refreshUsage());
  TRY(prepareRoot());
  if (!config_.readOnly) {
    TRY(countRoot(*this));
    mountTime_ = rfc3339(unixNanos(), true);
    auto sid = config_.reuseSid;
    if (sid == 0) {
      TRY_ASSIGN(auto last, takeIds(counter::kNextSession, 1));
      sid = last + 1;
    } else {
      TRY(read("inheritSustained", [&](MetaTxn& tx) {
        return tx.list({.kind = Kind::sustained, .id = sid}, [&](const Key& key, const Value&) {
          open_.inheritSustained(key.sub);
          return true;
        });
      }));
    }
    SessionRecord record{.expire = sessionExpiry(), .info = sessionInfo()};
    TRY(txn(
        "openSession",
        [&](MetaTxn& tx) -> Status {
          tx.put(key::session(sid), record);
          if (logging()) log(tx, changelog::newSession(sid, record.expire, record.info));
          return {};
        },
        [](MetaTxn&) -> Result<bool> { return false; }));
    sid_.store(sid, std::memory_order_release);
  }
  jobs_->start();
  return {};
}

Status MetaImpl::flushSession() {
  jobs_->stop();
  quitting_.store(true, std::memory_order_release);
  deleter_->stop();
  return config_.readOnly ? Status() : store_->sync();
}

Status MetaImpl::closeSession() {
  TRY(flushSession());
  auto sid = sid_.exchange(0, std::memory_order_acq_rel);
  return sid == 0 ? Status() : cleanSession(sid);
}

Status MetaImpl::dropSustained(SessionId sid, Ino ino) {
  bool purge = false;
  uint64_t length = 0;
  Charge charge(*this);
  TRY(txn(
      "dropSustained",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        purge = false;
        TRY_ASSIGN(auto mark, tx.find<int64_t>(key::sustained(sid, ino)));
        if (!mark) return {};
        TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(ino)));
        tx.erase(key::sustained(sid, ino));
        if (!attr || attr->nlink > 0) return {};
        length = attr->length;
        if (logging()) log(tx, changelog::delSustained(sid, ino));
        TRY_ASSIGN(purge, dropNode(tx, ino, *attr, now(), charge, true));
        return {};
      },
      // Running it again finds no mark if it was committed.
      [](MetaTxn&) -> Result<bool> { return false; }));
  charge.committed();
  if (purge) purgeLater(ino, length);
  return {};
}

Status MetaImpl::cleanSession(SessionId sid) {
  // Locks: a table per inode holds the entries of everybody.
  auto release = [&](Kind kind) -> Status {
    std::vector<Key> held;
    TRY(read("cleanSession", [&](MetaTxn& tx) {
      held.clear();
      return tx.list({.kind = kind}, [&](const Key& key, const Value& value) {
        auto mine = [&](auto* table) {
          if (!table) return false;
          for (auto& entry : *table)
            if (entry.sid == sid) return true;
          return false;
        };
        if (mine(std::get_if<FlockTable>(&value)) || mine(std::get_if<PlockTable>(&value))) held.push_back(key);
        return true;
      });
    }));
    for (auto& key : held) {
      TRY(txn(
          "releaseLocks",
          [&](MetaTxn& tx) -> Status {
            TRY_ASSIGN(auto value, tx.get(key));
            if (!value) return {};
            bool empty = std::visit(
                [&](auto& table) {
                  if constexpr (std::is_same_v<std::decay_t<decltype(table)>, FlockTable> ||
                                std::is_same_v<std::decay_t<decltype(table)>, PlockTable>) {
                    std::erase_if(table, [&](auto& entry) { return entry.sid == sid; });
                    return table.empty();
                  } else {
                    return false;
                  }
                },
                *value);
            if (empty)
              tx.erase(key);
            else
              tx.put(key, std::move(*value));
            return {};
          },
          [](MetaTxn&) -> Result<bool> { return false; }));
    }
    return {};
  };
  TRY(release(Kind::flock));
  TRY(release(Kind::plock));

  for (bool more = true; more;) {
    std::vector<Ino> inos;
    TRY(read("cleanSession", [&](MetaTxn& tx) {
      inos.clear();
      return tx.list({.kind = Kind::sustained, .id = sid, .limit = kPage}, [&](const Key& key, const Value&) {
        inos.push_back(key.sub);
        return true;
      });
    }));
    more = inos.size() == kPage;
    for (auto ino : inos) TRY(dropSustained(sid, ino));
  }
  return txn(
      "cleanSession",
      [&](MetaTxn& tx) -> Status {
        tx.erase(key::session(sid));
        if (logging()) log(tx, changelog::cleanSession(sid));
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; });
}

}  // namespace aquifer::meta
