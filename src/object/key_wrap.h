// The volume's private key, which wraps the data key of every object: RSA-OAEP (SHA-256 twice, label "keys"), or SM2 with
// ASN.1 ciphertext when the key is an SM2 one. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::object {

class KeyWrap {
 public:
  virtual ~KeyWrap() = default;
  virtual Result<std::string> wrap(std::string_view key) const = 0;
  // Bytes that this key has not wrapped: Code::corrupt.
  virtual Result<std::string> unwrap(std::string_view wrapped) const = 0;
  virtual size_t maxWrappedBytes(size_t keyBytes) const = 0;
};

// Neither RSA nor SM2, damaged, protected without passphrase, or a wrong passphrase: Code::config.
Result<std::unique_ptr<KeyWrap>> loadKeyWrap(const std::string& pem, const std::string& passphrase);

}  // namespace aquifer::object
