#include "object/aead.h"

#include <openssl/evp.h>

namespace aquifer::object {

namespace {

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytesOf(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// Lengths fit an int: the envelope refuses larger objects.
class EvpAead : public Aead {
 public:
  EvpAead(const EVP_CIPHER* cipher, size_t keyBytes) : cipher_(cipher), keyBytes_(keyBytes) {}
  size_t keyBytes() const override { return keyBytes_; }

  bool seal(const unsigned char* key, const unsigned char* nonce, std::string_view plain, unsigned char* out) const override {
    CipherContext ctx(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    int n = 0, tail = 0;
    return ctx && EVP_EncryptInit_ex(ctx.get(), cipher_, nullptr, key, nonce) == 1 &&
           EVP_EncryptUpdate(ctx.get(), out, &n, bytesOf(plain), static_cast<int>(plain.size())) == 1 &&
           EVP_EncryptFinal_ex(ctx.get(), out + n, &tail) == 1 &&
           EVP_CIPHER_CTX_ctrl(ctx.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, out + plain.size()) == 1;
  }

  bool open(const unsigned char* key, const unsigned char* nonce, std::string_view sealed, unsigned char* out) const override {
    CipherContext ctx(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    const size_t size = sealed.size() - kTagBytes;
    auto* tag = const_cast<unsigned char*>(bytesOf(sealed) + size);  // only read: the call has one signature for get and set
    int n = 0, tail = 0;
    return ctx && EVP_DecryptInit_ex(ctx.get(), cipher_, nullptr, key, nonce) == 1 &&
           EVP_CIPHER_CTX_ctrl(ctx.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag) == 1 &&
           EVP_DecryptUpdate(ctx.get(), out, &n, bytesOf(sealed), static_cast<int>(size)) == 1 &&
           EVP_DecryptFinal_ex(ctx.get(), out + n, &tail) == 1;
  }

 private:
  const EVP_CIPHER* const cipher_;  // static in the library
  const size_t keyBytes_;
};

}  // namespace

std::unique_ptr<Aead> makeAes256Gcm() { return std::make_unique<EvpAead>(EVP_aes_256_gcm(), 32); }
std::unique_ptr<Aead> makeChaCha20Poly1305() { return std::make_unique<EvpAead>(EVP_chacha20_poly1305(), 32); }

}  // namespace aquifer::object
