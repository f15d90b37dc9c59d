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
    // In one request when the object has no more plain bytes than were asked for, which is what readers of blocks know. A byte
    // of room more tells whether it was all.
    const uint64_t room = off + out.size() + encryptor_->overhead() + 1;
    if (room > kWholeObjectLimit) return whole(key, off, out);
    const auto envelope = std::make_unique_for_overwrite<std::byte[]>(room);
    TRY_ASSIGN(const size_t n, below_->get(key, 0, {envelope.get(), room}));
    if (n == room) return whole(key, off, out);
    const auto text = textOf({envelope.get(), n});
    if (off > 0) return cut(encryptor_->decrypt(text), off, out);
    auto direct = encryptor_->decryptInto(text, out);
    // A wrapped key shorter than the longest: a few plain bytes more than were asked for.
    return direct.is(Code::tooBig) ? cut(encryptor_->decrypt(text), off, out) : direct;
  }

  Result<std::string> getAll(std::string_view key, uint64_t limit) override {
    TRY_ASSIGN(const std::string envelope, below_->getAll(key, std::min(limit, kWholeObjectLimit) + encryptor_->overhead()));
    return encryptor_->decrypt(envelope);
  }

 private:
  Result<size_t> whole(std::string_view key, uint64_t off, MutableBytes out) {
    TRY_ASSIGN(const std::string envelope, below_->getAll(key, kWholeObjectLimit));
    return cut(encryptor_->decrypt(envelope), off, out);
  }

  static Result<size_t> cut(Result<std::string> plain, uint64_t off, MutableBytes out) {
    if (!plain) return std::move(plain).status();
    if (off >= plain->size()) return size_t{0};
    const size_t n = std::min<uint64_t>(out.size(), plain->size() - off);
    std::memcpy(out.data(), plain->data() + off, n);
    return n;
  }

  static constexpr uint64_t kWholeObjectLimit = 1u << 30;
  const std::unique_ptr<Encryptor> encryptor_;
};

}  // namespace

std::unique_ptr<ObjectStore> addEncryption(std::unique_ptr<ObjectStore> below, std::unique_ptr<Encryptor> encryptor) {
  return std::make_unique<EncryptLayer>(std::move(below), std::move(encryptor));
}

}  // namespace aquifer::object
