#include "tenon/runtime/internal/ops.h"

namespace tenon::runtime::internal {
namespace {

/// One hook for one run: calls the kernel on each tile that the driver lends.
struct HookCall {
  const BoundKernel& kernel;
  const Frame& frame;

  static void Call(void* context, const kernels::GemmTile& tile) {
    const auto& self = *static_cast<const HookCall*>(context);
    SmallVector<void*, 16> buffers;
    for (const Place& p : self.kernel.buffers) buffers.push_back(p.base == kNoBase ? tile.data : p.In(self.frame));
    SmallVector<int64_t, 24> params(self.kernel.params.begin(), self.kernel.params.end());
    for (int64_t p : {tile.batch, tile.row0, tile.col0, tile.rows, tile.cols, tile.row_stride, tile.col_stride})
      params.push_back(p);
    self.kernel.fn(buffers.data(), params.data(), 0, 1, nullptr);
  }

  kernels::GemmHook AsHook(bool present) { return present ? kernels::GemmHook{&Call, this} : kernels::GemmHook{}; }
};

}  // namespace

Status GemmOp::Run(const Frame& frame) const {
  HookCall pack_a{pack_a_.kernel, frame}, pack_b{pack_b_.kernel, frame}, finish{finish_.kernel, frame};
  const kernels::GemmHooks hooks{pack_a.AsHook(pack_a_.present), pack_b.AsHook(pack_b_.present),
                                 finish.AsHook(finish_.present)};
  const auto in = [&](const Place& p) -> std::byte* { return p.base == kNoBase ? nullptr : p.In(frame); };
  return kernels::Gemm(signature_, {in(a_), in(b_), in(c_)}, hooks, frame.pool);
}

}  // namespace tenon::runtime::internal
