#include "tenon/kernels/linalg/linalg.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "tenon/isa/isa.h"
#include "tenon/kernels/gemm/gemm.h"
#include "tenon/kernels/linalg/internal/blocks.h"

namespace tenon::kernels {
namespace {

using internal::Blocks;
using internal::kBlock;
using internal::kLuPanel;
using internal::kWidth;

constexpr int64_t kMaxPieces = 16;
constexpr int64_t kStripe = 2 * kBlock;  // Columns of a symmetric update in one go.

template <class T>
struct Matrix {
  T* data;
  int64_t rows, cols, row_stride, col_stride;

  T& operator()(int64_t i, int64_t j) const { return data[i * row_stride + j * col_stride]; }
  Matrix Part(int64_t row, int64_t col, int64_t r, int64_t c) const {
    return {&(*this)(row, col), r, c, row_stride, col_stride};
  }
  Matrix Transposed() const { return {data, cols, rows, col_stride, row_stride}; }
  /// Rows and columns in the opposite order.
  Matrix Reversed() const {
    if (rows == 0 || cols == 0) return *this;
    return {&(*this)(rows - 1, cols - 1), rows, cols, -row_stride, -col_stride};
  }
  Matrix RowsReversed() const {
    if (rows == 0 || cols == 0) return *this;
    return {&(*this)(rows - 1, 0), rows, cols, -row_stride, col_stride};
  }
};

int64_t HalfOf(int64_t n, int64_t unit) { return (n / 2 + unit - 1) / unit * unit; }

/// Elements of scratch for one matrix: a negated operand of a product, and what a piece of the direct methods copies.
int64_t ScratchElems(const LinalgSignature& s) {
  const int64_t m = s.x.rows, n = s.x.cols;
  const int64_t order = s.op == LinalgOp::kTriangularSolve ? s.a.rows : std::max(m, n);
  const int64_t negated = std::max(m, order) * HalfOf(order, kBlock);
  const int64_t other = s.op == LinalgOp::kTriangularSolve ? (s.left ? n : m) : std::max(m, n);
  const int64_t columns = (other + kWidth - 1) / kWidth;
  return negated + kBlock * kBlock + std::max(columns * kBlock * kWidth, m * kLuPanel) + kStripe * kStripe + 64;
}

template <class T>
class Solver {
 public:
  Solver(T* scratch, threads::ThreadPool& pool)
      : blocks_(isa::ActiveIsa() >= isa::IsaLevel::kAvx2 ? internal::BlocksAvx2<T>() : internal::BlocksBaseline<T>()),
        triangle_(scratch),
        scratch_(scratch + kBlock * kBlock),
        pool_(pool) {}

  /// t X = X for lower triangular t.
  Status SolveLower(const Matrix<T>& t, const Matrix<T>& x, bool unit) {
    const int64_t n = t.rows;
    if (n == 0 || x.cols == 0) return OkStatus();
    if (n <= kBlock) {
      SolveDirectly(t, x, unit);
      return OkStatus();
    }
    const int64_t h = HalfOf(n, kBlock);
    const Matrix<T> top = x.Part(0, 0, h, x.cols), bottom = x.Part(h, 0, n - h, x.cols);
    TENON_RETURN_IF_ERROR(SolveLower(t.Part(0, 0, h, h), top, unit));
    TENON_RETURN_IF_ERROR(Subtract(bottom, t.Part(h, 0, n - h, h), top));
    return SolveLower(t.Part(h, h, n - h, n - h), bottom, unit);
  }

  /// The lower triangle of a; `info` as LinalgSignature says.
  Status Cholesky(const Matrix<T>& a, int64_t& info) {
    const int64_t n = a.rows;
    info = 0;
    if (n == 0) return OkStatus();
    if (n <= kBlock) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) triangle_[j * kBlock + i] = i < j ? T(0) : a(i, j);
        std::fill(triangle_ + j * kBlock + n, triangle_ + (j + 1) * kBlock, T(0));
      }
      info = blocks_.cholesky(triangle_, n);
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = j; i < n; ++i) a(i, j) = triangle_[j * kBlock + i];
      }
      return OkStatus();
    }
    const int64_t h = HalfOf(n, kBlock);
    const Matrix<T> l11 = a.Part(0, 0, h, h), l21 = a.Part(h, 0, n - h, h), a22 = a.Part(h, h, n - h, n - h);
    TENON_RETURN_IF_ERROR(Cholesky(l11, info));
    if (info != 0) return OkStatus();
    TENON_RETURN_IF_ERROR(SolveLower(l11, l21.Transposed(), false));
    TENON_RETURN_IF_ERROR(SubtractSquare(a22, l21));
    TENON_RETURN_IF_ERROR(Cholesky(a22, info));
    if (info != 0) info += h;
    return OkStatus();
  }

  /// Pivots count from 0.
  Status Lu(const Matrix<T>& a, int32_t* pivots, int64_t& info) {
    const int64_t m = a.rows, n = a.cols;
    info = 0;
    if (m == 0 || n == 0) return OkStatus();
    if (n <= kLuPanel) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) scratch_[j * m + i] = a(i, j);
      }
      info = blocks_.lu(scratch_, m, n, pivots);
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) a(i, j) = scratch_[j * m + i];
      }
      return OkStatus();
    }
    const int64_t h = std::min(HalfOf(n, kLuPanel), m);
    const Matrix<T> left = a.Part(0, 0, m, h), right = a.Part(0, h, m, n - h);
    TENON_RETURN_IF_ERROR(Lu(left, pivots, info));
    Swap(right, pivots, h);
    TENON_RETURN_IF_ERROR(SolveLower(left.Part(0, 0, h, h), right.Part(0, 0, h, n - h), true));
    if (m == h) return OkStatus();
    const Matrix<T> below = right.Part(h, 0, m - h, n - h);
    TENON_RETURN_IF_ERROR(Subtract(below, left.Part(h, 0, m - h, h), right.Part(0, 0, h, n - h)));
    int64_t second = 0;
    TENON_RETURN_IF_ERROR(Lu(below, pivots + h, second));
    if (info == 0 && second != 0) info = second + h;
    const int64_t rest = std::min(m - h, n - h);
    Swap(left.Part(h, 0, m - h, h), pivots + h, rest);
    for (int64_t i = 0; i < rest; ++i) pivots[h + i] += static_cast<int32_t>(h);
    return OkStatus();
  }

 private:
  static void Swap(const Matrix<T>& a, const int32_t* pivots, int64_t count) {
    const auto row = [&](int64_t i) {
      if (pivots[i] == i) return;
      for (int64_t j = 0; j < a.cols; ++j) std::swap(a(i, j), a(pivots[i], j));
    };
    for (int64_t i = 0; i < count; ++i) row(i);
  }

  void SolveDirectly(const Matrix<T>& t, const Matrix<T>& x, bool unit) {
    const int64_t n = t.rows;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t p = 0; p <= i; ++p) triangle_[i * kBlock + p] = t(i, p);
    }
    const int64_t pieces = (x.cols + kWidth - 1) / kWidth;
    const auto cost = static_cast<int64_t>(0.1 * static_cast<double>(n * n * x.cols));
    pool_.ParallelFor(pieces, cost, [&](int64_t piece) {
      T* mine = scratch_ + piece * kBlock * kWidth;
      const int64_t first = piece * kWidth;
      const int64_t width = std::min(kWidth, x.cols - first);
      const Matrix<T> part = x.Part(0, first, n, width);
      if (width < kWidth) std::fill(mine, mine + n * kWidth, T(0));
      Copy(part, mine);
      blocks_.solve(triangle_, mine, n, unit);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t c = 0; c < width; ++c) part(i, c) = mine[i * kWidth + c];
      }
    });
  }
  static void Copy(const Matrix<T>& from, T* to) {
    for (int64_t i = 0; i < from.rows; ++i) {
      for (int64_t c = 0; c < from.cols; ++c) to[i * kWidth + c] = from(i, c);
    }
  }

  /// c -= a b. The smaller operand is negated into scratch.
  Status Subtract(const Matrix<T>& c, Matrix<T> a, Matrix<T> b) {
    Matrix<T>& small = a.rows <= b.cols ? a : b;
    small = Negated(small);
    return Accumulate(c, a, b);
  }
  /// The lower triangle of c -= a a^T; the upper one is left alone.
  Status SubtractSquare(const Matrix<T>& c, const Matrix<T>& a) {
    const Matrix<T> minus = Negated(a);
    // Stripes of columns, each from its diagonal block down; inside that block, only what lies below is taken.
    T* square = minus.data + minus.rows * minus.cols;
    for (int64_t j = 0; j < c.rows; j += kStripe) {
      const int64_t w = std::min(kStripe, c.rows - j);
      const Matrix<T> across = a.Part(j, 0, w, a.cols).Transposed();
      const Matrix<T> corner{square, w, w, w, 1};
      for (int64_t i = 0; i < w; ++i) {
        for (int64_t k = 0; k < w; ++k) corner(i, k) = k <= i ? c(j + i, j + k) : T(0);
      }
      TENON_RETURN_IF_ERROR(Accumulate(corner, minus.Part(j, 0, w, a.cols), across));
      for (int64_t i = 0; i < w; ++i) {
        for (int64_t k = 0; k <= i; ++k) c(j + i, j + k) = corner(i, k);
      }
      const int64_t below = c.rows - j - w;
      if (below == 0) break;
      TENON_RETURN_IF_ERROR(Accumulate(c.Part(j + w, j, below, w), minus.Part(j + w, 0, below, a.cols), across));
    }
    return OkStatus();
  }

  Matrix<T> Negated(const Matrix<T>& a) {
    const Matrix<T> out{scratch_, a.rows, a.cols, a.cols, 1};
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < a.cols; ++j) out(i, j) = -a(i, j);
    }
    return out;
  }

  Status Accumulate(const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b) {
    const DType type = sizeof(T) == 4 ? DType::kF32 : DType::kF64;
    GemmSignature g = DenseGemm(type, type, type, c.rows, c.cols, a.cols);
    g.a_row_stride = a.row_stride;
    g.a_col_stride = a.col_stride;
    g.b_row_stride = b.row_stride;
    g.b_col_stride = b.col_stride;
    g.c_row_stride = c.row_stride;
    g.c_col_stride = c.col_stride;
    g.accumulate = true;
    return Gemm(g, {a.data, b.data, c.data}, {}, pool_);
  }

  const Blocks<T> blocks_;
  T* triangle_;
  T* scratch_;
  threads::ThreadPool& pool_;
};

template <class T>
Status RunOne(const LinalgSignature& s, const T* a_data, T* x_data, int32_t* pivots, int32_t* info, void* scratch,
              threads::ThreadPool& pool) {
  Solver<T> solver(static_cast<T*>(scratch), pool);
  Matrix<T> x{x_data, s.x.rows, s.x.cols, s.x.row_stride, s.x.col_stride};
  int64_t found = 0;
  switch (s.op) {
    case LinalgOp::kCholesky:
      // The upper triangle is the lower one of the transpose.
      TENON_RETURN_IF_ERROR(solver.Cholesky(s.lower ? x : x.Transposed(), found));
      break;
    case LinalgOp::kTriangularSolve: {
      Matrix<T> t{const_cast<T*>(a_data), s.a.rows, s.a.cols, s.a.row_stride, s.a.col_stride};  // Only read.
      // X op(a) = x is op(a)^T X^T = x^T.
      if (!s.left) x = x.Transposed();
      const bool transposed = s.transpose == s.left;
      if (transposed) t = t.Transposed();
      if (s.lower == transposed) {
        // An upper triangle is a lower one from the other end.
        t = t.Reversed();
        x = x.RowsReversed();
      }
      return solver.SolveLower(t, x, s.unit_diagonal);
    }
    case LinalgOp::kLu: {
      TENON_RETURN_IF_ERROR(solver.Lu(x, pivots, found));
      for (int64_t i = 0; i < std::min(x.rows, x.cols); ++i) ++pivots[i];
      break;
    }
  }
  if (info != nullptr) *info = static_cast<int32_t>(found);
  return OkStatus();
}

int64_t Count(const Dims& batch) {
  int64_t n = 1;
  for (int64_t d : batch) n *= d;
  return n;
}
int64_t Pieces(const LinalgSignature& s) { return std::clamp<int64_t>(Count(s.batch), 1, kMaxPieces); }
int64_t PieceBytes(const LinalgSignature& s) { return (ScratchElems(s) * ByteWidth(s.type) + 63) / 64 * 64; }

}  // namespace

Status Verify(const LinalgSignature& s) {
  constexpr int64_t kMaxExtent = int64_t{1} << 24;
  if (s.type != DType::kF32 && s.type != DType::kF64)
    return Unimplemented(fmt::format("linear algebra over {}", DTypeName(s.type)));
  for (int64_t d : s.batch) {
    if (d < 0) return InvalidArgument("a negative batch extent");
  }
  const auto check = [&](const LinalgMatrix& m, std::string_view name) -> Status {
    if (m.rows < 0 || m.cols < 0 || m.rows > kMaxExtent || m.cols > kMaxExtent ||
        m.batch_strides.size() != s.batch.size()) {
      return InvalidArgument(
          fmt::format("linear algebra on a matrix {} of {} x {} with {} batch strides for {} batch extents", name,
                      m.rows, m.cols, m.batch_strides.size(), s.batch.size()));
    }
    return OkStatus();
  };
  TENON_RETURN_IF_ERROR(check(s.x, "x"));
  if (s.op == LinalgOp::kCholesky && s.x.rows != s.x.cols) {
    return InvalidArgument(fmt::format("Cholesky of a matrix of {} x {}, wanted a square one", s.x.rows, s.x.cols));
  }
  if (s.op == LinalgOp::kTriangularSolve) {
    TENON_RETURN_IF_ERROR(check(s.a, "a"));
    const int64_t order = s.left ? s.x.rows : s.x.cols;
    if (s.a.rows != order || s.a.cols != order) {
      return InvalidArgument(fmt::format("a triangular system of {} x {} for {} unknowns", s.a.rows, s.a.cols, order));
    }
  }
  return OkStatus();
}

int64_t LinalgScratchBytes(const LinalgSignature& s) { return Pieces(s) * PieceBytes(s); }

double LinalgFlops(const LinalgSignature& s) {
  const int64_t order = s.op == LinalgOp::kTriangularSolve ? s.a.rows : std::min(s.x.rows, s.x.cols);
  return static_cast<double>(Count(s.batch)) * static_cast<double>(s.x.rows) * static_cast<double>(s.x.cols) *
         static_cast<double>(order);
}

double LinalgCostNs(const LinalgSignature& s) {
  const double elements = static_cast<double>(s.x.rows) * static_cast<double>(s.x.cols);
  return static_cast<double>(Count(s.batch)) * (200 + elements) + LinalgFlops(s) / 30;
}

Status Linalg(const LinalgSignature& s, const void* a, void* x, int32_t* pivots, int32_t* info, void* scratch,
              threads::ThreadPool& pool) {
  const int64_t count = Count(s.batch);
  if (count == 0) return OkStatus();
  const int64_t pieces = Pieces(s);
  const int64_t pivot_count = std::min(s.x.rows, s.x.cols);
  const auto run = [&](int64_t piece) -> Status {
    void* mine = static_cast<std::byte*>(scratch) + piece * PieceBytes(s);
    for (int64_t i = piece * count / pieces; i < (piece + 1) * count / pieces; ++i) {
      int64_t at_x = 0, at_a = 0, rest = i;
      for (size_t d = s.batch.size(); d-- > 0;) {
        at_x += rest % s.batch[d] * s.x.batch_strides[d];
        if (s.op == LinalgOp::kTriangularSolve) at_a += rest % s.batch[d] * s.a.batch_strides[d];
        rest /= s.batch[d];
      }
      int32_t* my_pivots = pivots == nullptr ? nullptr : pivots + i * pivot_count;
      int32_t* my_info = info == nullptr ? nullptr : info + i;
      if (s.type == DType::kF32) {
        TENON_RETURN_IF_ERROR(RunOne<float>(s, static_cast<const float*>(a) + at_a, static_cast<float*>(x) + at_x,
                                            my_pivots, my_info, mine, pool));
      } else {
        TENON_RETURN_IF_ERROR(RunOne<double>(s, static_cast<const double*>(a) + at_a, static_cast<double*>(x) + at_x,
                                             my_pivots, my_info, mine, pool));
      }
    }
    return OkStatus();
  };
  if (pieces == 1) return run(0);
  std::atomic<bool> failed{false};
  pool.ParallelFor(pieces, static_cast<int64_t>(LinalgCostNs(s)), [&](int64_t piece) {
    if (!run(piece).ok()) failed.store(true, std::memory_order_relaxed);
  });
  return failed.load() ? Internal("a matrix product inside a batch of factorisations failed") : OkStatus();
}

}  // namespace tenon::kernels
