#include "tenon/runtime/internal/copy_kernel.h"

#include <map>
#include <mutex>

#include "tenon/kir/builder.h"
#include "tenon/runtime/policy.h"

namespace tenon::runtime::internal {
namespace {

DType UnsignedOf(int64_t bytes) {
  return bytes == 1 ? DType::kU8 : bytes == 2 ? DType::kU16 : bytes == 4 ? DType::kU32 : DType::kU64;
}

kir::Kernel Make(size_t rank, DType type) {
  kir::KernelBuilder b;
  SmallVector<kir::Size, 4> extents, from, to;
  SmallVector<kir::Axis, 4> at;
  kir::Stage stage;
  for (size_t i = 0; i < rank; ++i) {
    extents.push_back(kir::Size::Param(b.AddParam()));
    from.push_back(kir::Size::Param(b.AddParam()));
    to.push_back(kir::Size::Param(b.AddParam()));
    const kir::DimId dim = b.AddDim(extents.back());
    at.push_back(kir::At(dim));
    stage.dims.push_back(dim);
  }
  const kir::Buf source = b.AddBuffer(kir::BufKind::kArg, type, extents, from);
  const kir::Buf target = b.AddBuffer(kir::BufKind::kOut, type, extents, to);
  kir::Store store;
  store.buf = target;
  store.at = at;
  store.value = b.Read(source, at);
  stage.stores.push_back(std::move(store));
  b.AddStage(std::move(stage));
  if (rank > 0) b.kernel().split = {(kir::DimMask{1} << rank) - 1, kir::Size::Of(policy::kCopyGrain)};
  return b.Finish();
}

}  // namespace

CopyKernel MakeCopyKernel(const Dims& dims, const Dims& from_strides, const Dims& to_strides, int64_t element_bytes) {
  // Without dims of one index, and dims that lie in one stretch on both sides as one.
  struct Side {
    int64_t extent, from, to;
  };
  std::vector<Side> sides;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const Side side{dims[i], from_strides[i], to_strides[i]};
    if (!sides.empty() && sides.back().from == side.extent * side.from && sides.back().to == side.extent * side.to) {
      sides.back() = {sides.back().extent * side.extent, side.from, side.to};
    } else {
      sides.push_back(side);
    }
  }
  // The widest elements are two of the next width.
  constexpr int64_t kWidest = sizeof(uint64_t);
  if (element_bytes > kWidest) {
    const int64_t parts = element_bytes / kWidest;
    for (Side& s : sides) s = {s.extent, s.from * parts, s.to * parts};
    const Side inner{parts, 1, 1};
    if (!sides.empty() && sides.back().from == parts && sides.back().to == parts) {
      sides.back() = {sides.back().extent * parts, 1, 1};
    } else {
      sides.push_back(inner);
    }
    element_bytes = kWidest;
  }
  CopyKernel copy;
  for (const Side& s : sides) {
    for (const int64_t number : {s.extent, s.from, s.to}) copy.params.push_back(number);
  }
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<size_t, int64_t>, std::shared_ptr<const kir::Kernel>>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const kir::Kernel>& kernel = known[{sides.size(), element_bytes}];
  if (kernel == nullptr) kernel = std::make_shared<const kir::Kernel>(Make(sides.size(), UnsignedOf(element_bytes)));
  copy.kernel = kernel;
  return copy;
}

}  // namespace tenon::runtime::internal
