#include <atomic>

#include "tenon/runtime/internal/ops.h"

namespace tenon::runtime::internal {
namespace {

/// One hook for one run: calls the kernel on each tile that the driver lends.
struct HookCall {
  const BoundKernel* kernel;
  const Frame* frame;
  std::atomic<bool>* out_of_memory;

  static void Call(void* context, const drivers::Tile& tile) {
    const auto& self = *static_cast<const HookCall*>(context);
    const BoundKernel& k = *self.kernel;
    SmallVector<void*, 16> buffers;
    for (const Place& p : k.buffers) buffers.push_back(p.base == kNoBase ? tile.data : p.In(*self.frame));
    SmallVector<int64_t, 24> params(k.params.begin(), k.params.end());
    for (int64_t p : {tile.batch, tile.row0, tile.col0, tile.rows, tile.cols, tile.row_stride, tile.col_stride})
      params.push_back(p);
    void* scratch = nullptr;
    if (k.has_locals) {
      scratch = ThreadScratch(kir::LocalBytes(*k.kernel, params.data()));
      if (scratch == nullptr) return self.out_of_memory->store(true, std::memory_order_relaxed);
    }
    k.fn(buffers.data(), params.data(), 0, 1, scratch);
  }
};

}  // namespace

Status DriverOp::Run(const Frame& frame) const {
  SmallVector<const void*, 8> inputs;
  SmallVector<void*, 4> outputs;
  for (const Place& p : inputs_) inputs.push_back(p.base == kNoBase ? nullptr : p.In(frame));
  for (const Place& p : outputs_) outputs.push_back(p.In(frame));
  drivers::Memory memory{inputs.data(), outputs.data(), scratch_.base == kNoBase ? nullptr : scratch_.In(frame),
                         nullptr};
  if (hooks_.empty()) return call_->Run(memory, frame.pool);
  std::atomic<bool> out_of_memory{false};
  SmallVector<HookCall, 4> calls;
  SmallVector<drivers::TileHook, 4> hooks;
  for (const BoundKernel& k : hooks_) calls.push_back({&k, &frame, &out_of_memory});
  for (HookCall& call : calls)
    hooks.push_back(call.kernel->fn == nullptr ? drivers::TileHook{} : drivers::TileHook{&HookCall::Call, &call});
  memory.hooks = hooks.data();
  TENON_RETURN_IF_ERROR(call_->Run(memory, frame.pool));
  return out_of_memory.load() ? ResourceExhausted("no memory for a hook's scratch") : OkStatus();
}

}  // namespace tenon::runtime::internal
