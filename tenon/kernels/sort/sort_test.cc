#include "tenon/kernels/sort/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

namespace tenon::kernels {
namespace {

std::unique_ptr<threads::ThreadPool> Pool() { return std::move(threads::ThreadPool::Create(3)).value(); }

struct Scratch {
  explicit Scratch(const SortSignature& s)
      : data(::operator new(static_cast<size_t>(SortScratchBytes(s)) + 1, std::align_val_t(64))) {}
  ~Scratch() { ::operator delete(data, std::align_val_t(64)); }
  void* data;
};

SortKey KeyOf(DType type, bool descending = false, bool by_value = false) {
  return {type, descending, by_value, 1, {}};
}
SortPayload Positions() { return {4, true, 1, 1, {}, {}}; }

// Positions that sorting `values` by `before` gives.
template <class T, class Before>
std::vector<uint32_t> Expected(const std::vector<T>& values, Before before) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (before(values[a], values[b])) return true;
    return !before(values[b], values[a]) && a < b;
  });
  return order;
}

template <class T>
std::vector<uint32_t> Order(const std::vector<T>& values, SortKey key, int64_t take = -1) {
  SortSignature s;
  s.length = static_cast<int64_t>(values.size());
  s.take = take < 0 ? s.length : take;
  s.keys = {key};
  s.payloads = {Positions()};
  EXPECT_TRUE(Verify(s).ok());
  Scratch scratch(s);
  std::vector<uint32_t> out(static_cast<size_t>(s.take), 77);
  const void* keys[] = {values.data()};
  const void* in[] = {nullptr};
  void* outs[] = {out.data()};
  auto pool = Pool();
  Sort(s, keys, in, outs, scratch.data, *pool);
  return out;
}

template <class T>
std::vector<T> Random(int64_t n, uint64_t seed, uint64_t range) {
  std::mt19937_64 bits(seed);
  std::vector<T> v(static_cast<size_t>(n));
  for (T& x : v)
    x = static_cast<T>(static_cast<int64_t>(bits() % range) -
                       (std::is_signed_v<T> ? static_cast<int64_t>(range / 2) : 0));
  return v;
}

constexpr int64_t kLengths[] = {1, 2, 31, 32, 33, 255, 1000, 16384, 70000};

template <class T>
void TestIntegers(DType type, uint64_t range) {
  for (int64_t n : kLengths) {
    const std::vector<T> v = Random<T>(n, static_cast<uint64_t>(n), range);
    EXPECT_EQ(Order(v, KeyOf(type)), Expected(v, std::less<T>())) << n;
    EXPECT_EQ(Order(v, KeyOf(type, true)), Expected(v, std::greater<T>())) << n;
  }
}
TEST(Sort, IntegersOfEveryWidth) {
  TestIntegers<int8_t>(DType::kS8, 256);
  TestIntegers<uint8_t>(DType::kU8, 256);
  TestIntegers<uint8_t>(DType::kPred, 2);
  TestIntegers<int16_t>(DType::kS16, 65536);
  TestIntegers<uint16_t>(DType::kU16, 65536);
  TestIntegers<int32_t>(DType::kS32, uint64_t{1} << 32);
  TestIntegers<uint32_t>(DType::kU32, 1000);
  TestIntegers<int64_t>(DType::kS64, uint64_t{1} << 62);
  TestIntegers<uint64_t>(DType::kU64, 1000);
}

// Total order by sign, magnitude and NaN, without looking at bits other than the sign.
template <class T>
bool TotalLess(T a, T b) {
  const auto rank = [](T x) { return std::isnan(x) ? (std::signbit(x) ? -2 : 2) : 0; };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) != 0) return false;
  if (a == T(0) && b == T(0)) return std::signbit(a) && !std::signbit(b);
  return a < b;
}

template <class T>
std::vector<T> RandomFloats(int64_t n) {
  std::mt19937_64 bits(static_cast<uint64_t>(n));
  std::normal_distribution<T> normal;
  const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  const T special[] = {
      T(0), T(-0.0), nan, -nan, inf, -inf, std::numeric_limits<T>::denorm_min(), -std::numeric_limits<T>::denorm_min(),
      T(1)};
  std::vector<T> v(static_cast<size_t>(n));
  for (T& x : v) x = bits() % 4 == 0 ? special[bits() % 9] : normal(bits);
  return v;
}

template <class T>
void TestFloats(DType type) {
  for (int64_t n : kLengths) {
    const std::vector<T> v = RandomFloats<T>(n);
    EXPECT_EQ(Order(v, KeyOf(type)), Expected(v, TotalLess<T>)) << n;
    EXPECT_EQ(Order(v, KeyOf(type, true)), Expected(v, [](T a, T b) { return TotalLess(b, a); })) << n;
    const auto value = [](T x) { return x == T(0) ? T(0) : std::isnan(x) ? std::numeric_limits<T>::quiet_NaN() : x; };
    const auto by_value = [&](T a, T b) { return TotalLess(value(a), value(b)); };
    EXPECT_EQ(Order(v, KeyOf(type, false, true)), Expected(v, by_value)) << n;
  }
}
TEST(Sort, FloatsInTotalOrder) {
  TestFloats<float>(DType::kF32);
  TestFloats<double>(DType::kF64);
}

TEST(Sort, HalfFloatsAreOrderedAsTheirValues) {
  // bf16 is the upper half of f32: order the same numbers both ways.
  std::vector<float> wide = RandomFloats<float>(5000);
  std::vector<uint16_t> narrow;
  for (float& x : wide) {
    uint32_t b;
    std::memcpy(&b, &x, 4);
    if (std::isnan(x)) b |= 0x00400000u;
    b &= 0xffff0000u;
    std::memcpy(&x, &b, 4);
    narrow.push_back(static_cast<uint16_t>(b >> 16));
  }
  EXPECT_EQ(Order(narrow, KeyOf(DType::kBF16)), Expected(wide, TotalLess<float>));
}

TEST(Sort, FirstFewOfMany) {
  for (int64_t n : {64, 1000, 50000}) {
    for (int64_t take : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{13}, int64_t{16}, int64_t{17}, n / 8, n / 2}) {
      std::vector<int32_t> few = Random<int32_t>(n, 3, 50);  // Many ties.
      std::vector<float> floats = RandomFloats<float>(n);
      std::vector<uint32_t> want = Expected(few, std::greater<int32_t>());
      want.resize(static_cast<size_t>(take));
      EXPECT_EQ(Order(few, KeyOf(DType::kS32, true), take), want) << n << " " << take;
      want = Expected(floats, TotalLess<float>);
      want.resize(static_cast<size_t>(take));
      EXPECT_EQ(Order(floats, KeyOf(DType::kF32), take), want) << n << " " << take;
      std::vector<int32_t> falling(static_cast<size_t>(n));  // Every element beats the ones before.
      std::iota(falling.rbegin(), falling.rend(), 0);
      want = Expected(falling, std::less<int32_t>());
      want.resize(static_cast<size_t>(take));
      EXPECT_EQ(Order(falling, KeyOf(DType::kS32), take), want) << n << " " << take;
    }
  }
}

// [3, n, 2] sorted along the middle by two keys of different types, moving payloads of every width.
TEST(Sort, StridesKeysAndPayloads) {
  for (int64_t n : {5, 40, 700}) {
    const size_t total = static_cast<size_t>(6 * n);
    const std::vector<uint8_t> first = Random<uint8_t>(6 * n, 1, 4);
    const std::vector<int64_t> second = Random<int64_t>(6 * n, 2, 20);
    std::vector<uint8_t> p1(total), o1(total);
    std::vector<uint16_t> p2(total), o2(total);
    std::vector<uint64_t> p8(total), o8(total), positions(total);
    std::vector<std::array<uint64_t, 2>> p16(total), o16(total);
    for (size_t i = 0; i < total; ++i) {
      p1[i] = static_cast<uint8_t>(i * 7);
      p2[i] = static_cast<uint16_t>(i * 11);
      p8[i] = i;
      p16[i] = {i, ~i};
    }
    SortSignature s;
    s.outer = {3, 2};
    s.length = s.take = n;
    const Dims outer = {2 * n, 1};
    s.keys = {{DType::kU8, true, false, 2, outer}, {DType::kS64, false, false, 2, outer}};
    for (int64_t w : {1, 2, 8, 16}) s.payloads.push_back({w, false, 2, 2, outer, outer});
    s.payloads.push_back({8, true, 0, 2, {}, outer});
    ASSERT_TRUE(Verify(s).ok()) << Verify(s).message();
    Scratch scratch(s);
    const void* keys[] = {first.data(), second.data()};
    const void* in[] = {p1.data(), p2.data(), p8.data(), p16.data(), nullptr};
    void* out[] = {o1.data(), o2.data(), o8.data(), o16.data(), positions.data()};
    auto pool = Pool();
    Sort(s, keys, in, out, scratch.data, *pool);
    for (size_t a = 0; a < 3; ++a) {
      for (size_t c = 0; c < 2; ++c) {
        const auto at = [&](size_t i) { return (a * static_cast<size_t>(n) + i) * 2 + c; };
        std::vector<size_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), size_t{0});
        std::sort(order.begin(), order.end(), [&](size_t x, size_t y) {
          if (first[at(x)] != first[at(y)]) return first[at(x)] > first[at(y)];
          return std::pair(second[at(x)], x) < std::pair(second[at(y)], y);
        });
        for (size_t i = 0; i < order.size(); ++i) {
          ASSERT_EQ(positions[at(i)], order[i]);
          ASSERT_EQ(o1[at(i)], p1[at(order[i])]);
          ASSERT_EQ(o2[at(i)], p2[at(order[i])]);
          ASSERT_EQ(o8[at(i)], p8[at(order[i])]);
          ASSERT_EQ(o16[at(i)], p16[at(order[i])]);
        }
      }
    }
  }
}

// Rows of many columns in lexicographic order, as much of them equal as the range of their numbers makes: all of it,
// runs of every length that are sorted in another way, and little.
TEST(Sort, EachKeyDecidesAmongWhatTheLastOnesLeft) {
  constexpr size_t kColumns = 100;
  for (int64_t n : {1, 2, 50, 3000}) {
    for (uint64_t range : {1, 2, 60}) {
      std::vector<std::vector<int32_t>> columns;
      SortSignature s;
      s.length = s.take = n;
      s.payloads = {Positions()};
      std::vector<const void*> keys;
      for (size_t k = 0; k < kColumns; ++k) {
        columns.push_back(Random<int32_t>(n, k, k % 3 == 0 ? range : 1));
        s.keys.push_back(KeyOf(DType::kS32, k % 2 == 1));
      }
      for (const auto& c : columns) keys.push_back(c.data());
      ASSERT_TRUE(Verify(s).ok()) << Verify(s).message();
      Scratch scratch(s);
      std::vector<uint32_t> got(static_cast<size_t>(n)), want(got.size());
      const void* in[] = {nullptr};
      void* out[] = {got.data()};
      auto pool = Pool();
      Sort(s, keys.data(), in, out, scratch.data, *pool);
      std::iota(want.begin(), want.end(), 0u);
      std::sort(want.begin(), want.end(), [&](uint32_t a, uint32_t b) {
        for (size_t k = 0; k < kColumns; ++k) {
          const int32_t x = columns[k][a], y = columns[k][b];
          if (x != y) return k % 2 == 1 ? x > y : x < y;
        }
        return a < b;
      });
      EXPECT_EQ(got, want) << n << " " << range;
    }
  }
}

TEST(Sort, APayloadTravelsWithItsKey) {
  std::vector<float> v = RandomFloats<float>(20000), out(v.size());
  SortSignature s;
  s.length = s.take = static_cast<int64_t>(v.size());
  s.keys = {KeyOf(DType::kF32, false, true)};
  s.payloads = {{4, false, 1, 1, {}, {}}};
  Scratch scratch(s);
  const void* keys[] = {v.data()};
  void* outs[] = {out.data()};
  auto pool = Pool();
  Sort(s, keys, keys, outs, scratch.data, *pool);
  const std::vector<uint32_t> order = Order(v, s.keys[0]);
  for (size_t i = 0; i < v.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(v[order[i]])) << i;
}

TEST(Sort, VerifyNamesWhatIsWrong) {
  SortSignature good;
  good.length = good.take = 4;
  good.keys = {KeyOf(DType::kF32)};
  good.payloads = {Positions()};
  EXPECT_TRUE(Verify(good).ok());
  SortSignature s = good;
  s.take = 5;
  EXPECT_EQ(Verify(s).message(), "a sort of 4 elements that takes 5");
  s = good;
  s.keys[0].type = DType::kC64;
  EXPECT_FALSE(Verify(s).ok());
  s = good;
  s.payloads[0].width_bytes = 2;
  EXPECT_FALSE(Verify(s).ok());
  s = good;
  s.outer = {2};
  EXPECT_FALSE(Verify(s).ok());
  s = good;
  s.keys.clear();
  EXPECT_FALSE(Verify(s).ok());
}

}  // namespace
}  // namespace tenon::kernels
