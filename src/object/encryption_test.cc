#include "object/encryption.h"

#include <gtest/gtest.h>

#include "base/encode.h"
#include "base/random.h"
#include "object/aead.h"
#include "object/test_keys.h"

namespace aquifer::object {
namespace {

std::unique_ptr<Encryptor> make(const char* pem, const char* algo, const char* passphrase = "") {
  auto made = makeEncryptor(pem, passphrase, algo);
  EXPECT_TRUE(made) << made.status().text();
  return made ? *std::move(made) : nullptr;
}

std::string hex(const char* text) { return *hexDecode(text); }
const unsigned char* bytes(const std::string& s) { return reinterpret_cast<const unsigned char*>(s.data()); }

TEST(Encryption, ReadsObjectsOfJuiceFs) {
  for (const auto& v : test::kVectors) {
    const auto encryptor = make(v.pem, v.algo);
    ASSERT_TRUE(encryptor);
    const auto plain = encryptor->decrypt(*base64Decode(v.envelope));
    ASSERT_TRUE(plain) << v.algo << ": " << plain.status().text();
    EXPECT_EQ(*plain, v.plain);
  }
}

TEST(Encryption, RoundTrip) {
  for (const char* pem : {test::kRsaPem, test::kSm2Pem}) {
    for (const char* algo : {"", "aes256gcm-rsa", "chacha20-rsa", "sm4gcm"}) {
      const auto encryptor = make(pem, algo);
      ASSERT_TRUE(encryptor);
      for (size_t size : {0, 1, 15, 16, 17, 1000, 1024, 1025, 100'003}) {
        std::string plain(size, '\0');
        randomBytes(plain.data(), size);
        const auto envelope = encryptor->encrypt(plain);
        ASSERT_TRUE(envelope);
        EXPECT_LE(envelope->size(), size + encryptor->overhead());
        EXPECT_EQ(*encryptor->decrypt(*envelope), plain) << algo << " " << size;
      }
      // A fresh data key and nonce each time.
      EXPECT_NE(*encryptor->encrypt("same"), *encryptor->encrypt("same"));
    }
  }
}

TEST(Encryption, IntoTheCallersBytes) {
  const auto encryptor = make(test::kRsaPem, "");
  const std::string envelope = *encryptor->encrypt("12345");
  std::string out(7, '?');
  EXPECT_EQ(*encryptor->decryptInto(envelope, std::as_writable_bytes(std::span(out))), 5u);
  EXPECT_EQ(out, "12345??");
  EXPECT_TRUE(encryptor->decryptInto(envelope, std::as_writable_bytes(std::span(out).first(4))).is(Code::tooBig));
  EXPECT_TRUE(encryptor->decryptInto(envelope.substr(0, 290), std::as_writable_bytes(std::span(out))).is(Code::corrupt));
}

TEST(Encryption, OverheadOfRsa2048) {
  const auto encryptor = make(test::kRsaPem, "");
  EXPECT_EQ(encryptor->overhead(), 287u);
  EXPECT_EQ(encryptor->encrypt("12345")->size(), 292u);
}

TEST(Encryption, KeyForms) {
  const auto envelope = *base64Decode(test::kVectors[0].envelope);
  for (const char* pem : {test::kRsaPem, test::kRsaPkcs1Pem}) {
    EXPECT_EQ(*make(pem, "")->decrypt(envelope), test::kVectors[0].plain);
    EXPECT_EQ(*make(pem, "", "not needed")->decrypt(envelope), test::kVectors[0].plain);
  }
  for (const char* pem : {test::kRsaLegacyProtectedPem, test::kRsaProtectedPem}) {
    EXPECT_EQ(*make(pem, "", test::kPassphrase)->decrypt(envelope), test::kVectors[0].plain);
    const auto without = makeEncryptor(pem, "", "");
    EXPECT_TRUE(without.is(Code::config));
    EXPECT_NE(without.status().text().find("JFS_RSA_PASSPHRASE"), std::string::npos);
    EXPECT_TRUE(makeEncryptor(pem, "wrong", "").is(Code::config));
  }
}

TEST(Encryption, RefusesWhatIsNoKey) {
  for (const std::string pem : {"", "hello", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"}) {
    EXPECT_TRUE(makeEncryptor(pem, "", "").is(Code::config)) << pem;
  }
  EXPECT_TRUE(makeEncryptor(test::kRsaPem, "", "rot13").is(Code::config));
}

// Every cut and every flipped bit is noticed, and nothing is read beyond the end (the sanitizers watch).
TEST(Encryption, HostileEnvelopes) {
  for (const char* algo : {"aes256gcm-rsa", "chacha20-rsa", "sm4gcm"}) {
    const auto encryptor = make(test::kRsaPem, algo);
    const std::string good = *encryptor->encrypt("the bytes of an object");
    for (size_t n = 0; n < good.size(); n += n < 8 || n + 40 > good.size() ? 1 : 37) {
      EXPECT_TRUE(encryptor->decrypt(std::string_view(good).substr(0, n)).is(Code::corrupt)) << n;
    }
    for (size_t at = 0; at < good.size(); at += at < 4 || at > 255 ? 1 : 51) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x40);
      EXPECT_TRUE(encryptor->decrypt(bad).is(Code::corrupt)) << at;
    }
    EXPECT_TRUE(encryptor->decrypt(good + "x").is(Code::corrupt));
    EXPECT_TRUE(encryptor->decrypt(std::string("\xff\xff\x0c", 3) + std::string(300, 'x')).is(Code::corrupt));
    EXPECT_TRUE(encryptor->decrypt(std::string("\0\0\x0c", 3) + std::string(300, 'x')).is(Code::corrupt));
    EXPECT_TRUE(encryptor->decrypt(std::string(4096, '\0')).is(Code::corrupt));
  }
}

TEST(Encryption, AnotherCipherOrKeyIsCorrupt) {
  const std::string envelope = *make(test::kRsaPem, "aes256gcm-rsa")->encrypt("text");
  EXPECT_TRUE(make(test::kRsaPem, "chacha20-rsa")->decrypt(envelope).is(Code::corrupt));
  EXPECT_TRUE(make(test::kRsaPem, "sm4gcm")->decrypt(envelope).is(Code::corrupt));
  EXPECT_TRUE(make(test::kSm2Pem, "aes256gcm-rsa")->decrypt(envelope).is(Code::corrupt));
}

// RFC 8998, appendix A.1, without its associated data: the ciphertext is the same, the tag is not compared there.
TEST(Encryption, Sm4GcmKnownAnswer) {
  const auto key = hex("0123456789abcdeffedcba9876543210");
  const auto nonce = hex("00001234567800000000abcd");
  const auto plain =
      hex("aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccddddddddddddddddeeeeeeeeeeeeeeeeffffffffffffffffeeeeeeeeeeeeeeeeaaaaaa"
          "aaaaaaaaaa");
  const auto cipher =
      hex("17f399f08c67d5ee19d0dc9969c4bb7d5fd46fd3756489069157b282bb200735d82710ca5c22f0ccfa7cbf93d496ac15a56834cbcf98c397b4024a"
          "2691233b8d");
  const auto aead = makeSm4Gcm();
  std::string sealed(plain.size() + kTagBytes, '\0');
  ASSERT_TRUE(aead->seal(bytes(key), bytes(nonce), plain, reinterpret_cast<unsigned char*>(sealed.data())));
  EXPECT_EQ(hexEncode(sealed.substr(0, plain.size())), hexEncode(cipher));
}

}  // namespace
}  // namespace aquifer::object
