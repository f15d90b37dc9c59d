#include "object/s3/credentials.h"

#include <algorithm>

#include "base/encode.h"
#include "base/text.h"
#include "base/text_file.h"

namespace aquifer::object::s3 {

namespace {

constexpr size_t kMaxFileBytes = 1u << 20;

}  // namespace

Credentials profileCredentials(std::string_view text, std::string_view profile) {
  Credentials out;
  for (bool mine = false; !text.empty();) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[') && line.ends_with(']')) {
      std::string_view name = trimmed(line.substr(1, line.size() - 2));
      if (name.starts_with("profile ")) name = trimmed(name.substr(8));
      mine = name == profile;
      continue;
    }
    const size_t equals = line.find('=');
    if (!mine || line.starts_with('#') || line.starts_with(';') || equals == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
    if (name == "aws_access_key_id") out.accessKey = value;
    if (name == "aws_secret_access_key") out.secretKey = value;
    if (name == "aws_session_token") out.sessionToken = value;
  }
  return out;
}

Result<Credentials> findCredentials(const StoreConfig& config, const Environment& environment) {
  Credentials out{.accessKey = config.accessKey, .secretKey = config.secretKey, .sessionToken = config.sessionToken};
  const Service* service = findService(config.storage);
  auto orVariable = [&](std::string& value, const char* name) {
    if (value.empty() && *name) value = environment(name);
  };
  if (service && out.accessKey.empty()) {
    orVariable(out.accessKey, service->accessKey);
    orVariable(out.secretKey, service->secretKey);
    orVariable(out.sessionToken, service->sessionToken);
  }
  if (out.accessKey == "anonymous") return Credentials{.anonymous = true};
  if (out.accessKey.empty() && (config.storage == "s3" || config.storage == "minio")) {
    out = {.accessKey = environment("AWS_ACCESS_KEY_ID"),
           .secretKey = environment("AWS_SECRET_ACCESS_KEY"),
           .sessionToken = environment("AWS_SESSION_TOKEN")};
    std::string profile = environment("AWS_PROFILE");
    if (profile.empty()) profile = "default";
    const std::string folder = environment("HOME") + "/.aws/";
    for (const auto& [variable, file] : {std::pair{"AWS_SHARED_CREDENTIALS_FILE", "credentials"}, std::pair{"AWS_CONFIG_FILE", "config"}}) {
      if (!out.accessKey.empty() && !out.secretKey.empty()) break;
      std::string path = environment(variable);
      out = profileCredentials(fileText(path.empty() ? folder + file : path, kMaxFileBytes), profile);
    }
  }
  if (out.accessKey.empty() || out.secretKey.empty())
    return Status(Code::config, "storage `" + config.storage +
                                    "` needs --access-key and --secret-key, their environment variables or a profile; roles of a "
                                    "machine or a web identity are not taken yet (access key `anonymous`: unsigned requests)");
  if (config.storage == "ks3") {  // they may hold what a URL cannot
    for (std::string* key : {&out.accessKey, &out.secretKey})
      if (auto plain = percentDecode(*key, false)) *key = *std::move(plain);
  }
  return out;
}

}  // namespace aquifer::object::s3
