#include "tenon/kernels/fft/internal/tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numbers>
#include <type_traits>

namespace tenon::kernels::internal {
namespace {

constexpr int64_t kLongLine = 1024;         // Longer lines, kLanes at a time, leave the nearer caches.
constexpr int64_t kLongSideBySide = 16384;  // And so do their lanes, where cutting costs a cache line per element.
constexpr int64_t kMinSplit = 16;
// Of lines that leave most lanes empty: what is cut fills them with parts of one line.
constexpr int64_t kLongOfFew = kMinSplit * kMinSplit - 1;

/// exp(2 pi i k / n) in better than T's precision.
template <class T>
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n) {
    // Of the first quarter, every kStep-th and the kStep ones from the first on: products of two are all of them.
    if (n < kFew) return;
    for (int64_t r = 0; r < kStep; ++r) low_.push_back(InQuarter(r));
    for (int64_t r = 0; r <= n; r += kStep) high_.push_back(InQuarter(r));
  }

  Root<T> operator()(int64_t k) const {
    k %= n_;
    if (k < 0) k += n_;
    // A quarter of the circle is enough; multiples of it are exact.
    const int64_t quarter = 4 * k / n_, r = 4 * k - quarter * n_;
    const Root<Wide> root = low_.empty()
                                ? InQuarter(r)
                                : Product(high_[static_cast<size_t>(r / kStep)], low_[static_cast<size_t>(r % kStep)]);
    const T c = static_cast<T>(root.re), s = static_cast<T>(root.im);
    switch (quarter) {
      case 0:
        return {c, s};
      case 1:
        return {-s, c};
      case 2:
        return {-c, -s};
      default:
        return {s, -c};
    }
  }

 private:
  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;
  static constexpr int64_t kStep = 512, kFew = 4096;

  /// exp(2 pi i r / 4n), r < n.
  Root<Wide> InQuarter(int64_t r) const {
    const Wide angle = 2 * std::numbers::pi_v<Wide> * static_cast<Wide>(r) / static_cast<Wide>(4 * n_);
    return {std::cos(angle), std::sin(angle)};
  }
  static Root<Wide> Product(const Root<Wide>& a, const Root<Wide>& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }

  int64_t n_;
  std::vector<Root<Wide>> low_, high_;
};

/// Eights while the power of two allows, fours and at most one 2, then the odd primes.
std::vector<int64_t> Radices(int64_t n) {
  std::vector<int64_t> radices;
  int64_t twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  while (twos >= 3 && twos != 4) {
    radices.push_back(8);
    twos -= 3;
  }
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (int64_t r = 3; r * r <= n; r += 2) {
    while (n % r == 0) {
      radices.push_back(r);
      n /= r;
    }
  }
  if (n > 1) radices.push_back(n);
  return radices;
}

template <class T>
Passes<T> MakePasses(int64_t n, int64_t sign) {
  Passes<T> passes;
  passes.n = n;
  int64_t length = n;
  int64_t stride = 1;
  for (int64_t r : Radices(n)) {
    typename Passes<T>::Pass pass;
    pass.radix = r;
    pass.parts = length / r;
    pass.stride = stride;
    const Roots<T> roots(length);
    for (int64_t p = 0; p < pass.parts; ++p) {
      for (int64_t j = 1; j < r; ++j) pass.turns.push_back(roots(sign * p * j));
    }
    if (r % 2 == 1) {
      const Roots<T> few(r);
      for (int64_t j = 0; j < r; ++j) {
        for (int64_t k = 0; k < r; ++k) pass.roots.push_back(few(sign * j * k));
      }
    }
    passes.passes.push_back(std::move(pass));
    length /= r;
    stride *= r;
  }
  return passes;
}

bool IsLong(int64_t n, LinesBeside beside) {
  switch (beside) {
    case LinesBeside::kFew:
      return n > kLongOfFew;
    case LinesBeside::kMany:
      return n > kLongLine;
    case LinesBeside::kNeighbours:
      break;
  }
  return n > kLongSideBySide;
}

template <class T>
void MakeChirp(LineTables<T>& tables, int64_t sign, LinesBeside beside) {
  const int64_t n = tables.n;
  // The shortest of the lengths that fast passes make up.
  int64_t m = 0;
  for (int64_t odd : {1, 3, 5, 9, 15}) {
    int64_t length = odd;
    while (length < 2 * n - 1) length *= 2;
    if (m == 0 || length < m) m = length;
  }
  tables.chirp = true;
  if (IsLong(m, beside)) {
    for (bool back : {false, true}) tables.cut.push_back(MakeLineTables<T>(m, back, false, beside));
  } else {
    tables.direct = MakePasses<T>(m, -1);
    tables.back = MakePasses<T>(m, 1);
  }
  // j * j modulo the period, without overflow.
  const auto square = [&](int64_t j) { return static_cast<int64_t>(static_cast<__int128>(j) * j % (2 * n)); };
  const Roots<T> roots(2 * n);
  const Roots<double> wide_roots(2 * n);
  for (int64_t j = 0; j < n; ++j) tables.chirps.push_back(roots(sign * square(j)));
  std::vector<double> kernel(static_cast<size_t>(2 * m), 0), transformed(static_cast<size_t>(2 * m));
  for (int64_t j = 0; j < n; ++j) {
    const Root<double> c = wide_roots(sign * square(j));
    for (int64_t at : {j, (m - j) % m}) {
      kernel[static_cast<size_t>(2 * at)] = c.re;
      kernel[static_cast<size_t>(2 * at + 1)] = -c.im;
    }
  }
  const LineTables<double> plain = MakeLineTables<double>(m, false, false, LinesBeside::kMany);
  std::vector<std::byte> scratch(static_cast<size_t>(LineScratchBytes(plain)) + 64);
  void* aligned = scratch.data();
  size_t space = scratch.size();
  std::align(64, 1, aligned, space);
  const int64_t zero = 0;
  Lines<double> line;
  line.in = kernel.data();
  line.out = transformed.data();
  line.in_offset = line.out_offset = &zero;
  line.count = 1;
  line.scale = 1.0 / static_cast<double>(m);
  TransformSse4(plain, line, aligned);
  for (int64_t k = 0; k < m; ++k) {
    tables.kernel.push_back({static_cast<T>(transformed[static_cast<size_t>(2 * k)]),
                             static_cast<T>(transformed[static_cast<size_t>(2 * k + 1)])});
  }
}

}  // namespace

bool NeedsChirp(int64_t n) {
  return std::ranges::any_of(Radices(n), [](int64_t r) { return r > kMaxRadix; });
}

template <class T>
LineTables<T> MakeLineTables(int64_t n, bool inverse, bool real, LinesBeside beside) {
  LineTables<T> tables;
  tables.line = n;
  tables.inverse = inverse;
  const int64_t sign = inverse ? 1 : -1;
  if (real && n % 2 == 0) {
    // What the fold multiplies by: i * root^k, and forward -i/2 * root^k (tables of sines turned by a quarter).
    n /= 2;
    const Roots<T> roots(2 * n);
    for (int64_t k = 0; k <= n; ++k) {
      const Root<T> root = roots(sign * k);
      const T scale = inverse ? T{1} : static_cast<T>(-0.5);
      tables.fold.push_back({-root.im * scale, root.re * scale});
    }
  }
  tables.n = n;
  if (NeedsChirp(n)) {
    MakeChirp(tables, sign, beside);
    return tables;
  }
  int64_t n1 = 1;
  for (int64_t d = 1; d * d <= n && IsLong(n, beside); ++d) {
    if (n % d == 0) n1 = d;
  }
  if (n1 < kMinSplit) {
    tables.direct = MakePasses<T>(n, sign);
    return tables;
  }
  const int64_t n2 = n / n1;
  tables.split = true;
  tables.first = MakePasses<T>(n1, sign);
  tables.second = MakePasses<T>(n2, sign);
  const Roots<T> roots(n);
  for (int64_t k1 = 0; k1 < n1; ++k1) {
    for (int64_t j2 = 0; j2 < n2; ++j2) {
      const Root<T> root = roots(sign * k1 * j2);
      tables.twist_re.push_back(root.re);
      tables.twist_im.push_back(root.im);
    }
  }
  tables.twist_re.resize(static_cast<size_t>(n + kLanes<T>));
  tables.twist_im.resize(static_cast<size_t>(n + kLanes<T>));
  return tables;
}

template <class T>
int64_t LineScratchBytes(const LineTables<T>& tables) {
  constexpr int64_t kVectorPair = 64, kN = kLanes<T>;
  const auto round_up = [](int64_t n) { return (n + kN - 1) / kN * kN; };
  if (!tables.cut.empty()) {
    const LineTables<T>& matrix = tables.cut[0];
    return LineScratchBytes(matrix) + tables.line * static_cast<int64_t>(sizeof(Root<T>));
  }
  if (!tables.split) return 2 * std::max(tables.direct.n, tables.n + 1) * kVectorPair;
  const int64_t n1 = tables.first.n, n2 = tables.second.n;
  return (2 * std::max(n1, n2) + round_up(n1) / kN * round_up(n2)) * kVectorPair +
         tables.line * static_cast<int64_t>(sizeof(Root<T>));
}

template LineTables<float> MakeLineTables<float>(int64_t, bool, bool, LinesBeside);
template LineTables<double> MakeLineTables<double>(int64_t, bool, bool, LinesBeside);
template int64_t LineScratchBytes<float>(const LineTables<float>&);
template int64_t LineScratchBytes<double>(const LineTables<double>&);

}  // namespace tenon::kernels::internal
