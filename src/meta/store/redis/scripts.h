// The two programs that run in the server: one reads, one checks what a transaction relied on and then writes. They know keys and
// bytes and no rule of the file system. Both take flat lists of words, so nothing is built or parsed twice.
#pragma once

#include <string>

namespace aquifer::meta::redis {

struct Script {
  std::string text, sha;
};

// ARGV: operations one behind the other; the answer is one flat array.
//   <n> word…           a command of n words                        -> its reply
//   E key name          the same, and what hangs on the node        -> entry, node, 1/0 for each of x<ino>, d<ino>, p<ino>
//   (exists) G after limit       the change log behind version `after`       -> version of the first one returned, list
// Inode numbers are read from the entry's eight bytes exactly, also where a Lua number could not hold them.
const Script& readScript();

// ARGV: number of checks, checks, number of writes, writes. The answer: an array that begins with 0 when all was written, or with
// the number (from 1) of the check that failed; then nothing was. After the 0: for each r, the integer that the command returned.
// Checks:
//   v key value         the string is this                 n key               the key does not exist
//   m key k (from to bytes)×k   these pieces of the string (Lua positions) h key field value   the field is this
//   a key field         the field is absent                l key bytes         the list, concatenated, is this
//   H key n (field value)×n     the hash is exactly this   L key n             the hash has n fields
//   z key member score  the score is this                  y key member        the member is absent from the sorted set
//   s key member 0|1    the set has (not) the member       M key n member×n    the set is exactly this
//   G first             the change log begins at this version
// Writes:
//   <n> word…           a command of n words               r <n> word…         the same, its result is returned
//   N key nlink k (sec nsec skip bytes24)×k   verbs on a node that exists: links, and times where they are old enough
//   D ino length space inodes                 directory statistics, if there are any
//   Q name id space inodes                    usage of a quota, if it exists
//   K key n (owner value)×n                   the table of locks of one inode becomes this, with its index by session
//   T first last                              the change log loses the versions first…last, which are its oldest
const Script& commitScript();

}  // namespace aquifer::meta::redis
