#include "tenon/vulkan/runner/chooser.h"

#include "tenon/kir/builder.h"

namespace tenon::vulkan {
namespace {

std::shared_ptr<const kir::Kernel> Make(bool is_pred) {
  using kir::Size;
  kir::KernelBuilder b;
  const int32_t rows = b.AddParam(), cells = b.AddParam(), branches = b.AddParam();
  const kir::Buf index = b.AddBuffer(kir::BufKind::kArg, is_pred ? DType::kPred : DType::kS32, {}, {});
  const kir::Buf table = b.AddBuffer(kir::BufKind::kArg, DType::kS32, {Size::Param(rows), Size::Of(kChooserCells)},
                                     {Size::Of(kChooserCells), Size::Of(1)});
  const kir::Buf sizes = b.AddBuffer(kir::BufKind::kOut, DType::kS32, {Size::Param(cells)}, {Size::Of(1)});
  kir::Stage stage;
  const kir::DimId row = b.AddDim(Size::Param(rows)), direction = b.AddDim(Size::Of(3));
  stage.dims = {row, direction};

  const auto in_row = [&](int64_t place) { return b.Read(table, {kir::At(row), kir::AtOffset(Size::Of(place))}); };
  kir::Val chosen = b.Convert(DType::kS64, b.Read(index, {}));
  const kir::Val last = b.Sub(b.Param(branches), b.ConstS64(1));
  const kir::Val outside = b.Or(b.Compare(kir::kLt, chosen, b.ConstS64(0)), b.Compare(kir::kGt, chosen, last));
  chosen = b.Select(outside, last, chosen);
  const kir::Val is_chosen = b.Compare(kir::kEq, b.Convert(DType::kS64, in_row(3)), chosen);
  const kir::Val groups = b.Read(table, {kir::At(row), kir::At(direction)});
  kir::Store store;
  store.buf = sizes;
  store.at = {kir::At(direction)};
  store.at[0].start = b.Convert(DType::kS64, in_row(4));
  store.value = b.Select(is_chosen, groups, b.ConstS32(0));
  stage.stores.push_back(std::move(store));
  b.AddStage(std::move(stage));
  return std::make_shared<const kir::Kernel>(b.Finish());
}

}  // namespace

std::shared_ptr<const kir::Kernel> ChooserKernel(bool is_pred) {
  static const std::shared_ptr<const kir::Kernel>& by_index = *new auto(Make(false));
  static const std::shared_ptr<const kir::Kernel>& by_pred = *new auto(Make(true));
  return is_pred ? by_pred : by_index;
}

}  // namespace tenon::vulkan
