#include "access/fuse/negotiate.h"

#include <gtest/gtest.h>

#include <cstring>

namespace aquifer::fuse {
namespace {

InitIn modernKernel() {
  InitIn in{};
  in.major = 7, in.minor = 45, in.maxReadahead = 131072;
  in.flags = 0x73fffffbu, in.flags2 = 0x5fdu;
  return in;
}

TEST(Negotiate, TakesWhatIsOfferedAndWantedOnly) {
  ServerConfig c;
  const auto n = negotiateInit(modernKernel(), c);
  EXPECT_EQ(n.out.major, 7u);
  EXPECT_EQ(n.out.minor, 45u);
  EXPECT_EQ(n.out.maxReadahead, 131072u);
  EXPECT_EQ(n.out.maxWrite, 1u << 20);
  EXPECT_EQ(n.out.maxPages, 256);
  EXPECT_EQ(n.out.timeGran, 1u);
  for (uint64_t f : {kInitAsyncRead, kInitBigWrites, kInitReaddirplus, kInitReaddirplusAuto, kInitParallelDirops, kInitFlockLocks,
                     kInitPosixLocks, kInitAutoInvalData, kInitCacheSymlinks, kInitExportSupport, kInitMaxPages, kInitHasResend})
    EXPECT_TRUE(n.flags & f) << std::hex << f;
  for (uint64_t f : {kInitAtomicTrunc, kInitHandleKillpriv, kInitHandleKillprivV2, kInitNoOpendirSupport, kInitDontMask,
                     kInitPosixAcl, kInitWritebackCache, kInitAsyncDio, kInitSetxattrExt})
    EXPECT_FALSE(n.flags & f) << std::hex << f;
}

TEST(Negotiate, OptionsTurnFlagsOn) {
  ServerConfig c;
  c.dontMask = c.posixAcl = c.writebackCache = c.asyncDio = true;
  const auto n = negotiateInit(modernKernel(), c);
  EXPECT_EQ(n.flags & (kInitDontMask | kInitPosixAcl | kInitWritebackCache | kInitAsyncDio),
            kInitDontMask | kInitPosixAcl | kInitWritebackCache | kInitAsyncDio);
}

TEST(Negotiate, AnOldKernelGetsLess) {
  InitIn in = modernKernel();
  in.minor = 27, in.flags = static_cast<uint32_t>(kInitAsyncRead | kInitBigWrites);
  const auto n = negotiateInit(in, {});
  EXPECT_EQ(n.out.minor, 27u);
  EXPECT_EQ(n.flags, kInitAsyncRead | kInitBigWrites);
  EXPECT_EQ(n.out.maxWrite, 131072u);  // 32 pages
  EXPECT_FALSE(n.tooOld);
  in.minor = 11;
  EXPECT_TRUE(negotiateInit(in, {}).tooOld);
}

TEST(Negotiate, FlagsOfTheSecondWordNeedTheExtension) {
  InitIn in = modernKernel();
  in.flags &= ~static_cast<uint32_t>(kInitExt);
  EXPECT_FALSE(negotiateInit(in, {}).flags & kInitHasResend);
}

TEST(Negotiate, RequestSizesStayWithinBounds) {
  ServerConfig c;
  c.maxWrite = 1;
  EXPECT_EQ(negotiateInit(modernKernel(), c).out.maxWrite, 4096u);
  c.maxWrite = 64 << 20;
  EXPECT_EQ(negotiateInit(modernKernel(), c).out.maxWrite, 1u << 20);
}

TEST(Negotiate, ASavedRequestIsChecked) {
  InHeader head{};
  head.opcode = 26;
  const InitIn in = modernKernel();
  std::string raw(reinterpret_cast<const char*>(&head), sizeof head);
  raw.append(reinterpret_cast<const char*>(&in), sizeof in);
  ASSERT_EQ(raw.size(), kInitRequestSize);
  ASSERT_TRUE(parseInit(raw).isOk());
  EXPECT_EQ(parseInit(raw)->minor, 45u);
  EXPECT_FALSE(parseInit(raw.substr(1)).isOk());
  raw[4] = 1;
  EXPECT_FALSE(parseInit(raw).isOk());
}

}  // namespace
}  // namespace aquifer::fuse
