#include "tenon/kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tenon/kernels/conv/internal.h"

namespace tenon::kernels {
namespace {

struct Array {
  Dims dims, strides;
  std::vector<float> data;
  StridedArray operand() const { return {DType::kF32, dims, strides}; }
  float& At(const std::vector<int64_t>& at) {
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); ++i) offset += at[i] * strides[i];
    return data[static_cast<size_t>(offset)];
  }
};

/// Dense with the dims laid out in a random order.
Array Make(const Dims& dims, std::mt19937& random, bool shuffle, float fill) {
  Array a;
  a.dims = dims;
  a.strides.assign(dims.size(), 0);
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (shuffle) std::shuffle(order.begin(), order.end(), random);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    a.strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  a.data.assign(static_cast<size_t>(stride), fill);
  return a;
}

class Pick {
 public:
  explicit Pick(std::mt19937& random) : random_(random) {}
  int64_t operator()(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }

 private:
  std::mt19937& random_;
};

// Patches that are packed and patches that are read where they lie give the same bits.
void CheckWays(ConvSignature s, DType type, const Array& in, const Array& weights, size_t results,
               threads::ThreadPool& pool) {
  s.type = s.out_type = type;
  const auto width = static_cast<size_t>(ByteWidth(type));
  const auto convert = [&](const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * width);
    for (size_t i = 0; i < values.size(); ++i) {
      const float v = i % 7 == 3 ? -0.0f : values[i];
      uint32_t bits;
      std::memcpy(&bits, &v, sizeof(bits));
      const uint16_t half = static_cast<uint16_t>(bits >> 16);
      const auto f16 = static_cast<_Float16>(v);
      const double f64 = v;
      const int32_t s32 = static_cast<int32_t>(v * 1000);
      const void* const from = type == DType::kBF16  ? static_cast<const void*>(&half)
                               : type == DType::kF16 ? static_cast<const void*>(&f16)
                               : type == DType::kF64 ? static_cast<const void*>(&f64)
                               : type == DType::kS32 ? static_cast<const void*>(&s32)
                                                     : static_cast<const void*>(&v);
      std::memcpy(bytes.data() + i * width, from, width);
    }
    return bytes;
  };
  const std::vector<std::byte> x = convert(in.data), w = convert(weights.data);
  std::vector<std::byte> any(results * width, std::byte{0x55}), packed = any;
  for (auto [way, out] : {std::pair(internal::Way::kAny, &any), std::pair(internal::Way::kPacked, &packed)}) {
    const auto conv = BoundConv::CreateWith(s, way);
    ASSERT_TRUE(conv.ok()) << conv.status().ToString();
    const Status done = conv->Run(x.data(), w.data(), out->data(), pool);
    ASSERT_TRUE(done.ok()) << done.ToString();
  }
  ASSERT_EQ(std::memcmp(any.data(), packed.data(), any.size()), 0) << DTypeName(type);
}

void CheckOne(uint32_t seed, threads::ThreadPool& pool) {
  std::mt19937 random(seed);
  Pick pick(random);
  const size_t spatial = static_cast<size_t>(pick(0, 3));
  // Which dim of each operand is what: input batch, feature, spatial...; weights input, output, spatial...; output
  // batch, feature, spatial...
  const auto permutation = [&] {
    Dims p(spatial + 2, 0);
    std::iota(p.begin(), p.end(), int64_t{0});
    std::shuffle(p.begin(), p.end(), random);
    return p;
  };
  const Dims in_at = permutation(), weight_at = permutation(), out_at = permutation();
  drivers::Convolution n;
  n.in_batch = in_at[0];
  n.in_feature = in_at[1];
  n.weight_in = weight_at[0];
  n.weight_out = weight_at[1];
  n.out_batch = out_at[0];
  n.out_feature = out_at[1];
  const int64_t groups = pick(0, 2) == 0 ? pick(2, 3) : 1;
  const bool by_batch = pick(0, 1) == 0;
  (by_batch ? n.batch_groups : n.feature_groups) = groups;
  const int64_t channels = pick(1, 20), results = pick(0, 2) == 0 ? 1 : pick(1, 40), batch = pick(1, 3);
  Dims in_dims(spatial + 2, 0), weight_dims(spatial + 2, 0), out_dims(spatial + 2, 0);
  const auto set = [](Dims& dims, int64_t at, int64_t value) { dims[static_cast<size_t>(at)] = value; };
  set(in_dims, n.in_batch, by_batch ? batch * groups : batch);
  set(in_dims, n.in_feature, by_batch ? channels : channels * groups);
  set(weight_dims, n.weight_in, channels);
  set(weight_dims, n.weight_out, results * groups);
  set(out_dims, n.out_batch, batch);
  set(out_dims, n.out_feature, results * groups);
  std::vector<int64_t> window, in_extent, out_extent;
  for (size_t d = 0; d < spatial; ++d) {
    n.in_spatial.push_back(in_at[2 + d]);
    n.weight_spatial.push_back(weight_at[2 + d]);
    n.out_spatial.push_back(out_at[2 + d]);
    const int64_t stride = pick(1, 3), in_dilation = pick(0, 2) == 0 ? pick(2, 3) : 1, window_dilation = pick(1, 2);
    window.push_back(pick(1, 4));
    in_extent.push_back(pick(1, spatial < 3 ? 17 : 6));
    const int64_t covered = (window[d] - 1) * window_dilation + 1, base = (in_extent[d] - 1) * in_dilation + 1;
    int64_t low = pick(-1, 3), high = pick(0, 3);
    if (low + high + base < covered) high = covered - base - low;
    out_extent.push_back((low + high + base - covered) / stride + 1);
    n.strides.push_back(stride);
    n.low.push_back(low);
    n.in_dilation.push_back(in_dilation);
    n.window_dilation.push_back(window_dilation);
    n.reversed.push_back(pick(0, 1));
    set(in_dims, n.in_spatial[d], in_extent[d]);
    set(weight_dims, n.weight_spatial[d], window[d]);
    set(out_dims, n.out_spatial[d], out_extent[d]);
  }
  const bool shuffle = pick(0, 1) == 0;
  Array in = Make(in_dims, random, shuffle, 0), weights = Make(weight_dims, random, shuffle, 0),
        out = Make(out_dims, random, shuffle, NAN);
  std::uniform_real_distribution<float> value(-1, 1);
  for (float& v : in.data) v = value(random);
  for (float& v : weights.data) v = value(random);

  const auto again = drivers::FromConfig<drivers::Convolution>(drivers::ToConfig(n));
  ASSERT_TRUE(again.ok());
  auto made = MakeConvSignature(*again, in.operand(), weights.operand(), out.operand());
  ASSERT_TRUE(made.ok()) << made.status().message();
  if (!WeightsSuit(*made)) {
    // As the compiler does: output channels innermost, then input channels, then the window.
    Array packed = weights;
    int64_t stride = 1;
    std::vector<int64_t> order = {n.weight_out, n.weight_in};
    for (size_t d = spatial; d-- > 0;) order.push_back(n.weight_spatial[d]);
    for (int64_t d : order) {
      packed.strides[static_cast<size_t>(d)] = stride;
      stride *= weight_dims[static_cast<size_t>(d)];
    }
    std::vector<int64_t> at(weight_dims.size(), 0);
    for (size_t i = 0; i < weights.data.size(); ++i) {
      packed.At(at) = weights.At(at);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < weight_dims[d]) break;
        at[d] = 0;
      }
    }
    weights = packed;
    made = MakeConvSignature(n, in.operand(), weights.operand(), out.operand());
    ASSERT_TRUE(made.ok());
    ASSERT_TRUE(WeightsSuit(*made)) << "seed " << seed;
  }
  const Status done = Conv(*made, in.data.data(), weights.data.data(), out.data.data(), pool);
  ASSERT_TRUE(done.ok()) << done.ToString() << " seed " << seed;

  for (DType type : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kS32}) {
    SCOPED_TRACE(seed);
    CheckWays(*made, type, in, weights, out.data.size(), pool);
    if (testing::Test::HasFatalFailure()) return;
  }

  // The definition.
  std::vector<int64_t> at(out_dims.size(), 0);
  const auto get = [](const std::vector<int64_t>& v, int64_t d) { return v[static_cast<size_t>(d)]; };
  for (size_t i = 0; i < out.data.size(); ++i) {
    const int64_t image = get(at, n.out_batch), result = get(at, n.out_feature), group = result / results;
    double sum = 0, bound = 0;
    int64_t taps = channels;
    for (int64_t w : window) taps *= w;
    for (int64_t k = 0; k < taps; ++k) {
      int64_t rest = k;
      std::vector<int64_t> in_place(in_dims.size()), weight_place(weight_dims.size());
      const int64_t channel = rest % channels;
      rest /= channels;
      in_place[static_cast<size_t>(n.in_batch)] = by_batch ? group * batch + image : image;
      in_place[static_cast<size_t>(n.in_feature)] = by_batch ? channel : group * channels + channel;
      weight_place[static_cast<size_t>(n.weight_in)] = channel;
      weight_place[static_cast<size_t>(n.weight_out)] = result;
      bool exists = true;
      for (size_t d = 0; d < spatial; ++d) {
        const int64_t tap = rest % window[d];
        rest /= window[d];
        const int64_t seen = n.reversed[d] ? window[d] - 1 - tap : tap;
        const int64_t p = get(at, n.out_spatial[d]) * n.strides[d] + seen * n.window_dilation[d] - n.low[d];
        exists &= p >= 0 && p % n.in_dilation[d] == 0 && p / n.in_dilation[d] < in_extent[d];
        in_place[static_cast<size_t>(n.in_spatial[d])] = p / n.in_dilation[d];
        weight_place[static_cast<size_t>(n.weight_spatial[d])] = tap;
      }
      if (!exists) continue;
      const double product = static_cast<double>(in.At(in_place)) * static_cast<double>(weights.At(weight_place));
      sum += product;
      bound += std::fabs(product);
    }
    const double error = std::fabs(static_cast<double>(out.At(at)) - sum);
    ASSERT_LE(error, static_cast<double>(taps + 2) * 0x1p-23 * bound) << "seed " << seed << " element " << i;
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < out_dims[d]) break;
      at[d] = 0;
    }
  }
}

TEST(Conv, FollowsTheDefinition) {
  auto pool = threads::ThreadPool::Create(2);
  ASSERT_TRUE(pool.ok());
  for (uint32_t seed = 0; seed < 200 && !HasFatalFailure(); ++seed) CheckOne(seed, **pool);
}

// Correlations of long signals: one channel, windows longer than any block of k, places that end a few behind a tile.
TEST(Conv, LongWindowsOfOneChannel) {
  auto pool = threads::ThreadPool::Create(2);
  ASSERT_TRUE(pool.ok());
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(-1, 1);
  for (auto [in, window, low, results, stride] : {std::array<int64_t, 5>{700, 600, 0, 1, 1},
                                                  {300, 700, 699, 1, 1},
                                                  {1200, 70, 3, 2, 1},
                                                  {2000, 1, 0, 1, 1},
                                                  {90, 513, 500, 3, 1},
                                                  {1025, 1024, 64, 1, 1},
                                                  {900, 130, 0, 1, 3},
                                                  {500, 77, 5, 2, 2},
                                                  {61, 8, 7, 1, 4},
                                                  {1, 40, 39, 1, 1},
                                                  {2, 50, 49, 1, 3}}) {
    ConvSignature s;
    const int64_t out = (in + 2 * low - window) / stride + 1;
    s.out_channels = results;
    s.weight_out_stride = window;
    s.out_channel_stride = out;
    s.in_batch_stride = in;
    s.out_batch_stride = out * results;
    s.dims.push_back({.in = in,
                      .window = window,
                      .out = out,
                      .stride = stride,
                      .low = low,
                      .in_stride = 1,
                      .weight_stride = 1,
                      .out_stride = 1});
    if (TakesPlaces(DType::kF32).b) {
      EXPECT_TRUE(internal::LayOf(s, internal::MapOf(s))) << window;
    }
    std::vector<float> x(static_cast<size_t>(in)), w(static_cast<size_t>(window * results));
    std::vector<float> got(static_cast<size_t>(out * results), NAN), packed = got;
    for (std::vector<float>* v : {&x, &w}) {
      for (float& f : *v) f = value(random);
    }
    for (auto [way, to] : {std::pair(internal::Way::kAny, &got), std::pair(internal::Way::kPacked, &packed)}) {
      const auto conv = BoundConv::CreateWith(s, way);
      ASSERT_TRUE(conv.ok()) << conv.status().ToString();
      ASSERT_TRUE(conv->Run(x.data(), w.data(), to->data(), **pool).ok());
    }
    EXPECT_EQ(std::memcmp(got.data(), packed.data(), got.size() * sizeof(float)), 0) << window;
    for (int64_t c = 0; c < results; ++c) {
      for (int64_t o = 0; o < out; ++o) {
        double sum = 0, bound = 0;
        for (int64_t k = 0; k < window; ++k) {
          const int64_t p = o * stride + k - low;
          if (p < 0 || p >= in) continue;
          const double product = static_cast<double>(x[static_cast<size_t>(p)]) *
                                 static_cast<double>(w[static_cast<size_t>(c * window + k)]);
          sum += product;
          bound += std::fabs(product);
        }
        ASSERT_LE(std::fabs(static_cast<double>(got[static_cast<size_t>(c * out + o)]) - sum),
                  static_cast<double>(window + 2) * 0x1p-23 * bound)
            << window << " at " << o;
      }
    }
  }
}

// Of a signature [1, extent, extent, channels] with windows of 3 x 3.
ConvSignature Image(int64_t channels, int64_t results, int64_t low, bool channels_first) {
  drivers::Convolution n;
  const int64_t extent = 16, out_extent = extent - 2 + 2 * low;
  StridedArray in{DType::kF32, {1, extent, extent, channels}, {}}, weights{DType::kF32, {3, 3, channels, results}, {}},
      out{DType::kF32, {1, out_extent, out_extent, results}, {}};
  n.in_feature = n.out_feature = 3;
  n.in_spatial = n.out_spatial = {1, 2};
  if (channels_first) {
    in.dims = {1, channels, extent, extent};
    out.dims = {1, results, out_extent, out_extent};
    n.in_feature = n.out_feature = 1;
    n.in_spatial = n.out_spatial = {2, 3};
  }
  for (StridedArray* a : {&in, &weights, &out}) a->strides = RowMajorStridesElems(a->dims);
  n.weight_in = 2;
  n.weight_out = 3;
  n.weight_spatial = {0, 1};
  n.strides = n.in_dilation = n.window_dilation = {1, 1};
  n.low = {low, low};
  n.reversed = {0, 0};
  return *MakeConvSignature(n, in, weights, out);
}

TEST(Conv, ReadsPatchesWhereTheyLie) {
  const GemmTakesPlaces takes = TakesPlaces(DType::kF32);
  for (bool channels_first : {false, true}) {
    if (!(channels_first ? takes.b : takes.a)) continue;
    // Where windows stay inside nothing is copied; else what they see around the input is, once.
    const ConvSignature inside = Image(5, 7, 0, channels_first), around = Image(5, 7, 1, channels_first);
    const auto in_place = internal::LayOf(inside, internal::MapOf(inside));
    ASSERT_TRUE(in_place);
    EXPECT_EQ(in_place->bytes, 0);
    const auto copied = internal::LayOf(around, internal::MapOf(around));
    ASSERT_TRUE(copied);
    EXPECT_EQ(copied->bytes, 18 * 18 * 5 * 4);
    ConvSignature halves = inside;
    halves.type = halves.out_type = DType::kBF16;
    if (TakesPlaces(DType::kBF16).a && !channels_first) {
      const auto widened = internal::LayOf(halves, internal::MapOf(halves));
      ASSERT_TRUE(widened);
      EXPECT_EQ(widened->bytes, 16 * 16 * 5 * 4);
    }
  }
  // A single result is a product with a vector, whose sums have another order.
  const ConvSignature one = Image(5, 1, 1, false);
  EXPECT_FALSE(internal::LayOf(one, internal::MapOf(one)));
}

// However far an input's elements lie apart, there is no more to do than for the elements of the window, and outputs
// that see none of them are 0, those of an output that lies among other things included.
TEST(Conv, HolesOfAnInputCostNothing) {
  constexpr int64_t kHoles = 700, kExtent = 3, kWindow = 3, kOut = (kExtent - 1) * kHoles + 1, kRow = kOut + 5;
  drivers::Convolution n;
  n.in_feature = n.out_feature = 3;
  n.in_spatial = n.out_spatial = {1, 2};
  n.weight_in = 2;
  n.weight_out = 3;
  n.weight_spatial = {0, 1};
  n.strides = n.window_dilation = {1, 1};
  n.in_dilation = {kHoles, kHoles};
  n.low = {1, 1};
  n.reversed = {0, 0};
  StridedArray in{DType::kF32, {1, kExtent, kExtent, 1}, {}}, weights{DType::kF32, {kWindow, kWindow, 1, 1}, {}},
      out{DType::kF32, {1, kOut, kOut, 1}, {kOut * kRow, kRow, 1, 1}};
  for (StridedArray* a : {&in, &weights}) a->strides = RowMajorStridesElems(a->dims);
  const auto signature = MakeConvSignature(n, in, weights, out);
  ASSERT_TRUE(signature.ok()) << signature.status().ToString();
  const internal::Phases phases = internal::PhasesOf(*signature);
  EXPECT_EQ(phases.list.size(), static_cast<size_t>(kWindow * kWindow));
  EXPECT_TRUE(phases.leaves_some);

  std::vector<float> x(kExtent * kExtent), w(kWindow * kWindow), y(static_cast<size_t>(kOut * kRow), 7);
  std::iota(x.begin(), x.end(), 1.f);
  std::iota(w.begin(), w.end(), 100.f);
  auto pool = threads::ThreadPool::Create(2);
  ASSERT_TRUE(pool.ok());
  ASSERT_TRUE(Conv(*signature, x.data(), w.data(), y.data(), **pool).ok());
  // The element of the input, if any, that output p sees along a dimension, and with which element of the window.
  const auto seen = [](int64_t p) -> std::optional<std::pair<int64_t, int64_t>> {
    for (int64_t k = 0; k < kWindow; ++k) {
      const int64_t at = p - 1 + k;
      if (at >= 0 && at % kHoles == 0 && at / kHoles < kExtent) return std::pair(at / kHoles, k);
    }
    return std::nullopt;
  };
  for (int64_t i = 0; i < kOut; ++i) {
    for (int64_t j = 0; j < kRow; ++j) {
      const auto row = seen(i), column = seen(j);
      float wanted = 7;
      if (j < kOut) {
        wanted = row && column ? x[static_cast<size_t>(row->first * kExtent + column->first)] *
                                     w[static_cast<size_t>(row->second * kWindow + column->second)]
                               : 0;
      }
      ASSERT_EQ(y[static_cast<size_t>(i * kRow + j)], wanted) << i << " " << j;
    }
  }
}

TEST(Conv, RejectsExtentsThatDoNotBelongTogether) {
  drivers::Convolution n;
  n.in_feature = n.weight_out = n.out_feature = 1;
  const StridedArray in{DType::kF32, {2, 6}, {6, 1}}, weights{DType::kF32, {6, 4}, {4, 1}},
      out{DType::kF32, {2, 4}, {4, 1}};
  EXPECT_TRUE(MakeConvSignature(n, in, weights, out).ok());
  StridedArray other = weights;
  other.dims = {5, 4};
  EXPECT_EQ(MakeConvSignature(n, in, other, out).status().code(), Code::kInvalidArgument);
  n.in_batch = 1;
  EXPECT_EQ(MakeConvSignature(n, in, weights, out).status().code(), Code::kInvalidArgument);
  n.in_batch = 0;
  n.feature_groups = 4;
  EXPECT_EQ(MakeConvSignature(n, in, weights, out).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tenon::kernels
