#include <gtest/gtest.h>

#include <cmath>

#include "tools/tenon/array.h"
#include "tools/tenon/compare.h"
#include "tools/tenon/npy.h"
#include "tools/tenon/signature.h"

namespace tenon::cli {
namespace {

Shape S(DType type, std::initializer_list<int64_t> dims) { return {type, Dims(dims.begin(), dims.end())}; }

TEST(Literals, EveryTypeReadsBackWhatItPrints) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (ByteWidth(type) == 0) continue;
    for (const Fill fill : {Fill::kZeros, Fill::kOnes, Fill::kRandom}) {
      const Result<Array> made = MakeFilled(S(type, {2, 3}), fill, 7);
      ASSERT_TRUE(made.ok()) << DTypeName(type) << made.status().ToString();
      Array copy = *MakeArray(made->shape);
      for (size_t k = 0; k < 6; ++k) {
        // A scale of powers of two has neither zero nor negative numbers: those are NaN.
        const std::string text = ElementText(*made, k);
        ASSERT_TRUE(ParseElement(copy, k, text).ok()) << DTypeName(type) << " " << text;
        EXPECT_EQ(ElementText(copy, k), text) << DTypeName(type);
      }
    }
  }
}

TEST(Literals, Forms) {
  EXPECT_EQ(ToText(*ParseLiteral("f32[2,2]:1,2.5,-3,inf"), 10), "[[1, 2.5],\n [-3, inf]]");
  EXPECT_EQ(ToText(*ParseLiteral("s32[3]:7"), 10), "[7, 7, 7]");
  EXPECT_EQ(ToText(*ParseLiteral("c64[1]:(1,-2)"), 10), "[(1,-2)]");
  EXPECT_EQ(ToText(*ParseLiteral("pred:true"), 10), "true");
  EXPECT_EQ(ToText(*ParseLiteral("f32[0]:"), 10), "[]");
  EXPECT_EQ(ToText(*ParseLiteral("s8[4]:[1, 2, 3, 4]"), 2), "[1, 2, ...]");
  EXPECT_EQ(ToText(*ParseLiteral("f32[2,0]:"), 2), "[[],\n []]");
  // Without elements, but with more lists than there is memory.
  EXPECT_EQ(ToText(*MakeArray(S(DType::kF32, {int64_t{1} << 40, 0})), 2), "[[],\n [],\n ...]");
  EXPECT_FALSE(ToJson(*MakeArray(S(DType::kF32, {int64_t{1} << 40, 0})), 2).contains("data"));
  EXPECT_TRUE(ToJson(*MakeArray(S(DType::kF32, {2, 0})), 2).contains("data"));
  for (const char* bad :
       {"f32[2]:1,2,3", "f32[2]", "x32:1", "s8:128", "u8:-1", "pred:2", "f32[2:1", "s4:8", "c64:(1", "s32:1.5"}) {
    EXPECT_EQ(ParseLiteral(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(Npy, RoundTrips) {
  for (const DType type : {DType::kPred, DType::kS8, DType::kS64, DType::kU16, DType::kF16, DType::kF32, DType::kF64,
                           DType::kBF16, DType::kC64, DType::kC128, DType::kF8E4M3FN, DType::kS4}) {
    for (const Shape& shape : {S(type, {}), S(type, {3}), S(type, {2, 0, 4}), S(type, {2, 3})}) {
      const Array array = *MakeFilled(shape, Fill::kRandom, 1);
      const std::string bytes = ToNpy(array);
      const Result<Array> read = ParseNpy(bytes, type);
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->bytes, array.bytes);
      // No prefix of it is a file.
      for (size_t n = 0; n < bytes.size(); n += 7)
        EXPECT_FALSE(ParseNpy(bytes.substr(0, n), type).ok() && n != bytes.size());
    }
  }
}

TEST(Npy, ColumnsBecomeRows) {
  std::string bytes = ToNpy(*ParseLiteral("s32[2,3]:1,2,3,4,5,6"));
  bytes.replace(bytes.find("False"), 5, "True ");
  EXPECT_EQ(ToText(*ParseNpy(bytes, DType::kInvalid), 10), "[[1, 3, 5],\n [2, 4, 6]]");
}

TEST(Npz, RoundTripsAndFindsDamage) {
  std::string bytes = ToNpz({{"a", "hello"}, {"b", std::string(1000, 'x')}});
  const auto members = ParseNpz(bytes);
  ASSERT_TRUE(members.ok()) << members.status().ToString();
  ASSERT_EQ(members->size(), 2u);
  EXPECT_EQ((*members)[0], (std::pair<std::string, std::string>("a", "hello")));
  bytes[37] ^= 1;  // of hello
  EXPECT_FALSE(ParseNpz(bytes).ok());
  // Whatever is cut off or changed: an error, or the same names.
  const std::string good = ToNpz({{"a", "hello"}});
  for (size_t i = 0; i < good.size(); ++i) {
    (void)ParseNpz(good.substr(0, i));
    for (const int flip : {1, 0x80, 0xff}) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      (void)ParseNpz(damaged);
    }
  }
}

TEST(Npz, TypesOfOutputsGoByTheirNames) {
  const Array single = *ParseLiteral("f32[1]:1"), brief = *ParseLiteral("bf16[1]:2");
  const std::string file = testing::TempDir() + "/types_by_name.npz";
  const auto types_of = [&](const std::vector<std::pair<std::string, std::string>>& members) {
    EXPECT_TRUE(WriteFile(file, ToNpz(members)).ok());
    const auto arrays = LoadArrays(file, {DType::kF32, DType::kBF16});
    std::vector<DType> types;
    EXPECT_TRUE(arrays.ok()) << arrays.status().ToString();
    if (!arrays.ok()) return types;
    for (const auto& [name, array] : *arrays) types.push_back(array.shape.dtype);
    return types;
  };
  const std::vector<DType> turned = {DType::kBF16, DType::kF32}, straight = {DType::kF32, DType::kBF16};
  EXPECT_EQ(types_of({{"out1", ToNpy(brief)}, {"out0", ToNpy(single)}}), turned);
  EXPECT_EQ(types_of({{"x", ToNpy(single)}, {"outlet", ToNpy(brief)}}), straight);
}

TEST(Signature, StableHloText) {
  const auto shapes = ReadTextParameters(
      "func.func public @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true, s = \"a,b)\"}, %arg1: "
      "tensor<complex<f32>>, "
      "%arg2: tensor<4xi1>, %arg3: tensor<1xui8>, %t: !stablehlo.token, %q: tensor<8xf8E4M3FN>) -> (tensor<f32>) {\n");
  ASSERT_TRUE(shapes);
  EXPECT_EQ(*shapes, (std::vector<Shape>{S(DType::kF32, {2, 3}), S(DType::kC64, {}), S(DType::kPred, {4}),
                                         S(DType::kU8, {1}), S(DType::kToken, {}), S(DType::kF8E4M3FN, {8})}));
  EXPECT_EQ(ReadTextParameters("func.func @main() -> tensor<f32> {")->size(), 0u);
  EXPECT_EQ(
      *ReadTextParameters(
          "\"func.func\"() <{function_type = (tensor<2xi64>, tensor<f32>) -> tensor<f32>, sym_name = \"main\"}> ({"),
      (std::vector<Shape>{S(DType::kS64, {2}), S(DType::kF32, {})}));
  EXPECT_EQ(*ReadTextParameters("HloModule m, entry_computation_layout={(f32[2,3]{1,0}, s32[])->f32[2,3]{1,0}}\n"),
            (std::vector<Shape>{S(DType::kF32, {2, 3}), S(DType::kS32, {})}));
  // What is in comments is no program, and what is in strings is no comment.
  EXPECT_EQ(*ReadTextParameters("// was: func.func @main(%a: tensor<3xf32>)\n"
                                "module attributes {s = \"//\\22 // \"} { // @main(%a: tensor<4xf32>)\n"
                                "func.func @main(%a: tensor<2xf32>, // the first, of two\n %b: tensor<f32>) -> ..."),
            (std::vector<Shape>{S(DType::kF32, {2}), S(DType::kF32, {})}));
  for (const char* bad : {"", "func.func @main(", "func.func @main(%a: tensor<?xf32>)",
                          "func.func @main(%a: tensor<2xnothing>)", "@main(%a)"}) {
    EXPECT_FALSE(ReadTextParameters(bad)) << bad;
  }
}

TEST(Signature, HloProtos) {
  // host_program_shape {parameters {element_type: F32 dimensions: 2 dimensions: 3}}
  const std::string shape("\x10\x0b\x1a\x02\x02\x03", 6);
  const std::string program = "\x0a\x06" + shape;
  const std::string module = "\x22\x08" + program;
  EXPECT_EQ(*ReadParameters({module, "hlo"}), (std::vector<Shape>{S(DType::kF32, {2, 3})}));
  EXPECT_EQ(*ReadParameters({"\x0a\x0a" + module, "hlo_with_config"}), (std::vector<Shape>{S(DType::kF32, {2, 3})}));
  for (size_t i = 0; i < module.size(); ++i) (void)ReadParameters({module.substr(0, i), "hlo"});
  EXPECT_FALSE(ReadParameters({"ML\xefR", "mlir"}));
}

}  // namespace
}  // namespace tenon::cli
