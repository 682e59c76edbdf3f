// Calls with random operands and attributes, good and bad: what the builder accepts the dialect's verifier must accept.
// TENON_TEST_OPT: the program tenon-opt. TENON_TEST_TRIES: calls per operation, 60 otherwise.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "tenon/builder/ops.h"

namespace tenon::builder {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // In [low, high].
  int64_t Int(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  Dims Ints(size_t n, int64_t low, int64_t high) {
    Dims list(n);
    for (int64_t& v : list) v = Int(low, high);
    return list;
  }
  Dims Extents(int64_t least_rank = 0) { return Ints(static_cast<size_t>(Int(least_rank, 4)), Chance(10) ? 0 : 1, 4); }
  DType Element() {
    static constexpr DType kTypes[] = {DType::kF32, DType::kS32, DType::kPred, DType::kBF16, DType::kC64, DType::kU8};
    return Chance(60) ? DType::kF32 : kTypes[Int(0, 5)];
  }
  // Mostly right: `n` numbers below `limit`, or another count.
  Dims Near(size_t n, int64_t limit) {
    if (Chance(5)) n = static_cast<size_t>(Int(0, 4));
    return Ints(n, Chance(3) ? -1 : 0, std::max<int64_t>(limit - (Chance(95) ? 1 : 0), 0));
  }
  // Distinct dims in random order.
  Dims Some(int64_t rank, size_t most) {
    Dims all(static_cast<size_t>(rank));
    for (int64_t i = 0; i < rank; ++i) all[static_cast<size_t>(i)] = i;
    std::shuffle(all.begin(), all.end(), engine_);
    all.resize(std::min(all.size(), static_cast<size_t>(Int(0, static_cast<int64_t>(most)))));
    return all;
  }
  Dims Sorted(Dims dims) {
    if (Chance(95)) std::sort(dims.begin(), dims.end());
    return dims;
  }

 private:
  std::mt19937_64 engine_;
};

using Call = std::function<Values(Function&, Random&)>;

Value Sum(Value a, Value b) { return a.dtype() == DType::kPred ? Or(a, b) : Add(a, b); }

Padding Paddings(Random& r, size_t n) {
  Padding padding;
  for (size_t i = 0; i < n; ++i) padding.emplace_back(r.Int(-1, 2), r.Int(-1, 2));
  return padding;
}

std::map<std::string, Call> Calls() {
  std::map<std::string, Call> calls;
  const auto parameter = [](Function& f, Random& r, int64_t least_rank = 0) {
    return f.Parameter({r.Element(), r.Extents(least_rank)});
  };
  calls["transpose"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Values{Transpose(x, r.Chance(80) ? r.Some(x.rank(), 9) : r.Near(x.dims().size(), x.rank()))};
  };
  calls["broadcast_in_dim"] = [=](Function& f, Random& r) {
    const Dims dims = r.Extents(1), from = r.Some(static_cast<int64_t>(dims.size()), dims.size());
    Dims operand;
    for (const int64_t d : from) operand.push_back(r.Chance(20) ? 1 : r.Chance(95) ? dims[static_cast<size_t>(d)] : 3);
    return Values{BroadcastInDim(f.Parameter({r.Element(), operand}), dims, from)};
  };
  calls["reshape"] = [=](Function& f, Random& r) { return Values{Reshape(parameter(f, r), r.Extents())}; };
  calls["reverse"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Values{Reverse(x, r.Near(static_cast<size_t>(r.Int(0, x.rank())), x.rank()))};
  };
  calls["slice"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    Dims starts, limits, strides;
    for (const int64_t d : x.dims()) {
      starts.push_back(r.Int(0, d));
      limits.push_back(r.Int(starts.back(), d + (r.Chance(5) ? 1 : 0)));
      strides.push_back(r.Int(r.Chance(3) ? 0 : 1, 3));
    }
    return Values{Slice(x, starts, limits, strides)};
  };
  calls["pad"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    const size_t n = x.dims().size();
    return Values{Pad(x, f.Parameter(x.dtype()), r.Ints(n, -2, 2), r.Ints(n, -2, 2), r.Ints(n, 0, 2))};
  };
  calls["concatenate"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    const int64_t dim = r.Int(0, 3);
    Dims other = x.dims();
    if (static_cast<size_t>(dim) < other.size()) other[static_cast<size_t>(dim)] = r.Int(0, 4);
    return Values{Concatenate({x, f.Parameter({x.dtype(), other})}, dim)};
  };
  calls["dynamic_slice"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Values{DynamicSlice(x, Values(x.dims().size(), f.Parameter(DType::kS32)), r.Near(x.dims().size(), 4))};
  };
  calls["dynamic_update_slice"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Values{DynamicUpdateSlice(x, f.Parameter({x.dtype(), r.Near(x.dims().size(), 4)}),
                                     Values(x.dims().size(), f.Parameter(DType::kS32)))};
  };
  calls["gather"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r, 1);
    const int64_t rank = x.rank();
    GatherDims d{.start_index_map = r.Some(rank, 2)};
    const Value indices = f.Parameter({DType::kS32, {r.Int(1, 3), static_cast<int64_t>(d.start_index_map.size())}});
    d.index_vector_dim = 1;
    d.collapsed_slice_dims = r.Sorted(r.Some(rank, 2));
    Dims sizes = x.dims();
    for (int64_t& s : sizes) s = r.Int(0, s);
    for (const int64_t c : d.collapsed_slice_dims) sizes[static_cast<size_t>(c)] = r.Chance(95) ? 1 : 2;
    for (int64_t k = 0; k < rank - static_cast<int64_t>(d.collapsed_slice_dims.size()); ++k)
      d.offset_dims.push_back(k + r.Int(0, 1));
    return Values{Gather(x, indices, d, sizes, r.Chance(20))};
  };
  calls["scatter"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r, 1);
    const int64_t rank = x.rank(), count = r.Int(1, 3);
    ScatterDims d{.scatter_dims_to_operand_dims = r.Some(rank, 2)};
    d.index_vector_dim = 1;
    d.inserted_window_dims = r.Sorted(r.Some(rank, 2));
    const Value indices =
        f.Parameter({DType::kS32, {count, static_cast<int64_t>(d.scatter_dims_to_operand_dims.size())}});
    Dims updates = {count};
    for (int64_t k = 0; k < rank; ++k) {
      if (std::find(d.inserted_window_dims.begin(), d.inserted_window_dims.end(), k) != d.inserted_window_dims.end())
        continue;
      d.update_window_dims.push_back(static_cast<int64_t>(updates.size()));
      updates.push_back(r.Int(0, x.dims()[static_cast<size_t>(k)]));
    }
    return Scatter({x}, indices, {f.Parameter({x.dtype(), updates})}, d, Sum);
  };
  calls["dot_general"] = [=](Function& f, Random& r) {
    const Value a = parameter(f, r);
    const Dims dims = r.Some(a.rank(), 4);
    DotDims d;
    Dims b;
    for (const int64_t dim : dims) {
      const bool batch = r.Chance(40);
      (batch ? d.lhs_batching : d.lhs_contracting).push_back(dim);
      (batch ? d.rhs_batching : d.rhs_contracting).push_back(static_cast<int64_t>(b.size()));
      b.push_back(r.Chance(97) ? a.dims()[static_cast<size_t>(dim)] : 7);
    }
    const Dims free = r.Extents();
    b.append(free.begin(), free.end());
    return Values{DotGeneral(a, f.Parameter({a.dtype(), b}), d)};
  };
  calls["convolution"] = [=](Function& f, Random& r) {
    const auto spatial = static_cast<size_t>(r.Int(0, 2));
    const int64_t groups = r.Chance(70) ? 1 : 2, features = groups * r.Int(1, 2);
    Dims input = {r.Int(1, 4), features * (r.Chance(90) ? groups : 1)},
         kernel = {r.Int(1, 2) * groups, input[1] / groups};
    const Dims a = r.Ints(spatial, 0, 6), b = r.Ints(spatial, 1, 3);
    input.append(a.begin(), a.end());
    kernel.append(b.begin(), b.end());
    ConvOptions o{.strides = r.Ints(spatial, 1, 2),
                  .padding = Paddings(r, spatial),
                  .lhs_dilation = r.Ints(spatial, 1, 2),
                  .rhs_dilation = r.Ints(spatial, 1, 2)};
    (r.Chance(80) ? o.feature_groups : o.batch_groups) = groups;
    return Values{Convolution(f.Parameter({DType::kF32, input}), f.Parameter({DType::kF32, kernel}),
                              ConvDims::ChannelsFirst(static_cast<int64_t>(spatial)), o)};
  };
  calls["reduce"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Values{Reduce(x, f.Parameter(x.dtype()), r.Chance(80) ? r.Some(x.rank(), 4) : r.Near(2, x.rank()), Sum)};
  };
  calls["reduce_window"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    const size_t n = x.dims().size();
    return ReduceWindow({x}, {f.Parameter(x.dtype())},
                        {.size = r.Ints(n, 1, 3),
                         .strides = r.Ints(n, 1, 2),
                         .base_dilations = r.Ints(n, 1, 2),
                         .window_dilations = r.Ints(n, 1, 2),
                         .padding = Paddings(r, n)},
                        Sum);
  };
  calls["sort"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Sort({x, f.Parameter({DType::kS32, x.dims()})}, r.Int(0, 3), r.Chance(50),
                [](Value a, Value b, Value, Value) { return Compare(a, b, Direction::kLt); });
  };
  calls["select"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Values{Select(f.Parameter({DType::kPred, r.Chance(50)   ? x.dims()
                                                    : r.Chance(50) ? Dims()
                                                                   : r.Extents()}),
                         x, x)};
  };
  calls["clamp"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Values{
        Clamp(f.Parameter({x.dtype(), r.Chance(50) ? Dims() : x.dims()}), x, f.Parameter({r.Element(), x.dims()}))};
  };
  calls["iota"] = [=](Function& f, Random& r) { return Values{Iota(f, {r.Element(), r.Extents()}, r.Int(0, 3))}; };
  calls["fft"] = [=](Function& f, Random& r) {
    const auto type = static_cast<FftType>(r.Int(0, 3));
    const Dims dims = r.Extents(1);
    Dims lengths(dims.end() - r.Int(1, static_cast<int64_t>(dims.size())), dims.end());
    if (type == FftType::kIrfft && r.Chance(90))
      lengths.back() = lengths.back() == 0 ? 0 : 2 * (lengths.back() - 1) + r.Int(0, 1);
    return Values{Fft(f.Parameter({type == FftType::kRfft ? DType::kF32 : DType::kC64, dims}), type, lengths)};
  };
  calls["triangular_solve"] = [=](Function& f, Random& r) {
    Dims a = r.Extents(1);
    a.push_back(a.back());
    Dims b = a;
    b[b.size() - static_cast<size_t>(r.Int(1, 2))] = r.Int(0, 3);
    return Values{TriangularSolve(f.Parameter({DType::kF32, a}), f.Parameter({DType::kF32, b}),
                                  {.left_side = r.Chance(50), .transpose_a = static_cast<TransposeA>(r.Int(0, 2))})};
  };
  calls["bitcast_convert"] = [=](Function& f, Random& r) {
    return Values{BitcastConvert(parameter(f, r), r.Element())};
  };
  calls["convert"] = [=](Function& f, Random& r) { return Values{Convert(parameter(f, r), r.Element())}; };
  calls["compare"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    return Values{Compare(x, x, static_cast<Direction>(r.Int(0, 5)), static_cast<Order>(r.Int(0, 4)))};
  };
  calls["elementwise"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    switch (r.Int(0, 7)) {
      case 0:
        return Values{Abs(x)};
      case 1:
        return Values{Sign(x)};
      case 2:
        return Values{Not(x)};
      case 3:
        return Values{Tanh(x)};
      case 4:
        return Values{Subtract(x, x)};
      case 5:
        return Values{Popcnt(x)};
      case 6:
        return Values{Real(x)};
      default:
        return Values{Power(x, x)};
    }
  };
  calls["select_and_scatter"] = [=](Function& f, Random& r) {
    const Value x = parameter(f, r);
    const size_t n = x.dims().size();
    Dims source;
    for (const int64_t d : x.dims()) source.push_back(std::max<int64_t>(d - 1, 0));
    return Values{SelectAndScatter(
        x, f.Parameter({x.dtype(), source}), f.Parameter(x.dtype()), {.size = Dims(n, 2), .strides = r.Ints(n, 1, 1)},
        [](Value a, Value b) { return Compare(a, b, Direction::kGe); }, Sum)};
  };
  calls["all_gather"] = [=](Function& f, Random& r) {
    return Values{AllGather(parameter(f, r), r.Int(0, 3), 2, {.ids = {{0, 1}}})};
  };
  calls["all_to_all"] = [=](Function& f, Random& r) {
    return Values{AllToAll(parameter(f, r), r.Int(0, 2), r.Int(0, 2), 2, {.ids = {{0, 1}}})};
  };
  calls["reduce_scatter"] = [=](Function& f, Random& r) {
    return Values{ReduceScatter(parameter(f, r), r.Int(0, 2), 2, {.ids = {{0, 1}}}, Sum)};
  };
  calls["batch_norm_training"] = [=](Function& f, Random& r) {
    const Value x = f.Parameter({DType::kF32, r.Extents(1)});
    const int64_t dim = r.Int(0, 2);
    const int64_t features = dim < x.rank() ? x.dims()[static_cast<size_t>(dim)] : 2;
    return BatchNormTraining(x, f.Parameter({DType::kF32, {features}}),
                             f.Parameter({DType::kF32, {r.Chance(90) ? features : 3}}), {.feature_dim = dim});
  };
  return calls;
}

TEST(Random, TheDialectAcceptsWhatTheBuilderAccepts) {
  const char* opt = std::getenv("TENON_TEST_OPT");
  const char* const tries_text = std::getenv("TENON_TEST_TRIES");
  const int tries = tries_text == nullptr ? 60 : std::atoi(tries_text);
  uint64_t seed = 1;
  Module all("random");
  for (const auto& [name, call] : Calls()) {
    int accepted = 0;
    for (int i = 0; i < tries; ++i) {
      ++seed;
      const auto build = [&](Module& module) {
        Function& f = module.AddFunction(name + "_" + std::to_string(i));
        Random random(seed);
        f.Return(call(f, random));
      };
      Module alone;
      build(alone);
      if (!alone.status().ok()) continue;
      build(all);
      ++accepted;
    }
    // The test would say nothing of an operation whose calls are all refused.
    EXPECT_GE(accepted, 5) << name;
    EXPECT_TRUE(all.status().ok()) << all.status().ToString();
  }
  if (opt == nullptr) GTEST_SKIP() << "TENON_TEST_OPT does not name tenon-opt";
  const Result<std::string> text = all.ToText();
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  const std::string path = ::testing::TempDir() + "builder_random.mlir";
  std::ofstream(path) << *text;
  EXPECT_EQ(std::system((std::string(opt) + " " + path + " > " + path + ".out").c_str()), 0) << path;
}

}  // namespace
}  // namespace tenon::builder
