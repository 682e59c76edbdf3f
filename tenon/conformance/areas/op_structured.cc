// Ops that move, reduce, multiply, window, sort and loop. Expected values are written out or come from plain loops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tenon/conformance/areas/op_case.h"

namespace tenon::conformance {

namespace {

constexpr DType kSome[] = {DType::kS8,  DType::kS32,  DType::kS64, DType::kU8, DType::kU32,
                           DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

std::string Named(const std::string& op, DType type) { return op + "." + std::string(DTypeName(type)); }

Value Count(DType type, const Dims& dims, double first = 0) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  Value value{type, dims, std::vector<double>(static_cast<size_t>(n))};
  std::iota(value.numbers.begin(), value.numbers.end(), first);
  return value;
}

// An op with a region over scalars, such as a reduction.
OpCase WithRegion(const std::string& name, const std::string& op, std::vector<Value> arguments, Value result,
                  const std::string& attributes, const std::string& combiner, DType type) {
  std::string operands, types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    operands += fmt::format("{}%arg{}", i == 0 ? "" : ", ", i);
    types += (i == 0 ? "" : ", ") + TensorType(arguments[i].type, arguments[i].dims);
  }
  std::string scalar = TensorType(type, {}), out = TensorType(result.type, result.dims);
  std::string body = fmt::format(
      "%r = \"stablehlo.{}\"({}) ({{\n    ^bb0(%x: {}, %y: {}):\n      %z = {}\n      \"stablehlo.return\"(%z) : ({}) "
      "-> ()\n    }}) {} : ({}) -> {}\n    return %r : {}",
      op, operands, scalar, scalar, combiner, combiner.starts_with("\"stablehlo.compare\"") ? "tensor<i1>" : scalar,
      attributes, types, out, out);
  return {name, std::move(arguments), {std::move(result)}, std::move(body), Bound::kExact, 0};
}

std::string Combine(const std::string& op, DType type) {
  std::string scalar = TensorType(type, {});
  return fmt::format("\"stablehlo.{}\"(%x, %y) : ({}, {}) -> {}", op, scalar, scalar, scalar);
}

}  // namespace

void AddShapeOps(Suite& suite) {
  for (DType t : kSome) {
    AddOp(suite, OneOp(Named("broadcast_in_dim", t), "broadcast_in_dim", {Count(t, {3}, 1)},
                       {{t, {2, 3}, {1, 2, 3, 1, 2, 3}}}, "{broadcast_dimensions = array<i64: 1>}"));
    AddOp(suite, OneOp(Named("broadcast_column", t), "broadcast_in_dim", {Count(t, {2, 1}, 1)},
                       {{t, {2, 3}, {1, 1, 1, 2, 2, 2}}}, "{broadcast_dimensions = array<i64: 0, 1>}"));
    AddOp(suite, OneOp(Named("reshape", t), "reshape", {Count(t, {2, 3}, 1)}, {Count(t, {3, 2}, 1)}));
    AddOp(suite, OneOp(Named("transpose", t), "transpose", {Count(t, {2, 3}, 1)}, {{t, {3, 2}, {1, 4, 2, 5, 3, 6}}},
                       "{permutation = array<i64: 1, 0>}"));
    AddOp(suite,
          OneOp(Named("slice", t), "slice", {Count(t, {3, 4})}, {{t, {2, 2}, {1, 3, 9, 11}}},
                "{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 3, 4>, strides = array<i64: 2, 2>}"));
    AddOp(suite, OneOp(Named("concatenate", t), "concatenate", {Count(t, {2, 2}, 1), Count(t, {2, 1}, 8)},
                       {{t, {2, 3}, {1, 2, 8, 3, 4, 9}}}, "{dimension = 1 : i64}"));
    AddOp(
        suite,
        OneOp(
            Named("pad", t), "pad", {Count(t, {3}, 1), {t, {}, {9}}}, {{t, {7}, {9, 1, 9, 2, 9, 3, 9}}},
            "{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 1>}"));
    AddOp(suite, OneOp(Named("pad_negative", t), "pad", {Count(t, {4}, 1), {t, {}, {9}}}, {{t, {3}, {2, 3, 4}}},
                       "{edge_padding_low = array<i64: -1>, edge_padding_high = array<i64: 0>, interior_padding = "
                       "array<i64: 0>}"));
    AddOp(suite, OneOp(Named("reverse", t), "reverse", {Count(t, {2, 3}, 1)}, {{t, {2, 3}, {3, 2, 1, 6, 5, 4}}},
                       "{dimensions = array<i64: 1>}"));
    AddOp(suite, OneOp(Named("iota", t), "iota", {}, {{t, {2, 3}, {0, 1, 2, 0, 1, 2}}}, "{iota_dimension = 1 : i64}"));
    AddOp(suite, OneOp(Named("dynamic_slice", t), "dynamic_slice", {Count(t, {5}), {DType::kS32, {}, {4}}},
                       {{t, {2}, {3, 4}}}, "{slice_sizes = array<i64: 2>}"));
    AddOp(suite, OneOp(Named("dynamic_update_slice", t), "dynamic_update_slice",
                       {Count(t, {5}), Count(t, {2}, 50), {DType::kS32, {}, {1}}}, {{t, {5}, {0, 50, 51, 3, 4}}}));
    AddOp(suite, OneOp(Named("gather", t), "gather", {Count(t, {4, 2}), {DType::kS32, {3, 1}, {2, 0, 3}}},
                       {{t, {3, 2}, {4, 5, 0, 1, 6, 7}}},
                       "{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
                       "start_index_map = [0], index_vector_dim = 1>, "
                       "slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}"));
    AddOp(suite, {Named("constant", t),
                  {},
                  {{t, {2, 2}, {1, 2, 3, 4}}},
                  fmt::format("%r = stablehlo.constant dense<{}> : {}\n    return %r : {}",
                              IsFloat(t) ? "[[1.0, 2.0], [3.0, 4.0]]" : "[[1, 2], [3, 4]]", TensorType(t, {2, 2}),
                              TensorType(t, {2, 2})),
                  Bound::kExact,
                  0});
  }
}

void AddStructuredOps(Suite& suite) {
  for (DType t : kSome) {
    AddOp(suite, WithRegion(Named("reduce_add", t), "reduce", {Count(t, {2, 4}, 1), {t, {}, {0}}}, {t, {2}, {10, 26}},
                            "{dimensions = array<i64: 1>}", Combine("add", t), t));
    AddOp(suite, WithRegion(Named("reduce_add_rows", t), "reduce", {Count(t, {2, 4}, 1), {t, {}, {0}}},
                            {t, {4}, {6, 8, 10, 12}}, "{dimensions = array<i64: 0>}", Combine("add", t), t));
    AddOp(suite, WithRegion(Named("reduce_max", t), "reduce", {{t, {2, 3}, {1, 9, 2, 7, 3, 5}}, {t, {}, {0}}},
                            {t, {2}, {9, 7}}, "{dimensions = array<i64: 1>}", Combine("maximum", t), t));
    AddOp(suite, WithRegion(Named("reduce_min", t), "reduce", {{t, {2, 3}, {4, 9, 2, 7, 3, 5}}, {t, {}, {100}}},
                            {t, {}, {2}}, "{dimensions = array<i64: 0, 1>}", Combine("minimum", t), t));
    AddOp(suite, WithRegion(Named("reduce_multiply", t), "reduce", {Count(t, {4}, 1), {t, {}, {1}}}, {t, {}, {24}},
                            "{dimensions = array<i64: 0>}", Combine("multiply", t), t));
    AddOp(suite, WithRegion(Named("reduce_window_add", t), "reduce_window", {Count(t, {5}, 1), {t, {}, {0}}},
                            {t, {2}, {6, 12}}, "{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}",
                            Combine("add", t), t));
    AddOp(suite, WithRegion(Named("reduce_window_max", t), "reduce_window", {{t, {4}, {3, 1, 5, 2}}, {t, {}, {0}}},
                            {t, {4}, {3, 5, 5, 5}},
                            "{window_dimensions = array<i64: 3>, padding = dense<1> : tensor<1x2xi64>}",
                            Combine("maximum", t), t));
    AddOp(suite,
          WithRegion(Named("scatter_add", t), "scatter",
                     {Count(t, {4}), {DType::kS32, {3, 1}, {1, 3, 1}}, Count(t, {3}, 10)}, {t, {4}, {0, 23, 2, 14}},
                     "{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
                     "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
                     "indices_are_sorted = false, unique_indices = false}",
                     Combine("add", t), t));
    AddOp(suite, WithRegion(Named("sort", t), "sort", {{t, {6}, {5, 1, 4, 2, 3, 0}}}, Count(t, {6}),
                            "{dimension = 0 : i64, is_stable = true}",
                            fmt::format("\"stablehlo.compare\"(%x, %y) {{comparison_direction = "
                                        "#stablehlo<comparison_direction LT>}} : ({}, {}) -> tensor<i1>",
                                        TensorType(t, {}), TensorType(t, {})),
                            t));
    // [[0,1,2],[3,4,5]] times [[0,1],[2,3],[4,5]].
    AddOp(suite, OneOp(Named("dot_general", t), "dot_general", {Count(t, {2, 3}), Count(t, {3, 2})},
                       {{t, {2, 2}, {10, 13, 28, 40}}},
                       "{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
                       "rhs_contracting_dimensions = [0]>}"));
    AddOp(suite, OneOp(Named("dot_general_batch", t), "dot_general", {Count(t, {2, 1, 2}), Count(t, {2, 2, 1})},
                       {{t, {2, 1, 1}, {1, 13}}},
                       "{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions "
                       "= [0], lhs_contracting_dimensions = [2], "
                       "rhs_contracting_dimensions = [1]>}"));
    std::string scalar = TensorType(t, {});
    AddOp(suite, {Named("while", t),
                  {{t, {}, {1}}},
                  {{t, {}, {32}}},
                  fmt::format(R"(%zero = stablehlo.constant dense<0> : tensor<i32>
    %w:2 = "stablehlo.while"(%zero, %arg0) ({{
    ^bb0(%i: tensor<i32>, %x: {0}):
      %n = stablehlo.constant dense<5> : tensor<i32>
      %c = "stablehlo.compare"(%i, %n) {{comparison_direction = #stablehlo<comparison_direction LT>}} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }}, {{
    ^bb0(%i: tensor<i32>, %x: {0}):
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %y = "stablehlo.add"(%x, %x) : ({0}, {0}) -> {0}
      "stablehlo.return"(%next, %y) : (tensor<i32>, {0}) -> ()
    }}) : (tensor<i32>, {0}) -> (tensor<i32>, {0})
    return %w#1 : {0})",
                              scalar),
                  Bound::kExact,
                  0});
    for (int branch : {0, 1, 7}) {
      AddOp(suite, {Named("case_" + std::to_string(branch), t),
                    {{DType::kS32, {}, {static_cast<double>(branch)}}, {t, {}, {3}}},
                    {{t, {}, {branch == 0 ? 6.0 : 9.0}}},
                    fmt::format(R"(%r = "stablehlo.case"(%arg0) ({{
      %x = "stablehlo.add"(%arg1, %arg1) : ({0}, {0}) -> {0}
      "stablehlo.return"(%x) : ({0}) -> ()
    }}, {{
      %x = "stablehlo.multiply"(%arg1, %arg1) : ({0}, {0}) -> {0}
      "stablehlo.return"(%x) : ({0}) -> ()
    }}) : (tensor<i32>) -> {0}
    return %r : {0})",
                                scalar),
                    Bound::kExact,
                    0});
    }
  }
  for (DType t : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    // One channel, 4 points, kernel {1, 10, 100}, one point of padding on both sides.
    AddOp(suite, OneOp(Named("convolution", t), "convolution",
                       {{t, {1, 4, 1}, {1, 2, 3, 4}}, {t, {3, 1, 1}, {0.5, 1, 2}}}, {{t, {1, 4, 1}, {5, 8.5, 12, 5.5}}},
                       "{window_strides = array<i64: 1>, padding = dense<1> : tensor<1x2xi64>, lhs_dilation = "
                       "array<i64: 1>, rhs_dilation = array<i64: 1>, "
                       "window_reversal = array<i1: false>, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, "
                       "o]->[b, 0, f]>, feature_group_count = 1 : i64, "
                       "batch_group_count = 1 : i64}"));
  }
  for (DType t : {DType::kF32, DType::kF64}) {
    DType complex = t == DType::kF32 ? DType::kC64 : DType::kC128;
    // L of {{4,2},{2,10}} is {{2,0},{1,3}}; what lies above the diagonal is unspecified, so only L times its first
    // column is looked at.
    OpCase cholesky = OneOp(Named("cholesky", t), "cholesky", {{t, {2, 2}, {4, 2, 2, 10}}}, {{t, {2, 2}, {2, 0, 1, 3}}},
                            "{lower = true}", Bound::kFunction);
    std::string m = TensorType(t, {2, 2});
    cholesky.body = fmt::format(R"(%l = "stablehlo.cholesky"(%arg0) {{lower = true}} : ({0}) -> {0}
    %mask = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
    %zero = stablehlo.constant dense<0.0> : {0}
    %r = "stablehlo.select"(%mask, %l, %zero) : (tensor<2x2xi1>, {0}, {0}) -> {0}
    return %r : {0})",
                                m);
    AddOp(suite, cholesky);
    AddOp(
        suite,
        OneOp(
            Named("triangular_solve", t), "triangular_solve", {{t, {2, 2}, {2, 0, 1, 4}}, {t, {2, 1}, {2, 9}}},
            {{t, {2, 1}, {1, 2}}},
            "{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}",
            Bound::kFunction));
    OpCase fft = OneOp(Named("fft", complex), "fft", {{complex, {4}, {1, 0, 2, 0, 3, 0, 4, 0}}},
                       {{complex, {4}, {10, 0, -2, 2, -2, 0, -2, -2}}},
                       "{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>}", Bound::kFunction);
    fft.slack = 16 * 10 * Epsilon(complex);
    AddOp(suite, fft);
    OpCase rfft = OneOp(Named("rfft", t), "fft", {{t, {4}, {1, 2, 3, 4}}}, {{complex, {3}, {10, 0, -2, 2, -2, 0}}},
                        "{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 4>}", Bound::kFunction);
    rfft.slack = 16 * 10 * Epsilon(complex);
    AddOp(suite, rfft);
    // (x - mean) / sqrt(variance + epsilon) * scale + offset, with numbers that come out even.
    AddOp(suite,
          OneOp(Named("batch_norm_inference", t), "batch_norm_inference",
                {{t, {2, 2}, {3, 1, 5, 7}}, {t, {2}, {2, 1}}, {t, {2}, {1, 0}}, {t, {2}, {1, 1}}, {t, {2}, {3, 8}}},
                {{t, {2, 2}, {3, 0, 5, 2}}}, "{epsilon = 1.0 : f32, feature_index = 1 : i64}", Bound::kFunction));
    AddOp(suite, {Named("select_and_scatter", t),
                  {{t, {4}, {1, 5, 2, 3}}, {t, {2}, {10, 20}}, {t, {}, {0}}},
                  {{t, {4}, {0, 10, 0, 20}}},
                  fmt::format(R"(%r = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({{
    ^bb0(%x: {0}, %y: {0}):
      %z = "stablehlo.compare"(%x, %y) {{comparison_direction = #stablehlo<comparison_direction GE>}} : ({0}, {0}) -> tensor<i1>
      "stablehlo.return"(%z) : (tensor<i1>) -> ()
    }}, {{
    ^bb0(%x: {0}, %y: {0}):
      %z = "stablehlo.add"(%x, %y) : ({0}, {0}) -> {0}
      "stablehlo.return"(%z) : ({0}) -> ()
    }}) {{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}} : ({1}, {2}, {0}) -> {1}
    return %r : {1})",
                              TensorType(t, {}), TensorType(t, {4}), TensorType(t, {2})),
                  Bound::kExact,
                  0});
  }
  AddOp(suite, WithRegion("reduce_and.pred", "reduce", {{DType::kPred, {2, 2}, {1, 1, 1, 0}}, {DType::kPred, {}, {1}}},
                          {DType::kPred, {2}, {1, 0}}, "{dimensions = array<i64: 1>}", Combine("and", DType::kPred),
                          DType::kPred));
  AddOp(suite, WithRegion("reduce_or.pred", "reduce", {{DType::kPred, {2, 2}, {0, 0, 1, 0}}, {DType::kPred, {}, {0}}},
                          {DType::kPred, {2}, {0, 1}}, "{dimensions = array<i64: 1>}", Combine("or", DType::kPred),
                          DType::kPred));
  AddOp(suite, OneOp("optimization_barrier.f32", "optimization_barrier", {Count(DType::kF32, {3}, 1)},
                     {Count(DType::kF32, {3}, 1)}));
  AddOp(suite, {"call.f32",
                {Count(DType::kF32, {4}, 1)},
                {{DType::kF32, {4}, {4, 8, 12, 16}}},
                R"(%0 = func.call @twice(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = func.call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>)",
                Bound::kExact,
                0});
  AddOp(suite, {"reduce_two.f32",
                {Count(DType::kF32, {4}, 1), Count(DType::kF32, {4}, 5), {DType::kF32, {}, {0}}},
                {{DType::kF32, {}, {10}}, {DType::kF32, {}, {26}}},
                R"(%r:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg2) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %x = "stablehlo.add"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %y = "stablehlo.add"(%b, %d) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%x, %y) : (tensor<f32>, tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return %r#0, %r#1 : tensor<f32>, tensor<f32>)",
                Bound::kExact,
                0});
  // Threefry and Philox are the specification's; the default algorithm only has to be deterministic.
  AddOp(
      suite,
      {"rng_bit_generator.u32",
       {{DType::kU64, {2}, {1, 2}}},
       {{DType::kPred, {}, {1}}},
       R"(%s0, %v0 = "stablehlo.rng_bit_generator"(%arg0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %s1, %v1 = "stablehlo.rng_bit_generator"(%arg0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %e = "stablehlo.compare"(%v0, %v1) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi1>
    %t = stablehlo.constant dense<true> : tensor<i1>
    %r = "stablehlo.reduce"(%e, %t) ({
    ^bb0(%x: tensor<i1>, %y: tensor<i1>):
      %z = "stablehlo.and"(%x, %y) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%z) : (tensor<i1>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
    return %r : tensor<i1>)",
       Bound::kExact,
       0});
}

}  // namespace tenon::conformance
