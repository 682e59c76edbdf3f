#include "tenon/target/target.h"

#include <gtest/gtest.h>

#include "tenon/kir/math.h"
#include "tenon/target/lanes.h"

namespace tenon::target {
namespace {

Target Named(std::string_view name) {
  Result<Target> t = TargetByName(name);
  EXPECT_TRUE(t.ok()) << t.status().ToString();
  return t.ok() ? *t : Target();
}

TEST(Target, NamesGiveLevels) {
  const Target avx2 = Named("cpu:avx2");
  EXPECT_EQ(avx2.name, "cpu:avx2:cores=8");
  EXPECT_EQ(avx2.isa, "avx2");
  EXPECT_EQ(avx2.vector_bytes, 32);
  EXPECT_EQ(avx2.mask_registers, 0);
  EXPECT_TRUE(avx2.HasFeature("fma"));
  EXPECT_TRUE(avx2.HasFeature("popcnt"));
  EXPECT_FALSE(avx2.HasFeature("avx512f"));
  EXPECT_TRUE(avx2.HasType(DType::kF64));
  EXPECT_FALSE(avx2.HasType(DType::kToken));
  EXPECT_EQ(Named("cpu:avx512:cores=3").cores, 3);
  EXPECT_EQ(Named(avx2.name), avx2);
  EXPECT_EQ(avx2.Cache(0).bytes, 32 << 10);
  EXPECT_EQ(avx2.Cache(9), avx2.Cache(2));
}

TEST(Target, BadNamesSayWhatIsWanted) {
  for (const char* name :
       {"", "cpu", "cpu:", "cpu:avx", "cpu:AVX2", "gpu:spirv", "gpu:", "gpu:discrete:cores=2",
        "cpu:avx2:", "cpu:avx2:cores=", "cpu:avx2:cores=0", "cpu:avx2:cores=1025", "cpu:avx2:cores=4x",
        "cpu:avx2:cores=-1", "cpu:avx2:cores=99999999999999999999", "cpu:avx2:threads=4", "cpu:avx2 "}) {
    const Result<Target> t = TargetByName(name);
    ASSERT_FALSE(t.ok()) << name;
    EXPECT_EQ(t.status().code(), Code::kInvalidArgument);
    EXPECT_NE(t.status().ToString().find("wanted cpu:sse4, cpu:avx2 or cpu:avx512"), std::string::npos)
        << t.status().ToString();
  }
}

TEST(Target, LevelsWithFusedMultiplyAddHaveTheSameBits) {
  EXPECT_TRUE(SameBits(Named("cpu:avx2"), Named("cpu:avx512:cores=2")));
  EXPECT_FALSE(SameBits(Named("cpu:sse4"), Named("cpu:avx2")));
  Target other = Named("cpu:avx2");
  other.caches[0].bytes *= 2;
  other.clock_ghz = 1;
  EXPECT_TRUE(SameBits(other, Named("cpu:avx2")));
  other.limits.members = 10;
  EXPECT_FALSE(SameBits(other, Named("cpu:avx2")));
}

TEST(Target, CodeRunsWhereItsFeaturesAre) {
  EXPECT_TRUE(CheckRuns(Named("cpu:avx2"), Named("cpu:avx512")).ok());
  EXPECT_TRUE(CheckRuns(Named("cpu:avx2:cores=64"), Named("cpu:avx2:cores=1")).ok());
  const Status status = CheckRuns(Named("cpu:avx512"), Named("cpu:avx2"));
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.ToString().find("it lacks avx512bw avx512cd avx512dq avx512f avx512vl"), std::string::npos)
      << status.ToString();
  EXPECT_NE(status.ToString().find("cpu:avx2:cores=8"), std::string::npos);
}

TEST(Target, TextIsComplete) {
  for (const char* name : {"cpu:sse4", "cpu:avx2:cores=3", "cpu:avx512"}) {
    Target t = Named(name);
    EXPECT_EQ(Hash(t), Hash(Named(name)));
    const Result<Target> same = Parse(Print(t));
    ASSERT_TRUE(same.ok()) << same.status().ToString();
    EXPECT_EQ(*same, t);
    t.clock_ghz = 3.1;
    t.spaces.push_back({"far", 1 << 20, false});
    t.kind = Kind::kGpu;
    t.costs.Set(kir::Op::kAdd, 7);
    t.costs.SetMath(kir::NumMath() - 1, 9);
    t.limits.row_bytes = 1;
    t.numerics.written_out_taps = 2;
    const Result<Target> changed = Parse(Print(t));
    ASSERT_TRUE(changed.ok()) << changed.status().ToString();
    EXPECT_EQ(*changed, t);
    EXPECT_NE(*changed, Named(name));
    EXPECT_FALSE(Hash(t) == Hash(Named(name)));
  }
}

/// Every fact counts in the text: each is changed in turn.
TEST(Target, TextOfAGpuIsComplete) {
  for (const char* name : {"gpu:least", "gpu:software", "gpu:integrated", "gpu:discrete"}) {
    const Target t = Named(name);
    EXPECT_EQ(t.name, name);
    EXPECT_EQ(t.kind, Kind::kGpu);
    EXPECT_EQ(t, GpuTarget(t.device));
    const Result<Target> same = Parse(Print(t));
    ASSERT_TRUE(same.ok()) << same.status().ToString();
    EXPECT_EQ(*same, t);
    EXPECT_EQ(Hash(*same), Hash(t));
    EXPECT_TRUE(SameBits(*same, t));
  }
  Target t = Named("gpu:discrete");
  std::string text = Print(t);
  size_t changed = 0;
  for (size_t at = text.find("\ndevice."); at != std::string::npos; at = text.find("\ndevice.", at + 1)) {
    const size_t end = text.find('\n', at + 1);
    std::string other = text;
    const size_t last = end - 1;
    other[last] = text[last] == '1' ? '0' : '1';
    const Result<Target> parsed = Parse(other);
    if (!parsed.ok()) continue;  // A type's name, say.
    ++changed;
    EXPECT_NE(*parsed, t) << text.substr(at, end - at);
    EXPECT_EQ(Print(*parsed), other);
    EXPECT_FALSE(SameBits(*parsed, t));
    EXPECT_FALSE(CheckRuns(t, *parsed).ok());
  }
  EXPECT_GE(changed, 42u);
  const size_t units = text.find("16/16/16/");
  ASSERT_NE(units, std::string::npos);
  EXPECT_FALSE(Parse(std::string(text).replace(units, 9, "16/16/0/")).ok());
  EXPECT_FALSE(Parse(std::string(text).replace(units, 9, "16/16/")).ok());
  EXPECT_FALSE(CheckRuns(Named("cpu:avx2"), t).ok());
  EXPECT_FALSE(CheckRuns(t, Named("cpu:avx2")).ok());
}

TEST(Target, TypesOfAGpuFollowFromItsFacts) {
  const Target least = Named("gpu:least");
  EXPECT_TRUE(least.HasType(DType::kF32));
  EXPECT_TRUE(least.HasType(DType::kC64));
  EXPECT_TRUE(least.HasType(DType::kPred));
  for (const DType type : {DType::kS8, DType::kF16, DType::kBF16, DType::kS64, DType::kF64, DType::kC128})
    EXPECT_FALSE(least.HasType(type)) << DTypeName(type);
  EXPECT_FALSE(Named("gpu:integrated").HasType(DType::kF64));
  EXPECT_TRUE(Named("gpu:integrated").HasType(DType::kS64));
  EXPECT_TRUE(Named("gpu:discrete").HasType(DType::kC128));
  EXPECT_FALSE(Named("gpu:discrete").HasType(DType::kToken));
}

TEST(Target, EveryLineOfTheTextCounts) {
  for (const char* name : {"cpu:avx512", "gpu:discrete"}) {
    const std::string text = Print(Named(name));
    for (size_t at = text.find('\n') + 1; at < text.size();) {
      const size_t end = text.find('\n', at) + 1;
      const std::string line = text.substr(at, end - at);
      std::string without = text;
      without.erase(at, end - at);
      EXPECT_EQ(Parse(without).status().code(), Code::kInvalidArgument) << line;
      EXPECT_EQ(Parse(text + line).status().code(), Code::kInvalidArgument) << line;
      at = end;
    }
  }
  const std::string text = Print(Named("cpu:avx512"));
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse(text + "colour blue\n").ok());
  EXPECT_FALSE(Parse("target v2" + text.substr(text.find('\n'))).ok());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    const size_t found = changed.find(from);
    EXPECT_NE(found, std::string::npos) << from;
    changed.replace(found, from.size(), to);
    return Parse(changed);
  };
  EXPECT_FALSE(with("cores 8", "cores -1").ok());
  EXPECT_FALSE(with("cores 8", "cores eight").ok());
  EXPECT_FALSE(with("kind cpu", "kind abacus").ok());
  EXPECT_FALSE(with("types pred", "types prod").ok());
  EXPECT_FALSE(with("32768/64", "32768").ok());
  EXPECT_FALSE(with("device/0/1", "device/0/2").ok());
  EXPECT_FALSE(with("fused_multiply_add 1", "fused_multiply_add 2").ok());
}

TEST(OpCosts, RankWork) {
  const OpCosts& costs = OpCosts::Standard();
  EXPECT_EQ(costs.Of(kir::Op::kConst), 0);
  EXPECT_EQ(costs.Of(kir::Op::kAdd), 1);
  EXPECT_EQ(costs.Of(kir::Op::kDiv), 10);
  kir::Node node;
  node.op = kir::Op::kMath;
  const Result<kir::MathId> exp = kir::FindMath("exponential", DType::kF32);
  ASSERT_TRUE(exp.ok());
  node.attr = *exp;
  EXPECT_EQ(costs.Of(node), 17);
}

TEST(Lanes, TilesHaveRowsOfHalfARegisterAtLeast) {
  EXPECT_EQ(TileSide(1, 64, 100, 19), 16);
  EXPECT_EQ(TileSide(1, 64, 11, 13), 8);
  EXPECT_EQ(TileSide(2, 32, 5, 6), 4);
  EXPECT_EQ(TileSide(4, 16, 5, 6), 4);
  EXPECT_EQ(TileSide(1, 64, 7, 13), 0);
  EXPECT_EQ(TileSide(4, 16, 3, 13), 0);
}

}  // namespace
}  // namespace tenon::target
