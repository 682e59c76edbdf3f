// Rules against differences of the functions themselves. TENON_TEST_PLUGIN: where programs run.
#include "tenon/gradient/gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "tenon/builder/ops.h"
#include "tenon/client/client.h"

namespace tenon::gradient {
namespace {

using namespace builder;

// A function of arrays of f64 to an array, and where it is differentiated.
struct GradientCase {
  std::string name;
  std::vector<Dims> shapes;
  std::function<Value(const Values&)> build;
  double from = 0.3, to = 1.7;  // range of the arguments
};

DotDims Crossed() {
  return {.lhs_batching = {1}, .rhs_batching = {0}, .lhs_contracting = {0, 3}, .rhs_contracting = {3, 1}};
}

std::vector<GradientCase> GradientCases() {
  std::vector<GradientCase> cases;
  const auto unary = [&](const char* name, std::function<Value(Value)> f, double from = 0.3, double to = 1.7) {
    cases.push_back({name, {{2, 3}}, [f](const Values& v) { return f(v[0]); }, from, to});
  };
  const auto binary = [&](const char* name, std::function<Value(Value, Value)> f) {
    cases.push_back({name, {{2, 3}, {2, 3}}, [f](const Values& v) { return f(v[0], v[1]); }});
  };
  unary("Abs", [](Value x) { return Abs(x); }, -1, 1);
  unary("Cbrt", [](Value x) { return Cbrt(x); });
  unary("Convert", [](Value x) { return Convert(Convert(Convert(x, DType::kF32), DType::kS32), DType::kF64) * x; });
  unary("Cosine", [](Value x) { return Cosine(x); });
  unary("Exponential", [](Value x) { return Exponential(x); });
  unary("ExponentialMinusOne", [](Value x) { return ExponentialMinusOne(x); });
  unary("Log", [](Value x) { return Log(x); });
  unary("LogPlusOne", [](Value x) { return LogPlusOne(x); });
  unary("Logistic", [](Value x) { return Logistic(x); });
  unary("Negate", [](Value x) { return Negate(x); });
  unary("Rsqrt", [](Value x) { return Rsqrt(x); });
  unary("Sine", [](Value x) { return Sine(x); });
  unary("Sqrt", [](Value x) { return Sqrt(x); });
  unary("Tan", [](Value x) { return Tan(x); }, -1, 1);
  unary("Tanh", [](Value x) { return Tanh(x); });
  unary("ReducePrecision", [](Value x) { return ReducePrecision(x, 11, 52); });
  unary("OptimizationBarrier", [](Value x) { return OptimizationBarrier({x, x * 2.0})[1]; });
  unary("Floor", [](Value x) { return Floor(x) * x; });
  binary("Add", [](Value a, Value b) { return Add(a, b); });
  binary("Atan2", [](Value a, Value b) { return Atan2(a, b); });
  binary("Divide", [](Value a, Value b) { return Divide(a, b); });
  binary("Maximum", [](Value a, Value b) { return Maximum(a, b); });
  binary("Minimum", [](Value a, Value b) { return Minimum(a, b); });
  binary("Multiply", [](Value a, Value b) { return Multiply(a, b); });
  binary("Power", [](Value a, Value b) { return Power(a, b); });
  binary("Subtract", [](Value a, Value b) { return Subtract(a, b); });
  binary("Select", [](Value a, Value b) { return Select(Compare(a, b, Direction::kLt), a * 2.0, b * 3.0); });
  cases.push_back(
      {"Clamp", {{}, {2, 3}, {}}, [](const Values& v) { return Clamp(v[0] * 0.4, v[1], v[2] * 0.5 + 0.5); }});
  unary("Broadcast", [](Value x) { return Broadcast(x, {2, 1}); });
  unary("BroadcastInDim", [](Value x) { return BroadcastInDim(x, {3, 4, 2}, {2, 0}); });
  cases.push_back(
      {"BroadcastInDim of one", {{2, 1}}, [](const Values& v) { return BroadcastInDim(v[0], {2, 3}, {0, 1}); }});
  binary("Concatenate", [](Value a, Value b) { return Concatenate({a, b, a}, 1); });
  cases.push_back({"Dot", {{2, 3}, {3}}, [](const Values& v) { return Dot(v[0], v[1]); }});
  cases.push_back({"DotGeneral", {{2, 3}, {3, 4}}, [](const Values& v) { return MatMul(v[0], v[1]); }});
  cases.push_back({"DotGeneral crossed", {{2, 3, 4, 5}, {3, 5, 2, 2}}, [](const Values& v) {
                     return DotGeneral(v[0], v[1], Crossed());
                   }});
  unary("DynamicSlice", [](Value x) {
    const Value one = Constant(x.function(), 1), far = Constant(x.function(), 9);
    return DynamicSlice(x, {one, far}, {1, 2});
  });
  cases.push_back({"DynamicUpdateSlice", {{2, 3}, {1, 2}}, [](const Values& v) {
                     const Value one = Constant(v[0].function(), 1);
                     return DynamicUpdateSlice(v[0], v[1], {one, one});
                   }});
  unary("Gather", [](Value x) {
    const Value rows = Constant(x.function(), std::vector<int32_t>{1, 0, 1, 7}, {4, 1});  // the last is clamped
    return Gather(x, rows,
                  {.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}, .index_vector_dim = 1},
                  {1, 3});
  });
  // The last index of the indices' type lies before the operand's end, or far behind it.
  const auto gather = [&](const char* name, auto indices) {
    cases.push_back({name, {{300}}, [indices](const Values& v) {
                       const auto n = static_cast<int64_t>(indices.size());
                       return Gather(v[0], Constant(v[0].function(), indices, {n}),
                                     {.collapsed_slice_dims = {0}, .start_index_map = {0}, .index_vector_dim = 1}, {1});
                     }});
  };
  gather("Gather by u8", std::vector<uint8_t>{100, 250, 255, 43});
  gather("Gather by s8", std::vector<int8_t>{100, 127, -1, 43});
  gather("Gather by u64", std::vector<uint64_t>{100, 299, uint64_t{1} << 63, 43});
  cases.push_back({"Pad", {{2, 3}, {}}, [](const Values& v) { return Pad(v[0], v[1], {1, -1}, {0, 2}, {1, 0}); }});
  unary("Reduce", [](Value x) { return Reduce(x, Reduction::kSum, {0}); });
  unary("Reduce by max", [](Value x) { return Reduce(x, Reduction::kMax, {1}); });
  unary("Reduce by min", [](Value x) { return Reduce(x, Reduction::kMin, {0, 1}); });
  unary("Reshape", [](Value x) { return Reshape(x, {3, 2}); });
  unary("Reverse", [](Value x) { return Reverse(x, {1}); });
  unary("Slice", [](Value x) { return Slice(x, {0, 0}, {2, 3}, {1, 2}); });
  cases.push_back({"Transpose", {{2, 3, 4}}, [](const Values& v) { return Transpose(v[0], {2, 0, 1}); }});
  // Functions of two complex arrays, real and imaginary part of what they give behind one another.
  const auto complex = [&](const std::string& name, std::function<Value(Value, Value)> f) {
    cases.push_back({name + " of complex numbers", {{2, 3}, {2, 3}, {2, 3}, {2, 3}}, [f](const Values& v) {
                       const Value z = f(Complex(v[0], v[1]), Complex(v[2], v[3]));
                       const int64_t n = NumElements(z.dims());
                       return Concatenate({Reshape(Real(z), {n}), Reshape(Imag(z), {n})}, 0);
                     }});
  };
  binary("Complex", [](Value a, Value b) { return Real(Complex(a * 3.0, FullLike(a, 0)) * Complex(b, a)); });
  binary("Real", [](Value a, Value b) { return Real(Complex(a * b, b)) + Real(a); });
  binary("Imag", [](Value a, Value b) { return Imag(Complex(a, a * b)) + Imag(a); });
  for (const char* name : {"Complex", "Real", "Imag"}) complex(name, [](Value z, Value) { return z; });
  complex("Add", [](Value z, Value w) { return z + w; });
  complex("Divide", [](Value z, Value w) { return z / w; });
  complex("Exponential", [](Value z, Value) { return Exponential(z); });
  complex("Multiply", [](Value z, Value w) { return z * w; });
  complex("Negate", [](Value z, Value) { return -z; });
  complex("Select", [](Value z, Value w) { return Select(Compare(Real(z), Imag(w), Direction::kLt), z, w); });
  complex("Subtract", [](Value z, Value w) { return z - w; });
  complex("Broadcast", [](Value z, Value) { return Broadcast(z, {2}); });
  complex("BroadcastInDim", [](Value z, Value) { return BroadcastInDim(z, {3, 4, 2}, {2, 0}); });
  complex("Concatenate", [](Value z, Value w) { return Concatenate({z, w}, 0); });
  complex("Dot", [](Value z, Value w) { return Dot(z, Reshape(w, {3, 2})); });
  complex("DotGeneral", [](Value z, Value w) { return MatMul(z, Transpose(w, {1, 0})); });
  complex("DynamicSlice", [](Value z, Value) {
    const Value one = Constant(z.function(), 1);
    return DynamicSlice(z, {one, one}, {1, 2});
  });
  complex("DynamicUpdateSlice", [](Value z, Value w) {
    const Value one = Constant(z.function(), 1);
    return DynamicUpdateSlice(z, Slice(w, {0, 0}, {1, 2}), {one, one});
  });
  complex("Gather", [](Value z, Value) {
    const Value rows = Constant(z.function(), std::vector<int32_t>{1, 1}, {2, 1});
    return Gather(z, rows,
                  {.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}, .index_vector_dim = 1},
                  {1, 3});
  });
  complex("OptimizationBarrier", [](Value z, Value w) { return OptimizationBarrier({w, z})[1]; });
  complex("Pad", [](Value z, Value w) { return Pad(z, Reshape(Slice(w, {0, 0}, {1, 1}), {}), {1, 0}, {0, -1}); });
  complex("Reduce", [](Value z, Value) { return Reduce(z, Reduction::kSum, {1}); });
  complex("Reshape", [](Value z, Value) { return Reshape(z, {3, 2}); });
  complex("Reverse", [](Value z, Value) { return Reverse(z, {1}); });
  complex("Slice", [](Value z, Value) { return Slice(z, {0, 1}, {2, 3}); });
  complex("Transpose", [](Value z, Value) { return Transpose(z, {1, 0}); });
  // Through a gradient: second derivatives.
  unary("Tanh twice", [](Value x) {
    const Value y = Reduce(Tanh(x) * x, Reduction::kSum, {0, 1});
    return Gradients(y, {x})[0];
  });
  return cases;
}

// The sum of what a case gives, each element times another number, so that elements are told apart.
Value Weighted(const GradientCase& c, const Values& arguments) {
  const Value y = c.build(arguments);
  if (!y.valid()) return {};
  const int64_t n = NumElements(y.dims());
  const Value weights = Iota(y.function(), {DType::kF64, {n}}, 0) * 0.37 + 1.0;
  return Reduce(Reshape(y, {n}) * weights, Reduction::kSum, {0});
}

struct Arguments {
  std::vector<std::vector<double>> values;
  std::vector<Dims> shapes;
};

Result<std::vector<std::vector<double>>> RunOn(const client::Client& client, const client::LoadedExecutable& program,
                                               const Arguments& arguments) {
  std::vector<client::Buffer> buffers;
  std::vector<const client::Buffer*> pointers;
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    const Dims& dims = arguments.shapes[i];
    TENON_ASSIGN_OR_RETURN(client::Buffer buffer, client.ToDevice(std::span<const double>(arguments.values[i]),
                                                                  std::span<const int64_t>(dims.data(), dims.size())));
    buffers.push_back(std::move(buffer));
  }
  for (const client::Buffer& buffer : buffers) pointers.push_back(&buffer);
  TENON_ASSIGN_OR_RETURN(const std::vector<client::Buffer> outputs,
                         program.Execute(std::span<const client::Buffer* const>(pointers)));
  std::vector<std::vector<double>> results;
  for (const client::Buffer& output : outputs) {
    TENON_ASSIGN_OR_RETURN(std::vector<double> result, output.ToHost<double>());
    results.push_back(std::move(result));
  }
  return results;
}

class OnPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("TENON_TEST_PLUGIN");
    if (path == nullptr) GTEST_SKIP() << "TENON_TEST_PLUGIN does not name a plugin";
    const Result<client::Plugin> plugin = client::Plugin::LoadFile(path);
    ASSERT_TRUE(plugin.ok()) << plugin.status().ToString();
    Result<client::Client> client = plugin->CreateClient();
    ASSERT_TRUE(client.ok()) << client.status().ToString();
    client_.emplace(std::move(*client));
  }
  std::optional<client::Client> client_;
};

TEST_F(OnPlugin, RulesAgreeWithDifferences) {
  for (const GradientCase& c : GradientCases()) {
    SCOPED_TRACE(c.name);
    Module module;
    Function& f = module.AddFunction("main");
    Values xs;
    Arguments at;
    double next = 0.17;
    for (const Dims& shape : c.shapes) {
      xs.push_back(f.Parameter({DType::kF64, shape}));
      std::vector<double> values;
      for (int64_t i = 0; i < NumElements(shape); ++i) {
        next = std::fmod(next + 0.618033988749895, 1.0);
        values.push_back(c.from + next * (c.to - c.from));
      }
      at.values.push_back(values);
      at.shapes.push_back(shape);
    }
    const Value y = Weighted(c, xs);
    Values results = Gradients(y, xs);
    results.insert(results.begin(), y);
    f.Return(results);
    ASSERT_TRUE(module.status().ok()) << module.status().ToString();
    Result<client::LoadedExecutable> program = client_->Compile(module);
    ASSERT_TRUE(program.ok()) << program.status().ToString();
    const auto here = RunOn(*client_, *program, at);
    ASSERT_TRUE(here.ok()) << here.status().ToString();
    for (size_t i = 0; i < xs.size(); ++i) {
      for (size_t j = 0; j < at.values[i].size(); ++j) {
        constexpr double kStep = 1e-5;
        Arguments up = at, down = at;
        up.values[i][j] += kStep;
        down.values[i][j] -= kStep;
        const auto above = RunOn(*client_, *program, up), below = RunOn(*client_, *program, down);
        ASSERT_TRUE(above.ok() && below.ok());
        const double difference = ((*above)[0][0] - (*below)[0][0]) / (2 * kStep);
        // Differences are off by the third derivative times the step squared, and by rounding over the step.
        EXPECT_NEAR((*here)[i + 1][j], difference, 1e-7 * (1 + std::fabs(difference)))
            << "argument " << i << ", element " << j;
      }
    }
  }
}

// Every rule has a case of its name.
TEST(Rules, AreAllTested) {
  std::set<std::string> names;
  for (const GradientCase& c : GradientCases()) names.insert(c.name);
#define TENON_GRADIENT_RULE(Name) EXPECT_TRUE(names.contains(#Name)) << #Name;
#define TENON_GRADIENT_COMPLEX_RULE(Name) \
  TENON_GRADIENT_RULE(Name)               \
  EXPECT_TRUE(names.contains(#Name " of complex numbers")) << #Name;
#include "tenon/gradient/rules.def"
}

// A layer with softmax cross entropy; the numbers are those of jax.grad in f64.
TEST_F(OnPlugin, TrainingStepAgreesWithJax) {
  Module module;
  Function& f = module.AddFunction("main");
  const Value x = f.Parameter({DType::kF64, {2, 3}}, "x"), w = f.Parameter({DType::kF64, {3, 2}}, "w"),
              b = f.Parameter({DType::kF64, {2}}, "b");
  const Value labels = Constant(f, std::vector<double>{1, 0, 0, 1}, {2, 2});
  const Value logits = Tanh(MatMul(x, w) + BroadcastTo(b, {2, 2}));
  const Value shifted = logits - BroadcastInDim(Reduce(logits, Reduction::kMax, {1}), {2, 2}, {0});
  const Value log_sum = Log(Reduce(Exponential(shifted), Reduction::kSum, {1}));
  const Value log_p = shifted - BroadcastInDim(log_sum, {2, 2}, {0});
  const Value loss = Negate(Reduce(log_p * labels, Reduction::kSum, {0, 1}));
  Values results = Gradients(loss, {w, b});
  results.push_back(loss);
  f.Return(results);
  ASSERT_TRUE(module.status().ok()) << module.status().ToString();
  Result<client::LoadedExecutable> program = client_->Compile(module);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  const auto got =
      RunOn(*client_, *program,
            {{{1, 2, 3, 4, 5, 6}, {0.1, -0.2, 0.3, 0.05, -0.15, 0.25}, {0.01, 0.02}}, {{2, 3}, {3, 2}, {2}}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  using ::testing::DoubleNear;
  using ::testing::ElementsAre;
  const auto near = [](double v) { return DoubleNear(v, 1e-12); };
  EXPECT_THAT((*got)[0], ElementsAre(near(0.289977180254056), near(-0.503589488680226), near(-0.045749725693407),
                                     near(-0.342394366398398), near(-0.38147663164087), near(-0.181199244116571)));
  EXPECT_THAT((*got)[1], ElementsAre(near(-0.335726905947463), near(0.161195122281827)));
  EXPECT_THAT((*got)[2], ElementsAre(near(1.57380895927896)));
}

TEST(Gradients, SaysWhatItCannotDo) {
  Module module;
  Function& f = module.AddFunction("main");
  const Value x = f.Parameter({DType::kF32, {3}}, "x");
  const Value sorted = Sort({x}, 0, false, [](Value a, Value b) { return Compare(a, b, Direction::kLt); })[0];
  const int line = __LINE__ + 1;
  EXPECT_FALSE(Gradients(Reduce(sorted, Reduction::kSum, {0}), {x})[0].valid());
  EXPECT_EQ(module.status().code(), Code::kUnimplemented);
  EXPECT_EQ(module.status().message(),
            "gradient at gradient_test.cc:" + std::to_string(line) +
                ": stablehlo.sort with this region has no rule; its result is tensor<3xf32>");
}

// What depends on x in another way than by floats that are operands has no rule, and is no constant either.
TEST(Gradients, SeesWhatRegionsUseAndWhatIsNotReal) {
  struct Way {
    const char* name;
    std::function<Value(Value x, Value p, Value v)> build;
  };
  const auto sum = [](Value v) { return Reduce(v, Reduction::kSum, {0}); };
  const Way ways[] = {
      {"stablehlo.if", [](Value x, Value p, Value) { return If(p, [&] { return x * 2.0; }, [&] { return x; })[0]; }},
      {"stablehlo.if",
       [](Value x, Value p, Value) {
         const Value none = Constant(x.function(), 0.0f);
         const auto inner = [&] { return If(p, [&] { return x; }, [&] { return none; })[0]; };
         return If(p, inner, [&] { return none; })[0];
       }},
      {"stablehlo.case",
       [](Value x, Value p, Value) {
         return Case(Convert(p, DType::kS32), {Body([&] { return x * 2.0; }), Body([&] { return x; })})[0];
       }},
      {"stablehlo.map", [&](Value x, Value, Value v) { return sum(Map({v}, [&](Value a) { return a * x; })); }},
      {"stablehlo.reduce",
       [](Value x, Value, Value v) {
         return Reduce(v, Constant(x.function(), 0.0f), {0}, [&](Value a, Value) { return a + x; });
       }},
      {"stablehlo.reduce",  // Its body adds, and gives something else.
       [](Value x, Value, Value v) {
         return Reduce(v * BroadcastTo(x, {4}), Constant(x.function(), 0.0f), {0}, [](Value a, Value b) {
           Add(a, b);
           return b;
         });
       }},
      {"stablehlo.while",
       [](Value x, Value, Value) {
         return While(
             {Constant(x.function(), 0.0f)},
             [&](Value a) { return Compare(a, Constant(a.function(), 3.0f), Direction::kLt); },
             [&](Value a) { return a + x; })[0];
       }},
      {"stablehlo.abs", [](Value x, Value, Value) { return Abs(Complex(x, x)); }},
      {"stablehlo.sign", [](Value x, Value, Value) { return Real(Sign(Complex(x, x))); }},
      {"stablehlo.get_tuple_element",
       [](Value x, Value, Value) { return GetTupleElement(Tuple(x.function(), {x}), 0); }},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    Module module;
    Function& f = module.AddFunction("main");
    const Value x = f.Parameter(DType::kF32, "x"), p = f.Parameter(DType::kPred, "p"),
                v = f.Parameter({DType::kF32, {4}}, "v");
    const Value y = way.build(x, p, v);
    ASSERT_TRUE(module.status().ok()) << module.status().ToString();
    Gradients(y, {x});
    EXPECT_EQ(module.status().code(), Code::kUnimplemented);
    EXPECT_THAT(std::string(module.status().message()), ::testing::HasSubstr(way.name));
  }
}

// A loop whose body goes down the gradient of (a - 2 x)^2.
TEST_F(OnPlugin, BodiesCanHoldGradients) {
  Module module;
  Function& f = module.AddFunction("main");
  const Value x = f.Parameter({DType::kF64, {}}, "x");
  const Value twice = x * 2.0;
  const auto body = [&](Value i, Value a) {
    const Value off = a - twice;
    const Values g = Gradients(off * off, {a, x});
    // By x it is -2 times that by a, by way of a value from outside.
    return Values{i + 1.0, a - g[0] * 0.125 + g[1] * 0.0625};
  };
  const Value zero = Constant(f, 0.0);
  f.Return({While({zero, zero}, [&](Value i, Value) { return Compare(i, FullLike(i, 2), Direction::kLt); }, body)[1]});
  ASSERT_TRUE(module.status().ok()) << module.status().ToString();
  Result<client::LoadedExecutable> program = client_->Compile(module);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  const auto got = RunOn(*client_, *program, {{{8}}, {{}}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  // Each trip halves the distance to 16.
  EXPECT_EQ((*got)[0][0], 12);
}

TEST(Gradients, WantsAScalar) {
  Module module;
  Function& f = module.AddFunction("main");
  const Value x = f.Parameter({DType::kF32, {3}}, "x");
  Gradients(x, {x});
  EXPECT_THAT(std::string(module.status().message()),
              ::testing::HasSubstr("y must be a scalar of a float type, got tensor<3xf32>"));
}

TEST(Gradients, ConstantsAndWhatIsNotUsedHaveNone) {
  Module module;
  Function& f = module.AddFunction("main");
  const Value x = f.Parameter(DType::kF32, "x"), z = f.Parameter(DType::kF32, "z");
  const Value held = Sine(x);
  const Values g = Gradients(held * x, {x, z}, {.constants = {held}});
  // d(held x)/dx = held: the product with one, no cosine.
  f.Return(g);
  const Result<std::string> text = module.ToText();
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_EQ(text->find("cosine"), std::string::npos);
  EXPECT_NE(text->find("dense<0.0>"), std::string::npos);
}

}  // namespace
}  // namespace tenon::gradient
