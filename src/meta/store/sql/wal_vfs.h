// SQLite writes each page of a commit to the -wal with two system calls, which is most of the cost of a small transaction. This
// layer below SQLite gathers them and hands a whole commit to the system in one write.
//
// Nothing is acknowledged early: the write of the commit's last page returns only after everything gathered has reached the
// system, with the error if it has not, and SQLite publishes the commit to other connections after that. Until then no other
// connection looks at these bytes; reads, syncs and truncations by this connection flush first.
#pragma once

namespace aquifer::meta::sql {

// The name to open databases with; registers the layer at the first call. nullptr if it cannot be registered. Thread-safe.
const char* walGatheringVfs();

}  // namespace aquifer::meta::sql
