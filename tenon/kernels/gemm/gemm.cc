#include "tenon/kernels/gemm/gemm.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tenon/isa/amx.h"
#include "tenon/kernels/gemm/internal/costs.h"
#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/problem.h"

namespace tenon::kernels {
namespace internal {
namespace {

constexpr const GemmKernel* kKernels[] = {
#define TENON_GEMM(level, extra, name, operand, sum, mr, nr, consistent) &name,
#include "tenon/kernels/gemm/kernels.inc"
#undef TENON_GEMM
};

// C^T = B^T A^T.
void Transpose(Settled& p) {
  p.s = Transposed(p.s);
  std::swap(p.hooked.pack_a, p.hooked.pack_b);
  p.swapped = !p.swapped;
}

// k == 0: an empty sum, all bits zero in every type.
void FillEmptySum(const Problem& p) {
  const GemmSignature& s = p.s;
  const int64_t bytes = ByteWidth(s.c_type);
  for (int64_t batch = 0, count = s.batch_count(); batch < count; ++batch) {
    char* const matrix = static_cast<char*>(p.operands.c) + OffsetsOf(s, batch).c * bytes;
    for (int64_t i = 0; i < s.m; ++i) {
      char* const row = matrix + i * s.c_row_stride * bytes;
      if (!s.accumulate) {
        for (int64_t j = 0; j < s.n; ++j) std::memset(row + j * s.c_col_stride * bytes, 0, static_cast<size_t>(bytes));
      }
      if (!p.hooks.finish) continue;
      constexpr int64_t kMaxCols = 4096;
      for (int64_t j = 0; j < s.n; j += kMaxCols) {
        const int64_t cols = std::min(kMaxCols, s.n - j);
        ShowTile(p, p.hooks.finish,
                 {batch, i, j, 1, cols, row + j * s.c_col_stride * bytes, s.c_row_stride, s.c_col_stride});
      }
    }
  }
}

// Strides along an extent of 1 mean nothing; 1 is the one that the drivers like.
void NormaliseStrides(GemmSignature& s) {
  if (s.m == 1) s.a_row_stride = s.c_row_stride = s.n;
  if (s.n == 1) s.b_col_stride = s.c_col_stride = 1;
  if (s.k == 1) s.a_col_stride = s.b_row_stride = 1;
}

// Modulo 2^32 a sign makes no difference.
DType SignedTwin(DType type) { return type == DType::kU32 ? DType::kS32 : type; }

}  // namespace

bool IsAvailable(const GemmKernel& kernel) {
  if (kernel.level > isa::DetectedIsa()) return false;
  switch (kernel.extra) {
    case Extra::kNone:
      return true;
    case Extra::kBf16:
      return isa::ExtrasFor(kernel.level).avx512_bf16;
    case Extra::kVnni:
      return isa::ExtrasFor(kernel.level).avx512_vnni;
    case Extra::kAmx:
      return isa::AmxUsable();
  }
  return false;
}

const GemmKernel* FindKernel(DType a, DType b, isa::IsaLevel level, bool is_placed) {
  a = SignedTwin(a);
  b = SignedTwin(b);
  const GemmKernel* best = nullptr;
  for (const GemmKernel* kernel : kKernels) {
    if (is_placed && kernel->micro_placed_a == nullptr) continue;
    if (kernel->operand_type == a && a == b && kernel->level <= level && IsAvailable(*kernel)) best = kernel;
  }
  return best;
}

BatchOffsets OffsetsOf(const GemmSignature& s, int64_t batch) {
  BatchOffsets offsets;
  for (int d = kMaxGemmBatchDims - 1; batch != 0 && d >= 0; --d) {
    const GemmBatchDim& dim = s.batch[static_cast<size_t>(d)];
    const int64_t index = batch % dim.extent;
    batch /= dim.extent;
    offsets.a += index * dim.a_stride;
    offsets.b += index * dim.b_stride;
    offsets.c += index * dim.c_stride;
  }
  return offsets;
}

void ShowTile(const Problem& p, const GemmHook& hook, GemmTile tile) {
  if (p.swapped) {
    std::swap(tile.row0, tile.col0);
    std::swap(tile.rows, tile.cols);
    std::swap(tile.row_stride, tile.col_stride);
  }
  hook(tile);
}

namespace {

// A block of GemmOrder::kHalves takes its even elements first.
std::vector<int64_t> DepthInWords(const GemmKernel& kernel, const std::vector<int64_t>& depth) {
  std::vector<int64_t> words;
  words.reserve(depth.size());
  const size_t block = kernel.half_steps != 0 ? static_cast<size_t>(kernel.k_unit) : 1, parts = block > 1 ? 2 : 1;
  for (size_t first = 0; first < depth.size(); first += block) {
    for (size_t part = 0; part < parts; ++part) {
      for (size_t p = first + part; p < std::min(first + block, depth.size()); p += parts)
        words.push_back(depth[p] * kernel.sum_words);
    }
  }
  return words;
}

// Whether it goes to RunFew, as it stands.
bool IsFew(const Settled& p) {
  return p.kernel->dot_few != nullptr && !p.hooked.pack_a && !p.hooked.pack_b && IsMatrixWithFew(p.s);
}

// Whether it goes to RunColumns, as it stands.
bool IsByColumns(const Settled& p) {
  return p.kernel->dot_columns != nullptr && !p.hooked.pack_a && !p.hooked.pack_b && !p.hooked.a_places &&
         !p.hooked.b_places && (p.hooked.in_chains || OrderOf(p.s) == GemmOrder::kChain) && IsVectorByColumns(p.s);
}

// Whether rows of C^T make better vectors. Hooks are laid out for one way, so their products go the way of C.
bool RunsTransposed(const Settled& p) {
  constexpr double kMargin = 1.1;
  const bool lies_so = p.s.c_col_stride != 1 && p.s.c_row_stride == 1;
  if (p.hooked.pack_a || p.hooked.pack_b || p.hooked.finish) return lies_so;
  Settled transposed = p;
  Transpose(transposed);
  const double stays = PassesOf(p), turns = PassesOf(transposed);
  return lies_so ? turns < stays * kMargin : turns * kMargin < stays;
}

Settled SettleWith(const GemmKernel& kernel, const GemmSignature& s, const GemmHookSet& hooked) {
  using Way = Settled::Way;
  Settled p;
  p.s = s;
  p.hooked = hooked;
  p.kernel = &kernel;
  if (s.m == 0 || s.n == 0 || s.batch_count() == 0) return p;
  p.way = Way::kEmptySum;
  if (s.k == 0) return p;
  NormaliseStrides(p.s);
  for (DType* type : {&p.s.a_type, &p.s.b_type, &p.s.c_type}) *type = SignedTwin(*type);
  Settled turned = p;
  Transpose(turned);
  for (Settled* by_columns : {&p, &turned}) {
    if (!IsByColumns(*by_columns)) continue;
    by_columns->way = Way::kColumns;
    return *by_columns;
  }
  p.way = Way::kGemv;
  if ((s.m == 1 || s.n == 1) && p.kernel->dot_rows != nullptr && !hooked.in_chains) return p;
  const GemmPlaces* const places = hooked.a_places ? hooked.a_places.get() : hooked.b_places.get();
  if (places == nullptr) {
    for (Settled* few : {&p, &turned}) {
      if (!IsFew(*few)) continue;
      few->way = Way::kFew;
      return *few;
    }
  }
  p.way = Way::kBlocked;
  if (places != nullptr) {
    p.depth = DepthInWords(kernel, places->depth);
    p.depth_lines = LinesOf(p);
  } else if (RunsTransposed(p)) {
    Transpose(p);
  }
  p.cut = CutOf(p);
  return p;
}

Status VerifyPlaces(const GemmSignature& s, const GemmHookSet& hooked, const GemmKernel& kernel) {
  if (!hooked.a_places && !hooked.b_places) return OkStatus();
  const bool of_a = hooked.a_places != nullptr;
  const GemmPlaces& places = of_a ? *hooked.a_places : *hooked.b_places;
  int64_t extent = 1;
  for (const GemmPlaces::Axis& axis : places.axes) extent *= axis.extent;
  const bool good = !(of_a && hooked.b_places) && !(of_a ? hooked.pack_a : hooked.pack_b) &&
                    (of_a ? kernel.micro_placed_a : kernel.micro_placed_b) != nullptr && extent == (of_a ? s.m : s.n) &&
                    static_cast<int64_t>(places.depth.size()) == s.k && (hooked.in_chains || (s.m != 1 && s.n != 1)) &&
                    (of_a || (places.axes.size() == 1 && places.axes[0].stride == 1));
  return good ? OkStatus() : InvalidArgument("gemm: places that do not belong to the product: " + ToString(s));
}

Result<Settled> Settle(const GemmSignature& s, const GemmHookSet& hooked, isa::IsaLevel level) {
  TENON_RETURN_IF_ERROR(Verify(s));
  const GemmKernel* const kernel = FindKernel(s.a_type, s.b_type, level, hooked.a_places != nullptr);
  if (kernel == nullptr) return Unimplemented("gemm: no kernel for this level: " + ToString(s));
  TENON_RETURN_IF_ERROR(VerifyPlaces(s, hooked, *kernel));
  return SettleWith(*kernel, s, hooked);
}

GemmHookSet SetOf(const GemmHooks& hooks) {
  return {.pack_a = static_cast<bool>(hooks.pack_a),
          .pack_b = static_cast<bool>(hooks.pack_b),
          .finish = static_cast<bool>(hooks.finish)};
}

Status Run(const Settled& settled, GemmOperands operands, GemmHooks hooks, threads::ThreadPool& pool) {
  if (settled.swapped) {
    std::swap(operands.a, operands.b);
    std::swap(hooks.pack_a, hooks.pack_b);
  }
  const Problem p{settled, settled.s, settled.kernel, settled.swapped, operands, hooks, &pool};
  switch (settled.way) {
    case Settled::Way::kNothing:
      return OkStatus();
    case Settled::Way::kEmptySum:
      FillEmptySum(p);
      return OkStatus();
    case Settled::Way::kColumns:
      return RunColumns(p);
    case Settled::Way::kGemv:
      return RunGemv(p);
    case Settled::Way::kFew:
      return RunFew(p);
    case Settled::Way::kBlocked:
      return RunBlocked(p);
  }
  return OkStatus();
}

}  // namespace

Status GemmWith(const GemmKernel& kernel, const GemmSignature& s, const GemmOperands& operands, const GemmHooks& hooks,
                threads::ThreadPool& pool) {
  TENON_RETURN_IF_ERROR(Verify(s));
  return Run(SettleWith(kernel, s, SetOf(hooks)), operands, hooks, pool);
}

}  // namespace internal

struct BoundGemm::Form {
  internal::Settled settled;
};

BoundGemm::BoundGemm(std::unique_ptr<const Form> form) : form_(std::move(form)) {}
BoundGemm::~BoundGemm() = default;
BoundGemm::BoundGemm(BoundGemm&&) noexcept = default;
BoundGemm& BoundGemm::operator=(BoundGemm&&) noexcept = default;

Result<BoundGemm> BoundGemm::Create(const GemmSignature& s, const GemmHookSet& hooked, isa::IsaLevel level) {
  TENON_ASSIGN_OR_RETURN(internal::Settled settled, internal::Settle(s, hooked, level));
  return BoundGemm(std::make_unique<const Form>(Form{std::move(settled)}));
}

double BoundGemm::EstimateCycles() const {
  if (form_->settled.way == internal::Settled::Way::kFew) return internal::FewCycles(form_->settled.s);
  if (form_->settled.way != internal::Settled::Way::kBlocked) return 0;
  const double matrix = internal::kMatrixCycles + internal::PassesOf(form_->settled);
  return static_cast<double>(form_->settled.s.batch_count()) * matrix;
}

Status BoundGemm::Run(const GemmOperands& operands, const GemmHooks& hooks, threads::ThreadPool& pool) const {
  return internal::Run(form_->settled, operands, hooks, pool);
}

Status Gemm(const GemmSignature& s, const GemmOperands& operands, const GemmHooks& hooks, threads::ThreadPool& pool,
            isa::IsaLevel level) {
  TENON_ASSIGN_OR_RETURN(const internal::Settled settled, internal::Settle(s, internal::SetOf(hooks), level));
  return internal::Run(settled, operands, hooks, pool);
}

GemmTakesPlaces TakesPlaces(DType type, isa::IsaLevel level) {
  const internal::GemmKernel* const fastest = internal::FindKernel(type, type, level);
  const internal::GemmKernel* const placed = internal::FindKernel(type, type, level, true);
  if (placed == nullptr) return {};
  const auto rate = [](const internal::GemmKernel& kernel) {
    return static_cast<double>(kernel.step_rate * kernel.k_unit) / kernel.unit_steps;
  };
  return {.a = true, .b = fastest->micro_placed_b != nullptr, .slower = rate(*fastest) / rate(*placed)};
}

int64_t PlacedBytes(DType type) { return std::max<int64_t>(ByteWidth(type), sizeof(internal::Word)); }

void ToPlacedElements(DType type, const void* from, int64_t from_stride, int64_t count, void* to, isa::IsaLevel level) {
  const internal::GemmKernel* const kernel = internal::FindKernel(type, type, level, true);
  // Kernels with places are of f32 and f64, or make f32 of C's elements as they do of an operand's.
  if (!kernel->in_place) return kernel->load_row(from, from_stride, count, static_cast<internal::Word*>(to));
  const auto copy = [&]<class T>(T) {
    const T* const source = static_cast<const T*>(from);
    T* const target = static_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * from_stride];
  };
  if (ByteWidth(type) == 8) return copy(uint64_t{});
  copy(uint32_t{});
}

const char* GemmKernelName(const GemmSignature& s, isa::IsaLevel level) {
  const internal::GemmKernel* kernel = internal::FindKernel(s.a_type, s.b_type, level);
  return kernel == nullptr ? "" : kernel->name;
}

}  // namespace tenon::kernels
