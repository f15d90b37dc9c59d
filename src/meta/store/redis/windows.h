// Ordered listings of a server that has no order. A scan visits everything and keeps the smallest items behind a point, so memory
// is bounded however much there is; what it kept (a window) serves the following pages. Small sets are scanned again for each
// page. Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "meta/store/redis/client.h"

namespace aquifer::meta::redis {

struct NamedItem {
  std::string name, value;
};

struct NumberItem {
  uint64_t id = 0, sub = 0;
  auto operator<=>(const NumberItem&) const = default;
};

template <class Item>
struct Window {
  std::vector<Item> items;  // ascending
  bool complete = true;     // nothing behind the last item
  size_t seen = 0;          // items of the whole set, when it was scanned from the start
  bool fresh = true;        // scanned just now; else items may have come and gone since
};

// Where numbers are found.
struct NumberSource {
  enum class Type : uint8_t { keys, fields, scores, members };
  Type type = Type::keys;
  std::string key;     // of the hash, sorted set or set; for keys: the pattern
  std::string prefix;  // in front of the first number
  char separator = 0;  // between the two numbers; 0: there is one
};

class Windows {
 public:
  struct Limits {
    size_t worthKeeping = 10'000;  // items; below this a scan costs a trip or two
    size_t named = 300'000, numbers = 2'000'000;
  };
  explicit Windows(Client& client) : Windows(client, Limits{}) {}
  Windows(Client& client, const Limits& limits) : client_(client), limits_(limits) {}

  // Fields of a hash in byte order of their names, behind `after` (empty: from the start), at most `limit`.
  Result<Window<NamedItem>> fields(const std::string& key, std::string_view after, size_t limit);
  Result<Window<NumberItem>> numbers(const NumberSource& source, std::optional<NumberItem> after, size_t limit);
  // A scan from the start of any kind: words in front of the cursor, and behind it. visit(element array), which ends the scan by
  // an error.
  Status scan(const Command& before, const Command& behind, const std::function<Status(View)>& visit);

 private:
  template <class Item>
  struct Kept {
    std::string key;
    Item after;  // the scan began behind it
    std::vector<Item> items;
    bool complete = true;
    int64_t usedNanos = 0;
  };
  template <class Item>
  using Cache = std::list<std::shared_ptr<Kept<Item>>>;

  template <class Item>
  std::shared_ptr<Kept<Item>> find(Cache<Item>& cache, const std::string& key, const Item& after);
  template <class Item>
  void keep(Cache<Item>& cache, std::shared_ptr<Kept<Item>> window);

  Client& client_;
  const Limits limits_;
  std::mutex mu_;
  Cache<NamedItem> named_;
  Cache<NumberItem> numbers_;
};

}  // namespace aquifer::meta::redis
