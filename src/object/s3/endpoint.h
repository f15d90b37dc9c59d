// Which server, bucket and region a bucket string means: the forms of the program whose volumes these are, traps included
// (docs/object_stores.md has the table). Pure but for `environment`; thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "object/http/connection.h"

namespace aquifer::object::s3 {

struct Endpoint {
  http::Origin origin;      // in virtual-host style with the bucket in front
  std::string bucket;
  bool pathStyle = false;   // "/bucket/key" rather than "bucket.host/key"
  std::string region;       // empty: ask the service where the bucket is (a bare name)
  bool checksum = true;     // Crc32c metadata on put, checked on get
  http::TlsOptions tls;
  std::string shown;        // for people: "s3://bucket/"
};

using Environment = std::function<std::string(const char*)>;  // the value of a variable, or ""

// `storage`: one of serviceNames(). Errors: config.
Result<Endpoint> parseEndpoint(std::string_view storage, std::string_view bucket, const Environment& environment);
// Puts the region in, and the host that it asks for: after asking for it.
void setRegion(Endpoint* endpoint, const std::string& region);
// The server of a region of the first of all clouds.
std::string awsHost(std::string_view region);

// A name of --storage that speaks this protocol, and the environment variables it takes its keys from ("" = none).
struct Service {
  const char* name;
  const char *accessKey, *secretKey, *sessionToken;
  // For services of the form bucket.<endpoint>: the label (1: behind the bucket) that holds the region, and what stands in front
  // of the region there. 0: `region` is fixed.
  int regionLabel;
  const char* labelPrefix;
  const char* region;
  // The label that speaks S3, where that is another than people write: "from" becomes "to" at the start of the endpoint.
  const char *from, *to;
};
const Service* findService(std::string_view storage);

}  // namespace aquifer::object::s3
