#include "tenon/kernels/fft/internal/lines_inl.h"

namespace tenon::kernels::internal {
void TransformAvx512(const LineTables<float>& t, const Lines<float>& l, void* scratch) {
  TransformLines(t, l, scratch);
}
void TransformAvx512(const LineTables<double>& t, const Lines<double>& l, void* scratch) {
  TransformLines(t, l, scratch);
}
}  // namespace tenon::kernels::internal
