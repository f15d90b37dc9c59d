#include "cli/debug_source.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/encode.h"
#include "base/text_file.h"
#include "cli/errno_text.h"
#include "cli/option_groups.h"

namespace aquifer::cli {

namespace {

using Json = nlohmann::ordered_json;
constexpr uint64_t kMostLog = 64u << 20;
constexpr size_t kMostPage = 256u << 20;
constexpr int kMostDepth = 16;

void hideSecrets(Json& j, int depth) {
  if (!j.is_structured() || depth > kMostDepth) return;
  for (auto& [key, value] : j.items()) {
    if (value.is_structured()) hideSecrets(value, depth + 1);
    else if ((key == "SecretKey" || key == "SessionToken" || key == "EncryptKey" || key == "Password") && value.is_string() && value != "") value = "removed";
    else if (value.is_string()) value = maskUrl(value.get<std::string>());
  }
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<MountFacts> parseMountConfig(const std::string& text) {
  try {
    auto j = Json::parse(text);
    MountFacts facts;
    if (auto it = j.find("Pid"); it != j.end()) facts.pid = it->get<int64_t>();
    if (auto port = j.find("Port"); port != j.end() && port->is_object())
      if (auto it = port->find("DebugAgent"); it != port->end()) facts.debugAddress = it->get<std::string>();
    hideSecrets(j, 0);
    facts.config = j.dump(1, ' ', false, Json::error_handler_t::replace);
    return facts;
  } catch (const Json::exception& e) {
    return Status(Code::io, std::string("the mount's .config is not understood: ") + e.what());
  }
}

std::vector<std::string> commandLine(int64_t pid) {
  std::vector<std::string> words;
  auto text = readText(fmt::format("/proc/{}/cmdline", pid), 1u << 20);
  if (!text) return words;
  for (size_t at = 0; at < text->size();) {
    auto end = std::min(text->find('\0', at), text->size());
    if (end > at) words.push_back(maskUrl(text->substr(at, end - at)));
    at = end + 1;
  }
  return words;
}

std::string logFileOf(const std::vector<std::string>& words) {
  bool background = false;
  auto file = defaultLogFile("juicefs.log");
  for (size_t i = 0; i < words.size(); ++i) {
    auto begin = words[i].find_first_not_of('-');
    if (begin == 0 || begin == std::string::npos) continue;
    auto name = words[i].substr(begin);
    if (name == "d" || name == "background" || name == "d=true" || name == "background=true") background = true;
    if (name == "log" && i + 1 < words.size()) file = words[i + 1];
    if (name.starts_with("log=")) file = name.substr(4);
  }
  return background ? file : "";
}

Result<std::string> tailOf(const std::string& path, uint64_t lines) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat st;
  if (file.fd < 0 || ::fstat(file.fd, &st) != 0) return Status(Code(errno), "open " + path + ": " + errnoText(errno));
  const auto size = static_cast<uint64_t>(std::max<off_t>(st.st_size, 0)), from = size - std::min(size, kMostLog);
  std::string text(size - from, '\0');
  size_t got = 0;
  for (ssize_t n; got < text.size() && (n = ::pread(file.fd, text.data() + got, text.size() - got, static_cast<off_t>(from + got))) > 0;)
    got += static_cast<size_t>(n);
  text.resize(got);
  // From the end, past the last line's own newline.
  size_t at = text.size() - (text.ends_with('\n') ? 1 : 0);
  for (uint64_t left = lines; left > 0; --left) {
    auto newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (newline == std::string::npos) return text;
    at = newline;
  }
  return lines == 0 ? std::string() : text.substr(at + 1);
}

Result<std::string> httpGet(const std::string& address, const std::string& target, int64_t seconds) {
  const auto colon = address.rfind(':');
  const auto host = address.substr(0, colon);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  const int port = colon == std::string::npos ? 0 : std::atoi(address.c_str() + colon + 1);
  to.sin_port = htons(static_cast<uint16_t>(port));
  if (port <= 0 || port > 65535 || inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &to.sin_addr) != 1)
    return Status(Code::invalid, address + " is no address of this machine");
  Descriptor s{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const timeval limit{seconds, 0};
  if (s.fd < 0 || setsockopt(s.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      setsockopt(s.fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 || connect(s.fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    return Status(Code(errno), "connect to " + address + ": " + errnoText(errno));
  // HTTP/1.0: the reply ends with the connection.
  const auto request = fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\n\r\n", target, address);
  if (::send(s.fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return Status(Code::io, "ask " + address + ": " + errnoText(errno));
  std::string reply;
  char bytes[65536];
  ssize_t n = 0;
  while (reply.size() < kMostPage && (n = ::recv(s.fd, bytes, sizeof bytes, 0)) > 0) reply.append(bytes, static_cast<size_t>(n));
  if (n < 0) return Status(Code(errno), "read from " + address + ": " + errnoText(errno));
  const auto head = reply.find("\r\n\r\n");
  if (head == std::string::npos || reply.size() < 12 || reply.compare(8, 4, " 200") != 0)
    return Status(Code::notFound, target + ": " + reply.substr(0, std::min<size_t>(reply.find('\r'), 100)));
  return reply.substr(head + 4);
}

std::string systemInfo() {
  utsname u{};
  (void)uname(&u);
  const std::string machine = u.machine;
  auto kernel = readText("/proc/version", 4096), release = readText("/etc/os-release", 65536);
  return fmt::format("\nPlatform: \nlinux {}\n\nKernel: \n{}\nOS: \n{}\n", machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : machine,
                     kernel ? *kernel : std::string(u.release) + "\n", release ? *release : "unknown\n");
}

}  // namespace aquifer::cli
