#include "object/s3/endpoint.h"

#include <gtest/gtest.h>

#include <map>

#include "object/s3/credentials.h"

namespace aquifer::object::s3 {
namespace {

using Variables = std::map<std::string, std::string>;

Environment with(const Variables& variables) {
  return [variables](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  };
}

// "https host:port bucket region style", so that a case is one line.
std::string brief(const char* storage, const char* bucket, const Variables& variables = {}) {
  const auto e = parseEndpoint(storage, bucket, with(variables));
  if (!e) return "refused";
  return std::string(e->origin.tls ? "https " : "http ") + e->origin.text() + " " + e->bucket + " " +
         (e->region.empty() ? "?" : e->region) + (e->pathStyle ? " path" : " vhost");
}

TEST(Endpoint, Amazon) {
  const std::string eu = "https b.s3.eu-west-1.amazonaws.com b eu-west-1 vhost";
  EXPECT_EQ(brief("s3", "https://b.s3.eu-west-1.amazonaws.com"), eu);
  EXPECT_EQ(brief("s3", "https://b.s3.eu-west-1.amazonaws.com/"), eu);
  EXPECT_EQ(brief("s3", "https://b.s3-eu-west-1.amazonaws.com"), eu);
  EXPECT_EQ(brief("s3", "https://b.s3.dualstack.eu-west-1.amazonaws.com"), eu);
  EXPECT_EQ(brief("s3", "https://s3.eu-west-1.amazonaws.com/b"), eu);
  EXPECT_EQ(brief("s3", "https://s3-eu-west-1.amazonaws.com/b/"), eu);
  EXPECT_EQ(brief("s3", "b.s3.eu-west-1.amazonaws.com"), eu);
  EXPECT_EQ(brief("s3", "https://b.s3.amazonaws.com"), "https b.s3.us-east-1.amazonaws.com b us-east-1 vhost");
  EXPECT_EQ(brief("s3", "https://b.s3.amazonaws.com", {{"AWS_REGION", "ap-south-1"}, {"AWS_DEFAULT_REGION", "eu-west-3"}}),
            "https b.s3.ap-south-1.amazonaws.com b ap-south-1 vhost");
  EXPECT_EQ(brief("s3", "https://b.s3-external-1.amazonaws.com"), "https b.s3.us-east-1.amazonaws.com b us-east-1 vhost");
  EXPECT_EQ(brief("s3", "https://b.s3.cn-north-1.amazonaws.com.cn"), "https b.s3.cn-north-1.amazonaws.com.cn b cn-north-1 vhost");
  EXPECT_EQ(brief("s3", "https://a.b.c.s3.eu-west-1.amazonaws.com"), "https s3.eu-west-1.amazonaws.com a.b.c eu-west-1 path");
}

// Without a scheme only what ends exactly in .amazonaws.com, and bare names, get TLS.
TEST(Endpoint, TrapOfTheMissingScheme) {
  EXPECT_EQ(brief("s3", "b.s3.cn-north-1.amazonaws.com.cn"), "http b.s3.cn-north-1.amazonaws.com.cn b cn-north-1 vhost");
  EXPECT_EQ(brief("s3", "s3.eu-west-1.amazonaws.com/b"), "http b.s3.eu-west-1.amazonaws.com b eu-west-1 vhost");
  EXPECT_EQ(brief("s3", "127.0.0.1:9000/b"), "http 127.0.0.1:9000 b us-east-1 path");
}

TEST(Endpoint, BareNameAsksForItsRegion) {
  EXPECT_EQ(brief("s3", "mybucket"), "https s3.us-east-1.amazonaws.com mybucket ? vhost");
  auto e = parseEndpoint("s3", "mybucket", with({}));
  ASSERT_TRUE(e);
  setRegion(&*e, "cn-north-1");
  EXPECT_EQ(e->origin.text(), "mybucket.s3.cn-north-1.amazonaws.com.cn");
}

TEST(Endpoint, PrivateLink) {
  EXPECT_EQ(brief("s3", ".vpce.amazonaws.com/b"), "refused");
  EXPECT_EQ(brief("s3", "https://b.bucket.vpce-1a-2b.s3.us-east-2.vpce.amazonaws.com"),
            "https bucket.vpce-1a-2b.s3.us-east-2.vpce.amazonaws.com b us-east-2 path");
}

TEST(Endpoint, Others) {
  EXPECT_EQ(brief("s3", "http://localhost:9000/b"), "http localhost:9000 b us-east-1 path");
  EXPECT_EQ(brief("s3", "https://[::1]:9000/b"), "https [::1]:9000 b us-east-1 path");
  EXPECT_EQ(brief("s3", "https://host.example/b", {{"AWS_REGION", "x"}}), "https host.example b x path");
  EXPECT_EQ(brief("s3", "https://b.host.example:444"), "https host.example:444 b us-east-1 path");
  EXPECT_EQ(brief("s3", "https://b.host.example", {{"JFS_S3_VHOST_STYLE", "1"}}), "https b.host.example b us-east-1 vhost");
  EXPECT_EQ(brief("s3", "https://b.host.example", {{"JFS_S3_VHOST_STYLE", "False"}}), "https host.example b us-east-1 path");
  EXPECT_EQ(brief("s3", "https://b.host.example", {{"JFS_S3_VHOST_STYLE", "0"}}), "https host.example b us-east-1 path");
  EXPECT_EQ(brief("s3", "https://b.ns.compat.objectstorage.eu-frankfurt-1.oraclecloud.com"),
            "https ns.compat.objectstorage.eu-frankfurt-1.oraclecloud.com b eu-frankfurt-1 path");
  EXPECT_EQ(brief("s3", "https://b.s3.gra.cloud.ovh.net"), "https s3.gra.cloud.ovh.net b gra path");
  EXPECT_EQ(brief("s3", "https://b.s3.gra.io.cloud.ovh.net"), "https s3.gra.io.cloud.ovh.net b gra path");
}

TEST(Endpoint, Minio) {
  EXPECT_EQ(brief("minio", "127.0.0.1:9000/b"), "http 127.0.0.1:9000 b us-east-1 path");
  EXPECT_EQ(brief("minio", "http://127.0.0.1:9000/minio/b/c"), "http 127.0.0.1:9000 b us-east-1 path");
  EXPECT_EQ(brief("minio", "http://127.0.0.1:9000/minio"), "http 127.0.0.1:9000 minio us-east-1 path");
  EXPECT_EQ(brief("minio", "https://h/b?region=mars"), "https h b mars path");
  EXPECT_EQ(brief("minio", "https://h/b", {{"MINIO_REGION", "moon"}}), "https h b moon path");
  EXPECT_EQ(brief("minio", "http://127.0.0.1:9000"), "refused");
}

TEST(Endpoint, Aliases) {
  EXPECT_EQ(brief("oss", "b.oss-cn-hangzhou-internal.aliyuncs.com"), "https b.oss-cn-hangzhou-internal.aliyuncs.com b cn-hangzhou vhost");
  EXPECT_EQ(brief("cos", "b-125.cos.ap-beijing.myqcloud.com"), "https b-125.cos.ap-beijing.myqcloud.com b-125 ap-beijing vhost");
  EXPECT_EQ(brief("obs", "b.obs.cn-east-2.myhuaweicloud.com"), "https b.obs.cn-east-2.myhuaweicloud.com b cn-east-2 vhost");
  EXPECT_EQ(brief("tos", "b.tos-cn-beijing.volces.com"), "https b.tos-s3-cn-beijing.volces.com b cn-beijing vhost");
  EXPECT_EQ(brief("bos", "https://b.bj.bcebos.com"), "https b.s3.bj.bcebos.com b bj vhost");
  EXPECT_EQ(brief("ks3", "b.ks3-cn-beijing.ksyuncs.com"), "https b.ks3-cn-beijing.ksyuncs.com b cn-beijing vhost");
  EXPECT_EQ(brief("qiniu", "b.s3-cn-east-1.qiniucs.com"), "https b.s3-cn-east-1.qiniucs.com b cn-east-1 vhost");
  EXPECT_EQ(brief("qingstor", "b.pek3a.qingstor.com"), "https b.s3.pek3a.qingstor.com b pek3a vhost");
  EXPECT_EQ(brief("scw", "b.s3.fr-par.scw.cloud"), "https b.s3.fr-par.scw.cloud b fr-par vhost");
  EXPECT_EQ(brief("space", "b.nyc3.digitaloceanspaces.com"), "https b.nyc3.digitaloceanspaces.com b nyc3 vhost");
  EXPECT_EQ(brief("wasabi", "http://b.s3.us-east-2.wasabisys.com"), "http b.s3.us-east-2.wasabisys.com b us-east-2 vhost");
  EXPECT_EQ(brief("oos", "b.oos-cn.ctyunapi.cn"), "https b.oos-cn.ctyunapi.cn b cn vhost");
  EXPECT_EQ(brief("eos", "b.eos-wuxi-1.cmecloud.cn"), "https b.eos-wuxi-1.cmecloud.cn b us-east-1 vhost");
  EXPECT_EQ(brief("bos", "b.bcebos.com"), "refused");  // the region has to be asked for there
  EXPECT_EQ(brief("oss", "b.cn-hangzhou.aliyuncs.com"), "refused");
  for (const char* storage : {"oss", "cos", "obs", "tos", "bos", "ks3", "qiniu", "qingstor", "scw", "space", "wasabi", "oos", "eos"})
    for (const char* bucket : {"b", "", ".", "b.", ".host", "ftp://b.host", "b.ho st.c.d"}) EXPECT_EQ(brief(storage, bucket), "refused") << storage << bucket;
}

TEST(Endpoint, Parameters) {
  const auto e = parseEndpoint("s3", "https://h.x/b?disable-checksum=true&tls-insecure-skip-verify=true&ca-certs=%2Fa%20b&ssl-cert=c&ssl-key=k", with({}));
  ASSERT_TRUE(e);
  EXPECT_FALSE(e->checksum);
  EXPECT_FALSE(e->tls.verify);
  EXPECT_EQ(e->tls.caFile, "/a b");
  EXPECT_EQ(e->bucket, "b");
  EXPECT_TRUE(parseEndpoint("s3", "https://h.x/b?ca-certs=a&ssl-cert=c", with({}))->tls.caFile.empty());  // all three or none
}

TEST(Endpoint, NonsenseIsRefused) {
  for (const char* bucket : {"", "https://", "https:///b", "ftp://h/b", "http://h:0/b", "http://h:99999/b", "http://h:x/b", "http://h\r\nX: y/b",
                             "http://h x/b", "http://h/b c", "https://s3.eu-west-1.amazonaws.com/b@x", "http://h/b%2Fc", "http://h/b?a=%zz", "https://b.amazonaws.com"})
    EXPECT_EQ(brief("s3", bucket), "refused") << bucket;
  const auto withKeys = parseEndpoint("s3", "http://key:secret@h/b", with({}));
  ASSERT_TRUE(withKeys.is(Code::config));
  EXPECT_EQ(withKeys.status().text().find("secret@"), std::string::npos);
}

TEST(Credentials, InOrder) {
  const Variables both{{"MINIO_ACCESS_KEY", "ma"}, {"MINIO_SECRET_KEY", "ms"}, {"AWS_ACCESS_KEY_ID", "aa"},
                       {"AWS_SECRET_ACCESS_KEY", "as"}, {"AWS_SESSION_TOKEN", "at"}};
  StoreConfig c{.storage = "minio", .accessKey = "ea", .secretKey = "es"};
  EXPECT_EQ(findCredentials(c, with(both))->accessKey, "ea");
  c.accessKey = c.secretKey = "";
  EXPECT_EQ(findCredentials(c, with(both))->secretKey, "ms");
  c.storage = "s3";
  EXPECT_EQ(findCredentials(c, with(both))->sessionToken, "at");
  EXPECT_TRUE(findCredentials(c, with({{"HOME", "/nowhere"}})).is(Code::config));
  c.accessKey = "anonymous";
  EXPECT_TRUE(findCredentials(c, with({}))->anonymous);
  EXPECT_EQ(findCredentials({.storage = "ks3", .accessKey = "a%2Fb", .secretKey = "s"}, with({}))->accessKey, "a/b");
}

TEST(Credentials, ProfileFile) {
  const char* text = "# keys\n[default]\r\naws_access_key_id = d\r\naws_secret_access_key=ds\n\n[profile other]\naws_access_key_id=o\n"
                     "; aws_secret_access_key = no\naws_secret_access_key = o=s/+\naws_session_token = t\n[x]";
  EXPECT_EQ(profileCredentials(text, "default").accessKey, "d");
  EXPECT_EQ(profileCredentials(text, "other").secretKey, "o=s/+");
  EXPECT_EQ(profileCredentials(text, "other").sessionToken, "t");
  EXPECT_TRUE(profileCredentials(text, "x").accessKey.empty());
}

}  // namespace
}  // namespace aquifer::object::s3
