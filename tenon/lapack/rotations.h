#pragma once

// What implicit QR iterations share: rotations, kept until there are many, and the order of what they find.

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "tenon/lapack/padded.h"

namespace tenon::lapack {

/// The rotation that makes of (x, z) a vector (r, 0): r = c x + s z.
template <class R>
struct Rotation {
  R c = 1, s = 0, r = 0;
  Rotation(R x, R z) : r(x) {
    if (z == 0) return;
    // Squares of most entries are numbers, and faster than what takes care of the others.
    constexpr R kLeastSquares = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
    const R squares = x * x + z * z;
    if (squares > kLeastSquares) {
      r = std::sqrt(squares);
      const R inverse = 1 / r;
      c = x * inverse;
      s = z * inverse;
      return;
    }
    r = std::hypot(x, z);
    c = x / r;
    s = z / r;
  }
};

/// Sweeps of rotations of neighbouring columns, which are kept and then turn a few rows at a time: those are copied to
/// where they lie together, in few pages and near the CPU.
template <class R>
class Sweeps {
 public:
  /// Of this matrix, or of none.
  explicit Sweeps(const Block<R>* a) : a_(a) {
    if (a == nullptr) return;
    const int64_t n = a->columns;
    // Of a small matrix there are few in all.
    most_ = std::min(kKept, n * n);
    c_.resize(static_cast<size_t>(most_ + n));
    s_.resize(c_.size());
    rows_.resize(static_cast<size_t>(kRows * n));
  }

  /// Begins a sweep over columns `first` ... `first` + count.
  void Begin(int64_t first, int64_t count) {
    if (a_ == nullptr) return;
    if (kept_ > most_) Apply();
    sweeps_.push_back({first, kept_, count});
  }
  /// The next pair of columns: they become c a_i + s a_(i+1) and c a_(i+1) - s a_i.
  void Turn(R c, R s) {
    if (a_ == nullptr) return;
    c_[static_cast<size_t>(kept_)] = c;
    s_[static_cast<size_t>(kept_++)] = -s;
  }
  /// Turns what is kept.
  void Apply() {
    if (sweeps_.empty()) return;
    const auto& rotate = internal::ColumnsHere<R>().rotate;
    // The sweeps of an iteration go up to columns that only fall.
    int64_t first = a_->columns, last = 0;
    for (const Sweep& sweep : sweeps_) {
      first = std::min(first, sweep.first);
      last = std::max(last, sweep.first + sweep.count + 1);
    }
    for (int64_t row = 0; row < a_->rows; row += kRows) {
      const int64_t rows = std::min(kRows, a_->rows - row);
      for (int64_t j = first; j < last; ++j) std::copy_n(a_->at(row, j), rows, rows_.data() + j * kRows);
      for (const Sweep& sweep : sweeps_) {
        rotate(rows_.data() + sweep.first * kRows, rows, kRows, sweep.count, c_.data() + sweep.at,
               s_.data() + sweep.at);
      }
      for (int64_t j = first; j < last; ++j) std::copy_n(rows_.data() + j * kRows, rows, a_->at(row, j));
    }
    sweeps_.clear();
    kept_ = 0;
  }

 private:
  static constexpr int64_t kRows = 4 * internal::kLanes<R>;
  /// Both halves of so many rotations stay in the second-level cache beside the rows.
  static constexpr int64_t kKept = 1 << 13;
  struct Sweep {
    int64_t first, at, count;
  };
  const Block<R>* a_;
  int64_t most_ = 0, kept_ = 0;
  std::vector<Sweep> sweeps_;
  std::vector<R> c_, s_, rows_;
};

/// Sorts the values, equal ones as they stand, and brings the columns of these matrices, null or not, into their order.
template <class R, class Before>
void SortWithColumns(int64_t n, R* values, const Before& before, std::initializer_list<const Block<R>*> matrices) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](int64_t x, int64_t y) { return before(values[x], values[y]) || (values[x] == values[y] && x < y); });
  const auto apply = [&](const auto& swap) {
    // Along each cycle of the permutation.
    std::vector<int64_t> from = order;
    for (int64_t first = 0; first < n; ++first) {
      for (int64_t at = first;;) {
        const int64_t next = from[static_cast<size_t>(at)];
        from[static_cast<size_t>(at)] = at;
        if (next == first || next == at) break;
        swap(at, next);
        at = next;
      }
    }
  };
  for (const Block<R>* a : matrices) {
    if (a == nullptr) continue;
    apply([&](int64_t x, int64_t y) { std::swap_ranges(a->at(0, x), a->at(0, x) + a->rows, a->at(0, y)); });
  }
  apply([&](int64_t x, int64_t y) { std::swap(values[x], values[y]); });
}

}  // namespace tenon::lapack
