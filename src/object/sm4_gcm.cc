// SM4-GCM. OpenSSL 3.0 has the SM4 block cipher and a GCM for any block cipher, but not the two together.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/modes.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "object/aead.h"

namespace aquifer::object {

namespace {

constexpr size_t kBlock = 16;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
using GcmContext = std::unique_ptr<GCM128_CONTEXT, decltype(&CRYPTO_gcm128_release)>;

void encryptBlock(const unsigned char in[kBlock], unsigned char out[kBlock], const void* key) {
  int n = 0;
  EVP_EncryptUpdate(static_cast<EVP_CIPHER_CTX*>(const_cast<void*>(key)), out, &n, in, kBlock);
}

// out = in xor the encrypted counters from `counter` on, whose last four bytes count. Many blocks a call: a call a block
// would cost more than the cipher.
void counterStream(const unsigned char* in, unsigned char* out, size_t blocks, const void* key,
                   const unsigned char counter[kBlock]) {
  constexpr size_t kAtOnce = 64;
  unsigned char stream[kAtOnce * kBlock];
  auto count = loadBig<uint32_t>(counter + 12);
  while (blocks > 0) {
    const size_t now = std::min(blocks, kAtOnce);
    for (size_t i = 0; i < now; i++) {
      std::memcpy(stream + i * kBlock, counter, 12);
      storeBig(stream + i * kBlock + 12, count++);
    }
    int n = 0;
    EVP_EncryptUpdate(static_cast<EVP_CIPHER_CTX*>(const_cast<void*>(key)), stream, &n, stream, static_cast<int>(now * kBlock));
    for (size_t i = 0; i < now * kBlock; i++) out[i] = in[i] ^ stream[i];
    in += now * kBlock;
    out += now * kBlock;
    blocks -= now;
  }
}

class Sm4Gcm : public Aead {
 public:
  size_t keyBytes() const override { return 16; }

  bool seal(const unsigned char* key, const unsigned char* nonce, std::string_view plain, unsigned char* out) const override {
    Pass pass(key, nonce);
    if (!pass.gcm || CRYPTO_gcm128_encrypt_ctr32(pass.gcm.get(), reinterpret_cast<const unsigned char*>(plain.data()), out,
                                                 plain.size(), counterStream) != 0) {
      return false;
    }
    CRYPTO_gcm128_tag(pass.gcm.get(), out + plain.size(), kTagBytes);
    return true;
  }

  bool open(const unsigned char* key, const unsigned char* nonce, std::string_view sealed, unsigned char* out) const override {
    Pass pass(key, nonce);
    const auto* in = reinterpret_cast<const unsigned char*>(sealed.data());
    const size_t size = sealed.size() - kTagBytes;
    return pass.gcm && CRYPTO_gcm128_decrypt_ctr32(pass.gcm.get(), in, out, size, counterStream) == 0 &&
           CRYPTO_gcm128_finish(pass.gcm.get(), in + size, kTagBytes) == 0;
  }

 private:
  // One message: the keyed block cipher, and GCM over it. gcm is empty when the library fails.
  struct Pass {
    Pass(const unsigned char* key, const unsigned char* nonce) {
      if (!cipher || EVP_EncryptInit_ex(cipher.get(), EVP_sm4_ecb(), nullptr, key, nullptr) != 1) return;
      EVP_CIPHER_CTX_set_padding(cipher.get(), 0);
      gcm.reset(CRYPTO_gcm128_new(cipher.get(), encryptBlock));
      if (gcm) CRYPTO_gcm128_setiv(gcm.get(), nonce, kNonceBytes);
    }
    CipherContext cipher{EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free};
    GcmContext gcm{nullptr, CRYPTO_gcm128_release};
  };
};

}  // namespace

std::unique_ptr<Aead> makeSm4Gcm() { return std::make_unique<Sm4Gcm>(); }

}  // namespace aquifer::object
