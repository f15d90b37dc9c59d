#include "cli/mount_state_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text_file.h"

namespace aquifer::cli {

using Json = nlohmann::ordered_json;

Status saveStateFile(const std::string& path, fuse::CrashState& state, vfs::Handle next) {
  Json handlers = Json::object();
  for (const auto& h : state.openHandles()) {
    // UseLocks 2: the reader releases POSIX locks when the file is closed.
    handlers[std::to_string(h.fh)] = {{"Inode", h.ino},  {"Length", 0}, {"Flags", h.flags}, {"UseLocks", 2},
                                      {"FlockOwner", 0}, {"Off", 0},    {"Data", ""},       {"TierID", 0}};
  }
  const Json j{{"Handler", handlers}, {"NextFh", next}};
  // Whoever reads it trusts it: nobody else may write it.
  const std::string temporary = path + ".new";
  unlink(temporary.c_str());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Status(Code::io, "cannot write " + temporary);
  const std::string text = j.dump();
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) return Status(Code::io, "cannot write " + path);
  return {};
}

void loadStateFile(const std::string& path, fuse::CrashState& state) {
  const Json j = Json::parse(fileText(path), nullptr, false);
  if (!j.is_object() || !j.contains("Handler") || !j["Handler"].is_object()) {
    LOG_WARN("state file {} is missing or damaged", path);
    return;
  }
  size_t adopted = 0;
  for (const auto& [key, h] : j["Handler"].items()) {
    uint64_t fh = 0;
    auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), fh);
    if (error != std::errc() || end != key.data() + key.size() || !h.is_object()) continue;
    if (!h.contains("Inode") || !h["Inode"].is_number_unsigned()) continue;
    const uint32_t flags = h.contains("Flags") && h["Flags"].is_number_unsigned() ? h["Flags"].get<uint32_t>() : O_RDONLY;
    state.opened(fh, h["Inode"].get<uint64_t>(), flags);
    ++adopted;
  }
  if (j.contains("NextFh") && j["NextFh"].is_number_unsigned()) state.reserveHandles(j["NextFh"].get<uint64_t>());
  LOG_INFO("loaded {} open handles from {}", adopted, path);
  std::rename(path.c_str(), (path + ".bak").c_str());
}

}  // namespace aquifer::cli
