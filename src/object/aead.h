// Authenticated ciphers of encrypted objects: 12-byte nonce, 16-byte tag behind the ciphertext, no associated data.
// Thread-safe: the objects hold no state.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace aquifer::object {

inline constexpr size_t kNonceBytes = 12, kTagBytes = 16;

class Aead {
 public:
  virtual ~Aead() = default;
  virtual size_t keyBytes() const = 0;
  // out has room for plain.size() + kTagBytes. False only when the library fails.
  virtual bool seal(const unsigned char* key, const unsigned char* nonce, std::string_view plain, unsigned char* out) const = 0;
  // `sealed` is ciphertext and tag (at least kTagBytes); out has room for the rest. False: not sealed with this key, or damaged.
  virtual bool open(const unsigned char* key, const unsigned char* nonce, std::string_view sealed, unsigned char* out) const = 0;
};

std::unique_ptr<Aead> makeAes256Gcm();
std::unique_ptr<Aead> makeChaCha20Poly1305();
std::unique_ptr<Aead> makeSm4Gcm();

}  // namespace aquifer::object
