// What the mapping needs of a database: prepared statements by id, parameters in order, rows. A driver implements it.
// One thread at a time per connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::meta::sql {

class Statement {
 public:
  virtual ~Statement() = default;
  // Parameters are bound from the first to the last. Bytes must live until the statement is released.
  virtual void bind(int64_t v) = 0;
  virtual void bindText(std::string_view v) = 0;
  virtual void bindBlob(std::string_view v) = 0;
  // true: there is a row to read; false: the end.
  virtual Result<bool> step() = 0;
  virtual int64_t integer(int column) = 0;         // NULL reads as 0
  virtual std::string_view bytes(int column) = 0;  // blob or text, valid until the next step
  // Ready for new parameters.
  virtual void reset() = 0;
};

class Connection {
 public:
  virtual ~Connection() = default;
  // Prepared at the first use. Nested use of one id gives distinct statements.
  virtual Result<Statement*> acquire(int id, const std::string& text) = 0;
  virtual void release(int id, Statement* statement) = 0;
  virtual int64_t changedRows() = 0;  // by the last insert, update or delete
};

// Holds a statement and gives it back.
class Use {
 public:
  Use(Connection& connection, int id, Statement* statement) : connection_(&connection), id_(id), statement_(statement) {}
  Use(Use&& o) noexcept : connection_(o.connection_), id_(o.id_), statement_(std::exchange(o.statement_, nullptr)) {}
  Use& operator=(Use&&) = delete;
  ~Use() {
    if (statement_) connection_->release(id_, statement_);
  }
  Statement* operator->() { return statement_; }
  Statement& operator*() { return *statement_; }

 private:
  Connection* connection_;
  int id_;
  Statement* statement_;
};

}  // namespace aquifer::meta::sql
