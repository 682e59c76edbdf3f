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
using internal::kLuRows;
using internal::kWidth;
using internal::LuStride;

constexpr int64_t kMaxPieces = 16;
constexpr int64_t kFew = 8;              // Right-hand sides that are solved one by one.
constexpr int64_t kStripe = 2 * kBlock;  // Columns of a symmetric update in one go.
// Matrices of at most so many rows and columns, and at least so many of them, are worked on in lanes: beyond, a group
// of them leaves the nearest cache, and of fewer most lanes are idle.
constexpr int64_t kMaxLaneOrder = 24;
constexpr int64_t kLeastLaned = 4;

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

/// Whether LU takes the columns one by one.
bool LuDirectly(int64_t rows, int64_t columns) { return columns <= kLuPanel || (columns <= kBlock && rows <= kLuRows); }
/// Elements of scratch of the largest part of a matrix that LU takes so.
int64_t LuElems(int64_t rows, int64_t columns) {
  return std::max(LuStride(rows) * std::min(columns, kLuPanel),
                  LuStride(std::min(rows, kLuRows)) * std::min(columns, kBlock));
}

/// Elements of scratch for one matrix: the smaller operand of a product, negated, and what the direct methods copy. Of
/// long matrices as many as these have, not as squares would.
int64_t ScratchElems(const LinalgSignature& s) {
  const bool solves = s.op == LinalgOp::kTriangularSolve;
  const int64_t order = solves ? s.a.rows : std::min(s.x.rows, s.x.cols);
  const int64_t columns = solves && !s.left ? s.x.rows : s.x.cols;
  const int64_t negated = order * HalfOf(order, kBlock);
  const int64_t solved = (columns + kWidth - 1) / kWidth * kWidth * std::min(order, kBlock);
  const int64_t panel = s.op == LinalgOp::kLu ? LuElems(s.x.rows, s.x.cols) : 0;
  return negated + kBlock * kBlock + std::max({solved, panel, kBlock}) + kStripe * kStripe + 64;
}

template <class T>
Blocks<T> ActiveBlocks() {
  const isa::IsaLevel level = isa::ActiveIsa();
  if (level >= isa::IsaLevel::kAvx512) return internal::BlocksAvx512<T>();
  return level >= isa::IsaLevel::kAvx2 ? internal::BlocksAvx2<T>() : internal::BlocksBaseline<T>();
}

template <class T>
class Solver {
 public:
  Solver(T* scratch, threads::ThreadPool& pool)
      : blocks_(ActiveBlocks<T>()), triangle_(scratch), scratch_(scratch + kBlock * kBlock), pool_(pool) {}

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
      LoadColumns(a);
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
    if (LuDirectly(m, n)) {
      const int64_t stride = LuStride(m);
      for (int64_t j = 0; j < n; ++j) {
        T* column = scratch_ + j * stride;
        for (int64_t i = 0; i < m; ++i) column[i] = a(i, j);
        std::fill(column + m, column + stride, T(0));
      }
      info = blocks_.lu(scratch_, m, n, pivots);
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) a(i, j) = scratch_[j * stride + i];
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
    if (x.cols <= kFew) return SolveFew(t, x, unit);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t p = 0; p <= i; ++p) triangle_[i * kBlock + p] = t(i, p);
    }
    const int64_t pieces = (x.cols + kWidth - 1) / kWidth;
    const auto cost = static_cast<int64_t>(0.1 * static_cast<double>(n * n * x.cols));
    pool_.ParallelFor(pieces, cost, [&](int64_t piece) {
      T* mine = scratch_ + piece * n * kWidth;
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
  /// The lower triangle by columns; what is around it stays whatever it was.
  void LoadColumns(const Matrix<T>& lower) {
    const int64_t n = lower.rows;
    if (lower.row_stride == 1) {
      for (int64_t j = 0; j < n; ++j) std::copy(&lower(j, j), &lower(j, j) + (n - j), triangle_ + j * kBlock + j);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) triangle_[j * kBlock + i] = lower(i, j);
    }
  }
  /// One right-hand side after the other, in vectors of rows.
  void SolveFew(const Matrix<T>& t, const Matrix<T>& x, bool unit) {
    const int64_t n = t.rows;
    LoadColumns(t);
    for (int64_t c = 0; c < x.cols; ++c) {
      for (int64_t i = 0; i < n; ++i) scratch_[i] = x(i, c);
      std::fill(scratch_ + n, scratch_ + kBlock, T(0));
      blocks_.solve_one(triangle_, scratch_, n, unit);
      for (int64_t i = 0; i < n; ++i) x(i, c) = scratch_[i];
    }
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

/// The matrices of one index of the batch, as every case is brought to one.
template <class T>
struct Case {
  Matrix<T> x, t;

  Case(const LinalgSignature& s, const T* a_data, T* x_data)
      : x{x_data, s.x.rows, s.x.cols, s.x.row_stride, s.x.col_stride},
        t{const_cast<T*>(a_data), s.a.rows, s.a.cols, s.a.row_stride, s.a.col_stride} {  // Only read.
    // The upper triangle is the lower one of the transpose.
    if (s.op == LinalgOp::kCholesky && !s.lower) x = x.Transposed();
    if (s.op != LinalgOp::kTriangularSolve) return;
    // X op(a) = x is op(a)^T X^T = x^T.
    if (!s.left) x = x.Transposed();
    const bool transposed = s.transpose == s.left;
    if (transposed) t = t.Transposed();
    if (s.lower != transposed) return;
    // An upper triangle is a lower one from the other end.
    t = t.Reversed();
    x = x.RowsReversed();
  }
};

template <class T>
Status RunOne(const LinalgSignature& s, const T* a_data, T* x_data, int32_t* pivots, int32_t* info, void* scratch,
              threads::ThreadPool& pool) {
  Solver<T> solver(static_cast<T*>(scratch), pool);
  const Case<T> one(s, a_data, x_data);
  int64_t found = 0;
  switch (s.op) {
    case LinalgOp::kCholesky:
      TENON_RETURN_IF_ERROR(solver.Cholesky(one.x, found));
      break;
    case LinalgOp::kTriangularSolve:
      return solver.SolveLower(one.t, one.x, s.unit_diagonal);
    case LinalgOp::kLu: {
      TENON_RETURN_IF_ERROR(solver.Lu(one.x, pivots, found));
      for (int64_t i = 0; i < std::min(one.x.rows, one.x.cols); ++i) ++pivots[i];
      break;
    }
  }
  if (info != nullptr) *info = static_cast<int32_t>(found);
  return OkStatus();
}

/// Elements of scratch for a group of matrices in lanes: x, a, pivots and infos.
int64_t LaneScratchElems(const LinalgSignature& s) {
  return (s.x.rows * s.x.cols + s.a.rows * s.a.cols + std::min(s.x.rows, s.x.cols) + 1) * 16;
}

/// Matrices of a batch, one in each lane.
template <class T>
class LaneGroup {
 public:
  LaneGroup(const LinalgSignature& s, void* scratch) : s_(s), blocks_(ActiveBlocks<T>()) {
    x_ = static_cast<T*>(scratch);
    t_ = x_ + s.x.rows * s.x.cols * kN;
    pivots_ = reinterpret_cast<int32_t*>(t_ + s.a.rows * s.a.cols * kN);
    info_ = pivots_ + std::min(s.x.rows, s.x.cols) * kN;
  }

  /// `count` matrices, at most as many as lanes; at(i) is the Case of one. `pivots` and `info` are dense, or null.
  template <class At>
  void Run(int64_t count, const At& at, int32_t* pivots, int32_t* info) {
    int64_t rows = 0, cols = 0;
    for (int64_t l = 0; l < kN; ++l) {
      // Lanes that are left do what the last one does.
      const Case<T> one = at(std::min(l, count - 1));
      rows = one.x.rows;
      cols = one.x.cols;
      Load(one.x, s_.op == LinalgOp::kCholesky, x_ + l);
      if (s_.op == LinalgOp::kTriangularSolve) Load(one.t, true, t_ + l);
    }
    const int64_t rank = std::min(rows, cols);
    switch (s_.op) {
      case LinalgOp::kCholesky:
        blocks_.cholesky_lanes(x_, rows, info_);
        break;
      case LinalgOp::kTriangularSolve:
        blocks_.solve_lanes(t_, x_, rows, cols, s_.unit_diagonal);
        break;
      case LinalgOp::kLu:
        blocks_.lu_lanes(x_, rows, cols, pivots_, info_);
        break;
    }
    for (int64_t l = 0; l < count; ++l) {
      Store(x_ + l, s_.op == LinalgOp::kCholesky, at(l).x);
      if (s_.op == LinalgOp::kTriangularSolve) continue;
      if (info != nullptr) info[l] = info_[l];
      if (pivots == nullptr) continue;
      for (int64_t i = 0; i < rank; ++i) pivots[l * rank + i] = pivots_[i * kN + l] + 1;
    }
  }

 private:
  static constexpr int64_t kN = internal::kLanes<T>;

  /// `lower`: the triangle alone; what is above it means nothing.
  static void Load(const Matrix<T>& from, bool lower, T* to) {
    for (int64_t i = 0; i < from.rows; ++i) {
      const int64_t end = lower ? i + 1 : from.cols;
      for (int64_t j = 0; j < end; ++j) to[(i * from.cols + j) * kN] = from(i, j);
    }
  }
  static void Store(const T* from, bool lower, const Matrix<T>& to) {
    for (int64_t i = 0; i < to.rows; ++i) {
      const int64_t end = lower ? i + 1 : to.cols;
      for (int64_t j = 0; j < end; ++j) to(i, j) = from[(i * to.cols + j) * kN];
    }
  }

  const LinalgSignature& s_;
  const Blocks<T> blocks_;
  T* x_;
  T* t_;
  int32_t* pivots_;
  int32_t* info_;
};

int64_t Count(const Dims& batch) {
  int64_t n = 1;
  for (int64_t d : batch) n *= d;
  return n;
}
bool InLanes(const LinalgSignature& s) {
  const int64_t order = std::max({s.x.rows, s.x.cols, s.a.rows});
  return order > 0 && order <= kMaxLaneOrder && Count(s.batch) >= kLeastLaned;
}
int64_t LanesOf(const LinalgSignature& s) {
  return s.type == DType::kF32 ? internal::kLanes<float> : internal::kLanes<double>;
}
/// Matrices, or groups of them in lanes, that run one after another in a piece.
int64_t Units(const LinalgSignature& s) {
  const int64_t count = Count(s.batch);
  return InLanes(s) ? (count + LanesOf(s) - 1) / LanesOf(s) : count;
}
int64_t Pieces(const LinalgSignature& s) { return std::clamp<int64_t>(Units(s), 1, kMaxPieces); }
int64_t PieceBytes(const LinalgSignature& s) {
  const int64_t elems = InLanes(s) ? LaneScratchElems(s) : ScratchElems(s);
  return (elems * ByteWidth(s.type) + 63) / 64 * 64;
}

/// Offsets of the i-th matrices of x and a.
std::pair<int64_t, int64_t> OffsetsOf(const LinalgSignature& s, int64_t i) {
  int64_t at_x = 0, at_a = 0;
  for (size_t d = s.batch.size(); d-- > 0;) {
    at_x += i % s.batch[d] * s.x.batch_strides[d];
    if (s.op == LinalgOp::kTriangularSolve) at_a += i % s.batch[d] * s.a.batch_strides[d];
    i /= s.batch[d];
  }
  return {at_x, at_a};
}

/// The units [first, last).
template <class T>
Status RunUnits(const LinalgSignature& s, const T* a, T* x, int32_t* pivots, int32_t* info, void* scratch,
                int64_t first, int64_t last, threads::ThreadPool& pool) {
  const int64_t count = Count(s.batch), rank = std::min(s.x.rows, s.x.cols);
  const auto of = [&](int32_t* list, int64_t i) { return list == nullptr ? nullptr : list + i; };
  if (InLanes(s)) {
    constexpr int64_t kN = internal::kLanes<T>;
    LaneGroup<T> group(s, scratch);
    for (int64_t u = first; u < last; ++u) {
      const int64_t from = u * kN;
      const auto at = [&](int64_t i) {
        const auto [at_x, at_a] = OffsetsOf(s, from + i);
        return Case<T>(s, a + at_a, x + at_x);
      };
      group.Run(std::min(kN, count - from), at, of(pivots, from * rank), of(info, from));
    }
    return OkStatus();
  }
  for (int64_t i = first; i < last; ++i) {
    const auto [at_x, at_a] = OffsetsOf(s, i);
    TENON_RETURN_IF_ERROR(RunOne<T>(s, a + at_a, x + at_x, of(pivots, i * rank), of(info, i), scratch, pool));
  }
  return OkStatus();
}

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
  // Fitted to matrices of order 2 to 200 in f32 at 512 bits, within a factor of two.
  const double rows = static_cast<double>(s.x.rows), cols = static_cast<double>(s.x.cols);
  const double elements = rows * cols;
  const bool solves = s.op == LinalgOp::kTriangularSolve;
  const double order = solves ? static_cast<double>(s.a.rows) : std::min(rows, cols);
  const double wide = s.type == DType::kF64 ? 2 : 1;
  if (InLanes(s)) {
    // Moving elements there and back, most of it.
    const double moved = 2 * elements + (solves ? order * order : 0);
    const double pivots = s.op == LinalgOp::kLu ? 80 * order : 0;
    return static_cast<double>(Units(s)) * ((solves ? 350 + 7.5 * moved : 300 + 5.5 * moved) + pivots);
  }
  // Columns of the order one after another, then what runs in tiles.
  const double matrix = elements * order * wide;
  const double sides = order > 0 ? elements / order : 0;
  double ns = 0;
  switch (s.op) {
    case LinalgOp::kCholesky:
      ns = 40 * order + matrix / 60;
      break;
    case LinalgOp::kLu:
      ns = 170 * order + matrix / 60;
      break;
    case LinalgOp::kTriangularSolve:
      // Few sides fill no tiles.
      ns = 30 * order + matrix * (sides >= 16 ? 1.0 / 35 : 0.06 + 0.09 / std::max(sides, 1.0));
      break;
  }
  return static_cast<double>(Count(s.batch)) * (100 + ns);
}

Status Linalg(const LinalgSignature& s, const void* a, void* x, int32_t* pivots, int32_t* info, void* scratch,
              threads::ThreadPool& pool) {
  const int64_t count = Count(s.batch);
  if (count == 0) return OkStatus();
  const int64_t pieces = Pieces(s), units = Units(s);
  const auto run = [&](int64_t piece) -> Status {
    void* mine = static_cast<std::byte*>(scratch) + piece * PieceBytes(s);
    const int64_t first = piece * units / pieces, last = (piece + 1) * units / pieces;
    if (s.type == DType::kF32) {
      return RunUnits(s, static_cast<const float*>(a), static_cast<float*>(x), pivots, info, mine, first, last, pool);
    }
    return RunUnits(s, static_cast<const double*>(a), static_cast<double*>(x), pivots, info, mine, first, last, pool);
  };
  if (pieces == 1) return run(0);
  std::atomic<bool> failed{false};
  pool.ParallelFor(pieces, static_cast<int64_t>(LinalgCostNs(s)), [&](int64_t piece) {
    if (!run(piece).ok()) failed.store(true, std::memory_order_relaxed);
  });
  return failed.load() ? Internal("a matrix product inside a batch of factorisations failed") : OkStatus();
}

}  // namespace tenon::kernels
