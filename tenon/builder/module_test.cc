#include "tenon/builder/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/builder/ops.h"

namespace tenon::builder {
namespace {

using ::testing::HasSubstr;

struct Program {
  Module module;
  Function& f = module.AddFunction("main");
  Value x = f.Parameter({DType::kF32, {2, 3}}, "x");
  Value y = f.Parameter({DType::kF32, {3, 2}}, "y");
  Value i = f.Parameter({DType::kS32, {2, 3}}, "i");
  Value n = f.Parameter(DType::kS32, "n");
  std::string error() const { return std::string(module.status().message()); }
};

TEST(Module, Text) {
  Module module("affine");
  Function& f = module.AddFunction("main");
  const Value x = f.Parameter({DType::kF32, {2, 3}}, {.name = "x", .donate = true});
  const Value w = f.Parameter({DType::kF32, {3, 4}}, {.name = "w", .sharding = Sharding::Mhlo("{replicated}")});
  f.Return({MatMul(x, w) + 1.0});
  const Result<std::string> text = module.ToText();
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_EQ(*text, R"(module @affine {
  func.func public @main(%x: tensor<2x3xf32> {jax.buffer_donor = true}, %w: tensor<3x4xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<2x4xf32>) {
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = "stablehlo.constant"() <{value = dense<1.0> : tensor<2x4xf32>}> : () -> tensor<2x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x4xf32>
    "func.return"(%2) : (tensor<2x4xf32>) -> ()
  }
}
)");
}

TEST(Module, ErrorsNameTheCallAndStick) {
  Program p;
  const int line = __LINE__ + 1;
  const Value bad = Add(p.x, p.y);
  EXPECT_FALSE(bad.valid());
  EXPECT_EQ(p.error(), "add at module_test.cc:" + std::to_string(line) +
                           ": operands must have one type, got tensor<2x3xf32> and tensor<3x2xf32>");
  EXPECT_EQ(p.module.status().where().line(), line);
  // What follows from it says nothing new.
  EXPECT_FALSE(Negate(Multiply(bad, p.x)).valid());
  Transpose(p.x, {0, 0});
  EXPECT_THAT(p.error(), HasSubstr("add at"));
  EXPECT_EQ(p.module.ToText().status().code(), Code::kInvalidArgument);
}

TEST(Module, OperatorsNameTheirCall) {
  Program p;
  const int line = __LINE__ + 1;
  const Value sum = p.x + p.y;
  EXPECT_FALSE(sum.valid());
  EXPECT_THAT(p.error(), HasSubstr("module_test.cc:" + std::to_string(line)));
}

// What a call says. `call` is given a fresh program.
void Expect(const std::function<void(Program&)>& call, const std::string& message) {
  Program p;
  call(p);
  EXPECT_EQ(p.module.status().code(), Code::kInvalidArgument) << message;
  EXPECT_THAT(p.error(), HasSubstr(message));
}

TEST(Module, BadCalls) {
  Expect([](Program& p) { Tanh(p.i); },
         "operand must be an array of floats, complex numbers or quantized numbers, got tensor<2x3xi32>");
  Expect([](Program& p) { And(p.x, p.x); }, "lhs must be an array of booleans or integers, got tensor<2x3xf32>");
  Expect([](Program& p) { Transpose(p.x, {0, 2}); }, "permutation must be at least 0 and below the rank 2, got 2");
  Expect([](Program& p) { Transpose(p.x, {0, 0}); }, "permutation must name each dim once, got [0,0]");
  Expect([](Program& p) { Transpose(p.x, {0}); }, "wants 2 dims in permutation, got 1");
  Expect([](Program& p) { Reshape(p.x, {4}); }, "tensor<2x3xf32> has 6 elements, but [4] has 4");
  Expect([](Program& p) { Slice(p.x, {0, 0}, {2, 4}); },
         "dim 1 of tensor<2x3xf32>: wants 0 <= start <= limit <= extent, got start 0 and limit 4");
  Expect([](Program& p) { BroadcastInDim(p.x, {2, 4}, {0, 1}); },
         "operand dim 1 of tensor<2x3xf32> must be 1 or the result's 4");
  Expect([](Program& p) { Concatenate({p.x, p.y}, 0); },
         "inputs must differ in dim 0 only, got tensor<2x3xf32> and tensor<3x2xf32>");
  Expect([](Program& p) { Pad(p.x, Constant(p.f, 0.0f), {0, -4}, {0, 0}); },
         "dim 1 of tensor<2x3xf32> would get an extent below 0");
  Expect([](Program& p) { MatMul(p.x, p.x); },
         "contracting dims must have equal extents, got 3 of tensor<2x3xf32> and 2 of tensor<2x3xf32>");
  Expect([](Program& p) { DynamicSlice(p.x, {p.n}, {1, 1}); }, "wants 2 start indices, one per dim, got 1");
  Expect([](Program& p) { Select(p.x, p.x, p.x); }, "pred must be an array of booleans, got tensor<2x3xf32>");
  Expect([](Program& p) { Compare(p.x, p.x, Direction::kLt, Order::kSigned); },
         "the order SIGNED is for signed integers, got tensor<2x3xf32>");
  Expect([](Program& p) { Gather(p.x, p.n, {.start_index_map = {0}}, {1, 1}); },
         "wants 2 offset_dims, one per dim of a slice that stays, got 0");
  Expect([](Program& p) { Reduce(p.x, Constant(p.f, 0.0f), {2}, [](Value a, Value b) { return a + b; }); },
         "dims must be at least 0 and below the rank 2, got 2");
  Expect([](Program& p) { Reduce(p.x, Constant(p.f, 0), {0}, [](Value a, Value b) { return a + b; }); },
         "input and initial value must have one element type, got tensor<2x3xf32> and tensor<i32>");
  Expect([](Program& p) { Reduce(Convert(p.x, DType::kF8E8M0FNU), Reduction::kSum, {0}); },
         "f8e8m0fnu has no zero to begin a sum with; give an initial value");
  Expect([](Program& p) { Reduce(p.x, Constant(p.f, 0.0f), {0}, [](Value a) { return a; }); },
         "the body has 2 arguments, but its callable takes 1");
  Expect([](Program& p) { While({p.n}, [](Value n) { return n; }, [](Value n) { return n; }); },
         "the condition must give tensor<i1> as result 0, got tensor<i32>");
  Expect([](Program& p) { If(Constant(p.f, true), [&] { return p.x; }, [&] { return p.y; }); },
         "the branch on_false must give tensor<2x3xf32> as result 0, got tensor<3x2xf32>");
  Expect([](Program& p) { Sort({p.x}, 1, true, [](Value a, Value) { return a; }); },
         "the comparator must give tensor<i1> as result 0, got tensor<f32>");
  Expect([](Program& p) { Constant(p.f, std::vector<float>{1, 2}, {3}); },
         "tensor<3xf32> needs 12 bytes (3 of 4 each), got 8 bytes");
  Expect([](Program& p) { Full(p.f, {DType::kToken, {}}, 1); },
         "a constant needs an element type that holds numbers, got token");
  Expect([](Program& p) { AllReduce({p.x}, {.ids = {{0, 1}, {2}}}, [](Value a, Value b) { return a + b; }); },
         "groups must be of one length, filled with -1, got 2 and 1");
  Expect([](Program& p) { Convolution(p.x, p.x, ConvDims::ChannelsLast(0)); },
         "the input's 3 features in 1 groups must be the kernel's 2");
  Expect([](Program& p) { BroadcastTo(p.n, {int64_t{1} << 40, int64_t{1} << 40}); }, "exceeds 2^63 - 1");
  Expect([](Program& p) { p.f.Return({Value()}); }, "Return of main at");
  Expect(
      [](Program& p) {
        Negate(Value());
        p.f.Return({Negate(Value())});
      },
      "result 0 is no value");
}

TEST(Module, TypesAreChecked) {
  Expect([](Program& p) { p.f.Parameter({DType::kF32, {2, -1}}); }, "contain the negative extent -1");
  Expect([](Program& p) { p.f.Parameter(DType::kToken); }, "token is no element type of an array");
  Expect([](Program& p) { p.f.Parameter(Type()); }, "a value needs a type");
  Expect([](Program& p) { Convert(p.x, DType::kU1); }, "u1 is no element type of an array");
}

TEST(Module, ValuesStayWhereTheyBelong) {
  Expect(
      [](Program& p) {
        Value inside;
        If(Constant(p.f, true), [&] { return inside = Negate(p.x); }, [&] { return p.x; });
        Negate(inside);
      },
      "an operand of type tensor<2x3xf32> belongs to a region that has ended");
  Expect(
      [](Program& p) {
        Function& g = p.module.AddFunction("g");
        Add(p.x, g.Parameter({DType::kF32, {2, 3}}));
      },
      "operands belong to different functions, main and g");
  Expect([](Program& p) { Call(p.f, {p.x}); }, "function main has no Return yet");
  Expect(
      [](Program& p) {
        p.f.Return({p.x});
        Negate(p.x);
      },
      "the function main has its Return already");
  Program p;
  EXPECT_EQ(p.module.ToText().status().message(), "function main of module module has no Return");
  p.module.AddFunction("main");
  EXPECT_EQ(p.module.status().code(), Code::kAlreadyExists);
}

TEST(Module, OperationsCanBeLookedAt) {
  Program p;
  const Value t = Transpose(p.x, {1, 0});
  p.f.Return({t});
  const std::vector<Operation> operations = p.f.operations();
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].kind(), OpKind::kTranspose);
  EXPECT_EQ(*operations[0].attribute_as<Dims>("permutation"), (Dims{1, 0}));
  EXPECT_EQ(DefiningOperation(t)[0].operands()[0], p.x);
  EXPECT_TRUE(DefiningOperation(p.x).empty());
}

TEST(Module, ReductionsStartFromWhatTheTypeHas) {
  const auto start = [](DType type, Reduction reduction) {
    Program p;
    const Value init = DefiningOperation(Reduce(Convert(p.x, type), reduction, {0, 1}))[0].operands()[1];
    return DefiningOperation(init)[0].attribute_as<Literal>("value")->ToString();
  };
  EXPECT_EQ(start(DType::kF8E8M0FNU, Reduction::kMax), "dense<0x00> : tensor<f8E8M0FNU>");
  EXPECT_EQ(start(DType::kF8E8M0FNU, Reduction::kMin), "dense<0xFE> : tensor<f8E8M0FNU>");
  EXPECT_EQ(start(DType::kF8E8M0FNU, Reduction::kProduct), "dense<0x7F> : tensor<f8E8M0FNU>");
  EXPECT_EQ(start(DType::kF8E4M3FN, Reduction::kMin), "dense<0x7E> : tensor<f8E4M3FN>");
  EXPECT_EQ(start(DType::kF4E2M1FN, Reduction::kMax), "dense<0x0F> : tensor<f4E2M1FN>");
  EXPECT_EQ(start(DType::kF32, Reduction::kMax), "dense<0xFF800000> : tensor<f32>");
  EXPECT_EQ(start(DType::kF32, Reduction::kSum), "dense<0.0> : tensor<f32>");
  EXPECT_EQ(start(DType::kS4, Reduction::kMax), "dense<-8> : tensor<i4>");
  EXPECT_EQ(start(DType::kS4, Reduction::kAnd), "dense<-1> : tensor<i4>");
  EXPECT_EQ(start(DType::kU8, Reduction::kAnd), "dense<255> : tensor<ui8>");
  EXPECT_EQ(start(DType::kU64, Reduction::kMin), "dense<18446744073709551615> : tensor<ui64>");
  EXPECT_EQ(start(DType::kPred, Reduction::kAnd), "dense<true> : tensor<i1>");
  EXPECT_EQ(start(DType::kC64, Reduction::kMax), "dense<(0xFF800000, 0xFF800000)> : tensor<complex<f32>>");
}

TEST(Module, RegionsSayWhatTheyUseFromOutside) {
  Program p;
  std::vector<OpKind> visible;
  const Value pred = Constant(p.f, true);
  const Value branch = If(
      pred,
      [&] {
        const Value inside = Negate(p.x);
        return If(
            Compare(p.n, p.n, Direction::kEq),
            [&] {
              const Value deeper = Add(inside, p.x);
              for (const Operation& op : p.f.visible_operations()) visible.push_back(op.kind());
              return Add(deeper, Convert(p.i, DType::kF32));
            },
            [&] { return inside; })[0];
      },
      [&] { return p.x; })[0];
  EXPECT_EQ(DefiningOperation(branch)[0].captures(), (Values{p.x, p.n, p.i}));
  EXPECT_TRUE(DefiningOperation(pred)[0].captures().empty());
  EXPECT_EQ(visible, (std::vector{OpKind::kConstant, OpKind::kNegate, OpKind::kCompare, OpKind::kAdd}));
  EXPECT_EQ(p.f.visible_operations().size(), p.f.operations().size());
  // What is only given, not used by an operation, counts, too.
  const Value given = If(pred, [&] { return p.n; }, [&] { return p.n; })[0];
  EXPECT_EQ(DefiningOperation(given)[0].captures(), (Values{p.n}));
}

TEST(Literal, Text) {
  const auto text = [](auto data, Dims dims) {
    return Literal::Of(std::span<const typename decltype(data)::value_type>(data), dims)->ToString();
  };
  EXPECT_EQ(text(std::vector<float>{1, -0.0f, 1e-5f}, {3}), "dense<[1.0, -0.0, 1.0e-05]> : tensor<3xf32>");
  EXPECT_EQ(text(std::vector<float>{NAN, INFINITY}, {2}), "dense<[0x7FC00000, 0x7F800000]> : tensor<2xf32>");
  EXPECT_EQ(text(std::vector<int8_t>{-1, -1}, {1, 2}), "dense<-1> : tensor<1x2xi8>");
  EXPECT_EQ(text(std::vector<S4>{S4(-1), S4(7)}, {2}), "dense<[-1, 7]> : tensor<2xi4>");
  EXPECT_EQ(text(std::vector<BF16>{BF16(1.5), BF16(NAN)}, {2}), "dense<[1.5, 0x7FC0]> : tensor<2xbf16>");
  EXPECT_EQ(text(std::vector<float>{}, {0, 2}), "dense<> : tensor<0x2xf32>");
  EXPECT_EQ(text(std::vector<std::complex<float>>{{1, 2}}, {}), "dense<(1.0, 2.0)> : tensor<complex<f32>>");
  std::vector<uint16_t> many(65);
  many[1] = 0x1234;
  EXPECT_EQ(text(many, {65}).substr(0, 20), "dense<\"0x00003412000");
  EXPECT_EQ(Literal::Splat({DType::kU8, {2}}, 255)->ToString(), "dense<255> : tensor<2xui8>");
  EXPECT_EQ(Literal::Splat({DType::kF8E4M3FN, {}}, 1)->ToString(), "dense<0x38> : tensor<f8E4M3FN>");
}

}  // namespace
}  // namespace tenon::builder
