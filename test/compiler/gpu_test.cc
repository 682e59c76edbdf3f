// Plans for GPUs, run the slow way against the reference: nothing of these is left to the host, and every kernel keeps
// to what kir promises.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// On every kind of GPU that has the types; only kernels, and copies that move whole arrays. `launch_ns`: what a launch
/// takes there, if another time than such a device's.
void Check(const std::string& program, std::optional<double> launch_ns = std::nullopt) {
  for (const char* name : {"gpu:software", "gpu:discrete", "gpu:integrated"}) {
    compiler::CompileOptions options;
    ASSERT_TRUE(CompileFor(name, options).ok());
    options.target.launch_ns = launch_ns.value_or(options.target.launch_ns);
    options.verify = true;
    const Result<CompiledProgram> compiled = Compile(program, options);
    ASSERT_TRUE(compiled.ok()) << name << compiled.status().ToString();
    const Status same = CompareWithReference(program, *compiled, 7, {});
    EXPECT_TRUE(same.ok()) << name << same.ToString() << plan::Print(compiled->plan);
    const plan::Statistics count = plan::Count(compiled->plan);
    EXPECT_EQ(count.driver_steps + count.evaluate_steps + count.custom_calls, 0) << name;
    EXPECT_GT(count.kernel_steps, 0) << name;
  }
}

std::string Dot(const std::string& a, const std::string& b, const std::string& c, const std::string& numbers) {
  return fmt::format(R"(func.func @main(%a: tensor<{0}>, %b: tensor<{1}>) -> tensor<{2}> {{
    %0 = stablehlo.dot_general %a, %b, {3} : (tensor<{0}>, tensor<{1}>) -> tensor<{2}>
    return %0 : tensor<{2}>
  }})",
                     a, b, c, numbers);
}

TEST(Gpu, Products) {
  const std::string matrices = "contracting_dims = [1] x [0]";
  Check(Dot("16x12xf32", "12x256xf32", "16x256xf32", matrices));
  // Tiles that reach beyond the end, on either side.
  Check(Dot("19x9xf32", "9x37xf32", "19x37xf32", matrices));
  Check(Dot("41x3xf32", "3x261xf32", "41x261xf32", matrices));
  Check(Dot("3x19xf32", "19x5xf32", "3x5xf32", matrices));
  // As the operands lie: transposed, batches, several dims of each kind.
  Check(Dot("2x17x24xf32", "2x40x17xf32", "2x24x40xf32", "batching_dims = [0] x [0], contracting_dims = [1] x [2]"));
  Check(Dot("5x3x8x6xf32", "6x4x8x9xf32", "8x5x3x4x9xf32", "batching_dims = [2] x [2], contracting_dims = [3] x [0]"));
  Check(Dot("6x5x16xf32", "16x5x24xf32", "6x24xf32", "contracting_dims = [1, 2] x [1, 0]"));
  // Other types.
  Check(Dot("33x20xbf16", "20x40xbf16", "33x40xbf16", matrices));
  Check(Dot("33x20xf16", "20x40xf16", "33x40xf32", matrices));
  Check(Dot("33x20xi8", "20x40xi8", "33x40xi32", matrices));
  Check(Dot("33x20xcomplex<f32>", "20x40xcomplex<f32>", "33x40xcomplex<f32>", matrices));
  // Vectors.
  Check(Dot("70x600xf32", "600xf32", "70xf32", matrices));
  Check(Dot("600xf32", "600x70xf32", "70xf32", "contracting_dims = [0] x [0]"));
}

std::string Convolution(const std::string& a, const std::string& b, const std::string& c, const std::string& layout,
                        const std::string& window, int features = 1, int batches = 1) {
  return fmt::format(R"(func.func @main(%a: tensor<{0}>, %b: tensor<{1}>) -> tensor<{2}> {{
    %0 = stablehlo.convolution(%a, %b) dim_numbers = {3}, window = {{{4}}} {{batch_group_count = {6} : i64, feature_group_count = {5} : i64}} : (tensor<{0}>, tensor<{1}>) -> tensor<{2}>
    return %0 : tensor<{2}>
  }})",
                     a, b, c, layout, window, features, batches);
}

TEST(Gpu, Convolutions) {
  const std::string last = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", first = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]";
  Check(Convolution("2x9x11x3xf32", "3x3x3x20xf32", "2x9x11x20xf32", last, "pad = [[1, 1], [1, 1]]"));
  Check(Convolution("2x3x9x21xf32", "5x3x3x3xf32", "2x5x5x11xf32", first, "stride = [2, 2], pad = [[1, 1], [1, 1]]"));
  // Holes in either operand, a window that runs backwards.
  Check(Convolution("1x5x6x4xf32", "3x3x4x8xf32", "1x9x11x8xf32", last, "pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]"));
  Check(Convolution("1x4x12x12xf32", "8x4x3x3xf32", "1x8x8x8xf32", first, "rhs_dilate = [2, 2]"));
  Check(
      Convolution("1x6x7x4xf32", "3x3x4x8xf32", "1x6x7x8xf32", last, "pad = [[1, 1], [1, 1]], reverse = [true, true]"));
  // Groups of features, one per feature, groups of batches.
  Check(Convolution("2x8x8x6xf32", "3x3x3x10xf32", "2x6x6x10xf32", last, "stride = [1, 1]", 2));
  Check(Convolution("2x8x8x16xf32", "3x3x1x16xf32", "2x6x6x16xf32", last, "stride = [1, 1]", 16));
  Check(Convolution("4x8x8x6xf32", "3x3x6x10xf32", "2x6x6x10xf32", last, "stride = [1, 1]", 1, 2));
  // And what is done with the result.
  std::string finished = Convolution("2x9x11x3xf32", "3x3x3x20xf32", "2x9x11x20xf32", last, "pad = [[1, 1], [1, 1]]");
  finished.replace(finished.find("return %0"), 9, "%1 = stablehlo.tanh %0 : tensor<2x9x11x20xf32>\n    return %1");
  Check(finished);
}

std::string Scatter(const std::string& operand, const std::string& indices, const std::string& updates,
                    const std::string& numbers, const std::string& of, const std::string& body) {
  return fmt::format(R"(func.func @main(%a: tensor<{0}>, %i: tensor<{1}>, %u: tensor<{2}>) -> tensor<{0}> {{
    %seven = stablehlo.constant dense<7> : tensor<{1}>
    %r = stablehlo.remainder %i, %seven : tensor<{1}>
    %0 = "stablehlo.scatter"(%a, %r, %u) ({{
    ^bb0(%x: tensor<{4}>, %y: tensor<{4}>):
      {5}
      stablehlo.return %s : tensor<{4}>
    }}) {{scatter_dimension_numbers = #stablehlo.scatter<{3}>}} : (tensor<{0}>, tensor<{1}>, tensor<{2}>) -> tensor<{0}>
    return %0 : tensor<{0}>
  }})",
                     operand, indices, updates, numbers, of, body);
}

// What is done with products is done where they are: with other arrays, along some dims or all, with places, with
// narrow results. What looks at other elements is not.
TEST(Gpu, ProductsAndWhatIsDoneWithThem) {
  const auto check = [](const std::string& rows, const std::string& columns, const std::string& of,
                        const std::string& after, int64_t kernels) {
    const std::string program = fmt::format(
        R"(func.func @main(%a: tensor<{0}x24x{2}>, %b: tensor<24x{1}x{2}>, %c: tensor<{1}x{2}>, %d: tensor<{0}x{1}x{2}>) -> tensor<{0}x{1}x{2}> {{
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<{0}x24x{2}>, tensor<24x{1}x{2}>) -> tensor<{0}x{1}x{2}>
    {3}
    return %r : tensor<{0}x{1}x{2}>
  }})",
        rows, columns, of, after);
    Check(program);
    compiler::CompileOptions options;
    ASSERT_TRUE(CompileFor("gpu:discrete", options).ok());
    const Result<CompiledProgram> compiled = Compile(program, options);
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    EXPECT_EQ(plan::Count(compiled->plan).kernel_steps, kernels) << plan::Print(compiled->plan);
  };
  const auto in = [](const std::string& type, std::string text) {
    for (size_t at; (at = text.find('@')) != std::string::npos;) text.replace(at, 1, "tensor<" + type + ">");
    return text;
  };
  for (const char* rows : {"64", "61"}) {
    const std::string type = fmt::format("{}x256xf32", rows);
    check(rows, "256", "f32", in(type, R"(%s = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<256xf32>) -> @
    %q = stablehlo.add %p, %s : @
    %r = stablehlo.maximum %q, %d : @)"),
          1);
  }
  // Narrow ones are rounded before they are used.
  check("32", "64", "bf16", in("32x64xbf16", "%r = stablehlo.subtract %p, %d : @"), 1);
  check("32", "64", "f32", in("32x64xf32", R"(%i = stablehlo.iota dim = 1 : @
    %r = stablehlo.multiply %p, %i : @)"),
        1);
  check("32", "64", "f32", in("32x64xf32", R"(%v = stablehlo.reverse %p, dims = [0] : @
    %r = stablehlo.multiply %v, %d : @)"),
        2);
}

TEST(Gpu, Scatters) {
  const std::string add = "%s = stablehlo.add %x, %y : tensor<f32>";
  const std::string rows =
      "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
      "index_vector_dim = 1";
  // Rows by owners, which take the updates in their order: the last one wins, sums round as one chain.
  Check(Scatter("12x16xf32", "40x1xi32", "40x16xf32", rows, "f32", add));
  Check(Scatter("12x16xf32", "40x1xi32", "40x16xf32", rows, "f32", "%s = stablehlo.maximum %y, %y : tensor<f32>"));
  const std::string points = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1";
  Check(Scatter("500xf32", "300x1xi32", "300xf32", points, "f32", add));
  // Windows at places that data say, which overlap.
  const std::string windows =
      "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], "
      "index_vector_dim = 1";
  Check(Scatter("14x15xf32", "20x2xi32", "20x3x4xf32", windows, "f32", add));
  Check(Scatter("14x15xcomplex<f32>", "20x2xi32", "20x3x4xcomplex<f32>", windows, "complex<f32>",
                "%s = stablehlo.add %x, %y : tensor<complex<f32>>"));
  // A batch of them.
  const std::string batched =
      "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
      "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
      "index_vector_dim = 2";
  Check(Scatter("3x9x5xf32", "3x8x1xi32", "3x8x5xf32", batched, "f32", add));
}

std::string Sort(const std::string& keys, const std::string& of, int dim, const std::string& compare) {
  return fmt::format(R"(func.func @main(%a: tensor<{0}>, %b: tensor<{0}>) -> (tensor<{0}>, tensor<{0}>) {{
    %c = stablehlo.divide %a, %b : tensor<{0}>
    %0:2 = "stablehlo.sort"(%c, %b) ({{
    ^bb0(%x: tensor<{1}>, %y: tensor<{1}>, %v: tensor<{1}>, %w: tensor<{1}>):
      {3}
      stablehlo.return %p : tensor<i1>
    }}) {{dimension = {2} : i64, is_stable = true}} : (tensor<{0}>, tensor<{0}>) -> (tensor<{0}>, tensor<{0}>)
    return %0#0, %0#1 : tensor<{0}>, tensor<{0}>
  }})",
                     keys, of, dim, compare);
}

TEST(Gpu, ShortSorts) {
  const auto by = [](const std::string& how, const std::string& of, const std::string& kind) {
    return fmt::format("%p = stablehlo.compare {0}, %x, %y, {2} : (tensor<{1}>, tensor<{1}>) -> tensor<i1>", how, of,
                       kind);
  };
  for (const char* of : {"f32", "f16", "bf16"}) {
    Check(Sort(fmt::format("3x50x{}", of), of, 1, by("LT", of, "TOTALORDER")));
    Check(Sort(fmt::format("30x4x{}", of), of, 0, by("GT", of, "TOTALORDER")));
  }
  // Equal keys stay in their order.
  Check(Sort("3x50xi8", "i8", 1, by("LT", "i8", "SIGNED")));
  Check(Sort("3x50xui32", "ui32", 1, by("GT", "ui32", "UNSIGNED")));
}

TEST(Gpu, LongSorts) {
  const auto by = [](const std::string& how, const std::string& of, const std::string& kind) {
    return fmt::format("%p = stablehlo.compare {0}, %x, %y, {2} : (tensor<{1}>, tensor<{1}>) -> tensor<i1>", how, of,
                       kind);
  };
  // Launches that take no time: the longest way that pays is the one by many passes.
  const auto check = [](const std::string& program) { Check(program, 0); };
  // Runs that merge: a power of two of them, one without a partner, a last one that is short, along either dim.
  for (const int n : {512, 384, 700}) check(Sort(fmt::format("{}xf32", n), "f32", 0, by("LT", "f32", "TOTALORDER")));
  check(Sort("3x300xf16", "f16", 1, by("GT", "f16", "TOTALORDER")));
  check(Sort("300x3xf32", "f32", 0, by("LT", "f32", "TOTALORDER")));
  // Equal keys stay in their order.
  check(Sort("600xi8", "i8", 0, by("LT", "i8", "SIGNED")));
  check(Sort("600xui32", "ui32", 0, by("GT", "ui32", "UNSIGNED")));
  // The keys alone.
  check(R"(func.func @main(%a: tensor<600xi32>) -> tensor<600xi32> {
    %0 = "stablehlo.sort"(%a) ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %p = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<600xi32>) -> tensor<600xi32>
    return %0 : tensor<600xi32>
  })");
  // The first few with their places, fewer than a run has and more.
  for (const int wanted : {5, 200}) {
    check(fmt::format(R"(func.func @main(%a: tensor<2x600xf32>) -> (tensor<2x{0}xf32>, tensor<2x{0}xi32>) {{
    %0 = stablehlo.iota dim = 1 : tensor<2x600xi32>
    %1:2 = "stablehlo.sort"(%a, %0) ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %v: tensor<i32>, %w: tensor<i32>):
      %p = stablehlo.compare GT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }}) {{dimension = 1 : i64, is_stable = true}} : (tensor<2x600xf32>, tensor<2x600xi32>) -> (tensor<2x600xf32>, tensor<2x600xi32>)
    %2 = stablehlo.slice %1#0 [0:2, 0:{0}] : (tensor<2x600xf32>) -> tensor<2x{0}xf32>
    %3 = stablehlo.slice %1#1 [0:2, 0:{0}] : (tensor<2x600xi32>) -> tensor<2x{0}xi32>
    return %2, %3 : tensor<2x{0}xf32>, tensor<2x{0}xi32>
  }})",
                      wanted));
  }
}

std::string Transform(const std::string& in, const std::string& out, const std::string& how) {
  return fmt::format(R"(func.func @main(%a: tensor<{0}>) -> tensor<{1}> {{
    %0 = stablehlo.fft %a, {2} : (tensor<{0}>) -> tensor<{1}>
    return %0 : tensor<{1}>
  }})",
                     in, out, how);
}

TEST(Gpu, FourierTransforms) {
  for (const int n : {2, 31, 60, 96}) {
    const std::string type = fmt::format("2x{}xcomplex<f32>", n);
    Check(Transform(type, type, fmt::format("type = FFT, length = [{}]", n)));
    Check(Transform(type, type, fmt::format("type = IFFT, length = [{}]", n)));
    const std::string real = fmt::format("2x{}xf32", n), half = fmt::format("2x{}xcomplex<f32>", n / 2 + 1);
    Check(Transform(real, half, fmt::format("type = RFFT, length = [{}]", n)));
    Check(Transform(half, real, fmt::format("type = IRFFT, length = [{}]", n)));
  }
  // Of prime length, and with a large prime; along a dim that is not the last.
  for (const int n : {37, 82}) {
    const std::string type = fmt::format("3x{}xcomplex<f32>", n);
    Check(Transform(type, type, fmt::format("type = FFT, length = [{}]", n)));
    Check(Transform(type, type, fmt::format("type = IFFT, length = [{}]", n)));
    const std::string real = fmt::format("3x{}xf32", n), half = fmt::format("3x{}xcomplex<f32>", n / 2 + 1);
    Check(Transform(real, half, fmt::format("type = RFFT, length = [{}]", n)));
    Check(Transform(half, real, fmt::format("type = IRFFT, length = [{}]", n)));
  }
  Check(Transform("2x41x6xcomplex<f32>", "2x41x6xcomplex<f32>", "type = FFT, length = [41, 6]"));
  Check(Transform("2x3x5x8xcomplex<f32>", "2x3x5x8xcomplex<f32>", "type = FFT, length = [3, 5, 8]"));
  Check(Transform("3x5x8xf32", "3x5x5xcomplex<f32>", "type = RFFT, length = [5, 8]"));
  Check(Transform("3x5x5xcomplex<f32>", "3x5x8xf32", "type = IRFFT, length = [5, 8]"));
}

// Where a launch may only take so long, loops that are kernels run in several: of one number, of points that end at
// different times, with results stacked trip by trip, of known length.
TEST(Gpu, LongLoopsRunInChunks) {
  const auto check = [](const std::string& program) {
    compiler::CompileOptions options;
    ASSERT_TRUE(CompileFor("gpu:integrated", options).ok());
    options.target.device.most_launch_ns = 1;
    options.verify = true;
    const Result<CompiledProgram> compiled = Compile(program, options);
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    const Status same = CompareWithReference(program, *compiled, 7, {});
    EXPECT_TRUE(same.ok()) << same.ToString() << plan::Print(compiled->plan);
    EXPECT_EQ(plan::Count(compiled->plan).loops, 1);
    int64_t loops = 0;
    for (const kir::Kernel& k : compiled->plan.kernels) {
      for (const kir::Step& s : k.seq) loops += std::holds_alternative<kir::Loop>(s.is) ? 1 : 0;
    }
    EXPECT_EQ(loops, 1);
  };
  check(R"(func.func @main(%x: tensor<f32>) -> (tensor<i32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %a = stablehlo.abs %x : tensor<f32>
    %r:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<f32>
      cond {
        %end = stablehlo.constant dense<300.0> : tensor<f32>
        %p = stablehlo.compare LT, %v, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %next = stablehlo.add %i, %one : tensor<i32>
        %f = stablehlo.constant dense<0.5> : tensor<f32>
        %w = stablehlo.add %v, %f : tensor<f32>
        stablehlo.return %next, %w : tensor<i32>, tensor<f32>
      }
    return %r#0, %r#1 : tensor<i32>, tensor<f32>
  })");
  check(R"(func.func @main(%x: tensor<20xf32>) -> (tensor<20xi32>, tensor<20xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<20xi32>
    %a = stablehlo.abs %x : tensor<20xf32>
    %r:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<20xi32>, tensor<20xf32>
      cond {
        %end = stablehlo.constant dense<100.0> : tensor<20xf32>
        %each = stablehlo.compare LT, %v, %end : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xi1>
        %no = stablehlo.constant dense<false> : tensor<i1>
        %p = stablehlo.reduce(%each init: %no) applies stablehlo.or across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %end = stablehlo.constant dense<100.0> : tensor<20xf32>
        %each = stablehlo.compare LT, %v, %end : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xi1>
        %one = stablehlo.constant dense<1> : tensor<20xi32>
        %next = stablehlo.add %i, %one : tensor<20xi32>
        %f = stablehlo.constant dense<0.5> : tensor<20xf32>
        %w = stablehlo.add %v, %f : tensor<20xf32>
        %j = stablehlo.select %each, %next, %i : tensor<20xi1>, tensor<20xi32>
        %u = stablehlo.select %each, %w, %v : tensor<20xi1>, tensor<20xf32>
        stablehlo.return %j, %u : tensor<20xi32>, tensor<20xf32>
      }
    return %r#0, %r#1 : tensor<20xi32>, tensor<20xf32>
  })");
  check(R"(func.func @main(%x: tensor<f32>, %all: tensor<200xf32>) -> tensor<200xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:3 = stablehlo.while(%i = %zero, %v = %x, %s = %all) : tensor<i32>, tensor<f32>, tensor<200xf32>
      cond {
        %end = stablehlo.constant dense<190> : tensor<i32>
        %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %next = stablehlo.add %i, %one : tensor<i32>
        %f = stablehlo.constant dense<0.9> : tensor<f32>
        %w = stablehlo.multiply %v, %f : tensor<f32>
        %u = stablehlo.reshape %w : (tensor<f32>) -> tensor<1xf32>
        %t = stablehlo.dynamic_update_slice %s, %u, %i : (tensor<200xf32>, tensor<1xf32>, tensor<i32>) -> tensor<200xf32>
        stablehlo.return %next, %w, %t : tensor<i32>, tensor<f32>, tensor<200xf32>
      }
    return %r#2 : tensor<200xf32>
  })");
  // What is laid out anew before the loop is what it begins with, too.
  check(R"(func.func @main(%x: tensor<20xf32>) -> (tensor<20xf32>, tensor<i32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %b = stablehlo.reverse %x, dims = [0] : tensor<20xf32>
    %r:2 = stablehlo.while(%v = %b, %i = %zero) : tensor<20xf32>, tensor<i32>
      cond {
        %end = stablehlo.constant dense<300> : tensor<i32>
        %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %next = stablehlo.add %i, %one : tensor<i32>
        %f = stablehlo.constant dense<0.9> : tensor<20xf32>
        %w = stablehlo.multiply %v, %f : tensor<20xf32>
        %u = stablehlo.add %w, %b : tensor<20xf32>
        %t = stablehlo.sine %u : tensor<20xf32>
        stablehlo.return %t, %next : tensor<20xf32>, tensor<i32>
      }
    return %r#0, %r#1 : tensor<20xf32>, tensor<i32>
  })");
}

TEST(Gpu, CopiesThatTurn) {
  for (const char* of : {"f32", "f16", "i1", "i64", "complex<f32>"}) {
    Check(fmt::format(R"(func.func @main(%a: tensor<6x10x{0}>) -> (tensor<10x6x{0}>, tensor<6x10x{0}>) {{
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x10x{0}>) -> tensor<10x6x{0}>
    %1 = stablehlo.reverse %a, dims = [1] : tensor<6x10x{0}>
    return %0, %1 : tensor<10x6x{0}>, tensor<6x10x{0}>
  }})",
                      of));
  }
}

TEST(Gpu, LongSumsAndScans) {
  Check(R"(func.func @main(%a: tensor<20000xf32>, %b: tensor<4096x64xf32>) -> (tensor<f32>, tensor<64xf32>) {
    %f = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %f) applies stablehlo.add across dimensions = [0] : (tensor<20000xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.reduce(%b init: %f) applies stablehlo.add across dimensions = [0] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<64xf32>
    return %0, %1 : tensor<f32>, tensor<64xf32>
  })");
  Check(R"(func.func @main(%a: tensor<5000xf32>) -> tensor<5000xf32> {
    %f = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%a, %f) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {window_dimensions = array<i64: 5000>, padding = dense<[[4999, 0]]> : tensor<1x2xi64>} : (tensor<5000xf32>, tensor<f32>) -> tensor<5000xf32>
    return %0 : tensor<5000xf32>
  })");
}

}  // namespace
}  // namespace tenon::test
