// Artifacts that the builder writes against text that it writes: both, read by the dialect, must be one program. The
// dialect's writer is asked for the same versions. TENON_ARTIFACT_FOLDER: where the files go for readers of others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tenon/builder/testing/cases.h"
#include "tenon/dialect/parse.h"

namespace tenon::builder {
namespace {

using testing::Case;
using testing::Cases;
using vhlo::Version;

// Old and new forms of operations lie on both sides of these.
constexpr Version kVersions[] = {{1, 0, 0}, {1, 4, 0}, {1, 8, 0}, {1, 13, 0}, {1, 17, 0}, vhlo::kCurrentVersion};
// What files for other readers are written in.
constexpr Version kCommon{1, 13, 0};

// The text of the program that `bytes` hold. Read and written once more, so that text loses what a default stands for.
Result<std::string> Canonical(dialect::Context& context, const std::string& bytes, bool again) {
  TENON_ASSIGN_OR_RETURN(const dialect::OwnedModule module, dialect::Parse(context, bytes));
  if (!again) return dialect::ToText(module.op(), {.generic = true});
  TENON_ASSIGN_OR_RETURN(const std::string artifact, dialect::Serialize(module.op()));
  return Canonical(context, artifact, false);
}

void Compare(const Module& module, Version version, const std::string& name) {
  SCOPED_TRACE(name + " at " + version.ToString());
  dialect::Context context;
  const Result<std::string> text = module.ToText();
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  const Result<std::string> artifact = module.ToArtifact(version);
  const Result<dialect::OwnedModule> parsed = dialect::Parse(context, *text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << *text;
  const Result<std::string> other = dialect::Serialize(parsed->op(), version);
  ASSERT_EQ(artifact.ok(), other.ok()) << artifact.status().ToString()
                                       << "; the dialect: " << other.status().ToString();
  if (!artifact.ok()) {
    EXPECT_EQ(artifact.status().code(), Code::kInvalidArgument) << artifact.status().ToString();
    return;
  }
  const Result<std::string> want = Canonical(context, *text, true);
  const Result<std::string> got = Canonical(context, *artifact, false);
  ASSERT_TRUE(want.ok()) << want.status().ToString();
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(*got, *want);
}

TEST(Artifact, EveryOperationInEveryVersion) {
  for (const Case& c : Cases()) {
    Module module;
    Function& f = module.AddFunction("main");
    f.Return(c.build(f));
    for (const Version version : kVersions) Compare(module, version, c.name);
    const char* folder = std::getenv("TENON_ARTIFACT_FOLDER");
    const Result<std::string> artifact = module.ToArtifact(kCommon);
    if (folder == nullptr || !artifact.ok()) continue;
    std::filesystem::create_directories(folder);
    std::ofstream(std::string(folder) + "/" + c.name + ".bc", std::ios::binary) << *artifact;
    std::ofstream(std::string(folder) + "/" + c.name + ".mlir") << *module.ToText();
  }
}

// What no single operation shows: several functions, values from outside of regions, shardings, meshes, aliases, types.
TEST(Artifact, WholeModules) {
  Module module("whole");
  module.SetReplicas(1, 2);
  module.AddMesh("mesh", {{"x", 2}, {"y", 1}});
  Function& twice = module.AddFunction("twice");
  const Value t = twice.Parameter(DType::kF32);
  twice.Return({t + t});
  Function& f = module.AddFunction("main");
  const Sharding sharded = Sharding::Sdy("mesh", {{"x"}, {}});
  const Value x = f.Parameter({DType::kF32, {4, 3}}, {.sharding = sharded, .alias_output = 0});
  const Value y = f.Parameter({DType::kF32, {}}, {.sharding = Sharding::Mhlo("{replicated}"), .donate = true});
  const Value z = ShardingConstraint(x + x, sharded);
  const Value scaled = Call(twice, {y})[0];
  const Values loop = While(
      {z, Full(f, {DType::kS32, {}}, 0)},
      [&](Value, Value i) { return Compare(i, Full(f, {DType::kS32, {}}, 3), Direction::kLt); },
      [&](Value v, Value i) {
        const Value inner = If(
            Compare(i, Full(f, {DType::kS32, {}}, 1), Direction::kEq), [&] { return v * BroadcastTo(scaled, {4, 3}); },
            [&] { return v + z; })[0];
        return Values{inner, i + 1};
      });
  SetSharding(loop[0], Sharding::Mhlo("{replicated}"));
  const Value last = loop[0] - z;
  SetAttribute(last, "mhlo.frontend_attributes", R"({a = "b\22c", list = [1 : i32, 2.5, true], n = {m = -3}})");
  SetSharding(last, sharded);
  f.Return({last}, {{.sharding = sharded}});
  for (const Version version : {Version{1, 8, 0}, Version{1, 11, 0}, vhlo::kCurrentVersion})
    Compare(module, version, "whole");
}

TEST(Artifact, LiteralsOfEveryType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (KindOf(type) == DTypeKind::kNone || type == DType::kS1 || type == DType::kU1) continue;
    Module module;
    Function& f = module.AddFunction("main");
    Values results;
    for (const Dims& dims : {Dims{}, Dims{1}, Dims{3}, Dims{9, 2}, Dims{0, 2}}) {
      const Shape shape{type, dims};
      std::vector<std::byte> bytes(static_cast<size_t>(NumElements(dims) * ByteWidth(type)));
      // Small numbers of every sign, valid in all types; booleans are 0 or 1.
      const int low = DTypeBits(type) < 8 && type != DType::kPred ? DTypeBits(type) : 8;
      for (size_t at = 0; at < bytes.size(); ++at) {
        const auto value = static_cast<unsigned>(at * 37 + 1) & ((1u << low) - 1);
        bytes[at] = static_cast<std::byte>(type == DType::kPred ? value & 1 : value);
      }
      results.push_back(Constant(f, *Literal::FromBytes(shape, bytes)));
      results.push_back(Full(f, shape, 1));
    }
    f.Return(results);
    Compare(module, vhlo::kCurrentVersion, std::string(DTypeName(type)));
  }
}

TEST(Artifact, Errors) {
  Module module;
  Function& f = module.AddFunction("main");
  const Value x = f.Parameter(DType::kF32);
  EXPECT_EQ(module.ToArtifact().status().code(), Code::kFailedPrecondition);
  const Value y = Tan(x);
  f.Return({y});
  EXPECT_TRUE(module.ToArtifact().ok());
  EXPECT_NE(module.ToArtifact({1, 3, 0}).status().message().find("stablehlo.tan"), std::string::npos);
  EXPECT_NE(module.ToArtifact({0, 9, 0}).status().message().find("wanted 1.0.0"), std::string::npos);
  EXPECT_NE(module.ToArtifact({2, 0, 0}).status().message().find("2.0.0"), std::string::npos);
  SetAttribute(y, "some.name", "affine_map<(d0) -> (d0)>");
  EXPECT_EQ(module.ToArtifact().status().code(), Code::kUnimplemented);

  // Readers get text where they do not say what they read, or where there is no artifact.
  const auto is_text = [&](std::vector<int64_t> newest) { return module.ForReader(newest)->starts_with("module"); };
  EXPECT_TRUE(is_text({1, 13, 0}));
  Module other;
  Function& g = other.AddFunction("main");
  g.Return({Tan(g.Parameter(DType::kF32))});
  EXPECT_TRUE(other.ForReader({})->starts_with("module"));
  EXPECT_TRUE(other.ForReader(std::vector<int64_t>{1, 3, 0})->starts_with("module"));
  EXPECT_TRUE(other.ForReader(std::vector<int64_t>{1, 13, 0})->starts_with("ML\xefR"));
  EXPECT_TRUE(other.ForReader(std::vector<int64_t>{99, 0, 0})->starts_with("ML\xefR"));
}

}  // namespace
}  // namespace tenon::builder
