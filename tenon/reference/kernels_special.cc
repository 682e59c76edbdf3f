#include <cstring>

#include "tenon/reference/kernels.h"
#include "tenon/reference/special.h"

namespace tenon::reference {
namespace {

constexpr KernelEntry kFunctions[] = {
    {"chlo.acos", &UnaryKernel<Acos>},
    {"chlo.acosh", &UnaryKernel<Acosh>},
    {"chlo.asin", &UnaryKernel<Asin>},
    {"chlo.asinh", &UnaryKernel<Asinh>},
    {"chlo.atan", &UnaryKernel<Atan>},
    {"chlo.atanh", &UnaryKernel<Atanh>},
    {"chlo.cosh", &UnaryKernel<Cosh>},
    {"chlo.sinh", &UnaryKernel<Sinh>},
    {"chlo.tan", &UnaryKernel<Tan>},
    {"chlo.erf", &UnaryKernel<Erf>},
    {"chlo.erfc", &UnaryKernel<Erfc>},
    {"chlo.erf_inv", &UnaryKernel<ErfInv>},
    {"chlo.lgamma", &UnaryKernel<Lgamma>},
    {"chlo.digamma", &UnaryKernel<Digamma>},
    {"chlo.square", &UnaryKernel<Square>},
    {"chlo.conj", &UnaryKernel<Conj>},
    {"chlo.bessel_i1e", &UnaryKernel<BesselI1eFunction>},
};

// The neighbour of x toward y, by bit steps on the sign-magnitude pattern.
template <class T>
  requires(FloatCompute<ComputeOf<T>>)
T NextAfter(T x, T y) {
  using Bits = std::conditional_t<
      sizeof(T) == 1, uint8_t,
      std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
  if (std::isnan(Load(x))) return x;
  if (std::isnan(Load(y))) return y;
  const Bits a = std::bit_cast<Bits>(x), b = std::bit_cast<Bits>(y);
  const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const Bits magnitude_a = a & static_cast<Bits>(~sign), magnitude_b = b & static_cast<Bits>(~sign);
  if (a == b || (magnitude_a == 0 && magnitude_b == 0)) return y;
  if (magnitude_a == 0) return std::bit_cast<T>(static_cast<Bits>((b & sign) | 1));
  const bool shrink = (a & sign) != (b & sign) || magnitude_a > magnitude_b;
  return std::bit_cast<T>(static_cast<Bits>(shrink ? a - 1 : a + 1));
}

Kernel NextAfterKernel(DType type) {
  return VisitType(type, [](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel kernel;
    if constexpr (FloatCompute<ComputeOf<T>>) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          static_cast<T*>(out)[i] = NextAfter(static_cast<const T*>(in[0])[i], static_cast<const T*>(in[1])[i]);
      };
    }
    return kernel;
  });
}

// is_inf and its like; wanted: bit 0 for +inf, bit 1 for -inf.
template <int kWanted>
Kernel InfinityKernel(DType type) {
  return VisitType(type, [](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel kernel;
    if constexpr (FloatCompute<ComputeOf<T>>) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const auto v = Load(static_cast<const T*>(in[0])[i]);
          static_cast<Pred*>(out)[i] = Store<Pred>(std::isinf(v) && (kWanted & (v > 0 ? 1 : 2)) != 0);
        }
      };
    }
    return kernel;
  });
}

constexpr KernelEntry kInfinities[] = {{"chlo.is_inf", &InfinityKernel<3>},
                                       {"chlo.is_pos_inf", &InfinityKernel<1>},
                                       {"chlo.is_neg_inf", &InfinityKernel<2>}};

constexpr KernelEntry kBinaryOps[] = {
    {"chlo.next_after", &NextAfterKernel},
    {"chlo.polygamma", &BinaryKernel<Polygamma>},
    {"chlo.zeta", &BinaryKernel<Zeta>},
    {"chlo.mulhi", &BinaryKernel<Mulhi>},
};

}  // namespace

Kernel FindSpecial(std::string_view op, std::span<const DType> operands) {
  if (operands.size() == 2) return operands[0] == operands[1] ? MakeFrom(kBinaryOps, op, operands[0]) : Kernel{};
  if (operands.size() != 1) return {};
  if (Kernel k = MakeFrom(kInfinities, op, operands[0])) return k;
  return MakeFrom(kFunctions, op, operands[0]);
}

}  // namespace tenon::reference
