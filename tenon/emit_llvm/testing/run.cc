#include "tenon/emit_llvm/testing/run.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <cstring>
#include <memory>
#include <random>

#include "tenon/emit_llvm/emit.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"

namespace tenon::emit_llvm::testing {
namespace {

/// One buffer's elements with guard zones around them that must stay as they are.
struct Memory {
  std::vector<uint8_t> bytes;
  int64_t begin = 0;   ///< Offset of the first addressed byte.
  int64_t origin = 0;  ///< Offset of element (0, ..., 0).
  int64_t size = 0;
};
constexpr int64_t kZone = 256;

Memory MakeMemory(const kir::Buffer& buffer, const int64_t* params, int64_t misalign) {
  int64_t low = 0;
  int64_t high = 0;
  bool empty = false;
  for (size_t i = 0; i < buffer.extent.size(); ++i) {
    const int64_t extent = buffer.extent[i].Value(params);
    const int64_t reach = (extent - 1) * buffer.stride[i].Value(params);
    empty |= extent <= 0;
    (reach < 0 ? low : high) += reach;
  }
  const int64_t width = ByteWidth(buffer.type);
  Memory m;
  m.size = empty ? 0 : (high - low + 1) * width;
  m.bytes.assign(static_cast<size_t>(m.size + 2 * kZone + 128), 0);
  const auto base = reinterpret_cast<uintptr_t>(m.bytes.data());
  m.begin = kZone + static_cast<int64_t>((64 - base % 64) % 64) + misalign / width * width;
  m.origin = m.begin - low * width;
  return m;
}

uint64_t RandomBits(DType type, std::mt19937_64& random) {
  const uint64_t r = random();
  const int choice = static_cast<int>(r % 16);
  if (type == DType::kPred) return r >> 8 & 1;
  if (IsFloat(type)) {
    const uint64_t x = random();
    if (choice == 0) {
      constexpr double kSpecial[] = {0.0, -0.0, 1.0, -1.0, 1e30, -1e30, 0.5, 3.0};
      return kir::LiteralBits(type, kSpecial[x % 8]);
    }
    if (choice == 1 && x % 4 == 0) return kir::LiteralBits(type, x & 1 ? __builtin_inf() : -__builtin_inf());
    if (choice == 2 && x % 4 == 0) return kir::LiteralBits(type, __builtin_nan(""));
    std::normal_distribution<double> normal;
    return kir::LiteralBits(type, normal(random) * (choice < 4 ? 100.0 : 1.0));
  }
  const uint64_t mask = DTypeBits(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << DTypeBits(type)) - 1;
  if (choice == 0) return 0;
  if (choice == 1) return mask;
  if (choice == 2) return (mask >> 1) + 1;
  if (choice < 10) return kir::LiteralBits(type, static_cast<int64_t>(r >> 8 & 15));
  return random() & mask;
}

bool IsNan(DType type, const uint8_t* p) {
  uint64_t bits = 0;
  std::memcpy(&bits, p, static_cast<size_t>(ByteWidth(type)));
  return IsFloat(type) && std::isnan(kir::LiteralValue(type, bits));
}

}  // namespace

std::string CompareWithEvaluator(const kir::Kernel& kernel, isa::IsaLevel isa, const RunOptions& options) {
  if (Status s = kir::Verify(kernel); !s.ok()) return "the kernel does not verify: " + s.ToString();
  Result<std::shared_ptr<const CompiledKernel>> compiled = CompileKernel(kernel, {.isa = isa});
  if (!compiled.ok()) return compiled.status().ToString();
  std::vector<int64_t> params = options.params;
  params.resize(std::max<size_t>(params.size(), kernel.num_params));
  std::mt19937_64 random(options.seed);
  std::vector<Memory> want;
  for (const kir::Buffer& buffer : kernel.buffers)
    want.push_back(MakeMemory(buffer, params.data(), options.misalign_bytes));
  for (size_t b = 0; b < want.size(); ++b) {
    if (kernel.buffers[b].kind == kir::BufKind::kLocal) continue;
    const DType type = IsComplex(kernel.buffers[b].type) ? RealPartOf(kernel.buffers[b].type) : kernel.buffers[b].type;
    const int64_t width = ByteWidth(type);
    for (int64_t i = 0; i < want[b].size / width; ++i) {
      uint64_t bits = RandomBits(type, random);
      if (options.fill) options.fill(static_cast<kir::Buf>(b), i, &bits);
      if (DTypeBits(type) < 8 && IsSigned(type) && (bits >> (DTypeBits(type) - 1) & 1))
        bits |= ~uint64_t{0} << DTypeBits(type);
      std::memcpy(want[b].bytes.data() + want[b].begin + i * width, &bits, static_cast<size_t>(width));
    }
  }
  std::vector<Memory> got;
  for (size_t b = 0; b < want.size(); ++b) {
    got.push_back(MakeMemory(kernel.buffers[b], params.data(), options.misalign_bytes));
    std::memcpy(got[b].bytes.data() + got[b].begin, want[b].bytes.data() + want[b].begin,
                static_cast<size_t>(want[b].size));
  }
  std::vector<kir::BufferRef> refs;
  std::vector<void*> pointers;
  for (size_t b = 0; b < want.size(); ++b) {
    const kir::Buf shared = kernel.buffers[b].in_place_of;
    Memory& w = shared != kir::kNoBuf ? want[shared] : want[b];
    Memory& g = shared != kir::kNoBuf ? got[shared] : got[b];
    refs.push_back({w.bytes.data() + w.origin, w.bytes.data() + w.begin, w.size});
    pointers.push_back(g.bytes.data() + g.origin);
  }
  if (Status s = kir::Evaluate(kernel, refs, params); !s.ok()) return "the evaluator: " + s.ToString();

  const int64_t local = kir::LocalBytes(kernel, params.data());
  std::unique_ptr<void, void (*)(void*)> scratch(aligned_alloc(64, static_cast<size_t>((local + 127) / 64 * 64)), free);
  const int64_t total = kir::SplitTotal(kernel, params.data());
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);  // subnormals count as zero, as in Tenon's threads
  if (options.indices_per_call == 0) {
    (*compiled)->fn(pointers.data(), params.data(), 0, total, scratch.get());
  } else {
    const int64_t n = options.indices_per_call;
    for (int64_t begin = (total - 1) / n * n; begin >= 0; begin -= n) {
      (*compiled)->fn(pointers.data(), params.data(), begin, std::min(total, begin + n), scratch.get());
    }
  }
  _mm_setcsr(mode);

  for (size_t b = 0; b < want.size(); ++b) {
    if (kernel.buffers[b].kind == kir::BufKind::kLocal || kernel.buffers[b].in_place_of != kir::kNoBuf) continue;
    const DType type = IsComplex(kernel.buffers[b].type) ? RealPartOf(kernel.buffers[b].type) : kernel.buffers[b].type;
    const int64_t width = ByteWidth(type);
    const Memory& w = want[b];
    const Memory& g = got[b];
    for (int64_t i = 0; i < w.size / width; ++i) {
      const uint8_t* pw = w.bytes.data() + w.begin + i * width;
      const uint8_t* pg = g.bytes.data() + g.begin + i * width;
      if (std::memcmp(pw, pg, static_cast<size_t>(width)) == 0 || (IsNan(type, pw) && IsNan(type, pg))) continue;
      uint64_t bw = 0;
      uint64_t bg = 0;
      std::memcpy(&bw, pw, static_cast<size_t>(width));
      std::memcpy(&bg, pg, static_cast<size_t>(width));
      // Of one sign, floats are in the order of their bits.
      if (IsFloat(type) && (bw > bg ? bw - bg : bg - bw) <= options.ulps) continue;
      return fmt::format("{}: buffer {} element {}: got {:#x} ({}), wanted {:#x} ({})", isa::IsaLevelName(isa), b, i,
                         bg, kir::LiteralValue(type, bg), bw, kir::LiteralValue(type, bw));
    }
    for (int64_t i = 0; i < static_cast<int64_t>(g.bytes.size()); ++i) {
      if ((i < g.begin || i >= g.begin + g.size) && g.bytes[static_cast<size_t>(i)] != 0) {
        return fmt::format("{}: buffer {} was written outside, at byte {}", isa::IsaLevelName(isa), b, i - g.begin);
      }
    }
  }
  return "";
}

}  // namespace tenon::emit_llvm::testing
