#include "tenon/vhlo/program.h"

#include <gtest/gtest.h>

#include <string>

#include "tenon/vhlo/file.h"
#include "tenon/vhlo/wire.h"

namespace tenon::vhlo {
namespace {

// As frameworks and people write it.
constexpr const char* kPretty = R"(
#loc = loc(unknown)
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {  // A comment.
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32} loc("x"), %n: tensor<i32>)
      -> (tensor<2x3xf32> {jax.result_info = "out"}) {
    %cst = stablehlo.constant dense<[[1.5, -2.0, 0x7F800000], [0.0, 1.0e+01, 3.0]]> : tensor<2x3xf32>
    %0 = stablehlo.add %arg0, %cst : tensor<2x3xf32> loc("train.py":12:3)
    %1 = call @twice(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2:2 = "stablehlo.while"(%1, %n) ({
    ^bb0(%a: tensor<2x3xf32>, %i: tensor<i32>):
      %c = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }, {
    ^bb0(%a: tensor<2x3xf32>, %i: tensor<i32>):
      stablehlo.return %a, %i : tensor<2x3xf32>, tensor<i32>
    }) : (tensor<2x3xf32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<i32>)
    return %2#0 : tensor<2x3xf32>
  }
  func.func private @twice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> {mhlo.note = "n"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.multiply %x, %x : tensor<2x3xf32>
    func.return %1 : tensor<2x3xf32>
  }
})";

TEST(Program, ReadsText) {
  const Result<Program> program = Program::Read(kPretty);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  EXPECT_EQ(program->name(), "jit_f");
  ASSERT_EQ(program->attributes().size(), 2u);
  EXPECT_EQ(program->attributes()[1].value->integer, 2);
  EXPECT_EQ(program->Find("nobody"), nullptr);
  const Function* main = program->Find("main");
  ASSERT_NE(main, nullptr);
  EXPECT_FALSE(main->is_private);
  EXPECT_EQ(main->parameter_attributes[0]->Find("tf.aliasing_output")->integer, 0);
  EXPECT_EQ(main->parameter_attributes[1], nullptr);
  EXPECT_EQ(main->result_attributes[0]->Find("jax.result_info")->text, "out");
  ASSERT_EQ(main->body.operations.size(), 4u);
  const Operation& constant = main->body.operations[0];
  const std::string bytes = constant.Find("value")->Expand();
  EXPECT_EQ(bytes.substr(0, 4), std::string("\0\0\xC0\x3F", 4));
  EXPECT_EQ(bytes.substr(8, 4), std::string("\0\0\x80\x7F", 4));
  EXPECT_EQ(main->body.operations[1].location, "train.py:12:3");
  EXPECT_EQ(main->body.operations[2].Text("callee"), "twice");
  const Operation& loop = main->body.operations[3];
  ASSERT_EQ(loop.regions.size(), 2u);
  EXPECT_EQ(loop.regions[0].operations[0].Text("comparison_direction"), "LT");
  EXPECT_EQ(loop.regions[1].results, loop.regions[1].arguments);
  EXPECT_EQ(main->body.results, std::vector<ValueId>{loop.results[0]});
  EXPECT_EQ(main->types[loop.results[1]]->ToString(), "tensor<i32>");
  const Operation& dot = program->Find("twice")->body.operations[0];
  EXPECT_EQ(dot.Ints("lhs_contracting_dimensions"), std::vector<int64_t>{1});
  EXPECT_EQ(dot.Ints("lhs_batching_dimensions"), std::vector<int64_t>());
  EXPECT_EQ(dot.Find("precision_config")->parts[1]->text, "HIGHEST");
  EXPECT_EQ(dot.Text("mhlo.note"), "n");
}

std::string Main(const std::string& body) {
  return "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n" + body + "\n  return %x : tensor<4xf32>\n}\n";
}

TEST(Program, Literals) {
  const auto ints = [](const std::string& attribute) {
    const Result<Program> program = Program::Read(Main("  %0 = stablehlo.constant " + attribute));
    EXPECT_TRUE(program.ok()) << program.status().ToString();
    return program.ok() ? program->Find("main")->body.operations[0].Ints("value") : std::vector<int64_t>();
  };
  using List = std::vector<int64_t>;
  EXPECT_EQ(ints("dense<[1, -2]> : tensor<2xi8>"), (List{1, -2}));
  EXPECT_EQ(ints("dense<[-8, 7]> : tensor<2xi4>"), (List{-8, 7}));
  EXPECT_EQ(ints("dense<[15, 7]> : tensor<2xui4>"), (List{15, 7}));
  EXPECT_EQ(ints("dense<3> : tensor<3xi64>"), (List{3, 3, 3}));
  EXPECT_EQ(ints("dense<> : tensor<0x2xi32>"), List());
  EXPECT_EQ(ints("dense<[true, false]> : tensor<2xi1>"), (List{1, 0}));
  EXPECT_EQ(ints("dense<\"0x0100000002000000\"> : tensor<2xi32>"), (List{1, 2}));
  EXPECT_EQ(ints("dense<18446744073709551615> : tensor<ui64>"), List{-1});
}

TEST(Program, Errors) {
  const auto error = [](const std::string& text) {
    const Result<Program> program = Program::Read(text);
    return program.ok() ? std::string("OK") : program.status().ToString();
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    const std::string got = error(text);
    EXPECT_NE(got.find(part), std::string::npos) << got << "\nwanted " << part;
  };
  expect("", "wanted a module or functions");
  expect("module {", "wanted a function or the end of the module");
  expect(Main("  %0 = stablehlo.add %x, %y : tensor<4xf32>"), "line 2: %y is used before it is defined");
  expect(Main("  %x = stablehlo.add %x, %x : tensor<4xf32>"), "%x is defined twice");
  expect(Main("  %0 = stablehlo.add %x, %x : tensor<5xf32>"), "tensor<4xf32> is written with type tensor<5xf32>");
  expect(Main("  %0 = stablehlo.abs %x, %x : tensor<4xf32>"), "'stablehlo.abs' cannot have so many");
  expect(Main("  %0 = stablehlo.plus %x, %x : tensor<4xf32>"), "INVALID_ARGUMENT: line 2: unknown operation");
  expect(Main("  %0 = stablehlo.compare LT, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>"),
         "UNIMPLEMENTED: line 2: the pretty form of 'stablehlo.compare'");
  expect(Main("  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>"), "as many elements");
  expect(Main("  %0 = stablehlo.constant dense<1> : tensor<f32>"), "elements with a point");
  for (const char* wrong : {"1.2.3", "1.5e", "1.0e5.0", "-", "."})
    expect(Main("  %0 = stablehlo.constant dense<" + std::string(wrong) + "> : tensor<f32>"), "wanted a number");
  expect("module @\"\\q\" {}", "two hexadecimal digits in a string");
  expect(Main("  %0 = stablehlo.constant dense<1.0> : tensor<?xf32>"), "a literal's type");
  expect(Main("  %0 = stablehlo.constant dense<1.0> : tensor<99999999999999x99999999999999xf32>"), "addressed");
  expect(Main("  %0 = stablehlo.constant dense<1.0> : tensor<q7>"), "wanted an element type and not q7");
  expect("func.func @main() { return }\nfunc.func @main() { return }", "two functions main");
  expect("func.func @main(%x: tensor<f32>) -> tensor<i32> { return %x : tensor<f32> }", "tensor<i32>");
  expect("func.func @main(%x: tensor<f32>) { }", "a block ends without a return");
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "tuple<";
  expect("func.func @main(%x: " + deep, "wanted no deeper nesting");
  expect("ML\xefR", "malformed bytecode: it ends in its header");
  expect(std::string("ML\xefR\x0dMLIR22\0", 12), "malformed bytecode");
}

// A location may hold others, itself among them: of those no more than a few are looked at.
TEST(Program, LocationsThatHoldThemselves) {
  File file(kCurrentVersion);
  const uint64_t module = file.OpName("builtin", "module"), op = file.OpName("x", "y");
  const uint64_t location = file.Reserve(File::Kind::kAttr);
  Sink fused;
  fused.VarInt(12);
  fused.VarInt(8);
  for (int i = 0; i < 8; ++i) fused.VarInt(location);
  file.Fill(File::Kind::kAttr, location, {file.Dialect("builtin"), true, fused.Take()});
  Sink body;
  body.VarInt(1);       // One block,
  body.VarInt(0);       // no values,
  body.VarInt(1 << 1);  // one operation
  body.VarInt(op);
  body.Byte(0);  // of a name
  body.VarInt(location);
  Sink ir;
  ir.VarInt(2);  // One module
  ir.VarInt(module);
  ir.Byte(16);  // with regions
  ir.VarInt(location);
  ir.VarInt(1 << 1 | 1);  // of which there is one, isolated.
  ir.Section(4, body.bytes());
  const Result<Program> program = Program::Read(file.Assemble(ir.bytes()));
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  ASSERT_EQ(program->others().size(), 1u);
  EXPECT_EQ(program->others()[0].name, "x.y");
  EXPECT_EQ(program->others()[0].location, "");
}

TEST(Program, Types) {
  const auto read = [](const std::string& type) {
    const Result<Program> program =
        Program::Read("func.func @main(%x: " + type + ") -> " + type + " { return %x : " + type + " }");
    return program.ok() ? program->Find("main")->types[0]->ToString() : program.status().ToString();
  };
  for (const char* type :
       {"tensor<2x3xf32>", "tensor<bf16>", "tensor<?x4xui8>", "tensor<*xi1>", "!stablehlo.token",
        "tensor<?x4xf32, #stablehlo.bounds<3, ?>>", "tuple<tensor<f64>, !stablehlo.token>", "tensor<2xcomplex<f64>>",
        "!stablehlo.future<tensor<i2>>", "memref<3xi32>", "tensor<4x!quant.uniform<i8:f32, 0.1:3>>",
        "tensor<0xf8E4M3B11FNUZ>", "tensor<2x!quant.uniform<u8<0:100>:bf16:0, {0.1:3,2.5}>>",
        "tensor<!quant.uniform<i64:f32, 0.5>>", "tensor<!quant.uniform<u64<0:1>:f64, 0.5>>"}) {
    EXPECT_EQ(read(type), type);
  }
  const Result<Program> program =
      Program::Read("func.func @main(%x: tensor<2x!quant.uniform<i8<-7:7>:f32:0, {0.5:1, 2.0}>>) { return }");
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  const Type& type = *program->Find("main")->types[0];
  EXPECT_FALSE(type.is_plain_tensor());
  EXPECT_EQ(*type.quantization, (Quantization{DType::kS8, DType::kF32, {0.5, 2}, {1, 0}, 0, -7, 7}));
}

}  // namespace
}  // namespace tenon::vhlo
