#include "meta/model/format.h"

#include <gtest/gtest.h>

namespace aquifer::meta {
namespace {

// As the Go client stores it. The secrets are "sk123" and "st456", encrypted with this UUID.
const char* const kStored = R"({
"Name": "vol3",
"UUID": "07c1b8f2-50a2-4811-913b-76aa5905c51a",
"Storage": "file",
"StorageClass": "STD",
"Tiers": {
"0": {
"ID": 0,
"StorageClass": "STD",
"Tag": ""
}
},
"Bucket": "/data/",
"AccessKey": "ak\u003c\u0026\u003e",
"SecretKey": "LfPQL96HR9wuvmMy6lePqDfkqXbY6te2ejZBWpmfTP1Q",
"SessionToken": "i3Xn8l//4du847iOCGDk42yJDVR7yaecw2VL91vEUKRX",
"BlockSize": 4096,
"Compression": "lz4",
"Shards": 3,
"HashPrefix": true,
"Capacity": 10737418240,
"Inodes": 1000,
"EncryptAlgo": "aes256gcm-rsa",
"KeyEncrypted": true,
"UploadLimit": 5,
"DownloadLimit": 6,
"TrashDays": 0,
"MetaVersion": 1,
"MinClientVersion": "1.1.0",
"MaxClientVersion": "2.0.0",
"DirStats": true,
"UserGroupQuota": true,
"EnableACL": false,
"RangerRestUrl": "http://r:1/",
"RangerService": "rs",
"ChangeLog": true,
"ChangeLogMaxAge": 7200,
"ChangeLogMaxLines": 5,
"KerbConf": "krb \u003cconf\u003e\n"
})";

TEST(Format, storedBytesComeBackUnchanged) {
  const auto f = parseFormat(kStored);
  ASSERT_TRUE(f) << f.status().text();
  EXPECT_EQ(f->accessKey, "ak<&>");
  EXPECT_EQ(f->capacity, 10737418240u);
  EXPECT_EQ(f->tiers.at(0).storageClass, "STD");
  EXPECT_EQ(f->changeLogMaxLines, 5);
  EXPECT_EQ(formatToJson(*f), kStored);
}

TEST(Format, aNewVolumeHasJuiceDefaults) {
  Format f;
  f.name = "vol1";
  f.uuid = "515deb86-7030-4902-9498-e6caf9f7370e";
  f.bucket = "/tmp/data/";
  f.tiers[0] = {0, "", ""};
  EXPECT_EQ(formatToJson(f), R"({
"Name": "vol1",
"UUID": "515deb86-7030-4902-9498-e6caf9f7370e",
"Storage": "file",
"Tiers": {
"0": {
"ID": 0,
"StorageClass": "",
"Tag": ""
}
},
"Bucket": "/tmp/data/",
"BlockSize": 4096,
"Compression": "none",
"EncryptAlgo": "aes256gcm-rsa",
"TrashDays": 1,
"MetaVersion": 1,
"MinClientVersion": "1.1.0-A",
"DirStats": true,
"EnableACL": false
})");
}

TEST(Format, decryptsWhatTheGoClientEncrypted) {
  auto f = *parseFormat(kStored);
  ASSERT_TRUE(decryptSecrets(f));
  EXPECT_EQ(f.secretKey, "sk123");
  EXPECT_EQ(f.sessionToken, "st456");
  EXPECT_FALSE(f.keyEncrypted);
  ASSERT_TRUE(decryptSecrets(f));  // once more changes nothing
  EXPECT_EQ(f.secretKey, "sk123");
  ASSERT_TRUE(encryptSecrets(f));
  EXPECT_NE(f.secretKey, "sk123");
  const auto once = f;
  ASSERT_TRUE(encryptSecrets(f));
  EXPECT_EQ(f, once);
  ASSERT_TRUE(decryptSecrets(f));
  EXPECT_EQ(f.secretKey, "sk123");
}

TEST(Format, secretsThatCannotBeRead) {
  auto f = *parseFormat(kStored);
  f.uuid[0] = '1';
  EXPECT_TRUE(decryptSecrets(f).is(Code::corrupt));
  for (const char* bad : {"AAAA", "====", "LfPQ!96HR9wuvmMy6lePqDfkqXbY6te2ejZBWpmfTP1Q", "x"}) {
    f = *parseFormat(kStored);
    f.secretKey = bad;
    EXPECT_TRUE(decryptSecrets(f).is(Code::corrupt)) << bad;
  }
  f = *parseFormat(kStored);
  f.sessionToken = "removed";
  EXPECT_TRUE(decryptSecrets(f).is(Code::config));
  EXPECT_TRUE(f.keyEncrypted);  // a failure leaves the value alone
}

TEST(Format, noSecretsNoFlag) {
  Format f;
  ASSERT_TRUE(encryptSecrets(f));
  EXPECT_FALSE(f.keyEncrypted);
  f.secretKey = "s";
  EXPECT_EQ(formatToJsonNoSecrets(f, 2).find("\"s\""), std::string::npos);
  EXPECT_NE(formatToJsonNoSecrets(f, 2).find("  \"SecretKey\": \"removed\""), std::string::npos);
}

TEST(Format, keepsWhatItDoesNotKnow) {
  const auto f = parseFormat(R"({"name":"n","blocksize":64,"Future":{"b":1,"a":[null,2.5]},"TrashDays":null})");
  ASSERT_TRUE(f) << f.status().text();
  EXPECT_EQ(f->name, "n");
  EXPECT_EQ(f->blockSizeKiB, 64);
  EXPECT_EQ(f->trashDays, 0);
  EXPECT_FALSE(f->dirStats);  // absent is zero, not the default of a new volume
  EXPECT_EQ(f->tiers.count(0), 1u);
  const auto again = parseFormat(formatToJson(*f));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *f);
  EXPECT_NE(formatToJson(*f).find("\"Future\": {\n\"b\": 1"), std::string::npos);
}

TEST(Format, damageNamesTheKey) {
  for (const auto& [json, key] : std::vector<std::pair<std::string, std::string>>{
           {R"({"BlockSize":"x"})", "BlockSize"},
           {R"({"BlockSize":0})", "BlockSize"},
           {R"({"BlockSize":4096,"Name":1})", "Name"},
           {R"({"BlockSize":4096,"Capacity":-1})", "Capacity"},
           {R"({"BlockSize":4096,"TrashDays":99999999999})", "TrashDays"},
           {R"({"BlockSize":4096,"UploadLimit":18446744073709551615})", "UploadLimit"},
           {R"({"BlockSize":4096,"Tiers":{"a":{}}})", "Tiers"},
           {R"({"BlockSize":4096,"Tiers":{"1":{"Tag":5}}})", "Tiers"}}) {
    const auto f = parseFormat(json);
    EXPECT_TRUE(f.is(Code::corrupt)) << json;
    EXPECT_NE(f.status().text().find(key), std::string::npos) << json;
  }
  EXPECT_TRUE(parseFormat("").is(Code::corrupt));
  EXPECT_TRUE(parseFormat("null").is(Code::corrupt));
}

TEST(Version, order) {
  const auto cmp = [](const char* a, const char* b) { return *compareVersions(a, b); };
  EXPECT_EQ(cmp("1.4.2", "1.4.2+build.7"), 0);
  EXPECT_EQ(cmp("1.4", "1.4.0"), 0);
  EXPECT_LT(cmp("1.4.0-A", "1.4.0-beta1"), 0);
  EXPECT_LT(cmp("1.4.0-rc1", "1.4.0"), 0);
  EXPECT_GT(cmp("1.10.0", "1.9.9"), 0);
  EXPECT_LT(cmp("1.4.0-beta1", "1.4.0-dev"), 0);
  for (const char* bad : {"", "x", "1.", "1..2", "1.2.3.4", "1.2.x", "99999999999999999999"})
    EXPECT_TRUE(compareVersions(bad, "1.0").is(Code::invalid)) << bad;
}

TEST(Version, gates) {
  Format f;
  f.minClientVersion = "1.4.0-A";
  EXPECT_TRUE(checkCompatible(f, "1.4.2+aquifer.0.1.0"));
  f.minClientVersion = "1.5.0";
  EXPECT_TRUE(checkCompatible(f, "1.4.2").is(Code::config));
  f.minClientVersion.clear();
  f.maxClientVersion = "1.4.1";
  EXPECT_TRUE(checkCompatible(f, "1.4.2").is(Code::config));
  f.maxClientVersion.clear();
  f.metaVersion = 2;
  EXPECT_TRUE(checkCompatible(f, "1.4.2").is(Code::config));
}

TEST(Format, volumeNames) {
  EXPECT_TRUE(validateVolumeName("a-1"));
  EXPECT_TRUE(validateVolumeName(std::string(63, 'a')));
  for (const std::string& bad : {std::string("ab"), std::string(64, 'a'), std::string("-abc"), std::string("abc-"),
                                 std::string("aBc"), std::string("a_c")})
    EXPECT_TRUE(validateVolumeName(bad).is(Code::config)) << bad;
}

}  // namespace
}  // namespace aquifer::meta
