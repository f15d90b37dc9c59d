// Reading for a dump: one transaction from beginning to end where the store is embedded, so that the dump is of one moment; a
// transaction a question elsewhere. One thread.
#pragma once

#include <functional>

#include "meta/store/with_txn.h"

namespace aquifer::meta {

class DumpView {
 public:
  DumpView(MetaStore& store, MetaTxn* whole) : store_(store), whole_(whole) {}
  Status read(const TxnBody& body) { return whole_ ? body(*whole_) : withRead(store_, "dump", body); }

  // The setting as it is stored. Code::notFormatted without one.
  Result<std::string> setting() {
    std::string text;
    TRY(read([&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(auto stored, tx.find<std::string>(key::setting()));
      if (!stored) return Code::notFormatted;
      text = *std::move(stored);
      return {};
    }));
    return text;
  }

  // Calls `row` for each record of a kind, in the order of the store. What was handed out cannot be taken back: a store that has to
  // begin again ends the dump.
  Status each(Kind kind, const std::function<Status(const Key&, const Value&)>& row) {
    bool begun = false;
    Status failed;
    TRY(read([&](MetaTxn& tx) -> Status {
      if (begun) return Status(Code::io, "the listing was broken off");
      TRY(tx.list({.kind = kind}, [&](const Key& key, const Value& value) {
        begun = true;
        failed = row(key, value);
        return failed.isOk();
      }));
      return {};
    }));
    return failed;
  }

 private:
  MetaStore& store_;
  MetaTxn* const whole_;
};

inline Status withDumpView(MetaStore& store, const std::function<Status(DumpView&)>& dump) {
  if (!store.traits().embedded) {
    DumpView view(store, nullptr);
    return dump(view);
  }
  bool begun = false;
  TxnOptions options;
  options.operation = "dump";
  options.readOnly = true;
  return store.run(
      [&](MetaTxn& tx) -> Status {
        if (begun) return Status(Code::io, "the view of the database was lost");   // what has been written cannot be taken back
        begun = true;
        DumpView view(store, &tx);
        return dump(view);
      },
      options);
}

}  // namespace aquifer::meta
