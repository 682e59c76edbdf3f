// HLO in both forms: what is read, what is refused and how, and that what is written reads back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "mlir/IR/Builders.h"
#include "tenon/dialect/hlo/mesh.h"
#include "tenon/dialect/hlo/module.h"
#include "tenon/dialect/hlo/stablehlo.h"
#include "tenon/dialect/hlo_writer.h"
#include "tenon/dialect/parse_mlir.h"

namespace tenon::hlo {
namespace {

using testing::HasSubstr;
using testing::Not;

// --- A protobuf writer of its own, so that the reader is judged by bytes that the library's writer had no part in.

std::string Varint(uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>((v & 0x7F) | 0x80));
  out.push_back(static_cast<char>(v));
  return out;
}
std::string Num(uint32_t field, int64_t v) { return Varint(field << 3) + Varint(static_cast<uint64_t>(v)); }
std::string Len(uint32_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string Packed(uint32_t field, const std::vector<int64_t>& values) {
  std::string bytes;
  for (int64_t v : values) bytes += Varint(static_cast<uint64_t>(v));
  return Len(field, bytes);
}

std::string ArrayShape(int type, const std::vector<int64_t>& dims, std::vector<int64_t> minor_to_major = {}) {
  if (minor_to_major.empty()) {
    for (size_t d = dims.size(); d-- > 0;) minor_to_major.push_back(static_cast<int64_t>(d));
  }
  return Num(2, type) + Packed(3, dims) + Len(5, Packed(1, minor_to_major) + Num(16, 1));
}

std::string Inst(const std::string& name, const std::string& opcode, const std::string& shape, int64_t id,
                 const std::vector<int64_t>& operands = {}, const std::string& more = "") {
  return Len(2, Len(1, name) + Len(2, opcode) + Len(3, shape) + Num(35, id) +
                    (operands.empty() ? "" : Packed(36, operands)) + more);
}

std::string Comp(const std::string& name, int64_t id, int64_t root, const std::string& instructions) {
  return Len(3, Len(1, name) + instructions + Num(5, id) + Num(6, root));
}

std::string Mod(const std::string& computations, int64_t entry, const std::string& more = "") {
  return Len(1, "m") + Len(2, "main") + computations + Num(6, entry) + more;
}

std::string AddModule() {
  const std::string f = ArrayShape(11, {2});
  return Mod(
      Comp("main", 7, 3,
           Inst("x", "parameter", f, 1) + Inst("y", "parameter", f, 2, {}, Num(9, 1)) + Inst("s", "add", f, 3, {1, 2})),
      7);
}

// --- Helpers.

Result<std::string> ToStablehloText(std::string_view bytes) {
  dialect::Context context;
  TENON_ASSIGN_OR_RETURN(const dialect::OwnedModule module, dialect::Parse(context, bytes));
  return dialect::ToText(module.op());
}

std::string Error(std::string_view bytes, Code code = Code::kInvalidArgument) {
  auto text = ToStablehloText(bytes);
  if (text.ok()) return "no error: " + *text;
  EXPECT_EQ(text.status().code(), code) << text.status().ToString();
  return std::string(text.status().message());
}

std::string Read(std::string_view bytes) {
  auto text = ToStablehloText(bytes);
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  return text.ok() ? *text : std::string();
}

std::string Entry(const std::string& body, const std::string& before = "") {
  return "HloModule m\n" + before + "ENTRY e {\n" + body + "}\n";
}

// --- The protobuf form.

TEST(Proto, AModuleOfThreeInstructions) {
  const std::string text = Read(AddModule());
  EXPECT_THAT(text, HasSubstr("func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32>"));
  EXPECT_THAT(text, HasSubstr("stablehlo.add %arg0, %arg1 : tensor<2xf32>"));
}

TEST(Proto, InstructionsAndComputationsInAnyOrder) {
  const std::string f = ArrayShape(11, {});
  const std::string entry = Comp("main", 1, 12,
                                 Inst("c", "call", f, 12, {11}, Packed(38, {2})) + Inst("n", "negate", f, 11, {10}) +
                                     Inst("x", "parameter", f, 10));
  const std::string callee = Comp("f", 2, 21, Inst("r", "cosine", f, 21, {20}) + Inst("p", "parameter", f, 20));
  const std::string text = Read(Mod(entry + callee, 1));
  EXPECT_THAT(text, HasSubstr("stablehlo.negate"));
  EXPECT_THAT(text, HasSubstr("func.func private @f"));
}

TEST(Proto, NewIdsCarryTheComputationAboveBit32) {
  const std::string f = ArrayShape(11, {});
  const int64_t high = int64_t{3} << 32;
  EXPECT_THAT(
      Read(Mod(Comp("main", 3, high | 1, Inst("x", "parameter", f, high) + Inst("s", "sine", f, high | 1, {0})), 3)),
      HasSubstr("stablehlo.sine"));
}

TEST(Proto, LiteralsOfAColumnMajorLayoutAreInItsOrder) {
  const std::string shape = ArrayShape(4, {2, 3}, {0, 1});
  const std::string literal = Len(8, Len(1, shape) + Packed(4, {1, 4, 2, 5, 3, 6}));
  EXPECT_THAT(Read(Mod(Comp("main", 1, 1, Inst("c", "constant", shape, 1, {}, literal)), 1)),
              HasSubstr("dense<[[1, 2, 3], [4, 5, 6]]>"));
}

TEST(Proto, LiteralsOfEveryWidth) {
  const auto constant = [](int type, const std::string& elements) {
    const std::string shape = ArrayShape(type, {2});
    return Read(Mod(Comp("main", 1, 1, Inst("c", "constant", shape, 1, {}, Len(8, Len(1, shape) + elements))), 1));
  };
  EXPECT_THAT(constant(1, Packed(2, {1, 0})), HasSubstr("dense<[true, false]> : tensor<2xi1>"));
  EXPECT_THAT(constant(2, Len(15, "\xff\x05")), HasSubstr("dense<[-1, 5]> : tensor<2xi8>"));
  EXPECT_THAT(constant(5, Packed(5, {-2, 3})), HasSubstr("dense<[-2, 3]> : tensor<2xi64>"));
  EXPECT_THAT(constant(9, Packed(7, {-1, 3})), HasSubstr("dense<[18446744073709551615, 3]> : tensor<2xui64>"));
  EXPECT_THAT(constant(10, Len(11, std::string("\x00\x3c\x00\xc0", 4))),
              HasSubstr("dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf16>"));
  EXPECT_THAT(constant(21, Len(21, "\x0e\x07")), HasSubstr("dense<[-2, 7]> : tensor<2xi4>"));
  EXPECT_THAT(constant(22, Len(22, "\x0e\x07")), HasSubstr("dense<[14, 7]> : tensor<2xui4>"));
  EXPECT_THAT(constant(32, Len(32, "\x02\x0a")),
              HasSubstr("dense<[1.000000e+00, -1.000000e+00]> : tensor<2xf4E2M1FN>"));
  const float parts[] = {1, 2, 3, -4};
  EXPECT_THAT(constant(15, Len(12, std::string(reinterpret_cast<const char*>(parts), 16))),
              HasSubstr("dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,-4.000000e+00)]> : tensor<2xcomplex<f32>>"));
}

TEST(Proto, ModulesInsideOtherMessages) {
  EXPECT_THAT(Read(Len(1, AddModule()) + Len(2, Num(4, 2))), HasSubstr("mhlo.num_replicas = 2"));
  EXPECT_THAT(Read(Len(1, AddModule())), HasSubstr("stablehlo.add"));
}

TEST(Proto, WhatIsWrongIsNamed) {
  const std::string f = ArrayShape(11, {2});
  const auto entry = [&](const std::string& instructions, int64_t root = 3) {
    return Mod(Comp("main", 7, root, instructions), 7);
  };
  const std::string x = Inst("x", "parameter", f, 1);
  EXPECT_THAT(Error(entry(x + Inst("s", "negate", f, 3, {9}))),
              HasSubstr("instruction 's' (negate) of computation 'main': operand id 9"));
  EXPECT_THAT(Error(entry(x + Inst("s", "negate", f, 3, {3}))), HasSubstr("depends on itself"));
  EXPECT_THAT(Error(entry(x + Inst("s", "negate", f, 1, {1}))), HasSubstr("another instruction has its id 1"));
  EXPECT_THAT(Error(entry(x, 9)), HasSubstr("root_id 9"));
  EXPECT_THAT(Error(entry(x + Inst("s", "add", f, 3, {1}))), HasSubstr("1 operands; 2 wanted"));
  EXPECT_THAT(Error(entry(x + Inst("s", "add", ArrayShape(11, {3}), 3, {1, 1}))), HasSubstr("(at s)"));
  EXPECT_THAT(Error(entry(x + Inst("s", "frobnicate", f, 3, {1})), Code::kUnimplemented), HasSubstr("frobnicate"));
  EXPECT_THAT(Error(entry(x + Inst("s", "negate", ArrayShape(77, {2}), 3, {1}))), HasSubstr("element type 77"));
  EXPECT_THAT(Error(entry(x + Inst("s", "negate", ArrayShape(11, {-2}), 3, {1}))), HasSubstr("negative dimension"));
  EXPECT_THAT(Error(entry(x + Inst("y", "parameter", f, 3, {}, Num(9, 5)))), HasSubstr("number 5"));
  EXPECT_THAT(Error(entry(x + Inst("y", "parameter", f, 3))), HasSubstr("two parameters of number 0"));
  EXPECT_THAT(Error(Mod(Comp("main", 7, 1, x), 8)), HasSubstr("entry_computation_id is 8"));
  EXPECT_THAT(Error(entry(x + Inst("c", "call", f, 3, {1}, Packed(38, {7})))), HasSubstr("calls itself"));
  EXPECT_THAT(Error(entry(x + Inst("c", "call", f, 3, {1}, Packed(38, {4})))), HasSubstr("called computation id 4"));
  EXPECT_THAT(Error(entry(x + Inst("c", "constant", f, 3))), HasSubstr("without a literal"));
  EXPECT_THAT(Error(entry(x + Inst("c", "constant", f, 3, {}, Len(8, Len(1, f) + Len(8, "abcd"))))),
              HasSubstr("4 bytes of elements; 8 wanted"));
  EXPECT_THAT(Error(entry(Len(2, Len(1, "x") + Num(2, 4)))), HasSubstr("field 2 is not bytes"));
  const std::string dynamic = Num(2, 11) + Packed(3, {2}) + Packed(6, {1});
  EXPECT_THAT(Error(entry(Inst("x", "parameter", dynamic, 3)), Code::kUnimplemented), HasSubstr("dynamic dimensions"));
  EXPECT_THAT(Error(entry(x + Inst("t", "infeed", f, 3)), Code::kUnimplemented), HasSubstr("infeed"));
}

TEST(Proto, BytesCutShortOrChangedAreNeverMoreThanAnError) {
  const std::string whole = AddModule();
  for (size_t n = 0; n < whole.size(); ++n) static_cast<void>(ToStablehloText(std::string_view(whole).substr(0, n)));
  for (size_t n = 0; n < whole.size(); ++n) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[n] = static_cast<char>(changed[n] ^ (1 << bit));
      static_cast<void>(ReadProto(changed));
    }
  }
}

TEST(Proto, DeepTuplesAreRefused) {
  std::string shape = ArrayShape(11, {});
  for (int d = 0; d < 1000; ++d) shape = Num(2, 13) + Len(4, shape);
  EXPECT_THAT(Error(Mod(Comp("main", 1, 1, Inst("x", "parameter", shape, 1)), 1)), HasSubstr("nests more than"));
}

TEST(Proto, ComputationsThatMultiplyAreRefused) {
  // Each computation reduces with the one before it twice: regions double with every level.
  const std::string f = ArrayShape(11, {}), v = ArrayShape(11, {1});
  std::string all =
      Comp("c0", 100, 3,
           Inst("a", "parameter", f, 1) + Inst("b", "parameter", f, 2, {}, Num(9, 1)) + Inst("s", "add", f, 3, {1, 2}));
  for (int64_t level = 1; level < 40; ++level) {
    const std::string use = Packed(38, {100 + level - 1});
    all += Comp("c" + std::to_string(level), 100 + level, 5,
                Inst("a", "parameter", f, 1) + Inst("b", "parameter", f, 2, {}, Num(9, 1)) +
                    Inst("s", "call", f, 3, {1, 2}, use) + Inst("t", "call", f, 5, {3, 2}, use));
  }
  all += Comp("main", 1, 3,
              Inst("x", "parameter", v, 1) + Inst("z", "parameter", f, 2, {}, Num(9, 1)) +
                  Inst("r", "reduce", f, 3, {1, 2}, Packed(14, {0}) + Packed(38, {139})));
  EXPECT_THAT(Error(Mod(all, 1), Code::kResourceExhausted), HasSubstr("expands to more than"));
}

TEST(Proto, AliasesDonorsAndTuples) {
  const std::string f = ArrayShape(11, {2}), pair = Num(2, 13) + Len(4, f) + Len(4, f);
  const std::string body = Inst("p", "parameter", pair, 1) + Inst("q", "parameter", f, 2, {}, Num(9, 1)) +
                           Inst("e", "get-tuple-element", f, 3, {1}, Num(13, 1)) + Inst("t", "tuple", pair, 4, {2, 3});
  const std::string aliases = Len(8, Len(1, Packed(1, {1}) + Num(2, 0) + Packed(3, {0}) + Num(4, 1))),
                    donors = Len(18, Len(1, Num(1, 1)));
  const std::string text = Read(Mod(Comp("main", 1, 4, body), 1, aliases + donors));
  EXPECT_THAT(text, HasSubstr("@main(%arg0: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<2xf32>, %arg2: "
                              "tensor<2xf32> {jax.buffer_donor = true})"));
  EXPECT_THAT(text, HasSubstr("return %arg2, %arg1"));
  EXPECT_THAT(Error(Mod(Comp("main", 1, 4, body), 1, Len(8, Len(1, Packed(1, {5}) + Num(2, 1) + Num(4, 1))))),
              HasSubstr("index {5}"));
}

// --- The text form.

TEST(Text, AModuleAsXlaPrintsIt) {
  const std::string text =
      Read(R"(HloModule jit_f, entry_computation_layout={(f32[2,3]{1,0}, f32[3,4]{1,0})->(f32[2,4]{1,0}, f32[3]{0})}

%region_0.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add.5 = f32[] add(f32[] %a, f32[] %b), metadata={op_name="sum" source_file="f.py" source_line=3}
}

ENTRY %main.2 (x.1: f32[2,3], y.1: f32[3,4]) -> (f32[2,4], f32[3]) {
  %x.1 = f32[2,3]{1,0} parameter(0)
  %y.1 = f32[3,4]{1,0} parameter(1)
  %dot.1 = f32[2,4]{1,0} dot(%x.1, %y.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %constant.1 = f32[] constant(0)
  %reduce.7 = f32[3]{0} reduce(%x.1, %constant.1), dimensions={0}, to_apply=%region_0.1
  ROOT %tuple.1 = (f32[2,4]{1,0}, /*index=1*/ f32[3]{0}) tuple(%dot.1, %reduce.7)
}
)");
  EXPECT_THAT(text, HasSubstr("stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]"));
  EXPECT_THAT(text, HasSubstr("stablehlo.reduce"));
}

TEST(Text, MistakesHaveAPlace) {
  EXPECT_THAT(Error("HloModule m\nENTRY e {\n  ROOT x = f32[2] parametr(0\n}\n"), HasSubstr("line 3, column 28"));
  EXPECT_THAT(Error(Entry("  x = f32[] parameter(0)\n  ROOT y = f32[] negate(z)\n")),
              HasSubstr("line 4, column 25: there is no instruction 'z'"));
  EXPECT_THAT(Error(Entry("  ROOT x = f33[] parameter(0)\n")), HasSubstr("'f33' is no element type"));
  EXPECT_THAT(Error(Entry("  ROOT c = s8[] constant(300)\n")), HasSubstr("300 does not fit s8"));
  EXPECT_THAT(Error(Entry("  ROOT c = s32[2] constant({1})\n")), HasSubstr("',' is wanted"));
  EXPECT_THAT(Error(Entry("  ROOT c = s32[2] constant({...})\n")), HasSubstr("left out"));
  EXPECT_THAT(Error(Entry("  x = f32[] parameter(0)\n  ROOT y = f32[] negate(x), colour={1}\n")),
              HasSubstr("attribute 'colour' of negate"));
  EXPECT_THAT(Error(Entry("  x = f32[] parameter(0)\n  ROOT y = f32[] call(x), to_apply=f\n")),
              HasSubstr("there is no computation 'f'"));
  EXPECT_THAT(Error(Entry("  x = f32[3] parameter(0)\n  ROOT y = f32[1] slice(x), slice={[0:3:0]}\n")),
              HasSubstr("a slice's stride is at least 1, got 0"));
  EXPECT_THAT(Error(Entry("  x = f32[3] parameter(0)\n  ROOT y = f32[3] reverse(x), window={size=3 rhs_dilate=0}\n")),
              HasSubstr("rhs_dilate of a window is at least 1, got 0"));
  EXPECT_THAT(Error("HloModule m\ne { ROOT x = f32[] parameter(0) }\n"), HasSubstr("no computation is marked ENTRY"));
  EXPECT_THAT(Error("HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0), sharding={de)ices=[2]<=[2]}\n}\n"),
              HasSubstr("',' or '}' is wanted"));
  EXPECT_THAT(Error(Entry("  ROOT x = " + std::string(5000, '(') + "f32[] parameter(0)\n")),
              HasSubstr("nests more than"));
}

TEST(Text, BitcastBetweenLayoutsMovesElements) {
  // Column-major bytes of a 2x3 array, read row-major as 3x2, are its transpose.
  const std::string text = Read(Entry("  x = f32[2,3]{0,1} parameter(0)\n  ROOT y = f32[3,2]{1,0} bitcast(x)\n"));
  EXPECT_THAT(text, HasSubstr("stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>"));
}

TEST(Text, TopKOfTheSmallest) {
  const std::string text =
      Read(Entry("  x = f32[7] parameter(0)\n  ROOT y = (f32[2], s32[2]) topk(x), k=2, largest=false\n"));
  EXPECT_THAT(text, HasSubstr("chlo.top_k"));
  EXPECT_THAT(text, HasSubstr("stablehlo.negate"));
}

TEST(Text, AllToAllOfEverybody) {
  const std::string all_to_all =
      "  x = f32[8] parameter(0)\n  ROOT y = f32[8] all-to-all(x), replica_groups={}, dimensions={0}";
  EXPECT_THAT(Read("HloModule m, replica_count=4, num_partitions=2\nENTRY e {\n" + all_to_all + "\n}\n"),
              HasSubstr("split_count = 4 : i64"));
  EXPECT_THAT(Read("HloModule m, replica_count=4, num_partitions=2\nENTRY e {\n" + all_to_all + ", channel_id=1\n}\n"),
              HasSubstr("split_count = 2 : i64"));
}

TEST(Text, EntryLayoutsAreNotTheBuffers) {
  EXPECT_THAT(Read("HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}\nENTRY e {\n  ROOT x = "
                   "f32[2,3]{0,1} parameter(0)\n}\n"),
              Not(HasSubstr("layout")));
}

TEST(Text, ShardingsOfTheEntryNameMeshes) {
  const std::string text =
      Read(Entry("  x = f32[4,6]{1,0} parameter(0), sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}\n"
                 "  ROOT y = f32[4,6]{1,0} negate(x), sharding={devices=[1,4]<=[4]}\n"));
  EXPECT_THAT(text, HasSubstr("sdy.mesh @hlo_mesh_0 = <[\"d0\"=2, \"d2\"=2], device_ids=[0, 2, 1, 3]>"));
  EXPECT_THAT(text, HasSubstr("%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@hlo_mesh_0, [{\"d0\"}, {}]>}"));
  EXPECT_THAT(text, HasSubstr("(tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@hlo_mesh_1, [{}, {\"d1\"}]>})"));
}

TEST(Text, ChannelsThatAreNoneAreNotWritten) {
  const auto module = ReadText(Entry("  x = f32[2] parameter(0)\n  ROOT y = f32[2] negate(x), channel_id=-1\n"));
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string bytes = WriteProto(*module);
  const auto again = ReadProto(bytes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(WriteProto(*again), bytes);
}

// --- Round trips: a file per group of opcodes, through every form.

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, EveryFormReadsBackAsTheSameProgram) {
  std::ifstream in(std::string(TENON_HLO_TESTDATA) + "/" + GetParam());
  ASSERT_TRUE(in.good()) << GetParam();
  std::stringstream text;
  text << in.rdbuf();
  auto module = ReadText(text.str());
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string program = Read(text.str());

  const std::string again = WriteText(*module);
  auto from_text = ReadText(again);
  ASSERT_TRUE(from_text.ok()) << from_text.status().ToString() << "\n" << again;
  EXPECT_EQ(WriteText(*from_text), again);
  EXPECT_EQ(Read(again), program);
  for (bool with_config : {false, true}) {
    const std::string bytes = WriteProto(*module, with_config);
    auto from_bytes = ReadProto(bytes);
    ASSERT_TRUE(from_bytes.ok()) << from_bytes.status().ToString();
    // Only the configuration has these.
    if (!with_config)
      from_bytes->replica_count = module->replica_count, from_bytes->num_partitions = module->num_partitions;
    EXPECT_EQ(WriteText(*from_bytes), again);
    EXPECT_EQ(Read(WriteProto(*from_bytes, true)), program);
  }

  // StableHLO -> HLO -> StableHLO -> HLO: the second HLO is the first.
  dialect::Context context;
  auto stablehlo = dialect::Parse(context, text.str());
  ASSERT_TRUE(stablehlo.ok());
  auto lowered = dialect::WriteHlo(stablehlo->op(), dialect::HloForm::kText);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString() << "\n" << program;
  auto back = dialect::Parse(context, *lowered);
  ASSERT_TRUE(back.ok()) << back.status().ToString() << "\n" << *lowered;
  auto second = dialect::WriteHlo(back->op(), dialect::HloForm::kText);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  auto third = dialect::Parse(context, *second);
  ASSERT_TRUE(third.ok()) << third.status().ToString() << "\n" << *second;
  EXPECT_EQ(dialect::ToText(third->op()), dialect::ToText(back->op()));
}

INSTANTIATE_TEST_SUITE_P(Files, RoundTrip,
                         testing::Values("elementwise.hlo", "movement.hlo", "regions.hlo", "linalg.hlo",
                                         "constants.hlo", "collectives.hlo", "control.hlo"),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

TEST(Write, RegionsThatUseOuterValuesGetThemAsState) {
  dialect::Context context;
  auto module = dialect::Parse(context, R"(
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.multiply %v, %x : tensor<4xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
    }
  %s = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %t = stablehlo.add %r#1, %x : tensor<4xf32>
    stablehlo.return %t : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %s : tensor<4xf32>
})");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  auto text = dialect::WriteHlo(module->op(), dialect::HloForm::kText);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, HasSubstr("(s32[], f32[4]{0}, s32[], f32[4]{0}) while("));
  EXPECT_THAT(*text, HasSubstr("conditional("));
  EXPECT_THAT(Read(*text), HasSubstr("stablehlo.while"));
}

TEST(Write, WhatHasNoHloFormIsNamed) {
  dialect::Context context;
  auto module = dialect::Parse(context,
                               "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n %0 = chlo.lgamma %x : "
                               "tensor<4xf32> -> tensor<4xf32>\n return %0 : tensor<4xf32>\n}");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const auto text = dialect::WriteHlo(module->op(), dialect::HloForm::kText);
  EXPECT_EQ(text.status().code(), Code::kUnimplemented);
  EXPECT_THAT(std::string(text.status().message()), HasSubstr("chlo.lgamma"));
}

// --- Meshes.

TEST(Mesh, ListsOfDevices) {
  EXPECT_EQ(*TransposedIota({2, 2}, {1, 0}), (std::vector<int64_t>{0, 2, 1, 3}));
  EXPECT_FALSE(TransposedIota({2, 2}, {1, 1}).ok());
  EXPECT_FALSE(TransposedIota({int64_t{1} << 40}, {}).ok());
  Mesh mesh;
  mesh.sizes = {2, 4};
  // Along the second axis: rows of the grid; along the first half of it: every other device.
  EXPECT_EQ(mesh.Lay({{{.axis = 1}}})->devices, (std::vector<int64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(mesh.Lay({{{.axis = 1, .pre = 1, .size = 2}}})->devices, (std::vector<int64_t>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_FALSE(mesh.Lay({{{.axis = 2}}}).ok());
  EXPECT_FALSE(mesh.Lay({{{.axis = 1}}, {{.axis = 1}}}).ok());
}

}  // namespace
}  // namespace tenon::hlo
