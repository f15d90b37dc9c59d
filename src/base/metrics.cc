#include "base/metrics.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <mutex>

#include "base/metrics_text.h"

namespace aquifer::metrics {

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), buckets_(bounds_.size() + 1) {}

void Histogram::observe(double v) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), v) - bounds_.begin();
  buckets_[static_cast<size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  sum_.add(v);
}

uint64_t Histogram::count() const { return count_.load(std::memory_order_relaxed); }
double Histogram::sum() const { return sum_.value(); }

std::vector<double> exponentialBuckets(double start, double factor, int count) {
  std::vector<double> out;
  for (double v = start; count > 0; count--, v *= factor) out.push_back(v);
  return out;
}

std::vector<double> linearBuckets(double start, double width, int count) {
  std::vector<double> out;
  for (double v = start; count > 0; count--, v += width) out.push_back(v);
  return out;
}

namespace {

struct Child {
  std::unique_ptr<Counter> value;
  std::unique_ptr<Histogram> histogram;
  std::function<double()> read;
};

struct Registered {
  std::string help;
  Kind kind;
  std::map<Labels, Child> children;
};

using Collector = std::function<void(const Emit&)>;

struct Registry {
  std::mutex mu;
  std::map<std::string, Registered, std::less<>> families;
  std::vector<Collector> collectors;
  Labels constLabels;
};

// Never destroyed: references to its counters live in statics and threads that end later.
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

Labels sorted(Labels labels) {
  std::sort(labels.begin(), labels.end());
  return labels;
}

// The caller holds the registry's lock.
Child& child(std::string_view name, std::string_view help, Kind kind, const Labels& labels) {
  auto& families = registry().families;
  auto it = families.find(name);
  if (it == families.end()) it = families.emplace(std::string(name), Registered{std::string(help), kind, {}}).first;
  assert(it->second.kind == kind && "one name, one kind of metric");
  return it->second.children[sorted(labels)];
}

Counter& value(std::string_view name, std::string_view help, Kind kind, const Labels& labels) {
  std::lock_guard lock(registry().mu);
  auto& slot = child(name, help, kind, labels).value;
  if (!slot) slot = std::make_unique<Counter>();
  return *slot;
}

}  // namespace

Counter& counter(std::string_view name, std::string_view help, const Labels& labels) {
  return value(name, help, Kind::counter, labels);
}
Counter& gauge(std::string_view name, std::string_view help, const Labels& labels) {
  return value(name, help, Kind::gauge, labels);
}

void gaugeCallback(std::string_view name, std::string_view help, std::function<double()> read, const Labels& labels) {
  std::lock_guard lock(registry().mu);
  child(name, help, Kind::gauge, labels).read = std::move(read);
}

Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> bounds, const Labels& labels) {
  std::lock_guard lock(registry().mu);
  auto& slot = child(name, help, Kind::histogram, labels).histogram;
  if (!slot) slot = std::make_unique<Histogram>(std::move(bounds));
  return *slot;
}

void collector(Collector collect) {
  std::lock_guard lock(registry().mu);
  registry().collectors.push_back(std::move(collect));
}

void setConstLabels(Labels labels) {
  std::lock_guard lock(registry().mu);
  registry().constLabels = std::move(labels);
}

Snapshot snapshot() {
  Snapshot out;
  std::vector<Collector> collectors;
  std::vector<std::pair<std::string, std::pair<Labels, std::function<double()>>>> reads;
  Registry& r = registry();
  {
    std::lock_guard lock(r.mu);
    out.constLabels = sorted(r.constLabels);
    collectors = r.collectors;
    for (const auto& [name, family] : r.families) {
      Family& f = out.families[name];
      f.help = family.help;
      f.kind = family.kind;
      for (const auto& [labels, c] : family.children) {
        if (c.read)
          reads.push_back({name, {labels, c.read}});
        else
          f.series[labels] = {c.value ? c.value->value() : 0, c.histogram.get()};
      }
    }
  }
  // What others registered runs without our lock: it may ask a database, or register a metric itself.
  for (const auto& [name, read] : reads) out.families[name].series[read.first] = {read.second(), nullptr};
  auto emit = [&](std::string_view name, std::string_view help, const Labels& labels, double v) {
    auto [it, fresh] = out.families.try_emplace(std::string(name));
    if (fresh) it->second.help = std::string(help);
    it->second.series[sorted(labels)] = {v, nullptr};
  };
  for (const auto& collect : collectors) collect(emit);
  return out;
}

}  // namespace aquifer::metrics
