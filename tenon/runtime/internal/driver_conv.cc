#include "tenon/runtime/internal/ops.h"

namespace tenon::runtime::internal {

Status ConvOp::Run(const Frame& frame) const {
  return kernels::Conv(signature_, in_.In(frame), weights_.In(frame), out_.In(frame), frame.pool);
}

}  // namespace tenon::runtime::internal
