#pragma once

// Elementwise operations as loops over arrays of one storage type each: the common ground of whole-array operations and
// of the scalar bodies of reduce, scatter, sort and so on.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/reference/scalar.h"

namespace tenon::reference {

enum class Direction : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };

/// out[i] = f(in[0][i], in[1][i], ...) for i < n. Arrays are dense; out may be one of the operands when the element
/// types have the same width.
struct Kernel {
  using Fn = void (*)(const Kernel& self, const void* const* in, void* out, int64_t n);
  Fn fn = nullptr;
  std::array<DType, 2> types{};     // convert: from, to
  std::array<int64_t, 2> params{};  // what the attributes say

  explicit operator bool() const { return fn != nullptr; }
  void Run(const void* const* in, void* out, int64_t n) const { fn(*this, in, out, n); }
};

/// Attributes of the operations that have some.
struct KernelAttributes {
  Direction direction = Direction::kEq;      // compare
  bool total_order = false;                  // compare
  int exponent_bits = 0, mantissa_bits = 0;  // reduce_precision
};

inline constexpr size_t kMaxKernelOperands = 3;

/// Kernels of products with a predicate that was made a number, the second factor or the first one.
inline constexpr std::string_view kFirstIfTrue = "multiply_by_truth", kSecondIfTrue = "truth_times";

/// The kernel of `op` ("stablehlo.add", "chlo.erf") for operands and result of these types; an empty one when `op` is
/// not elementwise or does not take them. clamp and select want operands of full shape.
Kernel FindKernel(std::string_view op, std::span<const DType> operands, DType result,
                  const KernelAttributes& attributes);

// The parts of the table; each gives an empty kernel for names that are not its own.
Kernel FindArithmetic(std::string_view op, std::span<const DType> operands);
Kernel FindMath(std::string_view op, std::span<const DType> operands);
Kernel FindSpecial(std::string_view op, std::span<const DType> operands);
Kernel FindConversion(std::string_view op, std::span<const DType> operands, DType result,
                      const KernelAttributes& attributes);

/// Element-by-element conversion with the rules of `convert`.
Kernel ConvertKernel(DType from, DType to);

//===--- How the parts make their loops ---===//

template <class Op, class T>
constexpr bool kUnary = requires(ComputeOf<T> a) {
  { Op::Apply(a) } -> std::same_as<ComputeOf<T>>;
};
template <class Op, class T>
constexpr bool kUnaryBits = requires(ComputeOf<T> a) {
  { Op::Apply(a, 8) } -> std::same_as<ComputeOf<T>>;
};
template <class Op, class T>
constexpr bool kBinary = requires(ComputeOf<T> a) {
  { Op::Apply(a, a) } -> std::same_as<ComputeOf<T>>;
};
template <class Op, class T>
constexpr bool kBinaryBits = requires(ComputeOf<T> a) {
  { Op::Apply(a, a, 8) } -> std::same_as<ComputeOf<T>>;
};

/// The loop of a unary `Op` from T to T; empty when Op has no Apply for T's arithmetic type.
template <class Op>
Kernel UnaryKernel(DType type) {
  return VisitType(type, [](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel kernel;
    if constexpr (kUnaryBits<Op, T> && IntCompute<ComputeOf<T>>) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        const T* a = static_cast<const T*>(in[0]);
        T* o = static_cast<T*>(out);
        for (int64_t i = 0; i < n; ++i) o[i] = Store<T>(Op::Apply(Load(a[i]), Element<T>::kBits));
      };
    } else if constexpr (kUnary<Op, T>) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        const T* a = static_cast<const T*>(in[0]);
        T* o = static_cast<T*>(out);
        for (int64_t i = 0; i < n; ++i) o[i] = Store<T>(Op::Apply(Load(a[i])));
      };
    }
    return kernel;
  });
}

template <class Op>
Kernel BinaryKernel(DType type) {
  return VisitType(type, [](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel kernel;
    if constexpr (kBinaryBits<Op, T> && IntCompute<ComputeOf<T>>) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        const T* a = static_cast<const T*>(in[0]);
        const T* b = static_cast<const T*>(in[1]);
        T* o = static_cast<T*>(out);
        for (int64_t i = 0; i < n; ++i) o[i] = Store<T>(Op::Apply(Load(a[i]), Load(b[i]), Element<T>::kBits));
      };
    } else if constexpr (kBinary<Op, T>) {
      kernel.fn = [](const Kernel&, const void* const* in, void* out, int64_t n) {
        const T* a = static_cast<const T*>(in[0]);
        const T* b = static_cast<const T*>(in[1]);
        T* o = static_cast<T*>(out);
        for (int64_t i = 0; i < n; ++i) o[i] = Store<T>(Op::Apply(Load(a[i]), Load(b[i])));
      };
    }
    return kernel;
  });
}

struct KernelEntry {
  std::string_view name;
  Kernel (*make)(DType);
};

inline Kernel MakeFrom(std::span<const KernelEntry> table, std::string_view op, DType type) {
  for (const KernelEntry& entry : table) {
    if (entry.name == op) return entry.make(type);
  }
  return {};
}

}  // namespace tenon::reference
