#include "cli/access_log_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <ctime>

namespace aquifer::cli {

namespace {

std::string_view nextWord(std::string_view& rest) {
  auto begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) return rest = {};
  auto end = rest.find(' ', begin);
  auto word = rest.substr(begin, end == std::string_view::npos ? end : end - begin);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  return word;
}

template <class T>
bool number(std::string_view text, T* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// "2026.12.01" and "08:58:16.592896".
bool parseTime(std::string_view date, std::string_view clock, int64_t* micros) {
  if (date.size() != 10 || clock.size() != 15 || date[4] != '.' || date[7] != '.' || clock[2] != ':' || clock[5] != ':' || clock[8] != '.') return false;
  std::tm tm{};
  int fraction = 0;
  if (!number(date.substr(0, 4), &tm.tm_year) || !number(date.substr(5, 2), &tm.tm_mon) || !number(date.substr(8, 2), &tm.tm_mday) ||
      !number(clock.substr(0, 2), &tm.tm_hour) || !number(clock.substr(3, 2), &tm.tm_min) || !number(clock.substr(6, 2), &tm.tm_sec) ||
      !number(clock.substr(9), &fraction))
    return false;
  tm.tm_year -= 1900;
  tm.tm_mon -= 1;
  *micros = static_cast<int64_t>(timegm(&tm)) * 1'000'000 + fraction;
  return true;
}

// "[uid:0,gid:0,pid:1]"
bool parseCaller(std::string_view text, AccessLine* line) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  uint32_t* fields[] = {&line->uid, &line->gid, &line->pid};
  constexpr std::string_view kNames[] = {"uid:", "gid:", "pid:"};
  for (size_t i = 0; i < 3; ++i) {
    auto part = text.substr(0, text.find(','));
    if (!part.starts_with(kNames[i]) || !number(part.substr(4), fields[i])) return false;
    text = text.size() > part.size() ? text.substr(part.size() + 1) : std::string_view();
  }
  return true;
}

}  // namespace

std::optional<AccessLine> parseAccessLine(std::string_view text) {
  AccessLine line;
  auto rest = text;
  auto date = nextWord(rest), clock = nextWord(rest), caller = nextWord(rest), op = nextWord(rest);
  auto last = text.rfind('<');
  if (op.empty() || last == std::string_view::npos || text.back() != '>' || !parseTime(date, clock, &line.unixMicros) || !parseCaller(caller, &line))
    return {};
  double seconds = 0;
  if (!number(text.substr(last + 1, text.size() - last - 2), &seconds) || !(seconds >= 0 && seconds < 1e9)) return {};
  line.tookMicros = static_cast<int64_t>(seconds * 1e6 + 0.5);
  line.op = op;
  return line;
}

bool AccessFilter::takes(const AccessLine& line) const {
  const auto in = [](const std::set<uint32_t>& ids, uint32_t id) { return ids.empty() || ids.contains(id); };
  return in(uids, line.uid) && in(gids, line.gid) && in(pids, line.pid);
}

std::set<uint32_t> parseIds(std::string_view text, std::vector<std::string>* bad) {
  std::set<uint32_t> ids;
  while (!text.empty()) {
    auto word = text.substr(0, text.find(','));
    text = text.size() > word.size() ? text.substr(word.size() + 1) : std::string_view();
    uint32_t id = 0;
    if (number(word, &id)) ids.insert(id);
    else bad->emplace_back(word);
  }
  return ids;
}

void ProfileTable::add(const AccessLine& line) {
  auto& sum = sums_[line.op];
  ++sum.count;
  sum.micros += line.tookMicros;
}

std::string ProfileTable::render(const std::string& state, double seconds, const std::string& when) const {
  auto out = fmt::format("> JuiceFS Profiling {:>13}  Refresh: {:.0f} seconds {:>20}\n", state, seconds, when);
  out += fmt::format("{:<15}{:>10}{:>16}{:>19}{:>15}\n", "Operation", "Count", "Average(us)", "Total(us)", "Percent(%)");
  std::vector<std::pair<std::string, Sum>> rows(sums_.begin(), sums_.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.micros > b.second.micros; });
  for (auto& [op, sum] : rows)
    out += fmt::format("{:<15}{:>10}{:>16.0f}{:>19}{:>15.1f}\n", op, sum.count, static_cast<double>(sum.micros) / static_cast<double>(sum.count), sum.micros,
                       seconds > 0 ? static_cast<double>(sum.micros) / seconds / 1e4 : 0.0);
  return out + "\n";
}

std::string logTimeText(int64_t unixMicros) {
  std::time_t seconds = unixMicros / 1'000'000;
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  return text;
}

}  // namespace aquifer::cli
