// What the kernel has been promised to be told: names and attributes that it may trust for long because whoever changes them takes
// them back. A plain table with a limit; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "meta/model/types.h"

namespace aquifer::vfs {

using meta::Ino;

// Something to take back: a name below `ino`, or without a name the attributes of `ino`.
struct Revoked {
  Ino ino = 0;
  std::string name;
  int64_t grantedAt = 0;   // monotonic ns
};

class Grants {
 public:
  explicit Grants(size_t limit) : limit_(limit) {}

  // May there be `more` with `others` elsewhere on the account? Forgets what has run out, if that helps.
  bool hasRoom(size_t more, size_t others, int64_t now);
  // Times are monotonic ns; the grant runs out at `until`. Overwrites.
  void addName(Ino parent, std::string_view name, int64_t now, int64_t until);
  void addAttr(Ino ino, int64_t now, int64_t until);
  // The kernel moves a name with the time that it has left (or exchanges two).
  void moveName(Ino parent, std::string_view name, Ino newParent, std::string_view newName, bool exchange, int64_t now);
  // Unless it was granted after `before`.
  void dropName(Ino parent, std::string_view name, int64_t before = INT64_MAX);

  // Take out, appending to `out` what has not run out at `now`.
  void takeAll(int64_t now, std::vector<Revoked>& out);   // names first, then attributes
  void takeName(Ino parent, std::string_view name, int64_t now, std::vector<Revoked>& out);
  void takeNames(Ino parent, int64_t now, std::vector<Revoked>& out);
  void takeAttr(Ino ino, int64_t now, std::vector<Revoked>& out);

  size_t size() const { return names_ + attrs_.size(); }

 private:
  struct Term {
    int64_t at = 0, until = 0;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Names = std::unordered_map<std::string, Term, Hash, std::equal_to<>>;
  void sweep(int64_t now);
  const Term* findName(Ino parent, std::string_view name) const;

  const size_t limit_;
  std::unordered_map<Ino, Names> dirs_;
  std::unordered_map<Ino, Term> attrs_;
  size_t names_ = 0;
  int64_t sweptAt_ = 0;
};

}  // namespace aquifer::vfs
