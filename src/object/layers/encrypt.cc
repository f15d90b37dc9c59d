#include <algorithm>
#include <cstring>

#include "object/layers/layers.h"

namespace aquifer::object {

namespace {

std::string_view textOf(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class EncryptLayer : public Layer {
 public:
  EncryptLayer(std::unique_ptr<ObjectStore> below, std::unique_ptr<Encryptor> encryptor)
      : Layer(std::move(below)), encryptor_(std::move(encryptor)) {}

  std::string describe() const override { return below_->describe() + "(encrypted)"; }
  Capabilities capabilities() const override {
    Capabilities c = below_->capabilities();
    c.rangeGet = false;
    return c;
  }

  Status put(std::string_view key, Bytes data, uint8_t tier) override {
    TRY_ASSIGN(const std::string envelope, encryptor_->encrypt(textOf(data)));
    return below_->put(key, std::as_bytes(std::span(envelope)), tier);
  }

  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override {
    if (out.empty()) return size_t{0};
    TRY_ASSIGN(const std::string envelope, fetch(key, off + out.size()));
    TRY_ASSIGN(const std::string plain, encryptor_->decrypt(envelope));
    if (off >= plain.size()) return size_t{0};
    const size_t n = std::min<uint64_t>(out.size(), plain.size() - off);
    std::memcpy(out.data(), plain.data() + off, n);
    return n;
  }

  Result<std::string> getAll(std::string_view key, uint64_t limit) override {
    TRY_ASSIGN(const std::string envelope, below_->getAll(key, limit + encryptor_->overhead()));
    return encryptor_->decrypt(envelope);
  }

 private:
  // The envelope, in one request when the object has no more than `expected` plain bytes, which is what readers of blocks
  // know. One byte of room more tells whether it was all.
  Result<std::string> fetch(std::string_view key, uint64_t expected) {
    std::string envelope(expected + encryptor_->overhead() + 1, '\0');
    TRY_ASSIGN(const size_t n, below_->get(key, 0, std::as_writable_bytes(std::span(envelope))));
    if (n == envelope.size()) return below_->getAll(key, kWholeObjectLimit);
    envelope.resize(n);
    return envelope;
  }

  static constexpr uint64_t kWholeObjectLimit = 1u << 30;
  const std::unique_ptr<Encryptor> encryptor_;
};

}  // namespace

std::unique_ptr<ObjectStore> addEncryption(std::unique_ptr<ObjectStore> below, std::unique_ptr<Encryptor> encryptor) {
  return std::make_unique<EncryptLayer>(std::move(below), std::move(encryptor));
}

}  // namespace aquifer::object
