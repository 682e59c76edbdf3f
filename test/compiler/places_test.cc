// Gathers and scatters whose places are known or counted, against the reference: inside, outside, backwards, in grids.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using List = std::vector<int64_t>;

class Draw {
 public:
  explicit Draw(uint64_t seed) : rng_(seed) {}
  int64_t In(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(rng_); }
  bool One(int64_t of) { return In(1, of) == 1; }

  /// `n` places, some of them around [0, extent): counted, in two levels, or any.
  List Places(int64_t n, int64_t extent) {
    List list;
    const int64_t first = In(-1, extent), outer = In(-4, 4), inner = In(-4, 4), columns = In(1, 4), kind = In(0, 3);
    for (int64_t i = 0; i < n; ++i) {
      list.push_back(kind == 0   ? In(-2, extent + 1)
                     : kind == 1 ? first + i * inner
                     : kind == 2 ? first + i / columns * outer + i % columns * inner
                                 : i / columns + i % columns * ((n + columns - 1) / columns));
    }
    return list;
  }

 private:
  std::mt19937_64 rng_;
};

std::string Type(const List& dims, std::string_view element) {
  std::string type = "tensor<";
  for (int64_t d : dims) type += fmt::format("{}x", d);
  return type + std::string(element) + ">";
}

int64_t Product(const List& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

/// Index vectors of known places: a constant, its shape, and the dim of the vectors.
struct Indices {
  List dims;
  int64_t vector_dim;
  std::string text;
};

Indices MakeIndices(Draw& draw, const List& batch, const List& extents) {
  std::vector<List> places;
  for (int64_t extent : extents) places.push_back(draw.Places(Product(batch), extent));
  Indices made{batch, draw.In(0, static_cast<int64_t>(batch.size())), ""};
  made.dims.insert(made.dims.begin() + made.vector_dim, static_cast<int64_t>(extents.size()));
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(made.vector_dim); d < batch.size(); ++d) inner *= batch[d];
  List flat(static_cast<size_t>(Product(made.dims)));
  for (size_t k = 0; k < extents.size(); ++k) {
    for (int64_t i = 0; i < Product(batch); ++i)
      flat[static_cast<size_t>((i / inner * static_cast<int64_t>(extents.size()) + static_cast<int64_t>(k)) * inner +
                               i % inner)] = places[k][static_cast<size_t>(i)];
  }
  made.text = fmt::format(
      "    %flat = stablehlo.constant dense<[{0}]> : tensor<{1}xi32>\n"
      "    %i = stablehlo.reshape %flat : (tensor<{1}xi32>) -> {2}\n",
      fmt::join(flat, ", "), flat.size(), Type(made.dims, "i32"));
  return made;
}

Status Check(const std::string& program, std::string_view rule, int& hits) {
  Result<compiler::CompiledProgram> compiled = compiler::Compile(program, CpuOptions());
  TENON_RETURN_IF_ERROR(compiled.status());
  for (const auto& [name, count] : compiled->statistics.rules) hits += name == rule ? 1 : 0;
  return CompareWithReference(program, *compiled, 7, {});
}

TEST(Places, GathersOfKnownPlaces) {
  int hits = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Draw draw(seed);
    List operand, slice, mapped, collapsed, extents, kept;
    const int64_t rank = draw.In(1, 4);
    for (int64_t d = 0; d < rank; ++d) {
      operand.push_back(draw.In(1, 9));
      const bool is_mapped = draw.One(2);
      slice.push_back(is_mapped ? (draw.One(4) ? draw.In(1, operand.back()) : 1) : operand.back());
      if (is_mapped) mapped.push_back(d), extents.push_back(operand.back());
      if (slice.back() == 1 && !draw.One(3)) {
        collapsed.push_back(d);
      } else {
        kept.push_back(slice.back());
      }
    }
    List batch;
    for (int64_t d = draw.In(0, 2); d > 0; --d) batch.push_back(draw.In(1, 8));
    const Indices indices = MakeIndices(draw, batch, extents);
    if (extents.empty()) continue;
    // Which dims of the result are the slices', in their order.
    const size_t result_rank = batch.size() + kept.size();
    List offsets;
    const int64_t before = draw.In(0, static_cast<int64_t>(kept.size()));
    for (size_t d = 0; d < kept.size(); ++d)
      offsets.push_back(static_cast<int64_t>(d) +
                        (static_cast<int64_t>(d) < before ? 0 : static_cast<int64_t>(batch.size())));
    List result(result_rank, 0);
    for (size_t d = 0; d < kept.size(); ++d) result[static_cast<size_t>(offsets[d])] = kept[d];
    for (size_t d = 0, next = 0; d < result_rank; ++d) {
      if (std::find(offsets.begin(), offsets.end(), static_cast<int64_t>(d)) == offsets.end())
        result[d] = batch[next++];
    }
    const std::string program = fmt::format(
        "func.func @main(%x: {0}) -> {1} {{\n{2}"
        "    %r = \"stablehlo.gather\"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{3}], "
        "collapsed_slice_dims = [{4}], start_index_map = [{5}], index_vector_dim = {6}>, "
        "slice_sizes = array<i64: {7}>}}> : ({0}, {8}) -> {1}\n"
        "    return %r : {1}\n  }}",
        Type(operand, "f32"), Type(result, "f32"), indices.text, fmt::join(offsets, ", "), fmt::join(collapsed, ", "),
        fmt::join(mapped, ", "), indices.vector_dim, fmt::join(slice, ", "), Type(indices.dims, "i32"));
    const Status same = Check(program, "known_gather", hits);
    ASSERT_TRUE(same.ok()) << "seed " << seed << ": " << same.ToString() << "\n" << program;
  }
  EXPECT_GT(hits, 100);
}

TEST(Places, ScattersOfOneWindow) {
  int hits = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Draw draw(seed);
    List operand, window, inserted, mapped, extents, updates, window_dims;
    const int64_t rank = draw.In(1, 3);
    for (int64_t d = 0; d < rank; ++d) {
      operand.push_back(draw.In(1, 9));
      const bool is_mapped = draw.One(2);
      const int64_t span = is_mapped     ? draw.In(1, operand.back())
                           : draw.One(4) ? draw.In(1, operand.back())
                                         : operand.back();
      if (is_mapped) mapped.push_back(d), extents.push_back(operand.back() - span);
      if (span == 1 && !draw.One(3)) {
        inserted.push_back(d);
      } else {
        window_dims.push_back(static_cast<int64_t>(updates.size()));
        updates.push_back(span);
      }
    }
    if (extents.empty()) continue;
    const Indices indices = MakeIndices(draw, {}, extents);
    const int64_t combine = draw.In(0, 3), kind = draw.In(0, 2);
    const char* const combiners[] = {"", "%m = stablehlo.add %a, %b : tensor<f32>",
                                     "%m = stablehlo.multiply %a, %b : tensor<f32>",
                                     "%m = stablehlo.maximum %b, %a : tensor<f32>"};
    // What is changed comes from outside, is computed, or the same everywhere.
    const std::string x = Type(operand, "f32");
    const std::string before = kind == 0   ? "    %t = stablehlo.add %x, %x : " + x + "\n"
                               : kind == 1 ? "    %t = stablehlo.constant dense<3.0> : " + x + "\n"
                                           : "    %t = stablehlo.reshape %x : (" + x + ") -> " + x + "\n";
    const std::string program = fmt::format(
        "func.func @main(%x: {0}, %u: {1}) -> {0} {{\n{2}{3}"
        "    %r = \"stablehlo.scatter\"(%t, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<"
        "update_window_dims = [{4}], inserted_window_dims = [{5}], scatter_dims_to_operand_dims = [{6}], "
        "index_vector_dim = 0>}}> ({{\n    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n      {7}\n"
        "      stablehlo.return {8} : tensor<f32>\n    }}) : ({0}, {9}, {1}) -> {0}\n    return %r : {0}\n  }}",
        x, Type(updates, "f32"), before, indices.text, fmt::join(window_dims, ", "), fmt::join(inserted, ", "),
        fmt::join(mapped, ", "), combiners[combine], combine == 0 ? "%b" : "%m", Type(indices.dims, "i32"));
    const Status same = Check(program, "known_scatter", hits);
    ASSERT_TRUE(same.ok()) << "seed " << seed << ": " << same.ToString() << "\n" << program;
  }
  EXPECT_GT(hits, 100);
}

// Elements of few values, one behind the other, by places from memory: dims beside the stacked one go along with the
// indices (counted, or as batches) or are taken whole; some places lie outside.
TEST(Places, ChoicesBetweenStackedValues) {
  int hits = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Draw draw(seed);
    const int64_t rank = draw.In(1, 4), along = draw.In(0, rank - 1), count = draw.In(2, 6);
    List operand, batch, collapsed, kept, mapped = {along}, slice;
    List index_batch, counted_along;  // Dims of the indices that go along with a dim of the operand.
    List indices;
    if (draw.One(2)) indices.push_back(draw.In(1, 4));
    for (int64_t d = 0; d < rank; ++d) {
      operand.push_back(d == along ? count : draw.In(1, 5));
      const int64_t kind = d == along ? -1 : draw.In(0, 2);
      slice.push_back(kind == 2 ? operand.back() : 1);
      if (kind == 0) {
        batch.push_back(d);
        index_batch.push_back(static_cast<int64_t>(indices.size()));
      } else if (kind == 1) {
        mapped.push_back(d);
        counted_along.push_back(static_cast<int64_t>(indices.size()));
      }
      if (kind == 0 || kind == 1) indices.push_back(operand.back());
      if (kind == 2 || (d == along && draw.One(3))) {
        kept.push_back(slice.back());
      } else if (kind != 0) {
        collapsed.push_back(d);
      }
    }
    List part = operand, vectors = indices, result = indices, offsets;
    part[static_cast<size_t>(along)] = 1;
    vectors.push_back(1);
    for (int64_t extent : kept) {
      offsets.push_back(static_cast<int64_t>(result.size()));
      result.push_back(extent);
    }
    if (draw.One(2)) {  // What is taken whole comes first.
      result = kept;
      result.insert(result.end(), indices.begin(), indices.end());
      for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<int64_t>(i);
    }
    const std::string p = Type(part, "f32"), v = Type(vectors, "i32");
    std::string body, names, types;
    for (int64_t i = 0; i < count; ++i) {
      body += fmt::format(
          "    %c{0} = stablehlo.constant dense<{0}.5> : {1}\n    %p{0} = stablehlo.multiply %x, %c{0} : {1}\n", i, p);
      names += fmt::format("{}%p{}", i == 0 ? "" : ", ", i);
      types += (i == 0 ? "" : ", ") + p;
    }
    body += fmt::format("    %t = stablehlo.concatenate {}, dim = {} : ({}) -> {}\n", names, along, types,
                        Type(operand, "f32"));
    body += fmt::format(
        "    %seven = stablehlo.constant dense<7> : {0}\n    %one = stablehlo.constant dense<1> : {0}\n"
        "    %some = stablehlo.and %i, %seven : {0}\n    %k = stablehlo.subtract %some, %one : {0}\n",
        v);
    std::string components = "%k", component_types = v;
    for (size_t c = 0; c < counted_along.size(); ++c) {
      body += fmt::format("    %n{} = stablehlo.iota dim = {} : {}\n", c, counted_along[c], v);
      components += fmt::format(", %n{}", c);
      component_types += ", " + v;
    }
    List all = vectors;
    all.back() = static_cast<int64_t>(mapped.size());
    const std::string program = fmt::format(
        "func.func @main(%x: {0}, %i: {1}) -> {2} {{\n{3}    %a = stablehlo.concatenate {4}, dim = {5} : ({6}) -> {7}\n"
        "    %r = \"stablehlo.gather\"(%t, %a) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{8}], "
        "collapsed_slice_dims = [{9}], operand_batching_dims = [{10}], start_indices_batching_dims = [{11}], "
        "start_index_map = [{12}], index_vector_dim = {5}>, slice_sizes = array<i64: {13}>}}> : ({14}, {7}) -> {2}\n"
        "    return %r : {2}\n  }}",
        p, v, Type(result, "f32"), body, components, indices.size(), component_types, Type(all, "i32"),
        fmt::join(offsets, ", "), fmt::join(collapsed, ", "), fmt::join(batch, ", "), fmt::join(index_batch, ", "),
        fmt::join(mapped, ", "), fmt::join(slice, ", "), Type(operand, "f32"));
    const Status same = Check(program, "gather_of_stack", hits);
    ASSERT_TRUE(same.ok()) << "seed " << seed << ": " << same.ToString() << "\n" << program;
  }
  EXPECT_GT(hits, 300);
}

// Paddings and slices of one another, with holes, cropped, and strides that are multiples of the holes, or not.
TEST(Places, SlicesOfPaddings) {
  int slices = 0, paddings = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Draw draw(seed);
    List dims;
    for (int64_t d = draw.In(1, 3); d > 0; --d) dims.push_back(draw.In(1, 9));
    const List first = dims;
    std::string body, value = "%x";
    for (int64_t step = 0; step < 4; ++step) {
      const std::string from = Type(dims, "f32"), name = fmt::format("%s{}", step);
      const List before = dims;
      List low, high, interior;
      std::vector<std::string> ranges;
      const bool pads = draw.One(2);
      for (int64_t& n : dims) {
        if (pads) {
          low.push_back(draw.In(-1, 3));
          high.push_back(draw.In(-1, 3));
          interior.push_back(draw.One(2) ? 0 : draw.In(1, 3));
          n += (n - 1) * interior.back() + low.back() + high.back();
        } else {
          const int64_t start = draw.In(0, n - 1), limit = draw.In(start + 1, n), stride = draw.In(1, 4);
          ranges.push_back(fmt::format("{}:{}:{}", start, limit, stride));
          n = (limit - start - 1) / stride + 1;
        }
      }
      if (std::any_of(dims.begin(), dims.end(), [](int64_t n) { return n < 1; })) {
        dims = before;
        continue;
      }
      body += pads ? fmt::format(
                         "    {} = stablehlo.pad {}, %v, low = [{}], high = [{}], interior = [{}] : ({}, "
                         "tensor<f32>) -> {}\n",
                         name, value, fmt::join(low, ", "), fmt::join(high, ", "), fmt::join(interior, ", "), from,
                         Type(dims, "f32"))
                   : fmt::format("    {} = stablehlo.slice {} [{}] : ({}) -> {}\n", name, value,
                                 fmt::join(ranges, ", "), from, Type(dims, "f32"));
      value = name;
    }
    const std::string program =
        fmt::format("func.func @main(%x: {0}, %v: tensor<f32>) -> {1} {{\n{2}    return {3} : {1}\n  }}",
                    Type(first, "f32"), Type(dims, "f32"), body, value);
    Status same = Check(program, "slice_of_pad", slices);
    ASSERT_TRUE(same.ok()) << "seed " << seed << ": " << same.ToString() << "\n" << program;
    same = Check(program, "pad_of_pad", paddings);
    ASSERT_TRUE(same.ok()) << "seed " << seed << ": " << same.ToString() << "\n" << program;
  }
  EXPECT_GT(slices, 50);
  EXPECT_GT(paddings, 50);
}

// Indices that kernels count: rows of their own number, windows that overlap, from the end where they are negative.
TEST(Places, CountedPlaces) {
  int hits = 0;
  for (const char* at : {"%i", "%j", "%k"}) {
    const std::string program = fmt::format(
        R"(func.func @main(%x: tensor<90x70xf32>, %l: tensor<5000xi32>) -> (tensor<70xf32>, tensor<70x60xf32>) {{
      %i = stablehlo.iota dim = 0 : tensor<70xi32>
      %one = stablehlo.constant dense<1> : tensor<70xi32>
      %zero = stablehlo.constant dense<0> : tensor<70xi32>
      %ninety = stablehlo.constant dense<90> : tensor<70xi32>
      %down = stablehlo.subtract %zero, %i : tensor<70xi32>
      %low = stablehlo.subtract %down, %one : tensor<70xi32>
      %negative = stablehlo.compare LT, %low, %zero : (tensor<70xi32>, tensor<70xi32>) -> tensor<70xi1>
      %end = stablehlo.add %low, %ninety : tensor<70xi32>
      %j = stablehlo.select %negative, %end, %low : tensor<70xi1>, tensor<70xi32>
      %three = stablehlo.constant dense<3> : tensor<70xi32>
      %k = stablehlo.multiply %i, %three : tensor<70xi32>
      %rows = stablehlo.reshape {0} : (tensor<70xi32>) -> tensor<70x1xi32>
      %columns = stablehlo.reshape %i : (tensor<70xi32>) -> tensor<70x1xi32>
      %both = stablehlo.concatenate %rows, %columns, dim = 1 : (tensor<70x1xi32>, tensor<70x1xi32>) -> tensor<70x2xi32>
      %r = "stablehlo.gather"(%x, %both) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
        start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}}> : (tensor<90x70xf32>, tensor<70x2xi32>) -> tensor<70xf32>
      %w = "stablehlo.gather"(%x, %rows) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
        start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 60>}}> : (tensor<90x70xf32>, tensor<70x1xi32>) -> tensor<70x60xf32>
      return %r, %w : tensor<70xf32>, tensor<70x60xf32>
    }})",
        at);
    const Status same = Check(program, "known_gather", hits);
    ASSERT_TRUE(same.ok()) << same.ToString() << "\n" << program;
  }
}

}  // namespace
}  // namespace tenon::test
