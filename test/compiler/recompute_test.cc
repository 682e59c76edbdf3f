// What is computed again where it is used, and what is stored once instead; how kernels of several stages are cut.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// Compiles and compares with the reference.
CompiledProgram Check(const std::string& program) {
  compiler::CompileOptions options = CpuOptions();
  options.verify = true;
  Result<CompiledProgram> compiled = Compile(program, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  if (!compiled.ok()) return {};
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << plan::Print(compiled->plan);
  return *std::move(compiled);
}
int64_t KernelsOf(const std::string& program) { return plan::Count(Check(program).plan).kernel_steps; }

/// The sum of four neighbours of `op` of the argument, zero outside.
std::string Neighbours(const std::string& op) {
  std::string body = "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n" +
                     fmt::format("    %y = stablehlo.{} %x : tensor<40x48xf32>\n", op) +
                     "    %p = stablehlo.pad %y, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] : "
                     "(tensor<40x48xf32>, tensor<f32>) -> tensor<42x50xf32>\n";
  constexpr int kPlaces[][2] = {{0, 1}, {2, 1}, {1, 0}, {1, 2}};
  for (int i = 0; i < 4; ++i) {
    const auto [r, c] = kPlaces[i];
    body += fmt::format("    %t{} = stablehlo.slice %p [{}:{}, {}:{}] : (tensor<42x50xf32>) -> tensor<40x48xf32>\n", i,
                        r, r + 40, c, c + 48);
  }
  return "func.func @main(%x: tensor<40x48xf32>) -> tensor<40x48xf32> {\n" + body + R"(
    %a = stablehlo.add %t0, %t1 : tensor<40x48xf32>
    %b = stablehlo.add %t2, %t3 : tensor<40x48xf32>
    %c = stablehlo.add %a, %b : tensor<40x48xf32>
    return %c : tensor<40x48xf32>
  })";
}

TEST(Recompute, ExpensiveNeighboursAreStoredOnce) {
  EXPECT_EQ(KernelsOf(Neighbours("negate")), 1);
  EXPECT_EQ(KernelsOf(Neighbours("tanh")), 2);
}

/// Forms of `n` numbers and a matrix, `batch` of them, each of its own: sums of sums that are written out.
std::string Forms(int batch, int n) {
  return fmt::format(R"(
func.func @main(%x: tensor<{0}x{1}xf32>, %m: tensor<{0}x{1}x{1}xf32>, %y: tensor<{0}x{1}xf32>) -> tensor<{0}xf32> {{
  %u = stablehlo.dot_general %x, %m, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<{0}x{1}xf32>, tensor<{0}x{1}x{1}xf32>) -> tensor<{0}x{1}xf32>
  %v = stablehlo.dot_general %y, %u, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>) -> tensor<{0}xf32>
  return %v : tensor<{0}xf32>
}})",
                     batch, n);
}

TEST(Recompute, RowsThatWouldBeReadApartAreStored) {
  // Each term is computed once either way. With the forms in lanes each is loaded from a row of its own, with the
  // columns of a matrix in lanes they lie side by side.
  EXPECT_EQ(KernelsOf(Forms(300, 12)), 2);
  EXPECT_EQ(KernelsOf(Forms(300, 16)), 2);
  // What shuffles take apart, and few rows, are not worth another kernel.
  EXPECT_EQ(KernelsOf(Forms(300, 4)), 1);
  EXPECT_EQ(KernelsOf(Forms(10, 12)), 1);
}

/// A loop whose trips add `n` arrays to a product.
std::string ProductAndManyArrays(int n) {
  std::string arguments, adds, last = "%v";
  for (int i = 0; i < n; ++i) {
    arguments += fmt::format(", %a{}: tensor<256xf32>", i);
    adds += fmt::format("      %s{0} = stablehlo.add {1}, %a{0} : tensor<256xf32>\n", i, last);
    last = fmt::format("%s{}", i);
  }
  return fmt::format(R"(func.func @main(%x: tensor<256xf32>, %m: tensor<256x256xf32>{}) -> tensor<256xf32> {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %w:2 = stablehlo.while(%i = %zero, %u = %x) : tensor<i32>, tensor<256xf32>
    cond {{
      %p = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }} do {{
      %n = stablehlo.add %i, %one : tensor<i32>
      %v = stablehlo.dot_general %m, %u, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256xf32>) -> tensor<256xf32>
{}      stablehlo.return %n, {} : tensor<i32>, tensor<256xf32>
    }}
    return %w#1 : tensor<256xf32>
  }})",
                     arguments, adds, last);
}

TEST(Recompute, WhatIsComputedOnceFromManyArraysIsNotStored) {
  // Storing a part of the sum does not spare what that part reads.
  EXPECT_EQ(KernelsOf(ProductAndManyArrays(1)), KernelsOf(ProductAndManyArrays(20)));
}

/// Sums of rows and of columns, each a kernel, of what comes of `steps` cheap operations.
std::string RowsAndColumnsOfChain(int steps) {
  std::string chain;
  for (int i = 0; i < steps; ++i)
    chain += fmt::format("    %c{} = stablehlo.{} %c{}, %x : tensor<96x160xf32>\n", i + 1,
                         i % 2 == 0 ? "add" : "multiply", i);
  return fmt::format(
      R"(func.func @main(%c0: tensor<96x160xf32>, %x: tensor<96x160xf32>) -> (tensor<96xf32>, tensor<160xf32>) {{
{0}    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%c{1} init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<96x160xf32>, tensor<f32>) -> tensor<96xf32>
    %s = stablehlo.reduce(%c{1} init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<96x160xf32>, tensor<f32>) -> tensor<160xf32>
    return %r, %s : tensor<96xf32>, tensor<160xf32>
  }})",
      chain, steps);
}

TEST(Recompute, LongChainsAreStoredForTheNextKernelHoweverCheapTheirSteps) {
  const CompiledProgram repeated = Check(RowsAndColumnsOfChain(8)), stored = Check(RowsAndColumnsOfChain(40));
  EXPECT_EQ(repeated.plan.arena_bytes, 0);
  EXPECT_GT(stored.plan.arena_bytes, 0);
}

/// Sums x[rows, columns] and a function of `from` [extent], spread along the other dim.
std::string Spread(int64_t rows, int64_t columns, bool along_rows) {
  const int64_t extent = along_rows ? rows : columns;
  return fmt::format(R"(func.func @main(%x: tensor<{0}x{1}xf32>, %v: tensor<{2}xf32>) -> tensor<{0}x{1}xf32> {{
    %e = stablehlo.exponential %v : tensor<{2}xf32>
    %l = stablehlo.tanh %e : tensor<{2}xf32>
    %b = stablehlo.broadcast_in_dim %l, dims = [{3}] : (tensor<{2}xf32>) -> tensor<{0}x{1}xf32>
    %s = stablehlo.add %x, %b : tensor<{0}x{1}xf32>
    return %s : tensor<{0}x{1}xf32>
  }})",
                     rows, columns, extent, along_rows ? 0 : 1);
}

TEST(Recompute, ValuesOfColumnsAreStoredOnceAndThoseOfRowsHoisted) {
  EXPECT_EQ(KernelsOf(Spread(64, 96, false)), 2);
  EXPECT_EQ(KernelsOf(Spread(512, 24, false)), 2);  // However few they are.
  EXPECT_EQ(KernelsOf(Spread(64, 96, true)), 1);
  EXPECT_EQ(KernelsOf(Spread(2, 96, false)), 1);  // Not worth a kernel.
}

TEST(Recompute, ValuesThatOnlyTogetherAreWorthStoringAreStored) {
  // With one of them left, rows one after the other are no faster than columns, for each of which both are computed
  // once; with neither they are.
  EXPECT_EQ(KernelsOf(R"(func.func @main(%x: tensor<400x300xf32>, %v: tensor<300xf32>) -> tensor<400x300xf32> {
    %e = stablehlo.exponential %v : tensor<300xf32>
    %r = stablehlo.rsqrt %v : tensor<300xf32>
    %be = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<300xf32>) -> tensor<400x300xf32>
    %br = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<300xf32>) -> tensor<400x300xf32>
    %p = stablehlo.multiply %x, %be : tensor<400x300xf32>
    %q = stablehlo.multiply %p, %br : tensor<400x300xf32>
    return %q : tensor<400x300xf32>
  })"),
            3);
}

/// Products of so many neighbouring sums of three numbers, which lie side by side or one below the other.
std::string ProductsOfSums(bool side_by_side, int count) {
  std::string body = fmt::format(R"(    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [{}] : ({}, tensor<f32>) -> tensor<4000xf32>
    %r0 = stablehlo.slice %s [0:3990] : (tensor<4000xf32>) -> tensor<3990xf32>
)",
                                 side_by_side ? 1 : 0, side_by_side ? "tensor<4000x3xf32>" : "tensor<3x4000xf32>");
  for (int i = 1; i < count; ++i) {
    body += fmt::format(R"(    %p{0} = stablehlo.slice %s [{0}:{2}] : (tensor<4000xf32>) -> tensor<3990xf32>
    %r{0} = stablehlo.multiply %r{1}, %p{0} : tensor<3990xf32>
)",
                        i, i - 1, 3990 + i);
  }
  return fmt::format("func.func @main(%x: {}) -> tensor<3990xf32> {{\n{}    return %r{} : tensor<3990xf32>\n}}",
                     side_by_side ? "tensor<4000x3xf32>" : "tensor<3x4000xf32>", body, count - 1);
}

// A kernel of its own would take the same short rows apart and put them together once more.
TEST(Recompute, WhatIsComputedOnceFromShortRowsInALoopIsNotStored) {
  const std::string program = R"(
  func.func @main(%texts: tensor<24x2048xui8>, %wanted: tensor<6xui8>) -> tensor<2048x7xi1> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %yes = stablehlo.constant dense<true> : tensor<2048x7xi1>
    %no = stablehlo.constant dense<false> : tensor<2048x1xi1>
    %r:2 = stablehlo.while(%i = %c0, %s = %yes) : tensor<i32>, tensor<2048x7xi1>
    cond {
      %n = stablehlo.constant dense<24> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %row = stablehlo.dynamic_slice %texts, %i, %c0, sizes = [1, 2048] : (tensor<24x2048xui8>, tensor<i32>, tensor<i32>) -> tensor<1x2048xui8>
      %text = stablehlo.reshape %row : (tensor<1x2048xui8>) -> tensor<2048xui8>
      %a = stablehlo.broadcast_in_dim %text, dims = [0] : (tensor<2048xui8>) -> tensor<2048x6xui8>
      %b = stablehlo.broadcast_in_dim %wanted, dims = [1] : (tensor<6xui8>) -> tensor<2048x6xui8>
      %hit = stablehlo.compare EQ, %a, %b : (tensor<2048x6xui8>, tensor<2048x6xui8>) -> tensor<2048x6xi1>
      %before = stablehlo.slice %s [0:2048, 0:6] : (tensor<2048x7xi1>) -> tensor<2048x6xi1>
      %both = stablehlo.and %before, %hit : tensor<2048x6xi1>
      %next = stablehlo.concatenate %no, %both, dim = 1 : (tensor<2048x1xi1>, tensor<2048x6xi1>) -> tensor<2048x7xi1>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<2048x7xi1>
    }
    return %r#1 : tensor<2048x7xi1>
  })";
  // The first state, the trip, its number.
  EXPECT_LE(KernelsOf(program), 3);
}

TEST(Recompute, ReadsOfWhatLiesApartAreWorthStoring) {
  EXPECT_EQ(KernelsOf(ProductsOfSums(true, 4)), 2);
  EXPECT_EQ(KernelsOf(ProductsOfSums(false, 4)), 1);
  EXPECT_EQ(KernelsOf(ProductsOfSums(false, 6)), 2);  // The sums themselves are.
}

/// `count` swaps of the halves along one dim of a state of 2 x ... x 2 x 16 where another dim is at 1.
std::string Flips(int count, const std::string& element) {
  const auto type = [&](std::vector<int> dims) { return fmt::format("tensor<{}x{}>", fmt::join(dims, "x"), element); };
  std::string body;
  const std::vector<int> whole = {2, 2, 2, 2, 16};
  const auto slice = [&](const std::string& name, const std::string& of, std::vector<int> from, size_t dim, int at) {
    std::string ranges;
    std::vector<int> to = from;
    to[dim] = 1;
    for (size_t d = 0; d < from.size(); ++d) {
      const int lo = d == dim ? at : 0;
      ranges += fmt::format("{}{}:{}", d == 0 ? "" : ", ", lo, lo + to[d]);
    }
    body += fmt::format("    %{} = stablehlo.slice %{} [{}] : ({}) -> {}\n", name, of, ranges, type(from), type(to));
    return to;
  };
  std::string x = "x";
  for (int i = 0; i < count; ++i) {
    const auto c = static_cast<size_t>(i % 4), d = static_cast<size_t>((i + 1) % 4);
    const std::vector<int> half = slice(fmt::format("low{}", i), x, whole, c, 0);
    slice(fmt::format("high{}", i), x, whole, c, 1);
    const std::vector<int> part = slice(fmt::format("first{}", i), fmt::format("high{}", i), half, d, 0);
    slice(fmt::format("second{}", i), fmt::format("high{}", i), half, d, 1);
    body += fmt::format("    %turned{0} = stablehlo.concatenate %second{0}, %first{0}, dim = {1} : ({2}, {2}) -> {3}\n",
                        i, d, type(part), type(half));
    body += fmt::format("    %x{0} = stablehlo.concatenate %low{0}, %turned{0}, dim = {1} : ({2}, {2}) -> {3}\n", i, c,
                        type(half), type(whole));
    x = fmt::format("x{}", i);
  }
  return fmt::format("func.func @main(%x: {0}) -> {0} {{\n{1}    return %{2} : {0}\n}}", type(whole), body, x);
}

// Every selection knows which of its parts those around it ask for: there are as many ways through the chain as places
// in its dims, not twice as many for each swap.
TEST(Recompute, ChainsOfSelectionsAskForNoPartTwice) {
  for (const char* element : {"f32", "complex<f32>"}) {
    EXPECT_EQ(KernelsOf(Flips(2, element)), 1) << element;
    EXPECT_EQ(KernelsOf(Flips(7, element)), 1) << element;
    EXPECT_EQ(KernelsOf(Flips(40, element)), 1) << element;
  }
}

// A chain of products of a 4 x 4 matrix with a state, along one of its dims and the other in turn.
TEST(Recompute, WhatIsSummedIsStoredAsASum) {
  std::string body;
  std::string x = "x";
  for (int i = 0; i < 4; ++i) {
    // [4, 4] x [4, 4, 16]: the second product sums along the other dim.
    body += fmt::format(
        "    %d{0} = stablehlo.dot_general %g, %{1}, contracting_dims = [1] x [{2}] : (tensor<4x4xcomplex<f32>>, "
        "tensor<4x4x16xcomplex<f32>>) -> tensor<4x4x16xcomplex<f32>>\n",
        i, x, i % 2);
    x = fmt::format("d{}", i);
  }
  const CompiledProgram compiled = Check(
      "func.func @main(%g: tensor<4x4xcomplex<f32>>, %x: tensor<4x4x16xcomplex<f32>>) -> tensor<4x4x16xcomplex<f32>> "
      "{\n" +
      body + "    return %" + x + " : tensor<4x4x16xcomplex<f32>>\n}");
  // The largest value is as large as the state: no products wait in memory for their sums.
  EXPECT_LE(compiled.plan.arena_bytes, 4 * 4 * 4 * 16 * 8);
}

TEST(Recompute, WholeWindowsAreStoredOfWindowsOfWindows) {
  // Each of four is written out for nine places of the next: too much for one kernel.
  std::string body = "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n";
  for (int i = 1; i <= 4; ++i) {
    body += fmt::format(R"(    %w{} = "stablehlo.reduce_window"(%w{}, %zero) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }}) {{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 1, 1>, padding = dense<1> : tensor<2x2xi64>}} : (tensor<31x43xf32>, tensor<f32>) -> tensor<31x43xf32>
)",
                        i, i - 1);
  }
  EXPECT_LE(KernelsOf("func.func @main(%w0: tensor<31x43xf32>) -> tensor<31x43xf32> {\n" + body +
                      "    return %w4 : tensor<31x43xf32>\n}"),
            4);
}

TEST(Recompute, SumsOfColumnsReadWhatDependsOnColumnsAlone) {
  // The second result is computed for itself: were it a stage of the sum's kernel, the sum would compute it for every
  // row.
  const CompiledProgram compiled = Check(R"(
  func.func @main(%x: tensor<600x96xf32>, %v: tensor<96xf32>) -> (tensor<96xf32>, tensor<96xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %l = stablehlo.logistic %v : tensor<96xf32>
    %b = stablehlo.broadcast_in_dim %l, dims = [1] : (tensor<96xf32>) -> tensor<600x96xf32>
    %p = stablehlo.maximum %x, %b : tensor<600x96xf32>
    %s = stablehlo.reduce(%p init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<600x96xf32>, tensor<f32>) -> tensor<96xf32>
    return %s, %l : tensor<96xf32>, tensor<96xf32>
  })");
  EXPECT_EQ(plan::Count(compiled.plan).kernel_steps, 2);
}

/// A sum of `n` rows, added to each row of an array that then meets as many more as `vectors`.
std::string RowsThatMeetVectors(int rows, int n, int vectors) {
  const std::string whole = fmt::format("tensor<{}x512xf32>", rows);
  std::string arguments, body, last = "%a";
  for (int i = 0; i < vectors; ++i) {
    arguments += fmt::format(", %v{}: tensor<512xf32>", i);
    body +=
        fmt::format("    %b{0} = stablehlo.broadcast_in_dim %v{0}, dims = [1] : (tensor<512xf32>) -> {1}\n", i, whole) +
        fmt::format("    %c{} = stablehlo.{} {}, %b{} : {}\n", i, i % 2 == 0 ? "multiply" : "maximum", last, i, whole);
    last = fmt::format("%c{}", i);
  }
  return fmt::format(R"(
  func.func @main(%x: {0}, %p: tensor<{1}x512xf32>{2}) -> {0} {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<{1}x512xf32>, tensor<f32>) -> tensor<512xf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<512xf32>) -> {0}
    %a = stablehlo.add %x, %sb : {0}
{3}    return {4} : {0}
  }})",
                     whole, n, arguments, body, last);
}

TEST(Recompute, NoLoopsDownColumnsForTheSakeOfWhatTheyShare) {
  EXPECT_EQ(KernelsOf(RowsThatMeetVectors(300, 16, 12)), 2);
  EXPECT_EQ(KernelsOf(RowsThatMeetVectors(3, 16, 12)), 1);  // Not worth a kernel.
}

TEST(Recompute, StagesWhoseLanesAreTheCutDimAreCutInWholeVectors) {
  const CompiledProgram compiled = Check(R"(
  func.func @main(%x: tensor<40x2048xf32>, %v: tensor<2048xf32>) -> (tensor<2048xf32>, tensor<2048xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.negate %v : tensor<2048xf32>
    %b = stablehlo.broadcast_in_dim %n, dims = [1] : (tensor<2048xf32>) -> tensor<40x2048xf32>
    %m = stablehlo.maximum %x, %b : tensor<40x2048xf32>
    %p = stablehlo.tanh %m : tensor<40x2048xf32>
    %s = stablehlo.reduce(%p init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<40x2048xf32>, tensor<f32>) -> tensor<2048xf32>
    return %s, %n : tensor<2048xf32>, tensor<2048xf32>
  })");
  ASSERT_EQ(plan::Count(compiled.plan).kernel_steps, 1);
  const auto& step = std::get<plan::KernelStep>(compiled.plan.steps[0].is);
  const kir::Kernel& kernel = compiled.plan.kernels[step.kernel];
  ASSERT_EQ(kernel.seq.size(), 2u) << kir::Print(kernel);
  ASSERT_EQ(kernel.split.dims, 1u);
  EXPECT_EQ(kernel.split.grain.Value(step.params.data()) % 64, 0) << kir::Print(kernel);
}

}  // namespace
}  // namespace tenon::test
