// Programs as text, as artifacts of every version, and as broken versions of both. Everything goes through the facade.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tenon/dialect/parse.h"

namespace tenon::dialect {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<fs::path> Files(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().ends_with(extension)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

fs::path OwnPrograms() { return Env("TENON_DIALECT_TESTDATA"); }

// Every version in which something changed.
std::vector<Version> Versions() {
  std::vector<Version> all;
  for (int minor = 9; minor <= 20; ++minor) all.push_back({0, minor, 0});
  for (int minor = 0; minor <= 20; ++minor) all.push_back({1, minor, 0});
  return all;
}

constexpr std::string_view kSmall = R"(
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = stablehlo.add %x, %c : tensor<2xf32>
  return %0 : tensor<2xf32>
})";

std::string SmallArtifact(Version version = kCurrentVersion) {
  Context context;
  auto module = Parse(context, kSmall);
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  auto bytes = Serialize(module->op(), version);
  EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  return *bytes;
}

TEST(Detect, ByContent) {
  EXPECT_EQ(DetectInput(kSmall), InputKind::kText);
  EXPECT_EQ(DetectInput(SmallArtifact()), InputKind::kPortableArtifact);
  EXPECT_EQ(DetectInput(std::string_view("ML\xefR\x0dMLIR22.1.8\0", 16)), InputKind::kBytecode);
  EXPECT_EQ(DetectInput(std::string_view("\x0a\x04main\x12\x04main\x1a\x00", 14)), InputKind::kHloModuleProto);
  EXPECT_EQ(DetectInput(""), InputKind::kText);
}

TEST(Parse, WhatIsWrongWithAnHloModuleProtoIsSaid) {
  Context context;
  auto module = Parse(context, std::string_view("\x0a\x04main\x12\x04main\x1a\x00", 14));
  EXPECT_EQ(module.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("HloModuleProto"));
}

TEST(Parse, ErrorsNameOpAndLocation) {
  Context context;
  auto module = Parse(context, R"(
func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
})");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("stablehlo.add"));
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("program:3:"));
}

// go-xla ends functions with stablehlo.return.
TEST(Parse, FunctionsMayEndWithStablehloReturn) {
  Context context;
  auto module = Parse(context, R"(
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  "stablehlo.return"(%x) : (tensor<2xf32>) -> ()
})");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(ToText(module->op()),
              ::testing::AllOf(HasSubstr("    return %arg0"), ::testing::Not(HasSubstr("stablehlo.return"))));
  EXPECT_FALSE(Parse(context, R"(
func.func @main(%x: tensor<2xf32>) -> tensor<?xf32> {
  "stablehlo.return"(%x) : (tensor<2xf32>) -> ()
})")
                   .ok());
}

// The generic form can leave it out.
TEST(Parse, FunctionsWithoutARegionAreRefused) {
  Context context;
  auto module = Parse(context, R"("func.func"() <{function_type = () -> (), sym_name = "main"}> : () -> ())");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("region"));
}

// The location of a malformed op in an artifact is the one it was written with.
TEST(Parse, ArtifactErrorsNameOpAndLocation) {
  std::string bytes = SmallArtifact();
  const size_t name = bytes.find("add_v1");
  ASSERT_NE(name, std::string::npos);
  bytes[name] = 'x';
  Context context;
  auto module = Parse(context, bytes);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("xdd_v1"));
}

TEST(Serialize, RefusesVersionsOutsideTheRange) {
  Context context;
  auto module = Parse(context, kSmall);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(Serialize(module->op(), {0, 8, 9}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Serialize(module->op(), {1, 21, 0}).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Serialize(module->op(), {1, 16, 3}).ok());
}

TEST(Serialize, RefusesWhatAVersionCannotSay) {
  Context context;
  auto module = Parse(context, R"(
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.tan %x : tensor<2xf32>
  return %0 : tensor<2xf32>
})");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  auto old = Serialize(module->op(), {1, 3, 0});
  ASSERT_FALSE(old.ok());
  EXPECT_THAT(std::string(old.status().message()), HasSubstr("stablehlo.tan"));
  EXPECT_TRUE(Serialize(module->op(), {1, 4, 0}).ok());
}

TEST(Serialize, WritesWhatStablehloLacksAsCalls) {
  Context context;
  auto module = Parse(context, R"(
func.func @main(%x: tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0 = chlo.erf %x : tensor<2x5xf32> -> tensor<2x5xf32>
  %1:2 = chlo.top_k(%0, k = 3) : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return %1#0, %1#1 : tensor<2x3xf32>, tensor<2x3xi32>
})");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string before = ToText(module->op());
  const auto bytes = Serialize(module->op(), {1, 9, 0});
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  EXPECT_EQ(ToText(module->op()), before);
  EXPECT_EQ(bytes->find("chlo"), std::string::npos);
  EXPECT_NE(bytes->find("mhlo.erf"), std::string::npos);
  EXPECT_NE(bytes->find("mhlo.topk"), std::string::npos);
  const auto again = Parse(context, *bytes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(ToText(again->op()), before);
}

TEST(NamedCalls, CallsWithoutANameAreRefused) {
  Context context;
  auto module = Parse(context, R"(
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.custom_call"(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
})");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("call_target_name"));
}

TEST(NamedCalls, CallsOfOtherTypesStayCalls) {
  Context context;
  for (const std::string results :
       {"!stablehlo.token, tensor<3xi32>", "tensor<3xf32>, !stablehlo.token", "tensor<*xf32>, tensor<3xi32>",
        "tensor<3xi32>, tensor<3xi32>", "tensor<3xf32>, tensor<3xi64>"}) {
    for (const std::string largest : {"true", "false"}) {
      auto module = Parse(context,
                          "func.func @main(%x: tensor<5xf32>) { %0:2 = stablehlo.custom_call @mhlo.topk(%x) "
                          "{mhlo.attributes = {k = 3 : i64, largest = " +
                              largest + "}} : (tensor<5xf32>) -> (" + results + ") return }");
      ASSERT_TRUE(module.ok()) << module.status().ToString();
      EXPECT_THAT(ToText(module->op()), HasSubstr("mhlo.topk")) << results;
    }
  }
}

TEST(NamedCalls, StartedCollectivesAreCollectives) {
  Context context;
  auto module = Parse(context, R"(
func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}
func.func @main(%x: tensor<32xf32>) -> (tensor<64xf32>, tensor<32xf32>, tensor<16xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %0 = stablehlo.custom_call @"all-gather-start"(%x) {mhlo.frontend_attributes = {async_collective_config = "{\22all_gather_dimension\22: 0, \22replica_groups\22: [[0, 1]], \22use_global_device_ids\22: true, \22channel_id\22: 1}"}} : (tensor<32xf32>) -> tensor<64xf32>
  %1 = stablehlo.custom_call @"all-gather-done"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = stablehlo.custom_call @"all-reduce-start"(%x) {called_computations = [@add], mhlo.frontend_attributes = {async_collective_config = "{\22replica_groups\22: [[0, 1]]}"}} : (tensor<32xf32>) -> tensor<32xf32>
  %3 = stablehlo.custom_call @"all-reduce-done"(%2) : (tensor<32xf32>) -> tensor<32xf32>
  %4 = stablehlo.custom_call @"reduce-scatter-start"(%x) {called_computations = [@add], mhlo.frontend_attributes = {async_collective_config = "{\22scatter_dimension\22: 0, \22replica_groups\22: [[0, 1]], \22tiled\22: true}"}} : (tensor<32xf32>) -> tensor<16xf32>
  %5 = stablehlo.custom_call @"reduce-scatter-done"(%4) : (tensor<16xf32>) -> tensor<16xf32>
  %6 = stablehlo.custom_call @"all-to-all-start"(%x) {mhlo.frontend_attributes = {async_collective_config = "{\22split_dimension\22: 0, \22concat_dimension\22: 0, \22split_count\22: 2, \22replica_groups\22: [[0, 1]]}"}} : (tensor<32xf32>) -> tensor<32xf32>
  %7 = stablehlo.custom_call @"all-to-all-done"(%6) : (tensor<32xf32>) -> tensor<32xf32>
  %8 = stablehlo.custom_call @"collective-permute-start"(%x) {mhlo.frontend_attributes = {async_collective_config = "{\22permutation\22: [[0, 1], [1, 0]]}"}} : (tensor<32xf32>) -> tensor<32xf32>
  %9 = stablehlo.custom_call @"collective-permute-done"(%8) : (tensor<32xf32>) -> tensor<32xf32>
  %10 = stablehlo.custom_call @"all-to-all-start"(%x) {mhlo.frontend_attributes = {async_collective_config = "{\22split_dimension\22: 0, \22replica_groups\22: [[0], 1]}"}} : (tensor<32xf32>) -> tensor<32xf32>
  return %1, %3, %5, %7, %9, %10 : tensor<64xf32>, tensor<32xf32>, tensor<16xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
})");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string text = ToText(module->op());
  for (const std::string_view wanted :
       {"all_gather_dim = 0", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>",
        "\"stablehlo.all_reduce\"", "stablehlo.add", "scatter_dimension = 0", "split_count = 2",
        "source_target_pairs = dense<[[0, 1], [1, 0]]>", "replica_groups = dense<[[0, 1]]>"})
    EXPECT_THAT(text, HasSubstr(std::string(wanted)));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("-done")));
  EXPECT_THAT(text, HasSubstr("@\"all-to-all-start\"(%arg0)")) << "what makes no sense stays";
}

TEST(NamedCalls, CallsOfTheirOwnResultsEnd) {
  Context context;
  const std::string call = R"(  %0 = stablehlo.custom_call @"all-gather-done"(%0) : (tensor<4xf32>) -> tensor<4xf32>
)";
  auto module = Parse(context, "func.func @main() {\n" + call + "  return\n}");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("dominate"));
  // Where nothing gets to, whatever is used may come later.
  module = Parse(context, "func.func @main() {\n  return\n^bb1:\n" + call + "  return\n}");
  EXPECT_TRUE(module.ok()) << module.status().ToString();
}

TEST(NamedCalls, DecompositionsOfXlaBecomeCallsOfLapack) {
  Context context;
  auto module = Parse(context, R"(
func.func @main(%a: tensor<3x2x2xcomplex<f64>>, %b: tensor<2x3xf16>, %c: tensor<5x5xf32>, %d: tensor<3xf32>, %e: tensor<6xf32>) -> (tensor<3x2x2xcomplex<f64>>, tensor<3x2xf64>) {
  %0:2 = stablehlo.custom_call @Qr(%a) : (tensor<3x2x2xcomplex<f64>>) -> (tensor<3x2x2xcomplex<f64>>, tensor<3x2xcomplex<f64>>)
  %1 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%0#0, %0#1) : (tensor<3x2x2xcomplex<f64>>, tensor<3x2xcomplex<f64>>) -> tensor<3x2x2xcomplex<f64>>
  %2:2 = stablehlo.custom_call @Eigh(%1) {backend_config = "0,1,100,1e-6"} : (tensor<3x2x2xcomplex<f64>>) -> (tensor<3x2x2xcomplex<f64>>, tensor<3x2xf64>)
  %3:2 = stablehlo.custom_call @Eigh(%1) {backend_config = "yes"} : (tensor<3x2x2xcomplex<f64>>) -> (tensor<3x2x2xcomplex<f64>>, tensor<3x2xf64>)
  %4:2 = stablehlo.custom_call @Qr(%b) : (tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<2xf16>)
  %5 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%c, %d) : (tensor<5x5xf32>, tensor<3xf32>) -> tensor<5x5xf32>
  %6 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%c, %e) : (tensor<5x5xf32>, tensor<6xf32>) -> tensor<5x5xf32>
  return %2#0, %2#1 : tensor<3x2x2xcomplex<f64>>, tensor<3x2xf64>
})");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string text = ToText(module->op());
  const std::string column_major = "dense<[1, 2, 0]> : tensor<3xindex>";
  for (const std::string& wanted :
       {std::string("@lapack_zgeqrf_ffi(%arg0)"), std::string("@lapack_zungqr_ffi(%0#0, %0#1)"),
        std::string("@lapack_zheevd_ffi(%1)"), std::string("@lapack_sorgqr_ffi(%arg2, %arg3)"),
        std::string("mode = 86 : ui8, uplo = 85 : ui8"), "operand_layouts = [" + column_major + "]",
        "result_layouts = [" + column_major + ", dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]",
        // What has no such form stays.
        std::string("@Eigh(%1)"), std::string("@Qr(%arg1)"),
        std::string("@ProductOfElementaryHouseholderReflectors(%arg2, %arg4)")}) {
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\n" << text;
  }
}

TEST(Serialize, ChecksTypesAndAttributes) {
  Context context;
  auto types =
      Parse(context, "func.func @main(%x: tensor<2xf8E3M4>) -> tensor<2xf8E3M4> { return %x : tensor<2xf8E3M4> }");
  ASSERT_TRUE(types.ok()) << types.status().ToString();
  EXPECT_FALSE(Serialize(types->op(), {1, 6, 0}).ok());
  EXPECT_TRUE(Serialize(types->op(), {1, 7, 0}).ok());
  auto accuracy = Parse(context, R"(
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.exponential"(%x) {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
})");
  ASSERT_TRUE(accuracy.ok()) << accuracy.status().ToString();
  EXPECT_FALSE(Serialize(accuracy->op(), {1, 8, 0}).ok());
  auto bytes = Serialize(accuracy->op(), {1, 9, 0});
  ASSERT_TRUE(bytes.ok());
  auto again = Parse(context, *bytes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(ToText(again->op()), ToText(accuracy->op()));
}

// text -> module -> artifact of every version that can say it -> module -> same text.
TEST(RoundTrip, OwnProgramsAtEveryVersion) {
  const auto files = Files(OwnPrograms(), ".mlir");
  ASSERT_FALSE(files.empty()) << "TENON_DIALECT_TESTDATA names no programs";
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    Context context;
    auto module = Parse(context, ReadFile(file));
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    const std::string text = ToText(module->op());
    int written = 0;
    for (Version version : Versions()) {
      auto bytes = Serialize(module->op(), version);
      if (!bytes.ok()) {
        // Once a version can say it, every later one can.
        EXPECT_EQ(written, 0) << version.ToString() << ": " << bytes.status().ToString();
        continue;
      }
      ++written;
      auto again = Parse(context, *bytes);
      ASSERT_TRUE(again.ok()) << version.ToString() << ": " << again.status().ToString();
      EXPECT_EQ(ToText(again->op()), text) << version.ToString();
    }
    EXPECT_GT(written, 0);
    EXPECT_EQ(ToText(module->op()), text) << "writing changed the module";
    // Generic text says the same.
    auto generic = Parse(context, ToText(module->op(), {.generic = true}));
    ASSERT_TRUE(generic.ok()) << generic.status().ToString();
    EXPECT_EQ(ToText(generic->op()), text);
  }
}

// Bytecode of the StableHLO dialect itself, by a writer with fewer optional attributes and booleans of one byte each.
TEST(Parse, PlainBytecodeOfAnotherWriter) {
  const std::string bytes = ReadFile(OwnPrograms() / "plain.bc");
  ASSERT_EQ(DetectInput(bytes), InputKind::kBytecode);
  Context context;
  auto module = Parse(context, bytes);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  auto text = Parse(context, ReadFile(OwnPrograms() / "plain.mlir"));
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_EQ(ToText(module->op()), ToText(text->op()));
  for (size_t n = 1; n < bytes.size(); ++n)
    EXPECT_FALSE(Parse(context, std::string_view(bytes).substr(0, n)).ok()) << n;
}

TEST(Parse, BorrowedLiteralsAreNotCopied) {
  std::string text = "func.func @main() -> tensor<64xi32> { %0 = stablehlo.constant dense<[0";
  for (int i = 1; i < 64; ++i) text += ", " + std::to_string(i);
  text += "]> : tensor<64xi32> return %0 : tensor<64xi32> }";
  Context context;
  auto module = Parse(context, text);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  auto bytes = Serialize(module->op());
  ASSERT_TRUE(bytes.ok());
  auto borrowed = Parse(context, *bytes, {.borrow_literals_from = 256});
  ASSERT_TRUE(borrowed.ok()) << borrowed.status().ToString();
  EXPECT_THAT(ToText(borrowed->op()), HasSubstr("dense_resource"));
  auto copied = Parse(context, *bytes, {.borrow_literals_from = 257});
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ(ToText(copied->op()), ToText(module->op()));
  // Written again, a borrowed literal is a literal like any other.
  auto again = Serialize(borrowed->op());
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(*again, *bytes);
}

TEST(RoundTrip, LocationsSurvive) {
  Context context;
  auto module = Parse(context, R"(
#loc1 = loc("model.py":12:3)
#loc2 = loc("call"(#loc1))
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.negate %x : tensor<2xf32> loc(callsite(#loc2 at "other.py":1:2))
  return %0 : tensor<2xf32> loc(fused["a", "b.py":3:4])
})");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  auto bytes = Serialize(module->op(), {1, 20, 0});
  ASSERT_TRUE(bytes.ok());
  auto again = Parse(context, *bytes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(ToText(again->op(), {.locations = true}), ToText(module->op(), {.locations = true}));
}

// Cutting an artifact anywhere gives an error, never a program and never a crash.
TEST(Malformed, EveryTruncation) {
  for (Version version : {Version{0, 9, 0}, Version{0, 14, 0}, kCurrentVersion}) {
    const std::string bytes = SmallArtifact(version);
    Context context;
    for (size_t n = 0; n < bytes.size(); ++n) {
      auto module = Parse(context, std::string_view(bytes).substr(0, n));
      if (n == 0) continue;  // Nothing is an empty module.
      EXPECT_FALSE(module.ok()) << n;
      if (!module.ok())
        EXPECT_EQ(module.status().code(), Code::kInvalidArgument) << n << ": " << module.status().ToString();
    }
  }
}

// A flipped bit gives an error or another program; what it gives can be printed and verified.
TEST(Malformed, EveryBitFlip) {
  for (Version version : {Version{0, 9, 0}, kCurrentVersion}) {
    const std::string bytes = SmallArtifact(version);
    size_t errors = 0;
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      Context context;
      auto module = Parse(context, flipped);
      if (module.ok()) {
        (void)ToText(module->op());
      } else {
        ++errors;
      }
    }
    EXPECT_GT(errors, bytes.size() * 2);
  }
}

TEST(Malformed, DeepText) {
  Context context;
  const auto refused = [&](const std::string& text) {
    auto module = Parse(context, text);
    EXPECT_FALSE(module.ok());
    EXPECT_EQ(module.status().code(), Code::kInvalidArgument);
  };
  constexpr int kDeep = 100000;
  for (const char* open : {"(", "[", "{", "<"}) {
    std::string brackets;
    for (int i = 0; i < kDeep; ++i) brackets += open;
    refused(brackets);
    refused("module attributes {a = " + brackets);
  }
  std::string types = "func.func private @f(";
  for (int i = 0; i < kDeep; ++i) types += "tuple<";
  refused(types);
  std::string regions;
  for (int i = 0; i < kDeep; ++i) regions += "module {";
  refused(regions);
  // Aliases nest without brackets, and multiply.
  std::string chain = "#a0 = [1]\n";
  std::string tree = "#a0 = [1]\n";
  for (int i = 1; i < 2000; ++i) {
    const std::string name = "#a" + std::to_string(i);
    const std::string before = "#a" + std::to_string(i - 1);
    chain += name + " = [" + before + "]\n";
    if (i < 60) tree += name + " = [" + before + "," + before + "]\n";
  }
  refused(chain + "module attributes {x = #a1999} {}");
  refused(tree + "module attributes {x = #a59} {}");
  refused("func.func @f() { %0 = \"x\"(%y#4294967290) : (i32) -> i32 }");
}

TEST(Malformed, HugeShapes) {
  Context context;
  for (const char* type : {"tensor<9223372036854775807xf32>", "tensor<4294967296x4294967296xi8>",
                           "tensor<99999999999999999999999999xi8>", "tensor<0x9223372036854775807x9xf32>"}) {
    auto module = Parse(context, std::string("func.func private @f(") + type + ")");
    EXPECT_FALSE(module.ok()) << type;
  }
  EXPECT_TRUE(Parse(context, "func.func private @f(tensor<1000000x1000000xf32>)").ok());
  EXPECT_FALSE(
      Parse(context, "func.func @f() { %0 = stablehlo.constant dense<1> : tensor<4611686018427387904x4xi32> return }")
          .ok());
}

TEST(Text, BooleansOfOneByteEach) {
  Context context;
  std::string digits;
  std::string list;
  for (int i = 0; i < 120; ++i) {
    const bool bit = i % 3 == 0 || i == 119;
    digits += bit ? "01" : "00";
    list += std::string(i ? ", " : "") + (bit ? "true" : "false");
  }
  const auto program = [](const std::string& literal) {
    return "func.func @main() -> tensor<120xi1> { %0 = stablehlo.constant dense<" + literal +
           "> : tensor<120xi1> return %0 : tensor<120xi1> }";
  };
  auto bytes = Parse(context, program("\"0x" + digits + "\""));
  auto plain = Parse(context, program("[" + list + "]"));
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(ToText(bytes->op()), ToText(plain->op()));
}

TEST(Contexts, ArePooled) {
  DropIdleContexts();
  mlir::MLIRContext* first = nullptr;
  {
    Context context;
    first = &context.mlir();
  }
  Context again;
  EXPECT_EQ(&again.mlir(), first);
  Context other;
  EXPECT_NE(&other.mlir(), first);
}

//===--- With the data shared between projects ---===//

fs::path Shared() { return Env("TENON_SHARED"); }

// Upstream's artifacts of every version against the text they were made of.
TEST(SharedData, ArtifactsEqualTheirText) {
  const auto files = Files(Shared() / "stablehlo/testdata_vhlo", ".mlir.bc");
  if (files.empty()) GTEST_SKIP() << "no shared data (TENON_SHARED)";
  int read = 0;
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    Context context;
    auto module = Parse(context, ReadFile(file));
    if (file.filename().string().starts_with("invalid_vhlo_future")) {
      EXPECT_FALSE(module.ok());
      ++read;
      continue;
    }
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    auto text = Parse(context, ReadFile(file.string().substr(0, file.string().size() - 3)));
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    EXPECT_EQ(ToText(module->op()), ToText(text->op()));
    ++read;
  }
  EXPECT_EQ(read, 34);
}

TEST(SharedData, CapturesOfClients) {
  const fs::path captures = Shared() / "clients/captures";
  if (!fs::exists(captures)) GTEST_SKIP() << "no shared data (TENON_SHARED)";
  int read = 0;
  for (const auto& folder : fs::directory_iterator(captures)) {
    if (!folder.is_directory()) continue;
    for (const fs::path& file : Files(folder.path(), ".mlir")) {
      Context context;
      auto module = Parse(context, ReadFile(file));
      EXPECT_TRUE(module.ok()) << file << ": " << module.status().ToString();
      ++read;
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace tenon::dialect
