#include "object/s3/endpoint.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/encode.h"
#include "object/http/message.h"

namespace aquifer::object::s3 {

namespace {

constexpr std::string_view kAws = ".amazonaws.com";
constexpr const char* kDefaultRegion = "us-east-1";

// name, environment for keys, region label, its prefix, fixed region, rewritten beginning. Examples are what people write.
constexpr std::array kServices = {
    Service{"s3", "", "", "", 0, "", "", "", ""},
    Service{"minio", "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY", "", 0, "", "", "", ""},
    Service{"oss", "ALICLOUD_ACCESS_KEY_ID", "ALICLOUD_ACCESS_KEY_SECRET", "SECURITY_TOKEN", 1, "oss-", "", "", ""},  // b.oss-cn-hangzhou.aliyuncs.com
    Service{"cos", "COS_SECRETID", "COS_SECRETKEY", "", 2, "", "", "", ""},                    // b-123.cos.ap-beijing.myqcloud.com
    Service{"obs", "HWCLOUD_ACCESS_KEY", "HWCLOUD_SECRET_KEY", "", 2, "", "", "", ""},         // b.obs.cn-east-2.myhuaweicloud.com
    Service{"tos", "", "", "", 1, "tos-", "", "tos-", "tos-s3-"},                              // b.tos-cn-beijing.volces.com
    Service{"bos", "BDCLOUD_ACCESS_KEY", "BDCLOUD_SECRET_KEY", "", 1, "", "", "", "s3."},      // b.bj.bcebos.com
    Service{"ks3", "", "", "", 1, "ks3-", "", "", ""},                                         // b.ks3-cn-beijing.ksyuncs.com
    Service{"qiniu", "", "", "", 1, "s3-", "", "", ""},                                        // b.s3-cn-east-1.qiniucs.com
    Service{"qingstor", "", "", "", 1, "", "", "", "s3."},                                     // b.pek3a.qingstor.com
    Service{"scw", "SCW_ACCESS_KEY", "SCW_SECRET_KEY", "", 2, "", "", "", ""},                 // b.s3.fr-par.scw.cloud
    Service{"space", "", "", "", 1, "", "", "", ""},                                           // b.nyc3.digitaloceanspaces.com
    Service{"wasabi", "", "", "", 2, "", "", "", ""},                                          // b.s3.us-east-2.wasabisys.com
    Service{"oos", "", "", "", 1, "oos-", "", "", ""},                                         // b.oos-cn.ctyunapi.cn
    Service{"eos", "EOS_ACCESS_KEY", "EOS_SECRET_KEY", "EOS_TOKEN", 0, "", kDefaultRegion, "", ""},  // b.eos-wuxi-1.cmecloud.cn
};

Status bad(std::string_view why, std::string_view bucket) {
  return {Code::config, "the bucket `" + std::string(bucket) + "` " + std::string(why)};
}

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool isTrue(std::string_view text) { return text == "true" || text == "1" || text == "t" || text == "T" || text == "TRUE" || text == "True"; }

// scheme://host[:port][/path][?query], taken apart.
struct Url {
  bool https = false;
  std::string host, path;  // host with its port
  std::vector<std::pair<std::string, std::string>> query;

  std::string parameter(std::string_view name) const {
    for (const auto& [key, value] : query)
      if (key == name) return value;
    return "";
  }
};

// `defaultHttps` answers for a string without a scheme.
Status parseUrl(std::string_view text, const std::function<bool(std::string_view)>& defaultHttps, Url* out) {
  const std::string_view whole = text;
  Url& url = *out;
  const size_t question = text.find('?');
  std::string_view query = question == std::string_view::npos ? std::string_view() : text.substr(question + 1);
  text = text.substr(0, question);
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) {
    url.https = defaultHttps(text);
  } else {
    const std::string name = http::lower(text.substr(0, scheme));
    if (name != "http" && name != "https") return bad("has a scheme other than http and https", whole);
    url.https = name == "https";
    text.remove_prefix(scheme + 3);
  }
  while (!text.empty() && text.back() == '/') text.remove_suffix(1);
  const size_t slash = std::min(text.find('/'), text.size());
  url.host = std::string(text.substr(0, slash));
  url.path = std::string(text.substr(slash));
  if (url.host.empty()) return bad("names no server", whole);
  // Keys belong into their own options; and what is odd here would end up in a request.
  if (url.host.find('@') != std::string::npos) return {Code::config, "the bucket must not hold keys; --access-key and --secret-key take them"};
  if (!std::all_of(url.host.begin(), url.host.end(), [](char c) { return isNameCharacter(c) || c == ':' || c == '[' || c == ']'; }))
    return bad("has a character that no host name has", whole);
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    const auto value = percentDecode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!value) return bad("has a query that is not percent-encoded", whole);
    url.query.emplace_back(std::string(pair.substr(0, equals)), *value);
  }
  return {};
}

// host[:port] or [address]:port.
Status setOrigin(const Url& url, std::string_view host, Endpoint* out) {
  out->origin.tls = url.https;
  out->origin.port = url.https ? 443 : 80;
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    const auto port = http::parseNumber(host.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return bad("has no valid port", host);
    out->origin.port = static_cast<uint16_t>(*port);
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return bad("names no server", host);
  out->origin.host = std::string(host);
  return {};
}

// "s3.eu-west-1.amazonaws.com", "s3-eu-west-1.…", "s3.dualstack.eu-west-1.…": the region, or "" when there is none.
std::string awsRegion(std::string_view host) {
  if (!host.starts_with("s3") || host.size() < 3) return "";
  host.remove_prefix(3);  // "s3." or "s3-"
  if (host.starts_with("dualstack.")) host.remove_prefix(10);
  if (host.starts_with("amazonaws.com")) return "";
  const std::string region(host.substr(0, host.find('.')));
  return region == "external-1" ? kDefaultRegion : region;
}

std::string label(std::string_view host, int number) {
  for (; number > 0; number--) {
    const size_t dot = host.find('.');
    if (dot == std::string_view::npos) return "";
    host.remove_prefix(dot + 1);
  }
  return std::string(host.substr(0, host.find_first_of(".:")));
}

// Regions in the hosts of others that speak S3 under the name `s3`.
std::string regionOfOthers(std::string_view host) {
  constexpr std::string_view kOracle = ".compat.objectstorage.", kOvh = ".cloud.ovh.net";
  if (const size_t at = host.find(kOracle); at != std::string_view::npos && host.ends_with(".oraclecloud.com"))
    return label(host.substr(at + kOracle.size()), 0);
  if (host.ends_with(kOvh) && host.starts_with("s3.")) return label(host, 1);
  return "";
}

bool wantsVirtualHost(const Environment& environment) {
  const std::string value = http::lower(environment("JFS_S3_VHOST_STYLE"));
  return !value.empty() && value != "0" && value != "false";
}

std::string firstOf(std::initializer_list<std::string> values) {
  for (const auto& v : values)
    if (!v.empty()) return v;
  return "";
}

void awsStyle(Endpoint* out) {
  // A certificate for *.s3.… does not cover a bucket with dots.
  out->pathStyle = out->origin.tls && out->bucket.find('.') != std::string::npos;
}

Result<Endpoint> parseS3(std::string_view text, const Environment& environment) {
  // Trap: a string that does not end exactly so becomes plain http, amazonaws.com.cn and paths behind the host included.
  Url url;
  TRY(parseUrl(text, [](std::string_view s) { return s.find('.') == std::string_view::npos || s.ends_with(kAws); }, &url));
  Endpoint out;
  const bool aws = url.host.find(kAws) != std::string::npos;
  std::string host = url.host;
  if (!url.path.empty()) {
    out.bucket = url.path.substr(1, url.path.find('/', 1) - 1);
  } else if (const size_t dot = host.find('.'); dot == std::string::npos) {
    out.bucket = std::exchange(host, "");
  } else if (aws && host.find(".vpce.amazonaws.com") == std::string::npos) {
    const size_t at = host.find(".s3");
    if (at == std::string::npos) return bad("is at no known kind of host", text);
    out.bucket = host.substr(0, at);
    host = host.substr(at + 1);
  } else {
    out.bucket = host.substr(0, dot);
    host = host.substr(dot + 1);
  }
  TRY(setOrigin(url, host.empty() ? awsHost(kDefaultRegion) : host, &out));
  out.shown = "s3://" + out.bucket + "/";
  if (host.empty()) {  // a bare name: the region is still to be found out
    awsStyle(&out);
    return out;
  }
  if (const size_t vpce = host.find(".vpce.amazonaws.com"); vpce != std::string::npos) {
    if (vpce == 0) return bad("is at no known kind of host", text);   // nothing stands where the region would
    out.region = host.substr(host.rfind('.', vpce - 1) + 1);
    out.region.resize(out.region.find('.'));
  } else {
    out.region = aws ? awsRegion(host) : regionOfOthers(out.origin.host);
  }
  if (out.region.empty()) out.region = firstOf({environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), kDefaultRegion});
  if (aws && host.find(".vpce.") == std::string::npos) {
    setRegion(&out, out.region);
  } else {
    out.shown = "s3://" + out.origin.text() + "/" + out.bucket + "/";
    out.pathStyle = !wantsVirtualHost(environment);
    if (!out.pathStyle) out.origin.host = out.bucket + "." + out.origin.host;
  }
  return out;
}

Result<Endpoint> parseMinio(std::string_view text, const Environment& environment) {
  Url url;
  TRY(parseUrl(text, [](std::string_view) { return false; }, &url));
  std::string_view path = url.path;
  if (path.starts_with("/")) path.remove_prefix(1);
  if (path.starts_with("minio/")) path.remove_prefix(6);
  Endpoint out;
  out.bucket = std::string(path.substr(0, path.find('/')));
  if (out.bucket.empty()) return bad("has no bucket behind the host", text);
  TRY(setOrigin(url, url.host, &out));
  out.pathStyle = true;
  out.region = firstOf({url.parameter("region"), environment("MINIO_REGION"), kDefaultRegion});
  out.shown = "minio://" + url.host + "/" + out.bucket + "/";
  return out;
}

// bucket.<endpoint>, with the region in one of its labels.
Result<Endpoint> parseVirtualHost(const Service& service, std::string_view text) {
  Url url;
  TRY(parseUrl(text, [](std::string_view) { return true; }, &url));
  const size_t dot = url.host.find('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == url.host.size()) return bad("is not of the form BUCKET.ENDPOINT", text);
  Endpoint out;
  out.bucket = url.host.substr(0, dot);
  std::string host = url.host.substr(dot + 1);
  out.region = service.region;
  if (service.regionLabel > 0) {
    out.region = label(url.host, service.regionLabel);
    const std::string_view prefix = service.labelPrefix;
    // A domain is behind it, of two labels at least: else this is the domain.
    if (!out.region.starts_with(prefix) || label(url.host, service.regionLabel + 2).empty())
      return bad("has no region where this storage has it", text);
    out.region.erase(0, prefix.size());
    for (const std::string_view tail : {"-internal"})  // the same region from within
      if (std::string_view(out.region).ends_with(tail)) out.region.resize(out.region.size() - tail.size());
    if (out.region.empty()) return bad("has no region where this storage has it", text);
  }
  const std::string_view from = service.from, to = service.to;
  if (host.starts_with(from) && !host.starts_with(to)) host = std::string(to) + host.substr(from.size());
  TRY(setOrigin(url, out.bucket + "." + host, &out));
  out.shown = std::string(service.name) + "://" + out.bucket + "/";
  return out;
}

}  // namespace

std::string awsHost(std::string_view region) {
  return "s3." + std::string(region) + std::string(kAws) + (region.starts_with("cn-") ? ".cn" : "");
}

void setRegion(Endpoint* endpoint, const std::string& region) {
  endpoint->region = region;
  awsStyle(endpoint);
  endpoint->origin.host = (endpoint->pathStyle ? "" : endpoint->bucket + ".") + awsHost(region);
}

const Service* findService(std::string_view storage) {
  const auto it = std::find_if(kServices.begin(), kServices.end(), [&](const Service& s) { return storage == s.name; });
  return it == kServices.end() ? nullptr : &*it;
}

Result<Endpoint> parseEndpoint(std::string_view storage, std::string_view bucket, const Environment& environment) {
  const Service* service = findService(storage);
  if (!service) return Status(Code::config, "unknown object storage `" + std::string(storage) + "`");
  auto parsed = storage == "s3" ? parseS3(bucket, environment)
                : storage == "minio" ? parseMinio(bucket, environment) : parseVirtualHost(*service, bucket);
  TRY_ASSIGN(Endpoint out, std::move(parsed));
  if (out.bucket.empty()) return bad("has no name", bucket);
  // It becomes part of a host's name. (A colon: a tenant's bucket.)
  if (!std::all_of(out.bucket.begin(), out.bucket.end(), [&](char c) { return isNameCharacter(c) || (c == ':' && out.pathStyle); }))
    return bad("has a character that no bucket name has", bucket);
  Url url;
  TRY(parseUrl(bucket, [](std::string_view) { return true; }, &url));
  out.checksum = !isTrue(url.parameter("disable-checksum"));
  out.tls.verify = !isTrue(url.parameter("tls-insecure-skip-verify"));
  const std::string ca = url.parameter("ca-certs"), cert = url.parameter("ssl-cert"), key = url.parameter("ssl-key");
  if (!ca.empty() && !cert.empty() && !key.empty()) out.tls = {out.tls.verify, ca, cert, key};
  return out;
}

}  // namespace aquifer::object::s3
