#include "object/s3/delete_many.h"

#include <openssl/evp.h>

#include "base/encode.h"
#include "object/s3/listing.h"
#include "object/s3/xml.h"

namespace aquifer::object::s3 {

std::string deleteRequest(std::span<const std::string> keys) {
  std::string out = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>";
  for (const auto& key : keys) out += "<Object><Key>" + xmlEscape(key) + "</Key></Object>";
  return out + "</Delete>";
}

std::string contentMd5(std::string_view body) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(body.data(), body.size(), digest, &size, EVP_md5(), nullptr);
  return base64Encode({reinterpret_cast<const char*>(digest), size});
}

Status parseDeleteAnswer(std::string_view xml) {
  TRY_ASSIGN(const XmlElement root, parseXml(xml));
  if (root.name != "DeleteResult") return {Code::io, "the server's answer to a deletion is not one"};
  for (const auto& item : root.children) {
    if (item.name != "Error" || item.textOf("Code") == "NoSuchKey") continue;
    const std::string code(item.textOf("Code").substr(0, 100));
    return {codeOf(200, code), "delete " + std::string(item.textOf("Key").substr(0, 200)) + ": " + code};
  }
  return {};
}

}  // namespace aquifer::object::s3
