#pragma once

// One-dimensional transforms of several lines at once, a line per lane.

#include <cstdint>
#include <vector>

#include "tenon/base/dtype.h"

namespace tenon::kernels::internal {

/// Real and imaginary part, one after the other.
template <class T>
struct Root {
  T re, im;
};

inline constexpr int64_t kMaxRadix = 19;  ///< Larger prime factors go the way of the chirp.
/// Whether n, above 0, has such factors.
bool NeedsChirp(int64_t n);

/// The passes of a transform of length n whose prime factors are small.
template <class T>
struct Passes {
  struct Pass {
    int64_t radix = 0;
    int64_t parts = 0;           ///< Length before the pass / radix.
    int64_t stride = 0;          ///< Product of the radices before.
    std::vector<Root<T>> turns;  ///< parts x (radix - 1): root^(p * j), j from 1.
    std::vector<Root<T>> roots;  ///< radix^2 of an odd radix: root^(j * k).
  };
  int64_t n = 1;
  std::vector<Pass> passes;
};

/// What transforms of length `line` along one axis need. Real lines of even length are transformed as complex ones of
/// half the length n, even places in real parts and odd places in imaginary ones, and then folded (or folded before).
template <class T>
struct LineTables {
  int64_t line = 1;
  int64_t n = 1;  ///< Of the complex transform: `line`, or half of it when folded.
  bool inverse = false;
  std::vector<Root<T>> fold;  ///< n + 1 roots when folded, else empty.
  // Either direct,
  Passes<T> direct;
  // or as n1 x n2, for long lines,
  bool split = false;
  Passes<T> first, second;
  std::vector<T> twist_re, twist_im;  ///< n1 x n2: root^(k1 * j2); then kLanes places that are read and not used.
  // or, with large prime factors, as a convolution of the length of `kernel`, there by `direct` or, for long lines, by
  // cut[0], and back by `back` or cut[1].
  bool chirp = false;
  std::vector<Root<T>> chirps;  ///< n.
  std::vector<Root<T>> kernel;  ///< Transformed.
  Passes<T> back;
  std::vector<LineTables> cut;

  /// Lines that fill vectors themselves; others lie in their lanes side by side.
  bool one_by_one() const { return split || !cut.empty(); }
};

/// A line's elements: reals, complex numbers, or the first half of a Hermitian line.
enum class LineForm : uint8_t { kComplex, kReal, kHalf };

/// `count` lines, 1 to kLanes<T>. Line l's element j lies at base + offset[l] + j * stride, in numbers of its own type.
/// Strides of real and half lines are 1.
template <class T>
struct Lines {
  const T* in = nullptr;
  T* out = nullptr;
  LineForm in_form = LineForm::kComplex, out_form = LineForm::kComplex;
  const int64_t* in_offset = nullptr;
  const int64_t* out_offset = nullptr;
  int64_t in_stride = 1, out_stride = 1;
  int count = 0;
  T scale = 1;
};

template <class T>
inline constexpr int kLanes = static_cast<int>(32 / sizeof(T));

/// Bytes of scratch, 64-byte aligned, that a call needs.
template <class T>
int64_t LineScratchBytes(const LineTables<T>& tables);

using LineFn32 = void (*)(const LineTables<float>&, const Lines<float>&, void* scratch);
using LineFn64 = void (*)(const LineTables<double>&, const Lines<double>&, void* scratch);
void TransformSse4(const LineTables<float>&, const Lines<float>&, void* scratch);
void TransformSse4(const LineTables<double>&, const Lines<double>&, void* scratch);
void TransformAvx2(const LineTables<float>&, const Lines<float>&, void* scratch);
void TransformAvx2(const LineTables<double>&, const Lines<double>&, void* scratch);
void TransformAvx512(const LineTables<float>&, const Lines<float>&, void* scratch);
void TransformAvx512(const LineTables<double>&, const Lines<double>&, void* scratch);

}  // namespace tenon::kernels::internal
