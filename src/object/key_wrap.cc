#include "object/key_wrap.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <cstring>

namespace aquifer::object {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;

constexpr std::string_view kLabel = "keys";

const unsigned char* bytesOf(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytesOf(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

class PublicKeyWrap : public KeyWrap {
 public:
  PublicKeyWrap(Key key, bool rsa) : key_(std::move(key)), rsa_(rsa) {}

  Result<std::string> wrap(std::string_view key) const override {
    const KeyContext ctx(EVP_PKEY_CTX_new(key_.get(), nullptr), EVP_PKEY_CTX_free);
    size_t size = 0;
    std::string out;
    const bool done = ctx && EVP_PKEY_encrypt_init(ctx.get()) == 1 && setPadding(ctx.get()) &&
                      EVP_PKEY_encrypt(ctx.get(), nullptr, &size, bytesOf(key), key.size()) == 1 &&
                      (out.resize(size), EVP_PKEY_encrypt(ctx.get(), bytesOf(out), &size, bytesOf(key), key.size()) == 1);
    if (!done) {
      ERR_clear_error();
      return Status(Code::io, "cannot wrap a data key with the volume's key");
    }
    out.resize(size);
    return out;
  }

  Result<std::string> unwrap(std::string_view wrapped) const override {
    const KeyContext ctx(EVP_PKEY_CTX_new(key_.get(), nullptr), EVP_PKEY_CTX_free);
    size_t size = 0;
    std::string out;
    const bool done = ctx && EVP_PKEY_decrypt_init(ctx.get()) == 1 && setPadding(ctx.get()) &&
                      EVP_PKEY_decrypt(ctx.get(), nullptr, &size, bytesOf(wrapped), wrapped.size()) == 1 &&
                      (out.resize(size), EVP_PKEY_decrypt(ctx.get(), bytesOf(out), &size, bytesOf(wrapped), wrapped.size()) == 1);
    if (!done) {
      ERR_clear_error();
      return Status(Code::corrupt, "the data key does not unwrap: another volume's key, or damage");
    }
    out.resize(size);
    return out;
  }

  size_t maxWrappedBytes(size_t keyBytes) const override {
    if (rsa_) return static_cast<size_t>(EVP_PKEY_get_size(key_.get()));
    const KeyContext ctx(EVP_PKEY_CTX_new(key_.get(), nullptr), EVP_PKEY_CTX_free);
    const std::string key(keyBytes, '\0');
    size_t size = 0;
    if (!ctx || EVP_PKEY_encrypt_init(ctx.get()) != 1 || EVP_PKEY_encrypt(ctx.get(), nullptr, &size, bytesOf(key), keyBytes) != 1)
      return 0;
    return size;
  }

 private:
  bool setPadding(EVP_PKEY_CTX* ctx) const {
    if (!rsa_) return true;
    void* label = OPENSSL_memdup(kLabel.data(), kLabel.size());  // the context owns it from set0 on
    if (EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING) == 1 && EVP_PKEY_CTX_set_rsa_oaep_md(ctx, EVP_sha256()) == 1 &&
        EVP_PKEY_CTX_set_rsa_mgf1_md(ctx, EVP_sha256()) == 1 &&
        EVP_PKEY_CTX_set0_rsa_oaep_label(ctx, label, static_cast<int>(kLabel.size())) == 1) {
      return true;
    }
    OPENSSL_free(label);
    return false;
  }

  const Key key_;
  const bool rsa_;
};

struct Asked {
  const std::string& passphrase;
  bool asked = false;
};

// Always given: without it the library would ask the terminal.
int givePassphrase(char* buffer, int room, int, void* user) {
  auto* asked = static_cast<Asked*>(user);
  asked->asked = true;
  const auto& text = asked->passphrase;
  if (text.empty() || text.size() > static_cast<size_t>(room)) return -1;
  std::memcpy(buffer, text.data(), text.size());
  return static_cast<int>(text.size());
}

}  // namespace

Result<std::unique_ptr<KeyWrap>> loadKeyWrap(const std::string& pem, const std::string& passphrase) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  Asked asked{passphrase};
  Key key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, givePassphrase, &asked) : nullptr, EVP_PKEY_free);
  ERR_clear_error();
  if (!key) {
    if (asked.asked && passphrase.empty())
      return Status(Code::config, "the private key is protected: set JFS_RSA_PASSPHRASE to its passphrase");
    if (asked.asked) return Status(Code::config, "the private key does not open with the passphrase in JFS_RSA_PASSPHRASE");
    return Status(Code::config, "the encryption key is not a private key in PEM form");
  }
  const bool rsa = EVP_PKEY_is_a(key.get(), "RSA") == 1;
  if (!rsa && EVP_PKEY_is_a(key.get(), "SM2") != 1)
    return Status(Code::config, "the encryption key is neither an RSA nor an SM2 key");
  return std::unique_ptr<KeyWrap>(std::make_unique<PublicKeyWrap>(std::move(key), rsa));
}

}  // namespace aquifer::object
