// The envelope of encrypted objects (docs/formats/data.md): u16 K ‖ u8 N ‖ wrapped key ‖ nonce ‖ ciphertext ‖ tag.
// Thread-safe after construction. Decoding treats its input as hostile: any damage is Code::corrupt.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::object {

class Encryptor {
 public:
  virtual ~Encryptor() = default;
  virtual Result<std::string> encrypt(std::string_view plain) const = 0;
  virtual Result<std::string> decrypt(std::string_view envelope) const = 0;
  // The same into the caller's bytes; returns the plain size. They hold nothing of use after an error. Too small: Code::tooBig.
  virtual Result<size_t> decryptInto(std::string_view envelope, std::span<std::byte> out) const = 0;
  virtual size_t overhead() const = 0;  // bytes added by encrypt, at most (an SM2-wrapped key varies by a few)
};

// pem: PKCS#1, PKCS#8, legacy or PKCS#8 encrypted; RSA or SM2 key. algo: aes256gcm-rsa (or empty), chacha20-rsa, sm4gcm.
// A protected key without passphrase, a wrong passphrase, an unknown algorithm: Code::config.
Result<std::unique_ptr<Encryptor>> makeEncryptor(const std::string& pem, const std::string& passphrase, const std::string& algo);

}  // namespace aquifer::object
