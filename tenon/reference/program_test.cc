#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "tenon/reference/test_util.h"

namespace tenon::reference {
namespace {

using ::testing::Test;
using Doubles = std::vector<double>;

Value F32(std::vector<float> values, Dims dims) {
  return *Value::Copy({DType::kF32, std::move(dims)}, std::as_bytes(std::span(values)));
}

TEST(ProgramTest, RunsWithArgumentsAndReportsShapes) {
  auto program = Program::Load(R"(module @adder {
    func.func public @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %0 = stablehlo.add %a, %b : tensor<2xf32>
      return %0, %a : tensor<2xf32>, tensor<2xf32>
    }})");
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  EXPECT_EQ((*program)->name(), "adder");
  EXPECT_EQ(ToString((*program)->inputs()[0]), "f32[2]");
  EXPECT_EQ((*program)->outputs().size(), 2u);
  const std::vector<Value> args = {F32({1, 2}, {2}), F32({10, 20}, {2})};
  auto results = (*program)->Run(args);
  ASSERT_TRUE(results.ok()) << results.status().ToString();
  EXPECT_EQ(ToDoubles((*results)[0]), (Doubles{11, 22}));
  EXPECT_EQ(ToDoubles((*results)[1]), (Doubles{1, 2}));
  // The arguments stay as they were.
  EXPECT_EQ(ToDoubles(args[0]), (Doubles{1, 2}));
}

TEST(ProgramTest, RefusesArgumentsThatDoNotFit) {
  auto program = Program::Load("func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }");
  ASSERT_TRUE(program.ok());
  EXPECT_EQ((*program)->Run({}).status().code(), Code::kInvalidArgument);
  const std::vector<Value> wrong = {F32({1, 2, 3}, {3})};
  EXPECT_EQ((*program)->Run(wrong).status().code(), Code::kInvalidArgument);
}

TEST(ProgramTest, MalformedInputIsAnError) {
  EXPECT_EQ(Program::Load("func.func @main(").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Program::Load("").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Program::Load("func.func @a() { return } func.func @b() { return }").status().code(),
            Code::kInvalidArgument);
}

TEST(ProgramTest, AnUpdateInPlaceIsSeenByNobodyElse) {
  const auto results = RunAll(R"(func.func @main() -> (tensor<3xi32>, tensor<3xi32>) {
    %i = stablehlo.constant dense<1> : tensor<i32>
    %u = stablehlo.constant dense<9> : tensor<1xi32>
    %a = stablehlo.iota dim = 0 : tensor<3xi32>
    %b = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<3xi32>, tensor<1xi32>, tensor<i32>) -> tensor<3xi32>
    %c = stablehlo.negate %b : tensor<3xi32>
    %d = stablehlo.add %a, %b : tensor<3xi32>
    return %d, %c : tensor<3xi32>, tensor<3xi32>
  })");
  EXPECT_EQ(results[0], (Doubles{0, 10, 4}));
  EXPECT_EQ(results[1], (Doubles{0, -9, -2}));
}

constexpr char kEndless[] = R"(func.func @main() -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r = stablehlo.while(%i = %zero) : tensor<i32>
      cond { %t = stablehlo.constant dense<true> : tensor<i1>
             stablehlo.return %t : tensor<i1> }
      do { stablehlo.return %i : tensor<i32> }
    return %r : tensor<i32>
  })";

TEST(ProgramTest, LoopsEndAtTheBudgetOfTheRun) {
  RunOptions options;
  options.max_loop_iterations = 1000;
  EXPECT_EQ(TryRun(kEndless, options).status().code(), Code::kResourceExhausted);
}

TEST(ProgramTest, ARunCanBeCancelled) {
  std::atomic<bool> cancelled = false;
  RunOptions options;
  options.cancelled = &cancelled;
  std::thread other([&] { cancelled = true; });
  EXPECT_EQ(TryRun(kEndless, options).status().code(), Code::kCancelled);
  other.join();
}

TEST(ProgramTest, DeepCallsEndInAnErrorThatNamesTheLimit) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += "func.func private @f" + std::to_string(i) + "() -> tensor<i32> { %r = func.call @f" +
            std::to_string(i + 1) + "() : () -> tensor<i32> return %r : tensor<i32> }\n";
  }
  text +=
      "func.func private @f300() -> tensor<i32> { %r = stablehlo.constant dense<1> : tensor<i32> return %r : "
      "tensor<i32> }\n";
  text +=
      "func.func public @main() -> tensor<i32> { %r = func.call @f0() : () -> tensor<i32> return %r : tensor<i32> }\n";
  EXPECT_EQ(TryRun(text).status().code(), Code::kResourceExhausted);
  RunOptions deeper;
  deeper.max_depth = 400;
  EXPECT_EQ(RunAll(text, deeper)[0], (Doubles{1}));
}

TEST(ProgramTest, AnArrayThatCannotBeHadIsResourceExhausted) {
  const auto status = TryRun(R"(func.func @main() -> tensor<1000000000000000xf32> {
    %r = stablehlo.iota dim = 0 : tensor<1000000000000000xf32>
    return %r : tensor<1000000000000000xf32>
  })")
                          .status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
}

TEST(ProgramTest, CustomCallsGoToTheHandlerWithTheirAttributes) {
  const std::string text = R"(func.func @main() -> tensor<2xf32> {
    %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %r = stablehlo.custom_call @scale(%a) {api_version = 4 : i32, backend_config = {factor = 3.0 : f32, name = "x"}} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  })";
  EXPECT_EQ(TryRun(text).status().code(), Code::kUnimplemented);
  RunOptions options;
  options.custom_call = [](const CustomCall& call) -> Result<std::optional<std::vector<Value>>> {
    if (call.target != "scale") return std::optional<std::vector<Value>>();
    EXPECT_EQ(call.api_version, 4);
    EXPECT_EQ(call.attributes->size(), 2u);
    const float factor = std::get<Value>((*call.attributes)[0].attribute.value).data<float>()[0];
    EXPECT_EQ(std::get<std::string>((*call.attributes)[1].attribute.value), "x");
    TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(call.results[0]));
    for (int64_t i = 0; i < out.num_elements(); ++i)
      out.mutable_data<float>()[i] = factor * call.operands[0].data<float>()[i];
    return std::optional(std::vector<Value>{out});
  };
  EXPECT_EQ(RunAll(text, options)[0], (Doubles{3, 6}));
}

TEST(ProgramTest, ShardingCallsAreIdentities) {
  EXPECT_EQ(RunBody(R"(%a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %r = stablehlo.custom_call @Sharding(%a) : (tensor<2xf32>) -> tensor<2xf32>)",
                    "tensor<2xf32>"),
            (Doubles{1, 2}));
}

TEST(ProgramTest, UnknownCallsNameTheTarget) {
  const auto status =
      TryRun(
          R"(func.func @main() { stablehlo.custom_call @no_such_target() {has_side_effect = true} : () -> () return })")
          .status();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_NE(status.message().find("no_such_target"), std::string_view::npos) << status.ToString();
}

TEST(ProgramTest, SubnormalsAreFlushedUnlessKept) {
  const std::string body = R"(%a = stablehlo.constant dense<1.0e-40> : tensor<f32>
    %b = stablehlo.constant dense<1.0> : tensor<f32>
    %r = stablehlo.multiply %a, %b : tensor<f32>)";
  EXPECT_EQ(RunBody(body, "tensor<f32>"), (Doubles{0}));
  RunOptions keep;
  keep.flush_denormals = false;
  EXPECT_NE(RunBody(body, "tensor<f32>", keep), (Doubles{0}));
}

TEST(ProgramTest, ProductsWithPredicatesChoose) {
  for (const char* product : {"%x, %m", "%m, %x"}) {
    const std::string body =
        R"(%x = stablehlo.constant dense<[0x7F800000, 0x7F800000, 0x7FC00000, -3.0]> : tensor<4xf32>
      %p = stablehlo.constant dense<[true, false, false, true]> : tensor<4xi1>
      %m = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
      %r = stablehlo.multiply )" +
        std::string(product) + " : tensor<4xf32>";
    EXPECT_EQ(RunBody(body, "tensor<4xf32>"), (Doubles{std::numeric_limits<double>::infinity(), 0, 0, -3}));
  }
}

TEST(ProgramTest, LongSumsDoNotStopAtTheMantissa) {
  EXPECT_EQ(RunBody(R"(%one = stablehlo.constant dense<1.0> : tensor<20000003xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%one init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<20000003xf32>, tensor<f32>) -> tensor<f32>)",
                    "tensor<f32>"),
            (Doubles{20000004}));  // the nearest f32
}

TEST(ProgramTest, BodiesMayCallFunctionsAndCaptureValues) {
  const auto results = RunAll(R"(
    func.func private @weighted(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
      %two = stablehlo.constant dense<2> : tensor<i32>
      %0 = stablehlo.multiply %b, %two : tensor<i32>
      %1 = stablehlo.add %a, %0 : tensor<i32>
      return %1 : tensor<i32>
    }
    func.func public @main() -> (tensor<i32>, tensor<i32>) {
      %x = stablehlo.iota dim = 0 : tensor<4xi32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %five = stablehlo.constant dense<5> : tensor<i32>
      %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = func.call @weighted(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
      %1 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %m = stablehlo.multiply %b, %five : tensor<i32>
        %s = stablehlo.add %a, %m : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
      return %0, %1 : tensor<i32>, tensor<i32>
    })");
  EXPECT_EQ(results[0], (Doubles{12}));
  EXPECT_EQ(results[1], (Doubles{30}));
}

// Dynamic extents pass the verifier; whether they fit shows only when the program runs. Under AddressSanitizer, reading
// on would end the test.
TEST(ProgramTest, DynamicExtentsThatDoNotFitAreErrors) {
  const auto run = [](std::string_view body, std::string_view result) {
    const std::string text = "func.func @main(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %i: tensor<?x1xi32>) -> " +
                             std::string(result) + " {\n" + std::string(body) + "\nreturn %r : " + std::string(result) +
                             "\n}";
    const auto zeros = [](DType type, Dims dims) { return *Value::Zeros({type, std::move(dims)}); };
    return TryRun(text, {}, {zeros(DType::kF32, {2, 3}), zeros(DType::kF32, {4, 5}), zeros(DType::kS32, {7, 1})})
        .status()
        .code();
  };
  const auto code = Code::kInvalidArgument;
  EXPECT_EQ(run("%r = stablehlo.add %x, %y : tensor<?x?xf32>", "tensor<?x?xf32>"), code);
  EXPECT_EQ(run("%r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>",
                "tensor<?x?xf32>"),
            code);
  EXPECT_EQ(run("%r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<?x?xf32>, tensor<?x?xf32>) "
                "-> tensor<?x?xf32>",
                "tensor<?x?xf32>"),
            code);
  EXPECT_EQ(run("%c = stablehlo.constant dense<0> : tensor<i32>\n%r = stablehlo.dynamic_slice %x, %c, %c, sizes = [3, "
                "3] : (tensor<?x?xf32>, tensor<i32>, tensor<i32>) -> "
                "tensor<3x3xf32>",
                "tensor<3x3xf32>"),
            code);
  EXPECT_EQ(run("%c = stablehlo.constant dense<0> : tensor<i32>\n%r = stablehlo.dynamic_update_slice %x, %y, %c, %c : "
                "(tensor<?x?xf32>, tensor<?x?xf32>, tensor<i32>, "
                "tensor<i32>) -> tensor<?x?xf32>",
                "tensor<?x?xf32>"),
            code);
  EXPECT_EQ(run("%r = \"stablehlo.gather\"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
                "collapsed_slice_dims = [0], start_index_map = [0], "
                "index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<?x?xf32>, tensor<?x1xi32>) -> "
                "tensor<?x4xf32>",
                "tensor<?x4xf32>"),
            code);
  EXPECT_EQ(run("%r = \"stablehlo.scatter\"(%x, %i, %y) ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\nstablehlo.return "
                "%q : tensor<f32>\n}) {scatter_dimension_numbers = "
                "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims "
                "= [0], index_vector_dim = 1>} : (tensor<?x?xf32>, "
                "tensor<?x1xi32>, tensor<?x?xf32>) -> tensor<?x?xf32>",
                "tensor<?x?xf32>"),
            code);
  EXPECT_EQ(run("%r, %s = \"stablehlo.sort\"(%x, %y) ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>, %u: tensor<f32>, %v: "
                "tensor<f32>):\n%l = stablehlo.compare LT, %p, %q : "
                "(tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %l : tensor<i1>\n}) {dimension = 0 : i64} "
                ": (tensor<?x?xf32>, tensor<?x?xf32>) -> "
                "(tensor<?x?xf32>, tensor<?x?xf32>)",
                "tensor<?x?xf32>"),
            code);
}

TEST(ProgramTest, ThreadsMayShareAProgram) {
  auto program = Program::Load(R"(func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {
    %0 = stablehlo.sine %a : tensor<64xf32>
    %1 = stablehlo.add %0, %0 : tensor<64xf32>
    return %1 : tensor<64xf32> })");
  ASSERT_TRUE(program.ok());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Value> args = {F32(std::vector<float>(64, static_cast<float>(t)), {64})};
      for (int i = 0; i < 50; ++i) {
        auto results = (*program)->Run(args);
        const float half = static_cast<float>(std::sin(static_cast<double>(t)));
        if (!results.ok() || (*results)[0].data<float>()[63] != half + half) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ProgramTest, AComparatorWithoutOrderStaysInsideTheArray) {
  const auto results = RunAll(R"(func.func @main() -> tensor<5xf32> {
    %x = stablehlo.constant dense<[3.0, 0x7FC00000, 1.0, 0x7FC00000, 2.0]> : tensor<5xf32>
    %r = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %t = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %t : tensor<i1>
    }) : (tensor<5xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  })");
  EXPECT_EQ(results[0].size(), 5u);
}

}  // namespace
}  // namespace tenon::reference
