#include "tenon/runtime/internal/ops.h"

namespace tenon::runtime::internal {

Status FftOp::Run(const Frame& frame) const { return fft_.Run(in_.In(frame), out_.In(frame), frame.pool); }

}  // namespace tenon::runtime::internal
