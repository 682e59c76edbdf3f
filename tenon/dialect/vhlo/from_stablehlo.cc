#include <string>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/convert.h"

namespace tenon::vhlo {
namespace {

using mlir::Attribute;
namespace sh = stablehlo;

llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }

class Converter {
 public:
  Converter(mlir::Operation* operation, const Op& op, llvm::SmallVectorImpl<Attribute>& values)
      : operation_(operation), op_(op), values_(values), b_(operation->getContext()) {}

  Status Run() {
    values_.clear();
    for (const Attr& attr : op_.attrs) {
      Attribute value = One(attr, Get(attr.name));
      if (!value) {
        if (status_.ok())
          status_ = InvalidArgument("attribute '" + std::string(attr.name) + "' is missing or of the wrong kind");
        return status_;
      }
      values_.push_back(value);
    }
    // What newer forms can say and this one cannot must be left unsaid.
    for (std::string_view newer :
         {"result_accuracy", "source_target_pairs", "result_tilings", "has_dynamic_root", "algorithm"}) {
      if (!Get(newer) || Writes(newer)) continue;
      if (newer == "result_accuracy" && IsDefaultAccuracy(Get(newer))) continue;
      if (newer == "algorithm" && Writes("lhs_component_count")) continue;
      return InvalidArgument("'" + std::string(newer) + "' is set, which " + std::string(op_.name) + " cannot say");
    }
    return status_;
  }

 private:
  Attribute Get(std::string_view name) { return operation_->getAttr(Ref(name)); }

  bool Writes(std::string_view name) const {
    for (const Attr& attr : op_.attrs) {
      if (attr.name == name) return true;
    }
    return false;
  }

  Attribute Fail(std::string why) {
    if (status_.ok()) status_ = InvalidArgument(std::move(why));
    return {};
  }

  static bool IsDefaultAccuracy(Attribute value) {
    auto a = mlir::dyn_cast<sh::ResultAccuracyAttr>(value);
    return a && a.getAtol().isZero() && a.getRtol().isZero() && a.getUlps() == 0 &&
           a.getMode().getValue() == sh::ResultAccuracyMode::DEFAULT;
  }

  Attribute Int(int64_t value) { return b_.getI64IntegerAttr(value); }
  Attribute Ints(llvm::ArrayRef<int64_t> values) { return b_.getI64TensorAttr(values); }
  Attribute None() { return mlir::TypeAttr::get(b_.getNoneType()); }

  // The number of spatial dimensions of a convolution, or of dimensions of a window.
  size_t WindowRank() {
    if (op_.special == Special::kConvolution) {
      auto numbers = mlir::dyn_cast_or_null<sh::ConvDimensionNumbersAttr>(Get("dimension_numbers"));
      return numbers ? numbers.getInputSpatialDimensions().size() : 0;
    }
    auto window = mlir::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(Get("window_dimensions"));
    return window ? static_cast<size_t>(window.size()) : 0;
  }
  Attribute Zeros() {
    auto type = mlir::RankedTensorType::get({static_cast<int64_t>(WindowRank()), 2}, b_.getI64Type());
    llvm::SmallVector<int64_t> zeros(2 * WindowRank());
    return mlir::DenseIntElementsAttr::get(type, zeros);
  }

  Attribute One(const Attr& attr, Attribute value) {
    using enum AttrKind;
    switch (attr.kind) {
      case kCopy:
        return value;
      case kDenseArray:
        return value;
      case kNoDenseArray:
        return value ? value : Ints({});
      case kOnes:
        return value ? value : Ints(llvm::SmallVector<int64_t>(WindowRank(), 1));
      case kFalses:
        return value ? value : Attribute(b_.getDenseBoolArrayAttr(llvm::SmallVector<bool>(WindowRank())));
      case kZeroPadding:
        return value ? value : Zeros();
      case kOldPadding:
        return Zeros();
      case kNoTensor:
        return value ? value : Ints({});
      case kUnit:
        return b_.getBoolAttr(value != nullptr);
      case kFalse:
        return value ? value : Attribute(b_.getBoolAttr(false));
      case kMinusOne:
        return value ? value : Int(-1);
      case kVersion:
        return value ? value : Int(0);
      case kNoString:
        return value ? value : Attribute(b_.getStringAttr(""));
      case kNoArray:
      case kSymbols:
      case kLayouts:
        return value ? value : Attribute(b_.getArrayAttr({}));
      case kNoDictionary:
        return value ? value : Attribute(b_.getDictionaryAttr({}));
      case kNoType:
        return value ? value : Attribute(sh::ComparisonTypeAttr::get(b_.getContext(), sh::ComparisonType::NOTYPE));
      case kSymbol:
        return value;
      case kPrecision: {
        if (value) return value;
        Attribute plain = sh::PrecisionAttr::get(b_.getContext(), sh::Precision::DEFAULT);
        return b_.getArrayAttr({plain, plain});
      }
      case kAccuracy:
        return value ? value
                     : Attribute(
                           sh::ResultAccuracyAttr::get(b_.getContext(), 0.0, 0.0, 0, sh::ResultAccuracyMode::DEFAULT));
      case kApiVersion:
        return value ? value : Attribute(b_.getI32IntegerAttr(1));
      case kBackendConfig: {
        if (value) return value;
        auto version = mlir::dyn_cast_or_null<mlir::IntegerAttr>(Get("api_version"));
        const bool typed = version && version.getInt() == 4;
        return typed ? Attribute(b_.getDictionaryAttr({})) : Attribute(b_.getStringAttr(""));
      }
      case kChannelId: {
        auto handle = mlir::dyn_cast_or_null<sh::ChannelHandleAttr>(Get("channel_handle"));
        return Int(handle ? handle.getHandle() : 0);
      }
      case kField:
        return Field(attr.name);
    }
    return {};
  }

  Attribute Field(std::string_view name) {
    switch (op_.special) {
      case Special::kPlain:
        return {};
      case Special::kConvolution:
        return ConvolutionField(name);
      case Special::kDotGeneral:
        return DotField(name);
      case Special::kGather:
        return GatherField(name);
      case Special::kScatter:
        return ScatterField(name);
      case Special::kTransfer: {
        auto handle = mlir::dyn_cast_or_null<sh::ChannelHandleAttr>(Get("channel_handle"));
        if (!handle) return {};
        return Int(name == "channel_id" ? handle.getHandle() : handle.getType());
      }
    }
    return {};
  }

  Attribute ConvolutionField(std::string_view name) {
    auto n = mlir::dyn_cast_or_null<sh::ConvDimensionNumbersAttr>(Get("dimension_numbers"));
    if (!n) return {};
    if (name == "input_batch_dimension") return Int(n.getInputBatchDimension());
    if (name == "input_feature_dimension") return Int(n.getInputFeatureDimension());
    if (name == "input_spatial_dimensions") return Ints(n.getInputSpatialDimensions());
    if (name == "kernel_input_feature_dimension") return Int(n.getKernelInputFeatureDimension());
    if (name == "kernel_output_feature_dimension") return Int(n.getKernelOutputFeatureDimension());
    if (name == "kernel_spatial_dimensions") return Ints(n.getKernelSpatialDimensions());
    if (name == "output_batch_dimension") return Int(n.getOutputBatchDimension());
    if (name == "output_feature_dimension") return Int(n.getOutputFeatureDimension());
    if (name == "output_spatial_dimensions") return Ints(n.getOutputSpatialDimensions());
    return {};
  }

  Attribute DotField(std::string_view name) {
    auto n = mlir::dyn_cast_or_null<sh::DotDimensionNumbersAttr>(Get("dot_dimension_numbers"));
    if (!n) return {};
    if (name == "lhs_batching_dimensions") return Ints(n.getLhsBatchingDimensions());
    if (name == "rhs_batching_dimensions") return Ints(n.getRhsBatchingDimensions());
    if (name == "lhs_contracting_dimensions") return Ints(n.getLhsContractingDimensions());
    if (name == "rhs_contracting_dimensions") return Ints(n.getRhsContractingDimensions());
    auto a = mlir::dyn_cast_or_null<sh::DotAlgorithmAttr>(Get("algorithm"));
    if (!a) return None();
    if (name == "lhs_precision_type") return mlir::TypeAttr::get(a.getLhsPrecisionType());
    if (name == "rhs_precision_type") return mlir::TypeAttr::get(a.getRhsPrecisionType());
    if (name == "accumulation_type") return mlir::TypeAttr::get(a.getAccumulationType());
    if (name == "lhs_component_count") return Int(a.getLhsComponentCount());
    if (name == "rhs_component_count") return Int(a.getRhsComponentCount());
    if (name == "num_primitive_operations") return Int(a.getNumPrimitiveOperations());
    if (name == "allow_imprecise_accumulation") return b_.getBoolAttr(a.getAllowImpreciseAccumulation());
    return {};
  }

  Attribute GatherField(std::string_view name) {
    auto n = mlir::dyn_cast_or_null<sh::GatherDimensionNumbersAttr>(Get("dimension_numbers"));
    if (!n) return {};
    if (name == "offset_dims") return Ints(n.getOffsetDims());
    if (name == "collapsed_slice_dims") return Ints(n.getCollapsedSliceDims());
    if (name == "operand_batching_dims") return Ints(n.getOperandBatchingDims());
    if (name == "start_indices_batching_dims") return Ints(n.getStartIndicesBatchingDims());
    if (name == "start_index_map") return Ints(n.getStartIndexMap());
    if (name != "index_vector_dim") return {};
    if (!Writes("operand_batching_dims") && !n.getOperandBatchingDims().empty()) {
      return Fail("it has batching dimensions, which " + std::string(op_.name) + " cannot say");
    }
    return Int(n.getIndexVectorDim());
  }

  Attribute ScatterField(std::string_view name) {
    auto n = mlir::dyn_cast_or_null<sh::ScatterDimensionNumbersAttr>(Get("scatter_dimension_numbers"));
    if (!n) return {};
    if (name == "update_window_dims") return Ints(n.getUpdateWindowDims());
    if (name == "inserted_window_dims") return Ints(n.getInsertedWindowDims());
    if (name == "input_batching_dims") return Ints(n.getInputBatchingDims());
    if (name == "scatter_indices_batching_dims") return Ints(n.getScatterIndicesBatchingDims());
    if (name == "scatter_dims_to_operand_dims") return Ints(n.getScatterDimsToOperandDims());
    if (name != "index_vector_dim") return {};
    if (!Writes("input_batching_dims") && !n.getInputBatchingDims().empty()) {
      return Fail("it has batching dimensions, which " + std::string(op_.name) + " cannot say");
    }
    return Int(n.getIndexVectorDim());
  }

  mlir::Operation* operation_;
  const Op& op_;
  llvm::SmallVectorImpl<Attribute>& values_;
  mlir::Builder b_;
  Status status_;
};

}  // namespace

Status FromStablehlo(mlir::Operation* operation, const Op& op, llvm::SmallVectorImpl<Attribute>& values) {
  return Converter(operation, op, values).Run();
}

}  // namespace tenon::vhlo
