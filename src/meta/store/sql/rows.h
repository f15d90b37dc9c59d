// One record's content as columns of a row, in the order of the statements. Pure conversions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "meta/store/record.h"
#include "meta/store/sql/connection.h"

namespace aquifer::meta::sql {

// Times lie as microseconds and the remaining 0-999 nanoseconds; floor, so that times before 1970 survive.
int64_t microsOf(const Time& t);
int64_t restNanosOf(const Time& t);
Time timeOf(int64_t micros, int64_t restNanos);

// The node's columns start at `column`.
Attr readNode(Statement& row, int column);
// The value of a record of `kind`, its columns starting at `column`. Not for kinds that span rows.
Result<Value> readValue(Kind kind, Statement& row, int column);
// Binds the value's columns; `nodeColumns`: those that the table has. `scratch` keeps encoded bytes alive until the statement
// has run.
Status bindValue(Kind kind, const Value& value, const std::vector<bool>& nodeColumns, Statement& statement,
                 std::vector<std::string>& scratch);

}  // namespace aquifer::meta::sql
