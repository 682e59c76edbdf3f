#include "tenon/runtime/testing/add_one.h"

namespace tenon::runtime::testing {

kir::Kernel AddOneKernel(int64_t grain) {
  kir::Kernel k;
  k.num_params = 1;
  k.dims = {{kir::Size::Param(0), kir::DimKind::kParallel}};
  const SmallVector<kir::Size, 4> extent{kir::Size::Param(0)}, stride{kir::Size::Of(1)};
  k.buffers = {{kir::BufKind::kArg, DType::kF32, extent, stride}, {kir::BufKind::kOut, DType::kF32, extent, stride}};
  const kir::Axis axis{{kir::Term{0, kir::Size::Of(1)}}};
  k.reads = {{0, {axis}, {}, kir::kNone}};
  k.literals = {0x3f800000};
  k.nodes = {{kir::Op::kRead, DType::kF32, 0, 0, {}},
             {kir::Op::kConst, DType::kF32, 0, 0, {}},
             {kir::Op::kAdd, DType::kF32, 0, 0, {0, 1}}};
  kir::Stage stage;
  stage.dims = {0};
  kir::Store store;
  store.buf = 1;
  store.at = {axis};
  store.value = 2;
  stage.stores = {store};
  k.seq = {{stage}};
  k.split = {1, kir::Size::Of(grain)};
  return k;
}

void AddOne(void* const* buffers, const int64_t*, int64_t begin, int64_t end, void*) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] + 1;
}

}  // namespace tenon::runtime::testing
