#include "tenon/reference/kernels.h"
#include "tenon/reference/math.h"

namespace tenon::reference {
namespace {

constexpr KernelEntry kBinaryOps[] = {
    {"stablehlo.add", &BinaryKernel<Add>},
    {"stablehlo.subtract", &BinaryKernel<Subtract>},
    {"stablehlo.multiply", &BinaryKernel<Multiply>},
    {kFirstIfTrue, &BinaryKernel<FirstIfTrue>},
    {kSecondIfTrue, &BinaryKernel<SecondIfTrue>},
    {"stablehlo.divide", &BinaryKernel<Divide>},
    {"stablehlo.remainder", &BinaryKernel<Remainder>},
    {"stablehlo.power", &BinaryKernel<Power>},
    {"stablehlo.maximum", &BinaryKernel<Maximum>},
    {"stablehlo.minimum", &BinaryKernel<Minimum>},
    {"stablehlo.atan2", &BinaryKernel<Atan2>},
    {"stablehlo.and", &BinaryKernel<And>},
    {"stablehlo.or", &BinaryKernel<Or>},
    {"stablehlo.xor", &BinaryKernel<Xor>},
    {"stablehlo.shift_left", &BinaryKernel<ShiftLeft>},
    {"stablehlo.shift_right_logical", &BinaryKernel<ShiftRightLogical>},
    {"stablehlo.shift_right_arithmetic", &BinaryKernel<ShiftRightArithmetic>},
};

constexpr KernelEntry kUnaryOps[] = {
    {"stablehlo.not", &UnaryKernel<Not>},
    {"stablehlo.negate", &UnaryKernel<Negate>},
    {"stablehlo.sign", &UnaryKernel<Sign>},
    {"stablehlo.popcnt", &UnaryKernel<Popcnt>},
    {"stablehlo.count_leading_zeros", &UnaryKernel<CountLeadingZeros>},
    {"stablehlo.ceil", &UnaryKernel<Ceil>},
    {"stablehlo.floor", &UnaryKernel<Floor>},
    {"stablehlo.round_nearest_afz", &UnaryKernel<RoundNearestAfz>},
    {"stablehlo.round_nearest_even", &UnaryKernel<RoundNearestEven>},
};

}  // namespace

Kernel FindArithmetic(std::string_view op, std::span<const DType> operands) {
  if (operands.size() == 2) {
    return operands[0] == operands[1] ? MakeFrom(kBinaryOps, op, operands[0]) : Kernel{};
  }
  return operands.size() == 1 ? MakeFrom(kUnaryOps, op, operands[0]) : Kernel{};
}

}  // namespace tenon::reference
