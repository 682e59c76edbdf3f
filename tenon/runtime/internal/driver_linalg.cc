#include <limits>

#include "tenon/base/strided_copy.h"
#include "tenon/runtime/internal/ops.h"

namespace tenon::runtime::internal {

LinalgOp::LinalgOp(kernels::LinalgSignature signature, bool has_info, std::vector<Place> in, std::vector<Place> out,
                   Dims dims, Dims from, Dims to)
    : signature_(std::move(signature)),
      has_info_(has_info),
      in_(std::move(in)),
      out_(std::move(out)),
      dims_(std::move(dims)),
      from_(std::move(from)),
      to_(std::move(to)) {
  for (int64_t& s : from_) s *= ByteWidth(signature_.type);
  for (int64_t& s : to_) s *= ByteWidth(signature_.type);
}

Status LinalgOp::Run(const Frame& frame) const {
  const int64_t width = ByteWidth(signature_.type);
  std::byte* x = out_[0].In(frame);
  StridedCopy(x, to_, in_[0].In(frame), from_, dims_, width);
  const bool is_lu = signature_.op == kernels::LinalgOp::kLu;
  std::byte* scratch = out_.back().In(frame);
  auto* pivots = is_lu ? reinterpret_cast<int32_t*>(out_[1].In(frame)) : nullptr;
  auto* info = reinterpret_cast<int32_t*>(has_info_ ? out_[is_lu ? 2 : 1].In(frame)
                                                    : scratch + kernels::LinalgScratchBytes(signature_));
  TENON_RETURN_IF_ERROR(
      kernels::Linalg(signature_, in_.size() > 1 ? in_[1].In(frame) : nullptr, x, pivots, info, scratch, frame.pool));
  if (has_info_ || signature_.op != kernels::LinalgOp::kCholesky) return OkStatus();
  // What has no factor is NaN everywhere.
  int64_t count = 1;
  for (int64_t d : signature_.batch) count *= d;
  for (int64_t i = 0; i < count; ++i) {
    if (info[i] == 0) continue;
    int64_t at = 0, rest = i;
    for (size_t d = signature_.batch.size(); d-- > 0;) {
      at += rest % signature_.batch[d] * to_[d];
      rest /= signature_.batch[d];
    }
    const float nan32 = std::numeric_limits<float>::quiet_NaN();
    const double nan64 = std::numeric_limits<double>::quiet_NaN();
    const void* nan = width == 4 ? static_cast<const void*>(&nan32) : &nan64;
    const auto last_two = [](const Dims& list) { return Dims(list.end() - 2, list.end()); };
    StridedCopy(x + at, last_two(to_), nan, Dims(2, 0), last_two(dims_), width);
  }
  return OkStatus();
}

}  // namespace tenon::runtime::internal
