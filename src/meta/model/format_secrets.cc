#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <memory>

#include "meta/model/format.h"

namespace aquifer::meta {
namespace {

constexpr size_t kNonce = 12, kTag = 16;
constexpr size_t kMaxSecret = 1 << 20;
using Key = std::array<unsigned char, 16>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

Result<Key> keyOf(const Format& f) {
  if (f.encryptAlgo == "sm4gcm") return Status(Code::config, "secrets encrypted with SM4 are not supported");
  Key key;
  unsigned size = 0;
  if (EVP_Digest(f.uuid.data(), f.uuid.size(), key.data(), &size, EVP_md5(), nullptr) != 1 || size != key.size())
    return Status(Code::io, "MD5 is not available");
  return key;
}

unsigned char* bytes(std::string& s) { return reinterpret_cast<unsigned char*>(s.data()); }
const unsigned char* bytes(const std::string& s) { return reinterpret_cast<const unsigned char*>(s.data()); }

std::string toBase64(const std::string& in) {
  std::string out((in.size() + 2) / 3 * 4 + 1, '\0');
  out.resize(static_cast<size_t>(EVP_EncodeBlock(bytes(out), bytes(in), static_cast<int>(in.size()))));
  return out;
}

bool fromBase64(const std::string& in, std::string& out) {
  if (in.empty() || in.size() % 4) return false;
  out.assign(in.size() / 4 * 3, '\0');
  const int n = EVP_DecodeBlock(bytes(out), bytes(in), static_cast<int>(in.size()));
  if (n < 0) return false;
  const size_t padding = in.size() - (in.find_last_not_of('=') + 1);  // decoded as zero bytes
  if (padding > 2) return false;
  out.resize(static_cast<size_t>(n) - padding);
  return true;
}

Status seal(const Key& key, std::string& secret) {
  std::string out(kNonce + secret.size() + kTag, '\0');
  Cipher c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int n = 0;
  const int size = static_cast<int>(secret.size());
  unsigned char* const p = bytes(out);
  const bool good = c && RAND_bytes(p, kNonce) == 1 &&
                    EVP_EncryptInit_ex(c.get(), EVP_aes_128_gcm(), nullptr, key.data(), p) == 1 &&
                    EVP_EncryptUpdate(c.get(), p + kNonce, &n, bytes(secret), size) == 1 && n == size &&
                    EVP_EncryptFinal_ex(c.get(), p + kNonce + size, &n) == 1 &&
                    EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_GCM_GET_TAG, kTag, p + kNonce + size) == 1;
  if (!good) return Status(Code::io, "encrypting a secret failed");
  secret = toBase64(out);
  return {};
}

Status unseal(const Key& key, std::string& secret) {
  std::string in;
  if (!fromBase64(secret, in) || in.size() < kNonce + kTag) return Status(Code::corrupt, "a stored secret is damaged");
  const int size = static_cast<int>(in.size() - kNonce - kTag);
  std::string out(static_cast<size_t>(size) + kTag, '\0');  // never empty: the cipher wants a place to write to
  Cipher c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int n = 0, rest = 0;
  unsigned char* const p = bytes(in);
  const bool good = c && EVP_DecryptInit_ex(c.get(), EVP_aes_128_gcm(), nullptr, key.data(), p) == 1 &&
                    EVP_DecryptUpdate(c.get(), bytes(out), &n, p + kNonce, size) == 1 && n == size &&
                    EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_GCM_SET_TAG, kTag, p + kNonce + size) == 1 &&
                    EVP_DecryptFinal_ex(c.get(), bytes(out) + size, &rest) == 1;
  if (!good) return Status(Code::corrupt, "a stored secret does not decrypt with the UUID of this volume");
  out.resize(static_cast<size_t>(size));
  secret = std::move(out);
  return {};
}

struct NamedSecret {
  const char* name;
  std::string* text;
};
std::array<NamedSecret, 3> secretsOf(Format& f) {
  return {{{"secret-key", &f.secretKey}, {"session-token", &f.sessionToken}, {"encrypt-rsa-key", &f.encryptKey}}};
}

}  // namespace

Status encryptSecrets(Format& format) {
  if (format.keyEncrypted) return {};
  Format f = format;
  bool any = false;
  TRY_ASSIGN(const Key key, keyOf(f));
  for (const auto& s : secretsOf(f)) {
    if (s.text->empty()) continue;
    if (s.text->size() > kMaxSecret) return Status(Code::config, std::string(s.name) + " is too large");
    TRY(seal(key, *s.text));
    any = true;
  }
  f.keyEncrypted = any;
  format = std::move(f);
  return {};
}

Status decryptSecrets(Format& format) {
  Format f = format;
  for (const auto& s : secretsOf(f))
    if (*s.text == "removed")
      return Status(Code::config, std::string("the ") + s.name + " was removed; please set it again with the `config` command");
  if (!f.keyEncrypted) return {};
  TRY_ASSIGN(const Key key, keyOf(f));
  for (const auto& s : secretsOf(f)) {
    if (s.text->empty()) continue;
    if (s.text->size() > 2 * kMaxSecret) return Status(Code::corrupt, "a stored secret is too large");
    TRY(unseal(key, *s.text).annotate(s.name));
  }
  f.keyEncrypted = false;
  format = std::move(f);
  return {};
}

}  // namespace aquifer::meta
