#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tenon/reference/kernels.h"
#include "tenon/reference/math.h"

namespace tenon::reference {
namespace {

//===--- convert: load a block, change the arithmetic type, store it ---===//

constexpr int64_t kBlock = 128;

int BitsOf(DType type) { return type == DType::kPred ? 1 : DTypeBits(type); }

// `bits`: width of an integer target, to which floats saturate.
template <class To, class From>
To ConvertValue(From v, int bits) {
  if constexpr (ComplexCompute<From>) {
    if constexpr (ComplexCompute<To>) {
      using R = typename To::value_type;
      return {static_cast<R>(v.real()), static_cast<R>(v.imag())};
    } else {
      return ConvertValue<To>(v.real(), bits);
    }
  } else if constexpr (ComplexCompute<To>) {
    return {ConvertValue<typename To::value_type>(v, bits), 0};
  } else if constexpr (BoolCompute<To>) {
    return v != 0;
  } else if constexpr (FloatCompute<From> && IntCompute<To>) {
    if (std::isnan(v)) return 0;
    const double t = std::trunc(static_cast<double>(v));
    if constexpr (std::is_same_v<To, int64_t>) {
      if (t >= std::ldexp(1.0, bits - 1)) return MaxSigned(bits);
      if (t <= -std::ldexp(1.0, bits - 1)) return MinSigned(bits);
    } else {
      if (t >= std::ldexp(1.0, bits)) return MaxUnsigned(bits);
      if (t <= 0) return 0;
    }
    return static_cast<To>(t);
  } else {
    return static_cast<To>(v);
  }
}

template <class C>
struct ComputeTag {
  using type = C;
};
template <class F>
void VisitCompute(DType type, F&& f) {
  switch (KindOf(type)) {
    case DTypeKind::kBool:
      return f(ComputeTag<bool>{});
    case DTypeKind::kSigned:
      return f(ComputeTag<int64_t>{});
    case DTypeKind::kUnsigned:
      return f(ComputeTag<uint64_t>{});
    case DTypeKind::kFloat:
      return type == DType::kF64 ? f(ComputeTag<double>{}) : f(ComputeTag<float>{});
    case DTypeKind::kComplex:
      return type == DType::kC128 ? f(ComputeTag<std::complex<double>>{}) : f(ComputeTag<std::complex<float>>{});
    case DTypeKind::kNone:
      return;
  }
}

void LoadBlock(DType type, const void* in, int64_t first, int64_t n, void* out) {
  VisitType(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) static_cast<ComputeOf<T>*>(out)[i] = Load(static_cast<const T*>(in)[first + i]);
    return 0;
  });
}

void StoreBlock(DType type, const void* in, int64_t first, int64_t n, void* out) {
  VisitType(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[first + i] = Store<T>(static_cast<const ComputeOf<T>*>(in)[i]);
    return 0;
  });
}

void RunConvert(const Kernel& self, const void* const* in, void* out, int64_t n) {
  const auto [from, to] = self.types;
  // Arithmetic goes through floats, which are zero in the compute float state where doubles are not.
  if (from == DType::kF8E8M0FNU && to == DType::kF64) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<double*>(out)[i] = DecodePowerOfTwo(static_cast<const uint8_t*>(in[0])[i]);
    return;
  }
  if (from == DType::kF64 && to == DType::kF8E8M0FNU) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<uint8_t*>(out)[i] = EncodePowerOfTwo(static_cast<const double*>(in[0])[i]);
    return;
  }
  alignas(16) std::byte loaded[kBlock * 16], converted[kBlock * 16];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = std::min(kBlock, n - first);
    LoadBlock(from, in[0], first, count, loaded);
    VisitCompute(from, [&](auto from_tag) {
      VisitCompute(to, [&](auto to_tag) {
        using From = typename decltype(from_tag)::type;
        using To = typename decltype(to_tag)::type;
        for (int64_t i = 0; i < count; ++i) {
          reinterpret_cast<To*>(converted)[i] = ConvertValue<To>(reinterpret_cast<const From*>(loaded)[i], BitsOf(to));
        }
      });
    });
    StoreBlock(to, converted, first, count, out);
  }
}

//===--- compare ---===//

constexpr int kUnordered = 2;

// -1, 0, 1, or kUnordered.
template <class C>
int Order(C a, C b) {
  if constexpr (ComplexCompute<C>) {
    if (std::isnan(a.real()) || std::isnan(a.imag()) || std::isnan(b.real()) || std::isnan(b.imag())) return kUnordered;
    const int real = Order(a.real(), b.real());
    return real != 0 ? real : Order(a.imag(), b.imag());
  } else {
    return a < b ? -1 : a > b ? 1 : a == b ? 0 : kUnordered;
  }
}

// The total order of floats: negative patterns have all bits flipped, others the sign bit; then unsigned.
template <class T>
int TotalOrder(T a, T b) {
  using Bits = std::conditional_t<
      sizeof(T) == 1, uint8_t,
      std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
  const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const auto key = [&](T v) {
    const Bits bits = std::bit_cast<Bits>(v);
    return static_cast<Bits>((bits & sign) != 0 ? ~bits : bits | sign);
  };
  return Order(static_cast<uint64_t>(key(a)), static_cast<uint64_t>(key(b)));
}

bool Holds(Direction direction, int order) {
  switch (direction) {
    case Direction::kEq:
      return order == 0;
    case Direction::kNe:
      return order != 0;
    case Direction::kGe:
      return order == 0 || order == 1;
    case Direction::kGt:
      return order == 1;
    case Direction::kLe:
      return order == 0 || order == -1;
    case Direction::kLt:
      return order == -1;
  }
  return false;
}

template <class T, Direction kDirection, bool kTotal>
void RunCompare(const Kernel&, const void* const* in, void* out, int64_t n) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  for (int64_t i = 0; i < n; ++i) {
    int order;
    if constexpr (kTotal) {
      order = TotalOrder(a[i], b[i]);
    } else {
      order = Order(Load(a[i]), Load(b[i]));
    }
    static_cast<Pred*>(out)[i] = Store<Pred>(Holds(kDirection, order));
  }
}

template <class T, bool kTotal>
Kernel::Fn CompareFn(Direction direction) {
  switch (direction) {
    case Direction::kEq:
      return &RunCompare<T, Direction::kEq, kTotal>;
    case Direction::kNe:
      return &RunCompare<T, Direction::kNe, kTotal>;
    case Direction::kGe:
      return &RunCompare<T, Direction::kGe, kTotal>;
    case Direction::kGt:
      return &RunCompare<T, Direction::kGt, kTotal>;
    case Direction::kLe:
      return &RunCompare<T, Direction::kLe, kTotal>;
    case Direction::kLt:
      return &RunCompare<T, Direction::kLt, kTotal>;
  }
  return nullptr;
}

Kernel CompareKernel(DType type, Direction direction, bool total_order) {
  return VisitType(type, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel kernel;
    if constexpr (FloatCompute<ComputeOf<T>>) {
      kernel.fn = total_order ? CompareFn<T, true>(direction) : CompareFn<T, false>(direction);
    } else {
      kernel.fn = CompareFn<T, false>(direction);
    }
    return kernel;
  });
}

//===--- select, clamp ---===//

Kernel SelectKernel(DType type) {
  Kernel kernel;
  VisitWidth(ByteWidth(type), [&](auto zero) {
    using T = decltype(zero);
    kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
      const Pred* pred = static_cast<const Pred*>(in[0]);
      const T* a = static_cast<const T*>(in[1]);
      const T* b = static_cast<const T*>(in[2]);
      for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = Load(pred[i]) ? a[i] : b[i];
    };
  });
  return kernel;
}

Kernel ClampKernel(DType type) {
  return VisitType(type, [](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel kernel;
    kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
      const T* low = static_cast<const T*>(in[0]);
      const T* x = static_cast<const T*>(in[1]);
      const T* high = static_cast<const T*>(in[2]);
      for (int64_t i = 0; i < n; ++i) {
        static_cast<T*>(out)[i] = Store<T>(Minimum::Apply(Maximum::Apply(Load(x[i]), Load(low[i])), Load(high[i])));
      }
    };
    return kernel;
  });
}

//===--- complex numbers and their parts ---===//

Kernel ComplexKernel(DType part) {
  const auto make = []<class R>(R) {
    Kernel kernel;
    kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        static_cast<std::complex<R>*>(out)[i] = {static_cast<const R*>(in[0])[i], static_cast<const R*>(in[1])[i]};
    };
    return kernel;
  };
  return part == DType::kF32 ? make(float{}) : part == DType::kF64 ? make(double{}) : Kernel{};
}

// Which: 0 real, 1 imag, 2 abs. Of a real number these are itself, zero, and its absolute value.
template <int kWhich>
Kernel PartKernel(DType type) {
  return VisitType(type, [](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = ComputeOf<T>;
    Kernel kernel;
    if constexpr (ComplexCompute<C>) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        using R = typename C::value_type;
        for (int64_t i = 0; i < n; ++i) {
          const C z = static_cast<const C*>(in[0])[i];
          static_cast<R*>(out)[i] =
              kWhich == 0 ? z.real()
              : kWhich == 1
                  ? z.imag()
                  : static_cast<R>(std::hypot(static_cast<Wider<R>>(z.real()), static_cast<Wider<R>>(z.imag())));
        }
      };
    } else if constexpr (FloatCompute<C> || (kWhich == 2 && std::is_same_v<C, int64_t>)) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const T v = static_cast<const T*>(in[0])[i];
          static_cast<T*>(out)[i] = kWhich == 0 ? v : kWhich == 1 ? Store<T>(C{0}) : Store<T>(Abs::Apply(Load(v)));
        }
      };
    }
    return kernel;
  });
}

Kernel IsFiniteKernel(DType type) {
  return VisitType(type, [](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel kernel;
    if constexpr (FloatCompute<ComputeOf<T>>) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          static_cast<Pred*>(out)[i] = Store<Pred>(std::isfinite(Load(static_cast<const T*>(in[0])[i])));
      };
    }
    return kernel;
  });
}

//===--- reduce_precision ---===//

/// Exponents of so many bits hold all numbers of the type, subnormal ones included.
int ExponentBits(DType type) {
  switch (type) {
    case DType::kF64:
      return 11;
    case DType::kBF16:
    case DType::kF32:
    case DType::kF8E8M0FNU:
      return 8;
    default:
      return 5;  // f16's, in which narrower types are computed.
  }
}

// Rounds the mantissa to `mantissa` bits (nearest even), then cuts the exponent range: beyond it infinity, below its
// normal numbers zero. A range no smaller than the type's own (`own` bits) cuts nothing: subnormal numbers stay, and
// round to what a subnormal number with so short a mantissa can hold.
double ReducePrecision(double v, int exponent, int mantissa, int own) {
  if (!std::isfinite(v) || v == 0) return v;
  int e = 0;
  double fraction = std::frexp(v, &e);  // in [1/2, 1): the leading bit counts as one of mantissa + 1
  const int bias = (1 << (exponent - 1)) - 1;
  const bool keeps = exponent >= own;
  const int least = 3 - (1 << (own - 1));  // frexp's exponent of the smallest normal number
  if (keeps && e < least) {
    fraction = std::ldexp(fraction, e - least);
    e = least;
  }
  const double places = std::ldexp(fraction, mantissa + 1);
  double whole = std::nearbyint(places);
  // Without a mantissa, the last bit that stays is the exponent's: 3 lies between the codes of 2, which is even, and 4.
  if (mantissa == 0 && std::fabs(places) == 1.5 && e % 2 == 0) whole = std::copysign(1.0, v);
  const double rounded = std::ldexp(whole, e - mantissa - 1);
  if (keeps) return rounded;
  const double magnitude = std::fabs(rounded);
  if (magnitude < std::ldexp(1.0, 1 - bias)) return std::copysign(0.0, v);
  if (bias < 1023 && magnitude >= std::ldexp(1.0, bias + 1))
    return std::copysign(std::numeric_limits<double>::infinity(), v);
  return rounded;
}

Kernel ReducePrecisionKernel(DType type, int exponent_bits, int mantissa_bits) {
  return VisitType(type, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel kernel;
    kernel.params = {exponent_bits, mantissa_bits};
    if constexpr (FloatCompute<ComputeOf<T>>) {
      kernel.fn = [](const Kernel& self, const void* const* in, void* out, int64_t n) {
        // It moves bits, and what flushes numbers that compute does not see it.
        const FloatEnvironment environment(/*flush_denormals=*/false);
        // 52 bits of mantissa hold every element; an exponent range wider than f64's cuts nothing.
        const int e = static_cast<int>(std::min<int64_t>(self.params[0], 11)),
                  m = static_cast<int>(std::min<int64_t>(self.params[1], 52)), own = ExponentBits(Element<T>::kType);
        for (int64_t i = 0; i < n; ++i) {
          const double v = static_cast<double>(Load(static_cast<const T*>(in[0])[i]));
          static_cast<T*>(out)[i] = Store<T>(static_cast<ComputeOf<T>>(ReducePrecision(v, e, m, own)));
        }
      };
    }
    return kernel;
  });
}

Kernel CopyKernel(DType type) {
  Kernel kernel;
  kernel.params[0] = ByteWidth(type);
  kernel.fn = [](const Kernel& self, const void* const* in, void* out, int64_t n) {
    if (n > 0) std::memmove(out, in[0], static_cast<size_t>(n * self.params[0]));
  };
  return kernel;
}

}  // namespace

Kernel ConvertKernel(DType from, DType to) {
  if (ByteWidth(from) == 0 || ByteWidth(to) == 0) return {};
  if (from == to) return CopyKernel(from);
  Kernel kernel;
  kernel.fn = &RunConvert;
  kernel.types = {from, to};
  return kernel;
}

Kernel FindConversion(std::string_view op, std::span<const DType> operands, DType result,
                      const KernelAttributes& attributes) {
  if (operands.size() == 1) {
    const DType from = operands[0];
    if (op == "stablehlo.convert") return ConvertKernel(from, result);
    if (op == "stablehlo.bitcast_convert") {
      if (BitsOf(from) != BitsOf(result)) return {};
      if (BitsOf(from) >= 8 || from == result) return CopyKernel(from);
      // What has fewer bits than a byte fills it as its type says; integers and floats differ there.
      return IsInteger(from) && IsInteger(result) ? ConvertKernel(from, result) : Kernel{};
    }
    if (op == "stablehlo.real") return PartKernel<0>(from);
    if (op == "stablehlo.imag") return PartKernel<1>(from);
    if (op == "stablehlo.abs") return PartKernel<2>(from);
    if (op == "stablehlo.is_finite") return IsFiniteKernel(from);
    if (op == "stablehlo.reduce_precision")
      return ReducePrecisionKernel(from, attributes.exponent_bits, attributes.mantissa_bits);
  } else if (operands.size() == 2 && operands[0] == operands[1]) {
    if (op == "stablehlo.compare") return CompareKernel(operands[0], attributes.direction, attributes.total_order);
    if (op == "stablehlo.complex") return ComplexKernel(operands[0]);
  } else if (operands.size() == 3 && operands[1] == operands[2]) {
    if (op == "stablehlo.select" && operands[0] == DType::kPred) return SelectKernel(operands[1]);
    if (op == "stablehlo.clamp" && operands[0] == operands[1]) return ClampKernel(operands[0]);
  }
  return {};
}

Kernel FindKernel(std::string_view op, std::span<const DType> operands, DType result,
                  const KernelAttributes& attributes) {
  if (Kernel k = FindArithmetic(op, operands)) return k;
  if (Kernel k = FindConversion(op, operands, result, attributes)) return k;
  if (Kernel k = FindMath(op, operands)) return k;
  return FindSpecial(op, operands);
}

}  // namespace tenon::reference
