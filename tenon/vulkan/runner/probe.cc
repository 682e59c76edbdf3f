#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tenon/base/element.h"
#include "tenon/emit_spirv/emit.h"
#include "tenon/kir/builder.h"
#include "tenon/target/target.h"
#include "tenon/vulkan/runner/facts.h"

namespace tenon::vulkan {
namespace {

constexpr int64_t kCases = 4096;

/// Numbers that differ: powers of two, neighbours of 1, ends of the range, subnormals, infinities, NaN, and bits as
/// they come.
template <class T, class Bits>
std::vector<T> Numbers(uint64_t state) {
  const T tiny = std::numeric_limits<T>::denorm_min(), least = std::numeric_limits<T>::min();
  const T most = std::numeric_limits<T>::max(), eps = std::numeric_limits<T>::epsilon();
  const T infinity = std::numeric_limits<T>::infinity();
  const std::vector<T> special = {
      T(0),           T(1), T(1) + eps, T(1) - eps / 2, T(3),
      T(0.1),         tiny, tiny * 7,   least,          least - tiny,
      least * T(1.5), most, most / 3,   infinity,       std::numeric_limits<T>::quiet_NaN()};
  std::vector<T> numbers;
  for (int64_t i = 0; i < kCases; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t random = state ^ (state >> 29);
    T value;
    switch ((random >> 40) % 4) {
      case 0:
        value = special[(random >> 50) % special.size()];
        if ((random & 1) != 0) value = -value;
        break;
      case 1: {
        const auto bits = static_cast<Bits>(random * 0x9e3779b97f4a7c15u >> (64 - 8 * sizeof(Bits)));
        value = std::bit_cast<T>(bits);
        break;
      }
      default:
        // Of like size, where roundings show.
        value = T(1) + static_cast<T>(static_cast<double>(random >> 11) * 0x1p-53);
        if ((random & 1) != 0) value = -value;
    }
    numbers.push_back(value);
  }
  return numbers;
}

/// Elementwise kernel of three arguments of `type` and one result per value that `make` names.
template <class F>
kir::Kernel Elementwise(DType type, F&& make) {
  kir::KernelBuilder b;
  const kir::DimId dim = b.AddDim(kir::Size::Of(kCases));
  std::vector<kir::Val> in;
  for (int i = 0; i < 3; ++i) {
    const kir::Buf buf = b.AddDense(kir::BufKind::kArg, type, {kCases});
    in.push_back(b.Read(buf, {kir::At(dim)}));
  }
  kir::Stage stage;
  stage.dims = {dim};
  for (const kir::Val value : make(b, in)) {
    kir::Store store;
    store.buf = b.AddDense(kir::BufKind::kOut, b.type(value), {kCases});
    store.at = {kir::At(dim)};
    store.value = value;
    stage.stores.push_back(std::move(store));
  }
  b.AddStage(std::move(stage));
  b.kernel().split = {1, kir::Size::Of(kCases)};
  return b.Finish();
}

/// Runs it on the arguments; the results, kCases elements each.
template <class T>
Result<std::vector<std::vector<T>>> RunOn(Device& device, const kir::Kernel& kernel, const target::Target& target,
                                          const std::vector<std::vector<T>>& arguments) {
  TENON_RETURN_IF_ERROR(kir::Verify(kernel));
  TENON_ASSIGN_OR_RETURN(const emit_spirv::Module module, emit_spirv::Emit(kernel, target));
  constexpr int64_t kBytes = kCases * static_cast<int64_t>(sizeof(T));
  std::vector<Block> blocks;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(Block block, device.memory().Allocate(kBytes));
    if (i < arguments.size()) TENON_RETURN_IF_ERROR(device.Upload(block, 0, arguments[i].data(), kBytes));
    blocks.push_back(std::move(block));
  }
  TENON_ASSIGN_OR_RETURN(const Block scratch, device.memory().Allocate(module.ScratchBytes(nullptr)));
  TENON_ASSIGN_OR_RETURN(const Block frame,
                         device.frame_memory().Allocate(static_cast<int64_t>((blocks.size() + 1) * sizeof(uint64_t))));
  auto* words = reinterpret_cast<uint64_t*>(frame.host());
  for (const Block& b : blocks) *words++ = b.address();
  *words = scratch.address();
  std::vector<std::shared_ptr<const Pipeline>> pipelines;
  for (const emit_spirv::Dispatch& d : module.dispatches) {
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Pipeline> p, device.MakePipeline(module.words, d.entry.c_str()));
    pipelines.push_back(std::move(p));
  }
  TENON_ASSIGN_OR_RETURN(const Commands commands, device.Record([&](VkCommandBuffer to) {
    for (size_t i = 0; i < pipelines.size(); ++i) {
      const auto groups = module.dispatches[i].GroupsByDirection(nullptr);
      device.Barrier(to);
      device.Bind(to, *pipelines[i], {frame.address(), 0, 0});
      device.functions().CmdDispatch(to, groups[0], groups[1], groups[2]);
    }
    device.Barrier(to);
  }));
  const VkCommandBuffer handle = commands.handle();
  TENON_ASSIGN_OR_RETURN(const uint64_t submitted, device.Submit({&handle, 1}));
  TENON_RETURN_IF_ERROR(device.Wait(submitted));
  std::vector<std::vector<T>> results;
  for (size_t i = arguments.size(); i < blocks.size(); ++i) {
    results.emplace_back(kCases);
    TENON_RETURN_IF_ERROR(device.Download(blocks[i], 0, results.back().data(), kBytes));
  }
  return results;
}

template <class T>
bool IsTiny(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL;
}

/// Whether a device that flushes makes zero of it: before it rounds, so also of what would be rounded to the least
/// normal number.
template <class T>
bool MayBeFlushed(T result) {
  return IsTiny(result) || std::abs(result) == std::numeric_limits<T>::min();
}

template <class T, class Bits>
bool SameValue(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

struct Rounding {
  bool fused = true, divide = true, root = true, subnormals = true, ends = true;
};

/// Runs the operations whose rounding drivers may choose beside what IEEE wants.
template <class T, class Bits>
Result<Rounding> TryOut(Device& device, DType type, const target::Target& target) {
  const std::vector<std::vector<T>> in = {Numbers<T, Bits>(1), Numbers<T, Bits>(2), Numbers<T, Bits>(3)};
  const kir::Kernel kernel = Elementwise(type, [](kir::KernelBuilder& b, const std::vector<kir::Val>& x) {
    return std::vector<kir::Val>{b.Fma(x[0], x[1], x[2]), b.Div(x[0], x[1]), b.Sqrt(x[0]), b.Add(x[0], x[1]),
                                 b.Mul(x[0], x[1])};
  });
  TENON_ASSIGN_OR_RETURN(const auto out, RunOn<T>(device, kernel, target, in));
  Rounding r;
  std::fenv_t state;
  std::feholdexcept(&state);  // IEEE's defaults, whatever the caller's thread has.
  std::fesetenv(FE_DFL_ENV);
  for (size_t i = 0; i < static_cast<size_t>(kCases); ++i) {
    const T a = in[0][i], b = in[1][i], c = in[2][i];
    const volatile T va = a, vb = b;
    const T want[5] = {std::fma(a, b, c), va / vb, std::sqrt(a), va + vb, va * vb};
    const bool tiny_in = IsTiny(a) || IsTiny(b);
    // What is tiny may be flushed, which says nothing of the operation.
    const auto judge = [&](int op, bool tiny, bool& exact) {
      const bool same = SameValue<T, Bits>(out[static_cast<size_t>(op)][i], want[op]);
      if (!tiny && !MayBeFlushed(want[op]) && !same) exact = false;
    };
    judge(0, tiny_in || IsTiny(c) || std::abs(va * vb) < std::numeric_limits<T>::min(), r.fused);
    judge(1, tiny_in, r.divide);
    judge(2, IsTiny(a), r.root);
    for (const int op : {3, 4}) {
      const T got = out[static_cast<size_t>(op)][i];
      if (SameValue<T, Bits>(got, want[op])) continue;
      (tiny_in || MayBeFlushed(want[op]) ? r.subnormals : r.ends) = false;
    }
  }
  std::fesetenv(&state);
  return r;
}

/// Whether f32 -> f16 -> f32 rounds, also to the subnormals of f16.
Result<bool> TryHalf(Device& device, const target::Target& target) {
  std::vector<std::vector<float>> in = {Numbers<float, uint32_t>(4), Numbers<float, uint32_t>(5),
                                        Numbers<float, uint32_t>(6)};
  for (size_t i = 0; i < in[0].size(); i += 2) in[0][i] = std::ldexp(in[1][i], -static_cast<int>(i / 2 % 26));
  const kir::Kernel kernel = Elementwise(DType::kF32, [](kir::KernelBuilder& b, const std::vector<kir::Val>& x) {
    return std::vector<kir::Val>{b.Convert(DType::kF32, b.Convert(DType::kF16, x[0]))};
  });
  TENON_ASSIGN_OR_RETURN(const auto out, RunOn<float>(device, kernel, target, in));
  for (size_t i = 0; i < in[0].size(); ++i) {
    const float want = static_cast<float>(F16(static_cast<double>(in[0][i])));
    if (!IsTiny(in[0][i]) && !SameValue<float, uint32_t>(out[0][i], want)) return false;
  }
  return true;
}

}  // namespace

Result<target::DeviceFacts> Probe(Device& device) {
  target::DeviceFacts facts = SaidFacts(device.info(), device.is_mapped());
  // Kernels as for a device that does everything right: then its own operations run.
  target::DeviceFacts best = facts;
  best.fused_f32 = best.fused_f64 = true;
  best.exact_divide = best.exact_sqrt = best.exact_divide_f64 = best.exact_sqrt_f64 = true;
  best.keeps_subnormals = best.keeps_subnormals_f64 = best.keeps_subnormals_f16 = best.keeps_nan_and_zeros = true;
  const target::Target target = target::GpuTarget(best);
  const Result<Rounding> single = TryOut<float, uint32_t>(device, DType::kF32, target);
  if (single.ok()) {
    facts.fused_f32 = single->fused;
    facts.exact_divide = single->divide;
    facts.exact_sqrt = single->root;
    facts.keeps_subnormals = single->subnormals;
    facts.keeps_nan_and_zeros = single->ends;
  } else if (single.status().code() != Code::kUnimplemented) {
    return single.status();
  }
  if (facts.f64) {
    const Result<Rounding> wide = TryOut<double, uint64_t>(device, DType::kF64, target);
    if (wide.ok()) {
      facts.fused_f64 = wide->fused;
      facts.exact_divide_f64 = wide->divide;
      facts.exact_sqrt_f64 = wide->root;
      facts.keeps_subnormals_f64 = wide->subnormals;
    }
  }
  const Result<bool> half = TryHalf(device, target);
  facts.keeps_subnormals_f16 = half.ok() && *half;
  return facts;
}

}  // namespace tenon::vulkan
