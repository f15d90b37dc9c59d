#include "cli/stats_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"

namespace aquifer::cli {

namespace {
enum Colour { kGrey = 90, kRed = 31, kGreen = 32, kYellow = 33, kBlue = 34, kMagenta = 35, kCyan = 36, kWhite = 37 };

// The name in the middle of `width` characters of `fill`, one more in front where they are odd.
std::string centred(std::string name, size_t width, char fill) {
  if (name.size() > width) name.resize(width);
  size_t pad = width - name.size(), before = (pad + 1) / 2;
  return std::string(before, fill) + name + std::string(pad - before, fill);
}
}  // namespace

const std::vector<StatsTable::Section>& StatsTable::known() {
  using enum Kind;
  static const std::vector<Section> all{
      {'t', "system", {{"time", "", clock}}},
      {'u',
       "usage",
       {{"cpu", "juicefs_cpu_usage", cpu},
        {"mem", "juicefs_memory", gauge},
        {"buf", "juicefs_used_buffer_size_bytes", gauge},
        {"cache", "juicefs_store_cache_size_bytes", gauge, true}}},
      {'f',
       "fuse",
       {{"ops", "juicefs_fuse_ops_durations_histogram_seconds", latency},
        {"read", "juicefs_fuse_read_size_bytes_sum", bytes},
        {"write", "juicefs_fuse_written_size_bytes_sum", bytes}}},
      {'m',
       "meta",
       {{"ops", "juicefs_meta_ops_durations_histogram_seconds", latency},
        {"txn", "juicefs_transaction_durations_histogram_seconds", latency, true},
        {"retry", "juicefs_transaction_restart", count, true}}},
      {'c', "blockcache", {{"read", "juicefs_blockcache_hit_bytes", bytes}, {"write", "juicefs_blockcache_write_bytes", bytes}}},
      {'o',
       "object",
       {{"get", "juicefs_object_request_data_bytes_GET", bytes},
        {"get_c", "juicefs_object_request_durations_histogram_seconds_GET", latency, true},
        {"put", "juicefs_object_request_data_bytes_PUT", bytes},
        {"put_c", "juicefs_object_request_durations_histogram_seconds_PUT", latency, true},
        {"del_c", "juicefs_object_request_durations_histogram_seconds_DELETE", latency, true}}},
      {'g', "go", {{"alloc", "juicefs_go_memstats_alloc_bytes", gauge}, {"sys", "juicefs_go_memstats_sys_bytes", gauge}}},
  };
  return all;
}

StatsTable::StatsTable(std::string_view schema, bool detailed, bool colour, std::string* unknown) : colour_(colour) {
  for (char letter : schema) {
    auto& all = known();
    auto it = std::find_if(all.begin(), all.end(), [&](const Section& s) { return s.letter == letter; });
    if (it == all.end()) {
      *unknown += letter;
      continue;
    }
    auto section = *it;
    std::erase_if(section.items, [&](const Item& item) { return item.detail && !detailed; });
    sections_.push_back(std::move(section));
  }
}

std::string StatsTable::painted(const std::string& text, int colour) const {
  return colour_ ? fmt::format("\033[{}m{}\033[0m", colour, text) : text;
}

std::string StatsTable::header() const {
  std::string names, nicks;
  for (auto& section : sections_) {
    std::string line;
    for (auto& item : section.items) {
      line += (line.empty() ? "" : " ") + centred(item.nick, item.kind == Kind::clock ? 14 : 5, ' ');
      if (item.kind == Kind::latency) line += "  lat ";
    }
    names += (names.empty() ? "" : " ") + centred(section.name, line.size(), '-');
    nicks += (nicks.empty() ? "" : "|") + line;
  }
  return painted(names, kBlue) + "\n" + painted(nicks, kBlue);
}

std::string StatsTable::number(double v, bool bytes) const {
  if (!(v > 0)) return painted("   0 ", kGrey);
  struct Unit {
    int shift;
    const char* name;
    int colour;
  };
  static constexpr Unit kUnits[] = {{0, " ", kRed}, {10, "K", kYellow}, {20, "M", kGreen}, {30, "G", kBlue}, {40, "T", kMagenta}, {50, "P", kCyan}};
  auto n = v < 1.8e19 ? static_cast<uint64_t>(v) : UINT64_MAX;
  for (auto& unit : kUnits)
    if (n >> unit.shift < 10000 || unit.shift == 50)
      return painted(fmt::format("{:4}", n >> unit.shift), unit.colour) + painted(unit.shift == 0 && bytes ? "B" : unit.name, kGrey);
  return {};
}

std::string StatsTable::milliseconds(double v) const {
  if (!(v > 0)) return painted("   0 ", kGrey);
  if (v < 10) return painted(fmt::format("{:4.2f} ", v), kGreen);
  if (v < 100) return painted(fmt::format("{:4.1f} ", v), kYellow);
  if (v < 10000) return painted(fmt::format("{:4.0f} ", v), kRed);
  return painted(fmt::format("{:1.0e}", v), kMagenta);
}

std::string StatsTable::percent(double v) const {
  v *= 100;
  auto text = !(v > 0) ? std::string(" 0.0") : v < 100 ? fmt::format("{:4.1f}", v) : fmt::format("{:4.0f}", v);
  return painted(text, !(v > 0) ? kWhite : v < 30 ? kGreen : v < 100 ? kYellow : kRed) + painted("%", kGrey);
}

std::string StatsTable::row(const MountStats& before, const MountStats& after, double seconds) const {
  const auto grown = [&](const std::string& name) { return statOf(after, name) - statOf(before, name); };
  std::string out;
  for (auto& section : sections_) {
    std::string line;
    for (auto& item : section.items) {
      if (!line.empty()) line += " ";
      switch (item.kind) {
        case Kind::clock: line += localTimeText(unixSeconds(), "%m-%d %H:%M:%S"); break;
        case Kind::cpu: line += percent(grown(item.metric) / seconds); break;
        case Kind::gauge: line += number(statOf(after, item.metric), true); break;
        case Kind::bytes: line += number(grown(item.metric) / seconds, true); break;
        case Kind::count: line += number(grown(item.metric) / seconds, false); break;
        case Kind::latency: {
          const std::string name = item.metric;
          double n = grown(name + "_total");
          line += number(n / seconds, false) + " " + milliseconds(n > 0 ? grown(name + "_sum") * 1000 / n : 0);
          break;
        }
      }
    }
    out += (out.empty() ? "" : painted("|", kBlue)) + line;
  }
  return out;
}

}  // namespace aquifer::cli
