#include "cli/why_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace aquifer::cli {

namespace {

using Json = nlohmann::json;

struct Words {
  const char* stage;
  const char* name;
  const char* advice;
};
constexpr Words kWords[] = {
    {"network", "object storage", "The object storage costs the time: look at its latency and bandwidth, or keep more in the cache (warmup, --cache-size)."},
    {"limit", "bandwidth limit", "The bandwidth limit costs the time: requests are held back by --upload-limit or --download-limit (of the mount or of the volume)."},
    {"metadata", "metadata", "The metadata engine costs the time: look at its latency and load; longer --attr-cache and --entry-cache save requests."},
    {"cache", "local cache", "The cache directory's disk costs the time: look at what else uses it, or choose a faster --cache-dir."},
    {"queue", "waiting in line", "Operations wait in line, for memory, for a connection or for another writer: see --buffer-size, --max-uploads and --max-downloads."},
    {"other", "the client itself", "The client itself costs the time: copying, locks that are waited for, or a machine without free processors."},
};

const Words* wordsOf(const std::string& stage) {
  auto it = std::find_if(std::begin(kWords), std::end(kWords), [&](const Words& w) { return stage == w.stage; });
  return it == std::end(kWords) ? nullptr : it;
}

std::string timeText(int64_t micros) {
  if (micros < 1000) return fmt::format("{} us", micros);
  double ms = static_cast<double>(micros) / 1000;
  if (ms < 10) return fmt::format("{:.1f} ms", ms);
  if (ms < 1000) return fmt::format("{:.0f} ms", ms);
  return fmt::format("{:.2f} s", ms / 1000);
}

// A missing field is its default.
template <class T>
T field(const Json& o, const char* key) {
  auto it = o.find(key);
  return it == o.end() ? T() : it->get<T>();
}

}  // namespace

Result<WhyReport> parseWhyReply(const std::string& text) {
  try {
    auto o = Json::parse(text);
    WhyReport r;
    r.seconds = field<int64_t>(o, "seconds");
    r.complete = field<bool>(o, "complete");
    r.operations = field<uint64_t>(o, "operations");
    r.micros = field<int64_t>(o, "us");
    r.stages = field<StageMicros>(o, "stages_us");
    for (auto& row : o.at("slowest"))
      r.slowest.push_back({field<std::string>(row, "op"), field<std::string>(row, "arguments"), field<std::string>(row, "path"),
                           field<uint64_t>(row, "inode"), field<uint32_t>(row, "uid"), field<uint32_t>(row, "pid"), field<int64_t>(row, "ago_ms"),
                           field<int64_t>(row, "us"), field<StageMicros>(row, "stages_us")});
    return r;
  } catch (const Json::exception& e) {
    return Status(Code::io, std::string("the mount's answer is not understood: ") + e.what());
  }
}

std::string heaviestStage(const StageMicros& stages) {
  auto it = std::max_element(stages.begin(), stages.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return it == stages.end() || it->second <= 0 ? std::string() : it->first;
}

std::string stagesText(const StageMicros& stages, int64_t total) {
  std::vector<std::pair<std::string, int64_t>> parts(stages.begin(), stages.end());
  std::stable_sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.second > b.second; });
  std::string out;
  for (auto& [stage, micros] : parts) {
    if (micros <= 0 || micros * 100 < total) continue;
    auto words = wordsOf(stage);
    out += fmt::format("{}{} {} ({:.0f}%)", out.empty() ? "" : ", ", words ? words->name : stage.c_str(), timeText(micros),
                       total > 0 ? static_cast<double>(micros) * 100 / static_cast<double>(total) : 0.0);
  }
  return out.empty() ? "no time worth naming" : out;
}

std::string whyText(const WhyReport& r, const std::string& path, size_t most) {
  if (r.operations == 0) return fmt::format("Nothing slow happened at {} in the last {} seconds.\n", path, r.seconds);
  auto out = fmt::format("{}: {} {}operations in the last {} seconds took {}\n  {}\n", path, r.operations, r.complete ? "" : "of the slowest ", r.seconds,
                         timeText(r.micros), stagesText(r.stages, r.micros));
  if (!r.slowest.empty()) out += "\nSlowest:\n";
  for (size_t i = 0; i < std::min(most, r.slowest.size()); ++i) {
    auto& row = r.slowest[i];
    auto what = row.path.empty() ? row.inode ? fmt::format("inode {}", row.inode) : row.arguments : row.path;
    out += fmt::format("{:>9}  {:<8} {}  [pid {}, {} ago]\n           {}\n", timeText(row.micros), row.op, what, row.pid, timeText(row.agoMs * 1000),
                       stagesText(row.stages, row.micros));
  }
  if (auto words = wordsOf(heaviestStage(r.stages))) out += fmt::format("\n{}\n", words->advice);
  return out;
}

}  // namespace aquifer::cli
