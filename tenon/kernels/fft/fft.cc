#include "tenon/kernels/fft/fft.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>

#include "tenon/isa/isa.h"
#include "tenon/kernels/fft/internal/tables.h"
#include "tenon/kernels/scratch/scratch.h"

namespace tenon::kernels {
namespace {

using internal::LineForm;
using internal::Lines;
using internal::LineTables;

constexpr size_t kMaxAxes = 3;
constexpr double kRunNs = 50'000;  // Of lines that one thread transforms one after the other.

int64_t Product(const Dims& dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t d = from; d < to; ++d) n *= dims[d];
  return n;
}

/// Of one line of complex numbers in f32, with a vector's lanes full of lines; within a factor of two at 512 bits.
double LineNs(int64_t n, bool chirp) {
  constexpr double kPassNs = 0.09, kMoveNs = 0.2;  // Per element.
  constexpr double kChirp = 5;                     // Two transforms of a longer line, and what goes in between.
  const double elements = static_cast<double>(n);
  return elements * (kPassNs * std::log2(std::max(elements, 2.0)) + kMoveNs) * (chirp ? kChirp : 1);
}

template <class T>
using TransformFn = void (*)(const LineTables<T>&, const Lines<T>&, void* scratch);
template <class T>
TransformFn<T> TransformFor(isa::IsaLevel level) {
  switch (level) {
    case isa::IsaLevel::kAvx512:
      return internal::TransformAvx512;
    case isa::IsaLevel::kAvx2:
      return internal::TransformAvx2;
    case isa::IsaLevel::kSse4:
      break;
  }
  return internal::TransformSse4;
}

template <class T>
Status RunAxis(const LineTables<T>& tables, const Dims& in_dims, const Dims& out_dims, size_t axis, LineForm in_form,
               LineForm out_form, const T* in, T* out, threads::ThreadPool& pool) {
  const int64_t inner = Product(in_dims, axis + 1, in_dims.size());
  const int64_t lines = Product(in_dims, 0, axis) * inner;
  const int64_t n_in = in_dims[axis], n_out = out_dims[axis];
  const int64_t group = tables.one_by_one() ? 1 : internal::kLanes<T>;
  const int64_t bytes = internal::LineScratchBytes(tables);
  const TransformFn<T> transform = TransformFor<T>(isa::ActiveIsa());
  std::atomic<bool> out_of_memory{false};
  const double cost_ns = static_cast<double>((lines + group - 1) / group * group) * LineNs(tables.n, tables.chirp);
  const int64_t groups = (lines + group - 1) / group;
  // Neighbours share cache lines: long runs of groups for a thread, but enough runs to share out.
  const double group_ns = cost_ns / static_cast<double>(groups);
  const int64_t run =
      std::clamp<int64_t>(static_cast<int64_t>(kRunNs / group_ns), 1, std::max<int64_t>(groups / 16, 1));
  pool.ParallelFor((groups + run - 1) / run, static_cast<int64_t>(cost_ns), [&](int64_t chunk) {
    const Scratch memory(static_cast<size_t>(bytes));
    if (memory.data() == nullptr) {
      out_of_memory.store(true, std::memory_order_relaxed);
      return;
    }
    int64_t in_offset[internal::kLanes<float>], out_offset[internal::kLanes<float>];
    Lines<T> some;
    some.in = in;
    some.out = out;
    some.in_form = in_form;
    some.out_form = out_form;
    some.in_offset = in_offset;
    some.out_offset = out_offset;
    some.in_stride = some.out_stride = inner;
    some.scale = tables.inverse ? static_cast<T>(1.0 / static_cast<double>(tables.line)) : T{1};
    for (int64_t g = chunk * run; g < std::min(groups, (chunk + 1) * run); ++g) {
      some.count = static_cast<int>(std::min(group, lines - g * group));
      for (int l = 0; l < some.count; ++l) {
        const int64_t line = g * group + l, outer = line / inner, i = line % inner;
        in_offset[l] = outer * n_in * inner + i;
        out_offset[l] = outer * n_out * inner + i;
      }
      transform(tables, some, memory.data());
    }
  });
  return out_of_memory.load() ? ResourceExhausted("fft: no memory for scratch") : OkStatus();
}

template <class T>
Status RunAll(const FftSignature& s, const std::vector<LineTables<T>>& tables, const T* in, T* out,
              threads::ThreadPool& pool) {
  const size_t rank = s.in.size(), axes = s.lengths.size();
  const size_t first = rank - axes, last = rank - 1;
  if (s.kind == FftKind::kRealInverse) {
    const T* from = in;
    std::unique_ptr<T[]> middle;
    if (axes > 1) {
      middle.reset(new (std::nothrow) T[static_cast<size_t>(2 * Product(s.in, 0, rank))]);
      if (!middle) return ResourceExhausted("fft: no memory for the half spectrum");
      for (size_t axis = first; axis < last; ++axis) {
        TENON_RETURN_IF_ERROR(RunAxis<T>(tables[axis - first], s.in, s.in, axis, LineForm::kComplex, LineForm::kComplex,
                                         from, middle.get(), pool));
        from = middle.get();
      }
    }
    return RunAxis<T>(tables[axes - 1], s.in, s.out, last, LineForm::kHalf, LineForm::kReal, from, out, pool);
  }
  const bool real = s.kind == FftKind::kRealForward;
  TENON_RETURN_IF_ERROR(RunAxis<T>(tables[axes - 1], s.in, s.out, last, real ? LineForm::kReal : LineForm::kComplex,
                                   real ? LineForm::kHalf : LineForm::kComplex, in, out, pool));
  for (size_t axis = first; axis < last; ++axis) {
    TENON_RETURN_IF_ERROR(
        RunAxis<T>(tables[axis - first], s.out, s.out, axis, LineForm::kComplex, LineForm::kComplex, out, out, pool));
  }
  return OkStatus();
}

}  // namespace

Result<FftSignature> MakeFftSignature(FftKind kind, const Shape& in, const Shape& out, const Dims& lengths) {
  FftSignature s{kind, DType::kF32, in.dims, out.dims, lengths};
  const bool real_in = kind == FftKind::kRealForward, real_out = kind == FftKind::kRealInverse;
  const DType complex = real_in ? out.dtype : in.dtype;
  const auto wrong = [&](std::string_view wanted) {
    return fmt::format("fft of {} dimensions from {} to {}, wanted {}", lengths.size(), ToString(in), ToString(out),
                       wanted);
  };
  if (complex != DType::kC64 && complex != DType::kC128) return Unimplemented(wrong("c64 or c128"));
  s.real_type = complex == DType::kC64 ? DType::kF32 : DType::kF64;
  if (in.dtype != (real_in ? s.real_type : complex) || out.dtype != (real_out ? s.real_type : complex))
    return InvalidArgument(wrong("one precision on both sides"));
  if (lengths.empty() || lengths.size() > kMaxAxes || lengths.size() > in.dims.size() ||
      in.dims.size() != out.dims.size()) {
    return InvalidArgument(wrong(fmt::format("1 to {} of the last dimensions of both", kMaxAxes)));
  }
  const size_t first = in.dims.size() - lengths.size();
  for (size_t d = 0; d < in.dims.size(); ++d) {
    const bool half = d + 1 == in.dims.size() && (real_in || real_out);
    const int64_t length = d < first ? in.dims[d] : lengths[d - first];
    const int64_t want_in = half && real_out ? length / 2 + 1 : length,
                  want_out = half && real_in ? length / 2 + 1 : length;
    if (length < 0 || (d >= first && length < 1) || in.dims[d] != want_in || out.dims[d] != want_out) {
      return InvalidArgument(fmt::format("fft: extents {} and {} of dimension {} do not fit length {}", in.dims[d],
                                         out.dims[d], d, length));
    }
  }
  return s;
}

double EstimateFftNs(const FftSignature& s) {
  const double elements = static_cast<double>(Product(s.kind == FftKind::kRealInverse ? s.out : s.in, 0, s.in.size()));
  double ns = 0;
  for (int64_t n : s.lengths) {
    if (n > 0) ns += elements / static_cast<double>(n) * LineNs(n, internal::NeedsChirp(n));
  }
  return s.real_type == DType::kF64 ? 2 * ns : ns;
}

double FftFlops(const FftSignature& s) {
  const bool real = s.kind == FftKind::kRealForward || s.kind == FftKind::kRealInverse;
  const double elements = static_cast<double>(Product(s.kind == FftKind::kRealInverse ? s.out : s.in, 0, s.in.size()));
  double flops = 0;
  for (int64_t n : s.lengths) flops += 5 * elements * std::log2(static_cast<double>(std::max<int64_t>(n, 1)));
  return real ? flops / 2 : flops;
}

struct Fft::Tables {
  std::vector<LineTables<float>> f32;
  std::vector<LineTables<double>> f64;
};

Fft::Fft(const FftSignature& signature) : signature_(signature) {
  auto tables = std::make_unique<Tables>();
  const bool inverse = signature.kind == FftKind::kInverse || signature.kind == FftKind::kRealInverse;
  const bool real = signature.kind == FftKind::kRealForward || signature.kind == FftKind::kRealInverse;
  const size_t first = signature.in.size() - signature.lengths.size();
  for (size_t i = 0; i < signature.lengths.size(); ++i) {
    const bool is_last = i + 1 == signature.lengths.size();
    const int64_t inner = Product(signature.in, first + i + 1, signature.in.size());
    const int64_t lines = Product(signature.in, 0, first + i) * inner, n = signature.lengths[i];
    if (signature.real_type == DType::kF32) {
      tables->f32.push_back(
          internal::MakeLineTables<float>(n, inverse, real && is_last, internal::BesideOf<float>(lines, inner)));
    } else {
      tables->f64.push_back(
          internal::MakeLineTables<double>(n, inverse, real && is_last, internal::BesideOf<double>(lines, inner)));
    }
  }
  tables_ = std::move(tables);
}
Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;

Status Fft::Run(const void* in, void* out, threads::ThreadPool& pool) const {
  if (Product(signature_.out, 0, signature_.out.size()) == 0) return OkStatus();
  if (signature_.real_type == DType::kF32)
    return RunAll(signature_, tables_->f32, static_cast<const float*>(in), static_cast<float*>(out), pool);
  return RunAll(signature_, tables_->f64, static_cast<const double*>(in), static_cast<double*>(out), pool);
}

}  // namespace tenon::kernels
