#include "object/encryption.h"

#include <openssl/crypto.h>

#include "base/bytes.h"
#include "base/random.h"
#include "object/aead.h"
#include "object/key_wrap.h"

namespace aquifer::object {

namespace {

constexpr size_t kHeaderBytes = 3;           // u16 length of the wrapped key, u8 length of the nonce
constexpr size_t kMaxPlainBytes = 1u << 30;  // of one object; blocks have 16 MiB at most, and the library counts in int

// A data key, wiped when it goes.
struct DataKey {
  explicit DataKey(std::string b) : bytes(std::move(b)) {}
  DataKey(const DataKey&) = delete;
  DataKey& operator=(const DataKey&) = delete;
  ~DataKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  const unsigned char* data() const { return reinterpret_cast<const unsigned char*>(bytes.data()); }
  std::string bytes;
};

class Envelope : public Encryptor {
 public:
  Envelope(std::unique_ptr<KeyWrap> wrap, std::unique_ptr<Aead> aead)
      : wrap_(std::move(wrap)),
        aead_(std::move(aead)),
        overhead_(kHeaderBytes + wrap_->maxWrappedBytes(aead_->keyBytes()) + kNonceBytes + kTagBytes) {}

  Result<std::string> encrypt(std::string_view plain) const override {
    if (plain.size() > kMaxPlainBytes) return Status(Code::tooBig, "an object is too large to be encrypted in one piece");
    DataKey key(std::string(aead_->keyBytes(), '\0'));
    randomBytes(key.bytes.data(), key.bytes.size());
    TRY_ASSIGN(const std::string wrapped, wrap_->wrap(key.bytes));
    if (wrapped.size() > UINT16_MAX)
      return Status(Code::config, "the volume's key is too large for the format of encrypted objects");
    unsigned char nonce[kNonceBytes];
    randomBytes(nonce, sizeof nonce);
    std::string out;
    out.reserve(kHeaderBytes + wrapped.size() + kNonceBytes + plain.size() + kTagBytes);
    appendBig(out, static_cast<uint16_t>(wrapped.size()));
    out += static_cast<char>(kNonceBytes);
    out += wrapped;
    out.append(reinterpret_cast<const char*>(nonce), sizeof nonce);
    const size_t body = out.size();
    out.resize(body + plain.size() + kTagBytes);
    if (!aead_->seal(key.data(), nonce, plain, reinterpret_cast<unsigned char*>(out.data() + body))) {
      return Status(Code::io, "the cipher failed");
    }
    return out;
  }

  Result<std::string> decrypt(std::string_view envelope) const override {
    TRY_ASSIGN(const Parts parts, split(envelope));
    std::string out(parts.plainBytes(), '\0');
    TRY(open(parts, out.data()));
    return out;
  }

  Result<size_t> decryptInto(std::string_view envelope, std::span<std::byte> out) const override {
    TRY_ASSIGN(const Parts parts, split(envelope));
    if (parts.plainBytes() > out.size()) return Status(Code::tooBig, "an encrypted object is larger than the room for it");
    TRY(open(parts, out.data()));
    return parts.plainBytes();
  }

  size_t overhead() const override { return overhead_; }

 private:
  struct Parts {
    std::string_view wrapped, nonce, sealed;
    size_t plainBytes() const { return sealed.size() - kTagBytes; }
  };

  static Result<Parts> split(std::string_view envelope) {
    ByteReader in(envelope);
    const size_t wrappedBytes = in.big<uint16_t>();
    const size_t nonceBytes = in.big<uint8_t>();
    Parts parts;
    parts.wrapped = in.take(wrappedBytes);
    parts.nonce = in.take(nonceBytes);
    if (!in.ok() || nonceBytes != kNonceBytes || in.left() < kTagBytes || in.left() > kMaxPlainBytes + kTagBytes) {
      return Status(Code::corrupt, "not an encrypted object");
    }
    parts.sealed = in.take(in.left());
    return parts;
  }

  // `out` has room for the plain bytes.
  Status open(const Parts& parts, void* out) const {
    TRY_ASSIGN(std::string unwrapped, wrap_->unwrap(parts.wrapped));
    const DataKey key(std::move(unwrapped));
    if (key.bytes.size() != aead_->keyBytes()) return {Code::corrupt, "the data key of an object is of another cipher"};
    const auto* nonce = reinterpret_cast<const unsigned char*>(parts.nonce.data());
    if (!aead_->open(key.data(), nonce, parts.sealed, static_cast<unsigned char*>(out))) {
      return {Code::corrupt, "an encrypted object does not match its authentication tag"};
    }
    return {};
  }

  const std::unique_ptr<KeyWrap> wrap_;
  const std::unique_ptr<Aead> aead_;
  const size_t overhead_;
};

std::unique_ptr<Aead> aeadNamed(const std::string& algo) {
  if (algo.empty() || algo == "aes256gcm-rsa") return makeAes256Gcm();
  if (algo == "chacha20-rsa") return makeChaCha20Poly1305();
  if (algo == "sm4gcm") return makeSm4Gcm();
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Encryptor>> makeEncryptor(const std::string& pem, const std::string& passphrase, const std::string& algo) {
  auto aead = aeadNamed(algo);
  if (!aead) return Status(Code::config, "unknown encryption algorithm " + algo + "; known: aes256gcm-rsa, chacha20-rsa, sm4gcm");
  TRY_ASSIGN(auto wrap, loadKeyWrap(pem, passphrase));
  return std::unique_ptr<Encryptor>(std::make_unique<Envelope>(std::move(wrap), std::move(aead)));
}

}  // namespace aquifer::object
