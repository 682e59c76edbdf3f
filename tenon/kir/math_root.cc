// Roots.

#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// 1 / sqrt(x): two correct roundings, below 1 ulp.
Graph Rsqrt(DType type) {
  GraphBuilder b({type});
  const Val x = b.Argument(0);
  return b.Finish({b.Div(b.Const(type, 1.0), b.Sqrt(x))});
}

}  // namespace

Graph RsqrtF32() { return Rsqrt(DType::kF32); }
Graph RsqrtF64() { return Rsqrt(DType::kF64); }

}  // namespace tenon::kir::internal
