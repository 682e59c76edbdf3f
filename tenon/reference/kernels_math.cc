#include "tenon/reference/kernels.h"
#include "tenon/reference/math.h"

namespace tenon::reference {
namespace {

constexpr KernelEntry kFunctions[] = {
    {"stablehlo.exponential", &UnaryKernel<Exponential>},
    {"stablehlo.exponential_minus_one", &UnaryKernel<ExponentialMinusOne>},
    {"stablehlo.log", &UnaryKernel<Log>},
    {"stablehlo.log_plus_one", &UnaryKernel<LogPlusOne>},
    {"stablehlo.logistic", &UnaryKernel<Logistic>},
    {"stablehlo.sqrt", &UnaryKernel<Sqrt>},
    {"stablehlo.rsqrt", &UnaryKernel<Rsqrt>},
    {"stablehlo.cbrt", &UnaryKernel<Cbrt>},
    {"stablehlo.sine", &UnaryKernel<Sine>},
    {"stablehlo.cosine", &UnaryKernel<Cosine>},
    {"stablehlo.tan", &UnaryKernel<Tan>},
    {"stablehlo.tanh", &UnaryKernel<Tanh>},
};

}  // namespace

Kernel FindMath(std::string_view op, std::span<const DType> operands) {
  return operands.size() == 1 ? MakeFrom(kFunctions, op, operands[0]) : Kernel{};
}

}  // namespace tenon::reference
