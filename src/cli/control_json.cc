#include "cli/control_json.h"

#include <nlohmann/json.hpp>

namespace aquifer::cli {

namespace {

using Json = nlohmann::json;
constexpr int kMostDepth = 64;   // trees of summaries are at most 10 deep

// Absent and null are the type's zero; another type is an exception that `guarded` turns into a status.
template <class T>
T field(const Json& o, const char* key) {
  auto it = o.find(key);
  return it == o.end() || it->is_null() ? T() : it->get<T>();
}
const Json& list(const Json& o, const char* key) {
  static const Json none = Json::array();
  auto it = o.find(key);
  return it == o.end() || it->is_null() ? none : *it;
}
// Numbers as they are, anything else as text.
std::string textOf(const Json& o, const char* key) {
  auto it = o.find(key);
  if (it == o.end() || it->is_null()) return {};
  return it->is_string() ? it->get<std::string>() : it->dump();
}

template <class T, class Fill>
Result<T> guarded(const std::string& json, Fill fill) {
  try {
    auto parsed = Json::parse(json);
    T out;
    fill(parsed, out);
    return out;
  } catch (const Json::exception& e) {
    return Status(Code::io, std::string("the mount's answer is not understood: ") + e.what());
  }
}

SummaryNode node(const Json& o, int depth) {
  SummaryNode n;
  n.path = field<std::string>(o, "Path");
  n.directory = field<int>(o, "Type") == 2;
  n.size = field<uint64_t>(o, "Size");
  n.files = field<uint64_t>(o, "Files");
  n.dirs = field<uint64_t>(o, "Dirs");
  if (depth < kMostDepth)
    for (auto& child : list(o, "Children")) n.children.push_back(node(child, depth + 1));
  return n;
}

}  // namespace

Result<InfoReply> parseInfoReply(const std::string& json) {
  return guarded<InfoReply>(json, [](const Json& o, InfoReply& r) {
    r.ino = field<uint64_t>(o, "Ino");
    r.failed = field<bool>(o, "Failed");
    r.reason = field<std::string>(o, "Reason");
    auto summary = o.find("Summary");
    if (summary != o.end() && summary->is_object()) {
      r.length = field<uint64_t>(*summary, "Length");
      r.size = field<uint64_t>(*summary, "Size");
      r.files = field<uint64_t>(*summary, "Files");
      r.dirs = field<uint64_t>(*summary, "Dirs");
    }
    r.paths = field<std::vector<std::string>>(o, "Paths");
    for (auto& c : list(o, "Chunks"))
      r.chunks.push_back({field<uint64_t>(c, "ChunkIndex"), field<uint64_t>(c, "Id"), field<uint64_t>(c, "Size"), field<uint64_t>(c, "Off"),
                          field<uint64_t>(c, "Len")});
    for (auto& c : list(o, "Objects"))
      r.objects.push_back({field<uint64_t>(c, "ChunkIndex"), field<uint64_t>(c, "Size"), field<uint64_t>(c, "Off"), field<uint64_t>(c, "Len"),
                           field<std::string>(c, "Key")});
    for (auto& l : list(o, "PLocks"))
      r.plocks.push_back({field<uint64_t>(l, "Sid"), field<uint64_t>(l, "Owner"), field<uint64_t>(l, "Pid"), field<uint64_t>(l, "Start"),
                          field<uint64_t>(l, "End"), textOf(l, "Type")});
    for (auto& l : list(o, "FLocks")) r.flocks.push_back({field<uint64_t>(l, "Sid"), field<uint64_t>(l, "Owner"), textOf(l, "Type")});
    auto tier = o.find("Tier");
    if (tier != o.end() && tier->is_object()) {
      r.hasTier = true;
      r.tierId = field<int>(*tier, "ID");
      r.tierClass = field<std::string>(*tier, "StorageClass");
    }
    r.restoreStatus = field<std::string>(o, "RestoreStatus");
  });
}

Result<SummaryReply> parseSummaryReply(const std::string& json) {
  return guarded<SummaryReply>(json, [](const Json& o, SummaryReply& r) {
    r.errnum = field<int>(o, "Errno");
    auto tree = o.find("Tree");
    if (tree != o.end() && tree->is_object()) r.tree = node(*tree, 0);
  });
}

Result<CacheReply> parseCacheReply(const std::string& json) {
  return guarded<CacheReply>(json, [](const Json& o, CacheReply& r) {
    r.files = field<uint64_t>(o, "FileCount");
    r.slices = field<uint64_t>(o, "SliceCount");
    r.totalBytes = field<uint64_t>(o, "TotalBytes");
    r.missBytes = field<uint64_t>(o, "MissBytes");
    r.locations = field<std::map<std::string, uint64_t>>(o, "Locations");
  });
}

}  // namespace aquifer::cli
