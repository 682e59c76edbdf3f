#include "tenon/dialect/async_calls.h"

#include <algorithm>
#include <optional>

#include "llvm/Support/JSON.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace tenon::dialect {
namespace {

/// The attributes of a collective, as its JSON says them.
class Config {
 public:
  Config(mlir::OpBuilder& b, const llvm::json::Object& object) : b_(b), object_(object) {}

  /// `number` of the config becomes the i64 attribute `name`.
  bool Number(llvm::StringRef number, llvm::StringRef name) {
    const std::optional<int64_t> value = object_.getInteger(number);
    if (value) Put(name, b_.getI64IntegerAttr(*value));
    return value.has_value();
  }
  /// A list of lists of one length.
  bool Table(llvm::StringRef table, llvm::StringRef name) {
    const llvm::json::Array* rows = object_.getArray(table);
    if (rows == nullptr) return false;
    llvm::SmallVector<int64_t> values;
    std::optional<size_t> columns;
    for (const llvm::json::Value& row : *rows) {
      const llvm::json::Array* cells = row.getAsArray();
      if (cells == nullptr || cells->size() != columns.value_or(cells->size())) return false;
      columns = cells->size();
      for (const llvm::json::Value& cell : *cells) {
        const std::optional<int64_t> value = cell.getAsInteger();
        if (!value) return false;
        values.push_back(*value);
      }
    }
    const int64_t shape[] = {static_cast<int64_t>(rows->size()), static_cast<int64_t>(columns.value_or(0))};
    Put(name, mlir::DenseIntElementsAttr::get(mlir::RankedTensorType::get(shape, b_.getI64Type()), values));
    return true;
  }
  void Channel() {
    constexpr int64_t kDeviceToDevice = 1;
    if (const std::optional<int64_t> id = object_.getInteger("channel_id"))
      Put("channel_handle", stablehlo::ChannelHandleAttr::get(b_.getContext(), *id, kDeviceToDevice));
  }
  void GlobalIds() {
    if (object_.getBoolean("use_global_device_ids").value_or(false)) Put("use_global_device_ids", b_.getUnitAttr());
  }

  llvm::ArrayRef<mlir::NamedAttribute> attributes() const { return attributes_; }

 private:
  void Put(llvm::StringRef name, mlir::Attribute value) { attributes_.push_back(b_.getNamedAttr(name, value)); }

  mlir::OpBuilder& b_;
  const llvm::json::Object& object_;
  llvm::SmallVector<mlir::NamedAttribute> attributes_;
};

/// The function of two scalars that a call names; null unless it is one of straight code.
mlir::func::FuncOp ReducerOf(stablehlo::CustomCallOp call) {
  const mlir::Type element = mlir::cast<mlir::RankedTensorType>(call->getOperand(0).getType()).getElementType();
  return ScalarFunctionOf(call, {element, element}, element);
}

bool ReplaceStart(stablehlo::CustomCallOp call, llvm::StringRef collective) {
  const auto attributes = call->getAttrOfType<mlir::DictionaryAttr>("mhlo.frontend_attributes");
  const auto text = attributes ? attributes.getAs<mlir::StringAttr>("async_collective_config") : nullptr;
  if (!text || !mlir::isa<mlir::RankedTensorType>(call->getOperand(0).getType())) return false;
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text.getValue());
  if (!json) {
    llvm::consumeError(json.takeError());
    return false;
  }
  if (json->getAsObject() == nullptr) return false;
  mlir::OpBuilder b(call);
  Config config(b, *json->getAsObject());
  config.Channel();
  mlir::func::FuncOp reducer;
  llvm::StringRef name;
  bool known = true;
  if (collective == "collective-permute") {
    name = "stablehlo.collective_permute";
    known = config.Table("permutation", "source_target_pairs");
  } else {
    known = config.Table("replica_groups", "replica_groups");
    if (collective == "all-gather") {
      name = "stablehlo.all_gather";
      config.GlobalIds();
      known &= config.Number("all_gather_dimension", "all_gather_dim");
    } else if (collective == "all-to-all") {
      name = "stablehlo.all_to_all";
      for (const llvm::StringRef number : {"split_dimension", "concat_dimension", "split_count"})
        known &= config.Number(number, number);
    } else {
      config.GlobalIds();
      reducer = ReducerOf(call);
      known &= static_cast<bool>(reducer);
      name = "stablehlo.all_reduce";
      if (collective == "reduce-scatter") {
        name = "stablehlo.reduce_scatter";
        known &= config.Number("scatter_dimension", "scatter_dimension");
      } else if (collective != "all-reduce") {
        return false;
      }
    }
  }
  if (!known) return false;
  mlir::OperationState state(call->getLoc(), name, call->getOperands(), call->getResultTypes(), config.attributes());
  if (reducer) FillRegion(*state.addRegion(), reducer);
  call->replaceAllUsesWith(b.create(state));
  return true;
}

}  // namespace

mlir::func::FuncOp ScalarFunctionOf(stablehlo::CustomCallOp call, llvm::ArrayRef<mlir::Type> arguments,
                                    mlir::Type result) {
  const auto callees = call->getAttrOfType<mlir::ArrayAttr>("called_computations");
  if (!callees || callees.size() != 1) return nullptr;
  const auto name = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(callees[0]);
  auto function = name ? mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(call, name) : nullptr;
  if (!function || !function.getBody().hasOneBlock() || !function.getBody().front().mightHaveTerminator())
    return nullptr;
  const auto scalar = [](mlir::Type element) { return mlir::Type(mlir::RankedTensorType::get({}, element)); };
  const bool fits = llvm::equal(function.getArgumentTypes(), llvm::map_range(arguments, scalar)) &&
                    llvm::equal(function.getResultTypes(), llvm::ArrayRef<mlir::Type>{scalar(result)});
  return fits ? function : nullptr;
}

void FillRegion(mlir::Region& region, mlir::func::FuncOp function) {
  mlir::IRMapping map;
  function.getBody().cloneInto(&region, map);
  mlir::Operation* end = region.front().getTerminator();
  mlir::OpBuilder b(end);
  b.create(end->getLoc(), b.getStringAttr("stablehlo.return"), end->getOperands(), mlir::TypeRange());
  end->erase();
}

bool ReplaceAsyncCall(stablehlo::CustomCallOp call) {
  llvm::StringRef name = call.getCallTargetName();
  if (call->getNumOperands() != 1 || call->getNumResults() != 1) return false;
  if (name.consume_back("-start")) return ReplaceStart(call, name);
  constexpr llvm::StringLiteral kAwaited[] = {"all-gather", "all-reduce", "reduce-scatter", "all-to-all",
                                              "collective-permute"};
  if (!name.consume_back("-done") || !llvm::is_contained(kAwaited, name) ||
      call->getOperand(0).getType() != call->getResult(0).getType())
    return false;
  // Blocks that nothing reaches may hold a call of its own result.
  if (call->getOperand(0).getDefiningOp() == call) return false;
  call->replaceAllUsesWith(call->getOperands());
  return true;
}

}  // namespace tenon::dialect
