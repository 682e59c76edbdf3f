#include "tenon/runtime/internal/ops.h"

namespace tenon::runtime::internal {

Status SortOp::Run(const Frame& frame) const {
  SmallVector<const void*, 8> in;
  for (const Place& p : in_) in.push_back(p.In(frame));
  SmallVector<const void*, 8> payloads;
  size_t next = signature_.keys.size();
  for (const kernels::SortPayload& p : signature_.payloads) payloads.push_back(p.is_position ? nullptr : in[next++]);
  SmallVector<void*, 8> out;
  for (const Place& p : out_) out.push_back(p.In(frame));
  kernels::Sort(signature_, in.data(), payloads.data(), out.data(), out.back(), frame.pool);
  return OkStatus();
}

}  // namespace tenon::runtime::internal
