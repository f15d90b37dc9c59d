#include "meta/store/redis/windows.h"

#include <algorithm>

#include "base/clock.h"
#include "meta/store/redis/cells.h"

namespace aquifer::meta::redis {

namespace {

constexpr size_t kKept = 4;                     // windows of each type
constexpr int64_t kLifeNanos = 60'000'000'000;  // since its last use
constexpr const char* kScanCount = "10000";

bool before(const NamedItem& a, const NamedItem& b) { return a.name < b.name; }
bool before(const NumberItem& a, const NumberItem& b) { return a < b; }

// The smallest `most` items of all that are added.
template <class Item>
class Smallest {
 public:
  explicit Smallest(size_t most) : most_(most) {}
  void add(Item item) {
    if (bounded_ && !before(item, bound_)) return;
    items_.push_back(std::move(item));
    if (items_.size() >= most_ * 2) cut();
  }
  // Ascending, each once (a scan may see an item twice).
  std::vector<Item> take() {
    sort();
    if (items_.size() > most_) cut();
    return std::move(items_);
  }
  bool complete() const { return !bounded_; }

 private:
  void sort() {
    std::sort(items_.begin(), items_.end(), [](auto& a, auto& b) { return before(a, b); });
    items_.erase(std::unique(items_.begin(), items_.end(), [](auto& a, auto& b) { return !before(a, b) && !before(b, a); }),
                 items_.end());
  }
  void cut() {
    sort();
    if (items_.size() <= most_) return;
    bound_ = items_[most_];
    bounded_ = true;
    items_.resize(most_);
  }
  const size_t most_;
  std::vector<Item> items_;
  bool bounded_ = false;
  Item bound_;
};

template <class Item>
Window<Item> page(const std::vector<Item>& items, bool complete, const Item& after, bool fromStart, size_t limit) {
  Window<Item> out;
  auto first = fromStart ? items.begin()
                         : std::upper_bound(items.begin(), items.end(), after, [](auto& a, auto& b) { return before(a, b); });
  auto n = std::min<size_t>(limit, static_cast<size_t>(items.end() - first));
  out.items.assign(first, first + static_cast<std::ptrdiff_t>(n));
  out.complete = complete && first + static_cast<std::ptrdiff_t>(n) == items.end();
  return out;
}

}  // namespace

template <class Item>
std::shared_ptr<Windows::Kept<Item>> Windows::find(Cache<Item>& cache, const std::string& key, const Item& after) {
  std::lock_guard lock(mu_);
  auto now = monotonicNanos();
  cache.remove_if([&](auto& w) { return now - w->usedNanos > kLifeNanos; });
  for (auto& w : cache) {
    if (w->key != key || before(after, w->after)) continue;
    if (!w->complete && !before(after, w->items.back())) continue;
    w->usedNanos = now;
    return w;
  }
  return nullptr;
}

template <class Item>
void Windows::keep(Cache<Item>& cache, std::shared_ptr<Kept<Item>> window) {
  std::lock_guard lock(mu_);
  cache.remove_if([&](auto& w) { return w->key == window->key; });
  window->usedNanos = monotonicNanos();
  cache.push_front(std::move(window));
  if (cache.size() > kKept) cache.pop_back();
}

Status Windows::scan(const Command& before, const Command& behind, const std::function<Status(View)>& visit) {
  std::string cursor = "0";
  do {
    Command command = before;
    command.push_back(cursor);
    command.insert(command.end(), behind.begin(), behind.end());
    command.insert(command.end(), {"COUNT", kScanCount});
    TRY_ASSIGN(auto reply, client_.readOne(command));
    auto view = reply.view();
    if (view.size() != 2 || !view[0].isText() || !view[1].isArray()) return unexpectedReply("a scan");
    cursor = view[0].text();
    TRY(visit(view[1]));
  } while (cursor != "0");
  return {};
}

Result<Window<NamedItem>> Windows::fields(const std::string& key, std::string_view after, size_t limit) {
  NamedItem from{std::string(after), {}};
  if (!after.empty())
    if (auto kept = find(named_, key, from)) {
      auto out = page(kept->items, kept->complete, from, false, limit);
      out.fresh = false;
      return out;
    }
  Smallest<NamedItem> smallest(limits_.named);
  size_t seen = 0;
  TRY(scan({"HSCAN", key}, {}, [&](View items) -> Status {
    if (items.size() % 2 != 0) return unexpectedReply("HSCAN");
    seen += items.size() / 2;
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      if (after.empty() || items[i].text() > after)
        smallest.add({std::string(items[i].text()), std::string(items[i + 1].text())});
    return {};
  }));
  auto window = std::make_shared<Kept<NamedItem>>();
  window->key = key;
  window->after = from;
  window->items = smallest.take();
  window->complete = smallest.complete();
  auto out = page(window->items, window->complete, from, true, limit);
  out.seen = window->complete && after.empty() ? window->items.size() : seen;
  if (!out.complete && window->items.size() > limits_.worthKeeping) keep(named_, std::move(window));
  return out;
}

Result<Window<NumberItem>> Windows::numbers(const NumberSource& source, std::optional<NumberItem> after, size_t limit) {
  using Type = NumberSource::Type;
  auto name = source.key + source.prefix;
  if (after)
    if (auto kept = find(numbers_, name, *after)) {
      auto out = page(kept->items, kept->complete, *after, false, limit);
      out.fresh = false;
      return out;
    }
  Smallest<NumberItem> smallest(limits_.numbers);
  size_t step = source.type == Type::fields || source.type == Type::scores ? 2 : 1;
  auto take = [&](View items) -> Status {
    for (size_t i = 0; i < items.size(); i += step) {
      auto text = items[i].text();
      std::optional<NumberItem> item;
      if (source.separator) {
        if (auto pair = parsePair(text, source.prefix, source.separator)) item = {pair->first, pair->second};
      } else if (auto n = parseNumbered(text, source.prefix)) {
        item = {*n, 0};
      }
      // What does not parse belongs to somebody else.
      if (item && (!after || *after < *item)) smallest.add(*item);
    }
    return {};
  };
  switch (source.type) {
    case Type::keys: TRY(scan({"SCAN"}, {"MATCH", source.key}, take)); break;
    case Type::fields: TRY(scan({"HSCAN", source.key}, {}, take)); break;
    case Type::scores: TRY(scan({"ZSCAN", source.key}, {}, take)); break;
    case Type::members: TRY(scan({"SSCAN", source.key}, {}, take)); break;
  }
  auto window = std::make_shared<Kept<NumberItem>>();
  window->key = name;
  window->after = after.value_or(NumberItem{});
  window->items = smallest.take();
  window->complete = smallest.complete();
  auto out = page(window->items, window->complete, window->after, true, limit);
  if (!out.complete && window->items.size() > limits_.worthKeeping) keep(numbers_, std::move(window));
  return out;
}

}  // namespace aquifer::meta::redis
