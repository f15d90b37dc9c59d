#include "cli/json_out.h"

#include <gtest/gtest.h>

namespace aquifer::cli {
namespace {

TEST(JsonOut, IndentsLikeGo) {
  JsonObject inner;
  inner.add("Sid", uint64_t{18446744073709551615u});
  inner.addText("Host", "a<b>&\"c\"");
  JsonArray list;
  list.add(inner);
  JsonObject all;
  all.add("None", JsonArray());
  all.add("Empty", JsonObject());
  all.add("List", list);
  EXPECT_EQ(all.text(),
            "{\n  \"None\": [],\n  \"Empty\": {},\n  \"List\": [\n    {\n      \"Sid\": 18446744073709551615,\n"
            "      \"Host\": \"a\\u003cb\\u003e\\u0026\\\"c\\\"\"\n    }\n  ]\n}");
}

TEST(JsonOut, BytesThatAreNoUtf8) {
  EXPECT_EQ(jsonQuote("\xff" "ä\xc3"), "\"\\ufffdä\\ufffd\"");
  EXPECT_EQ(jsonQuote("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");   // a surrogate
  EXPECT_EQ(jsonQuote(std::string_view("\0\n", 2)), "\"\\u0000\\n\"");
  EXPECT_EQ(jsonQuote("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"");
}

}  // namespace
}  // namespace aquifer::cli
