#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

/// A scalar start: in range, somewhat out of it, or at the ends of its type.
Value Start(Builder& b, const Type& type, int64_t room) {
  if (b.random.Chance(2)) return b.Match(type, {});
  if (b.random.Chance(6)) {
    // The ends of the type.
    std::string literal = "0";
    if (type.is_signed()) {
      const int64_t most = type.bits == 64 ? INT64_MAX : (int64_t{1} << (type.bits - 1)) - 1;
      literal = fmt::format("{}", b.random.Chance(2) ? most : -most - 1);
    } else {
      literal = fmt::format("{}", type.bits == 64 ? UINT64_MAX : (uint64_t{1} << type.bits) - 1);
    }
    return b.Literal(type, {}, literal, std::ldexp(1.0, type.bits));
  }
  int64_t v = b.random.Between(type.is_signed() ? -3 : 0, room + 3);
  v = std::min<int64_t>(v, type.bits < 8 ? 7 : type.bits == 8 ? 120 : 30000);
  return b.Splat(type, {}, v);
}

std::vector<Value> Starts(Builder& b, const Type& type, const Dims& dims, const Dims& sizes) {
  std::vector<Value> starts;
  for (size_t d = 0; d < dims.size(); ++d) starts.push_back(Start(b, type, dims[d] - sizes[d]));
  return starts;
}

std::string WithComma(const std::string& list) { return list.empty() ? "" : ", " + list; }

/// Dimension numbers that gathers and scatters share: which dims of the operand are looked up, dropped or batched.
struct Lookup {
  Dims map, sizes, collapsed, operand_batch, index_batch;
  Dims window;      // Extents of the dims that stay.
  Dims index_dims;  // Of the index array.
  Dims batch;       // Its dims without the vector one.
  int64_t vector = 0;
};

Lookup MakeLookup(Builder& b, const Dims& dims) {
  Lookup k;
  std::vector<std::pair<int64_t, int64_t>> batched;  // Operand dim, extent.
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto d = static_cast<int64_t>(i);
    if (b.random.Chance(5) && dims[i] > 0) {
      batched.emplace_back(d, dims[i]);
      k.operand_batch.push_back(d);
      k.sizes.push_back(1);
      continue;
    }
    const bool looked_up = b.random.Chance(2);
    if (looked_up) k.map.push_back(d);
    const bool drop = b.random.Chance(2) && dims[i] > 0;
    k.sizes.push_back(drop ? 1 : b.random.Chance(3) ? dims[i] : std::min<int64_t>(dims[i], 1 + b.random.Pick(4)));
    if (drop) {
      k.collapsed.push_back(d);
    } else {
      k.window.push_back(k.sizes.back());
    }
  }
  b.random.Shuffle(k.map);
  // The dims of the indices: batched ones, free ones, in any order; then the vector dim somewhere.
  std::vector<std::pair<int64_t, int64_t>> free;
  for (const auto& one : batched) free.push_back(one);
  for (int64_t n = b.random.Pick(3); n > 0; --n)
    free.emplace_back(-1, b.random.Chance(12) ? b.Extent() : 1 + b.random.Pick(5));
  b.random.Shuffle(free);
  for (const auto& [operand, extent] : free) k.batch.push_back(extent);
  k.index_dims = k.batch;
  const bool implicit = k.map.size() == 1 && b.random.Chance(3);
  k.vector = implicit ? static_cast<int64_t>(k.batch.size()) : b.random.Pick(static_cast<int64_t>(k.batch.size()) + 1);
  if (!implicit) k.index_dims.insert(k.index_dims.begin() + k.vector, static_cast<int64_t>(k.map.size()));
  k.index_batch.assign(k.operand_batch.size(), 0);
  for (size_t i = 0; i < free.size(); ++i) {
    if (free[i].first < 0) continue;
    const auto at = std::find(k.operand_batch.begin(), k.operand_batch.end(), free[i].first) - k.operand_batch.begin();
    const auto place = static_cast<int64_t>(i);
    k.index_batch[static_cast<size_t>(at)] = !implicit && place >= k.vector ? place + 1 : place;
  }
  return k;
}

/// Batch dims and window dims in random places of one array; the window's places in `window_dims`.
Dims Interleave(Builder& b, const Dims& batch, const Dims& window, Dims* window_dims) {
  std::vector<bool> is_window(batch.size() + window.size(), false);
  std::fill(is_window.begin(), is_window.begin() + static_cast<int64_t>(window.size()), true);
  for (size_t i = is_window.size(); i > 1; --i) {
    const auto j = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(i)));
    const bool t = is_window[i - 1];
    is_window[i - 1] = is_window[j];
    is_window[j] = t;
  }
  Dims out;
  size_t w = 0, n = 0;
  for (size_t i = 0; i < is_window.size(); ++i) {
    out.push_back(is_window[i] ? window[w++] : batch[n++]);
    if (is_window[i]) window_dims->push_back(static_cast<int64_t>(i));
  }
  return out;
}

/// Indices: an existing value, or literal ones around the edges, some of them equal.
Value Indices(Builder& b, const Type& type, const Dims& dims) {
  if (Count(dims) > 0 && Count(dims) <= 16 && b.random.Chance(2)) {
    const std::function<std::string(size_t)> nest = [&](size_t d) -> std::string {
      if (d == dims.size())
        return fmt::format("{}",
                           b.random.Between(type.is_signed() ? -1 : 0, b.random.Chance(4) && type.bits > 4 ? 70 : 4));
      std::string text = "[";
      for (int64_t i = 0; i < dims[d]; ++i) text += (i ? ", " : "") + nest(d + 1);
      return text + "]";
    };
    return b.Literal(type, dims, nest(0), 70);
  }
  return b.Match(type, dims);
}

}  // namespace

void AddDynamicSlice(Builder& b) {
  const Value v = b.Any();
  Dims out;
  for (const int64_t d : v.dims) out.push_back(b.random.Chance(3) ? d : b.random.Pick(d + 1));
  const Type type = b.AnyIndexType();
  const std::vector<Value> starts = Starts(b, type, v.dims, out);
  b.Emit(fmt::format("stablehlo.dynamic_slice {}{}, sizes = {} : ({}{}) -> {}", v.name, WithComma(Names(starts)),
                     List(out), Text(v), WithComma(Types(starts)), Text(v.type, out)),
         v.type, out, v.is);
}

namespace {

/// Now and then what an update left, or what was there before, as a mask says that varies along some of the dims: at
/// times of `along` only.
void AddMasked(Builder& b, const Value& before, const Value& after, const Dims& along) {
  if (!b.random.Chance(3)) return;
  Dims map, dims;
  const bool few = b.random.Chance(2);
  for (size_t d = 0; d < before.dims.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (few ? std::find(along.begin(), along.end(), dim) == along.end() : b.random.Chance(2)) continue;
    map.push_back(dim);
    dims.push_back(before.dims[d]);
  }
  const Type pred = TypeOf(DType::kPred);
  Value mask = b.Match(pred, dims);
  if (!dims.empty() || b.random.Chance(2)) mask = b.Broadcast(mask, before.dims, map);
  const bool swapped = b.random.Chance(4);
  b.Emit(fmt::format("stablehlo.select {}, {}, {} : {}, {}", mask.name, (swapped ? before : after).name,
                     (swapped ? after : before).name, Text(mask), Text(after)),
         after.type, after.dims, Join(before.is, after.is));
}

}  // namespace

void AddDynamicUpdate(Builder& b) {
  Value v = b.Any();
  const Value before = v;
  Dims dims;
  for (const int64_t d : v.dims) dims.push_back(b.random.Chance(3) ? d : b.random.Pick(d + 1));
  Value update = b.random.Chance(4) ? b.MatchAny(v.type, dims) : b.Match(v.type, dims);
  const Type type = b.AnyIndexType();
  if (b.random.Chance(4)) {
    // A piece of itself, read before.
    const std::vector<Value> from = Starts(b, type, v.dims, dims);
    update = b.EmitHidden(
        fmt::format("stablehlo.dynamic_slice {}{}, sizes = {} : ({}{}) -> {}", v.name, WithComma(Names(from)),
                    List(dims), Text(v), WithComma(Types(from)), Text(v.type, dims)),
        v.type, dims, v.is);
  }
  for (int64_t n = b.random.Chance(4) ? b.random.Between(2, 3) : 1; n > 0; --n) {
    const std::vector<Value> starts = Starts(b, type, v.dims, dims);
    v = b.Emit(fmt::format("stablehlo.dynamic_update_slice {}, {}{} : ({}, {}{}) -> {}", v.name, update.name,
                           WithComma(Names(starts)), Text(v), Text(update), WithComma(Types(starts)), Text(v)),
               v.type, v.dims, Join(v.is, update.is));
  }
  AddMasked(b, before, v, {});
}

/// Pieces of pieces, and pieces put back into them: starts of which one depends on what another one found.
void AddPieceChain(Builder& b) {
  Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty() && Count(x.dims) > 0; });
  if (v.empty() || v.dims.empty() || Count(v.dims) == 0) return;
  std::vector<Value> outer;
  for (int64_t n = b.random.Between(2, 5); n > 0; --n) {
    const Type type = b.AnyIndexType();
    if (!outer.empty() && b.random.Chance(2)) {
      // Into one that has room for it.
      const Value whole = outer.back();
      outer.pop_back();
      const std::vector<Value> starts = Starts(b, type, whole.dims, v.dims);
      v = b.EmitHidden(fmt::format("stablehlo.dynamic_update_slice {}, {}, {} : ({}, {}, {}) -> {}", whole.name, v.name,
                                   Names(starts), Text(whole), Text(v), Types(starts), Text(whole)),
                       whole.type, whole.dims, Join(whole.is, v.is));
    } else {
      Dims out;
      for (const int64_t d : v.dims) out.push_back(b.random.Chance(3) ? d : 1 + b.random.Pick(d));
      std::vector<Value> starts = Starts(b, type, v.dims, out);
      if (v.type.is_int() && b.random.Chance(2)) {
        // A start that stands in the array itself.
        std::string first;
        for (size_t d = 0; d < v.rank(); ++d) first += fmt::format("{}0:1", d ? ", " : "");
        const Value cut = b.EmitHidden(fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", v.name, first, Text(v),
                                                   Text(v.type, Dims(v.rank(), 1))),
                                       v.type, Dims(v.rank(), 1), v.is);
        const Value one = b.EmitHidden(
            fmt::format("stablehlo.reshape {} : ({}) -> {}", cut.name, Text(cut), Text(v.type, {})), v.type, {}, v.is);
        const Value as = b.EmitHidden(
            fmt::format("stablehlo.convert {} : ({}) -> {}", one.name, Text(one), Text(type, {})), type, {}, {});
        starts[static_cast<size_t>(b.random.Pick(static_cast<int64_t>(starts.size())))] = as;
      }
      outer.push_back(v);
      v = b.EmitHidden(fmt::format("stablehlo.dynamic_slice {}, {}, sizes = {} : ({}, {}) -> {}", v.name, Names(starts),
                                   List(out), Text(v), Types(starts), Text(v.type, out)),
                       v.type, out, v.is);
    }
    if (b.random.Chance(3)) b.Offer(v);
  }
  b.Offer(v);
}

void AddGather(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty() && Count(x.dims) > 0; });
  if (v.empty() || v.dims.empty() || Count(v.dims) == 0) return;
  const Lookup k = MakeLookup(b, v.dims);
  const Type type = b.AnyIndexType();
  Dims offset_dims;
  const Dims out = Interleave(b, k.batch, k.window, &offset_dims);
  if (!b.Fits(out)) return;
  const Value index = Indices(b, type, k.index_dims);
  if (b.random.Chance(12)) {
    // Its sizes as an operand.
    const Type places = TypeOf(DType::kS64);
    const Dims list{static_cast<int64_t>(k.sizes.size())};
    const Value sizes = b.EmitHidden(
        fmt::format("stablehlo.constant dense<{}> : {}", List(k.sizes), Text(places, list)), places, list, {});
    b.Emit(
        fmt::format("\"stablehlo.dynamic_gather\"({}, {}, {}) {{dimension_numbers = #stablehlo.gather<offset_dims = "
                    "{}, collapsed_slice_dims = {}, operand_batching_dims = {}, start_indices_batching_dims = {}, "
                    "start_index_map = {}, index_vector_dim = {}>}} : ({}, {}, {}) -> {}",
                    v.name, index.name, sizes.name, List(offset_dims), List(k.collapsed), List(k.operand_batch),
                    List(k.index_batch), List(k.map), k.vector, Text(v), Text(index), Text(sizes), Text(v.type, out)),
        v.type, out, v.is);
    return;
  }
  b.Emit(fmt::format("\"stablehlo.gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<offset_dims = {}, "
                     "collapsed_slice_dims = {}, operand_batching_dims = {}, start_indices_batching_dims = {}, "
                     "start_index_map = {}, index_vector_dim = {}>, slice_sizes = {}{}}} : ({}, {}) -> {}",
                     v.name, index.name, List(offset_dims), List(k.collapsed), List(k.operand_batch),
                     List(k.index_batch), List(k.map), k.vector, Array(k.sizes),
                     b.random.Chance(4) ? ", indices_are_sorted = false" : "", Text(v), Text(index), Text(v.type, out)),
         v.type, out, v.is);
}

void AddScatter(Builder& b) {
  const Value v = b.AnyWhere(
      [](const Value& x) { return !x.dims.empty() && Count(x.dims) > 0 && Builder::Usable(x) && x.is.exact(); });
  if (v.empty() || v.dims.empty() || Count(v.dims) == 0) return;
  const Lookup k = MakeLookup(b, v.dims);
  const Type type = b.AnyIndexType();
  Dims window_dims;
  const Dims dims = Interleave(b, k.batch, k.window, &window_dims);
  if (!b.Fits(dims)) return;
  const Value index = Indices(b, type, k.index_dims);
  const Value update = b.Match(v.type, dims);
  if (!update.is.exact()) return;
  const std::string s = Text(v.type, {});
  std::vector<std::string_view> ops = {"add", "add", "maximum", "minimum", "replace", "keep"};
  if (v.type.is_bool()) ops = {"and", "or", "xor", "replace"};
  if (v.type.is_complex()) ops = {"add", "replace"};
  if (v.type.is_int()) ops = {"add", "multiply", "maximum", "and", "xor", "replace", "subtract", "mix"};
  const std::string_view op = b.random.OneOf(ops);
  const auto times = static_cast<double>(std::max<int64_t>(Count(dims), 1));
  Numbers is = Join(v.is, update.is);
  std::string body;
  if (op == "replace" || op == "keep") {
    body = fmt::format("    stablehlo.return {} : {}\n", op == "replace" ? "%q" : "%p", s);
  } else if (op == "mix") {
    body = fmt::format(
        "    %s = stablehlo.multiply %p, %p : {0}\n    %t = stablehlo.add %s, %q : {0}\n    stablehlo.return %t : "
        "{0}\n",
        s);
    is.bound = std::ldexp(1.0, v.type.bits);
  } else {
    body = fmt::format("    %s = stablehlo.{0} %p, %q : {1}\n    stablehlo.return %s : {1}\n", op, s);
    if (v.type.is_int()) is.bound = std::ldexp(1.0, v.type.bits);
    if (op == "add" && !v.type.is_int()) {
      is = b.Rounded(v.type, v.is.bound + times * update.is.bound, 0, is);
      is.zero_sign = false;
    }
  }
  const Numbers after = is;
  const Value updated = b.Emit(
      fmt::format("\"stablehlo.scatter\"({}, {}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n{}  }}) "
                  "{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {}, inserted_window_dims = "
                  "{}, input_batching_dims = {}, scatter_indices_batching_dims = {}, "
                  "scatter_dims_to_operand_dims = {}, index_vector_dim = {}>}} : ({}, {}, {}) -> {}",
                  v.name, index.name, update.name, s, s, body, List(window_dims), List(k.collapsed),
                  List(k.operand_batch), List(k.index_batch), List(k.map), k.vector, Text(v), Text(index), Text(update),
                  Text(v)),
      v.type, v.dims, after);
  AddMasked(b, v, updated, k.operand_batch);
}

/// Two arrays updated at the same places, by a combiner that sees both.
void AddScatterOfTwo(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.type.is_int() && !x.dims.empty() && Count(x.dims) > 0; });
  if (v.empty() || !v.type.is_int() || v.dims.empty() || Count(v.dims) == 0) return;
  const Value w = b.Match(v.type, v.dims);
  const Lookup k = MakeLookup(b, v.dims);
  Dims window_dims;
  const Dims dims = Interleave(b, k.batch, k.window, &window_dims);
  if (!b.Fits(dims)) return;
  const Value index = Indices(b, b.AnyIndexType(), k.index_dims);
  const Value x = b.Match(v.type, dims), y = b.Match(v.type, dims);
  const std::string s = Text(v.type, {}), name = b.NewName();
  b.Write(fmt::format(
      "  {0}:2 = \"stablehlo.scatter\"({1}, {2}, {3}, {4}, {5}) ({{\n  ^bb0(%p: {6}, %q: {6}, %u: {6}, %w: {6}):\n"
      "    %s = stablehlo.{7} %p, %u : {6}\n    %t = stablehlo.{8} %q, {9} : {6}\n    stablehlo.return %s, %t : {6}, "
      "{6}\n  }}) "
      "{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {10}, inserted_window_dims = {11}, "
      "input_batching_dims = {12}, "
      "scatter_indices_batching_dims = {13}, scatter_dims_to_operand_dims = {14}, index_vector_dim = {15}>}} : "
      "({16}, {16}, {17}, {18}, {18}) -> ({16}, {16})\n",
      name, v.name, w.name, index.name, x.name, y.name, s, b.random.OneOf({"add", "maximum", "xor"}),
      b.random.OneOf({"add", "minimum", "or"}), b.random.OneOf({"%w", "%w", "%u", "%s"}), List(window_dims),
      List(k.collapsed), List(k.operand_batch), List(k.index_batch), List(k.map), k.vector, Text(v), Text(index),
      Text(x)));
  for (const char* result : {"#0", "#1"}) {
    if (!b.random.Chance(4)) b.Offer({name + result, v.type, v.dims, {.bound = std::ldexp(1.0, v.type.bits)}});
  }
}

}  // namespace tenon::fuzz
