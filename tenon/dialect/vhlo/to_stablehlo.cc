#include <optional>
#include <string>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/convert.h"

namespace tenon::vhlo {
namespace {

using mlir::Attribute;
namespace sh = stablehlo;

llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }

// Converts one op. The first wrong attribute is remembered; what follows works with empty values.
class Reader {
 public:
  Reader(const Op& op, llvm::ArrayRef<Attribute> values, mlir::NamedAttrList& out)
      : op_(op), values_(values), out_(out), context_(values.empty() ? nullptr : values.front().getContext()) {}

  Status Run() {
    for (size_t i = 0; i < op_.attrs.size(); ++i) One(op_.attrs[i], values_[i]);
    switch (op_.special) {
      case Special::kPlain:
        break;
      case Special::kConvolution:
        Convolution();
        break;
      case Special::kDotGeneral:
        DotGeneral();
        break;
      case Special::kGather:
        Gather();
        break;
      case Special::kScatter:
        Scatter();
        break;
      case Special::kTransfer:
        Transfer();
        break;
    }
    return status_;
  }

 private:
  void Wrong(std::string_view name, const char* wanted) {
    if (status_.ok()) status_ = InvalidArgument("attribute '" + std::string(name) + "' is no " + wanted);
  }
  void Put(std::string_view name, Attribute value) { out_.append(Ref(name), value); }

  Attribute Find(std::string_view name) const {
    for (size_t i = 0; i < op_.attrs.size(); ++i) {
      if (op_.attrs[i].name == name) return values_[i];
    }
    return {};
  }

  // A 1-d tensor of i64; an absent one is empty.
  llvm::SmallVector<int64_t> Ints(std::string_view name) {
    Attribute value = Find(name);
    if (!value) return {};
    return Ints(name, value);
  }
  llvm::SmallVector<int64_t> Ints(std::string_view name, Attribute value) {
    auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(value);
    if (!dense || !dense.getElementType().isInteger(64)) {
      Wrong(name, "tensor of i64");
      return {};
    }
    if (dense.getNumElements() > (1 << 20)) {  // A splat may claim any size.
      Wrong(name, "list of reasonable length");
      return {};
    }
    return llvm::to_vector(dense.getValues<int64_t>());
  }
  int64_t Int(std::string_view name) {
    auto integer = mlir::dyn_cast_or_null<mlir::IntegerAttr>(Find(name));
    if (!integer || !integer.getType().isInteger(64)) {
      Wrong(name, "i64");
      return 0;
    }
    return integer.getInt();
  }

  void Dense(std::string_view name, Attribute value, AttrKind kind) {
    auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(value);
    if (!dense || dense.getType().getRank() != 1) return Wrong(name, "list of integers");
    if (dense.getNumElements() > (1 << 20)) return Wrong(name, "list of reasonable length");
    if (dense.getElementType().isInteger(1)) {
      llvm::SmallVector<bool> flags = llvm::to_vector(dense.getValues<bool>());
      if (kind == AttrKind::kFalses && llvm::none_of(flags, [](bool b) { return b; })) return;
      return Put(name, mlir::DenseBoolArrayAttr::get(context_, flags));
    }
    if (!dense.getElementType().isInteger(64)) return Wrong(name, "list of i64");
    llvm::SmallVector<int64_t> values = llvm::to_vector(dense.getValues<int64_t>());
    if (kind == AttrKind::kOnes && llvm::all_of(values, [](int64_t v) { return v == 1; })) return;
    if (kind == AttrKind::kNoDenseArray && values.empty()) return;
    Put(name, mlir::DenseI64ArrayAttr::get(context_, values));
  }

  void One(const Attr& attr, Attribute value) {
    using enum AttrKind;
    switch (attr.kind) {
      case kCopy:
        return Put(attr.name, value);
      case kDenseArray:
      case kNoDenseArray:
      case kOnes:
      case kFalses:
        return Dense(attr.name, value, attr.kind);
      case kZeroPadding: {
        auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(value);
        if (!dense || !dense.getElementType().isInteger(64)) return Wrong(attr.name, "tensor of i64");
        if (dense.isSplat() ? dense.getSplatValue<llvm::APInt>().isZero() : dense.empty()) return;
        return Put(attr.name, value);
      }
      case kOldPadding:
      case kField:
        return;
      case kNoTensor: {
        auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(value);
        if (!dense) return Wrong(attr.name, "tensor of integers");
        return dense.empty() ? void() : Put(attr.name, value);
      }
      case kUnit:
      case kFalse: {
        auto flag = mlir::dyn_cast<mlir::BoolAttr>(value);
        if (!flag) return Wrong(attr.name, "boolean");
        if (!flag.getValue()) return;
        return Put(attr.name, attr.kind == kUnit ? Attribute(mlir::UnitAttr::get(context_)) : value);
      }
      case kMinusOne: {
        auto integer = mlir::dyn_cast<mlir::IntegerAttr>(value);
        if (!integer || !integer.getType().isInteger(64)) return Wrong(attr.name, "i64");
        return integer.getInt() == -1 ? void() : Put(attr.name, value);
      }
      case kVersion: {
        auto integer = mlir::dyn_cast<mlir::IntegerAttr>(value);
        if (!integer || !integer.getType().isSignlessInteger()) return Wrong(attr.name, "integer");
        if (integer.getInt() == 0) return;
        return Put(attr.name, mlir::IntegerAttr::get(mlir::IntegerType::get(context_, 32), integer.getInt()));
      }
      case kNoString: {
        auto text = mlir::dyn_cast<mlir::StringAttr>(value);
        if (!text) return Wrong(attr.name, "string");
        return text.empty() ? void() : Put(attr.name, value);
      }
      case kNoArray: {
        auto array = mlir::dyn_cast<mlir::ArrayAttr>(value);
        if (!array) return Wrong(attr.name, "array");
        return array.empty() ? void() : Put(attr.name, value);
      }
      case kNoDictionary: {
        auto dictionary = mlir::dyn_cast<mlir::DictionaryAttr>(value);
        if (!dictionary) return Wrong(attr.name, "dictionary");
        return dictionary.empty() ? void() : Put(attr.name, value);
      }
      case kNoType: {
        auto type = mlir::dyn_cast<sh::ComparisonTypeAttr>(value);
        if (!type) return Wrong(attr.name, "comparison type");
        return type.getValue() == sh::ComparisonType::NOTYPE ? void() : Put(attr.name, value);
      }
      case kSymbol: {
        auto text = mlir::dyn_cast<mlir::StringAttr>(value);
        if (!text || text.empty()) return Wrong(attr.name, "symbol name");
        return Put(attr.name, mlir::FlatSymbolRefAttr::get(text));
      }
      case kSymbols: {
        auto array = mlir::dyn_cast<mlir::ArrayAttr>(value);
        if (!array) return Wrong(attr.name, "array");
        llvm::SmallVector<Attribute> symbols;
        for (Attribute a : array) {
          auto text = mlir::dyn_cast<mlir::StringAttr>(a);
          if (!text || text.empty()) return Wrong(attr.name, "array of symbol names");
          symbols.push_back(mlir::FlatSymbolRefAttr::get(text));
        }
        return symbols.empty() ? void() : Put(attr.name, mlir::ArrayAttr::get(context_, symbols));
      }
      case kLayouts: {
        auto array = mlir::dyn_cast<mlir::ArrayAttr>(value);
        if (!array) return Wrong(attr.name, "array");
        auto other = mlir::dyn_cast_or_null<mlir::ArrayAttr>(
            Find(attr.name == "operand_layouts" ? "result_layouts" : "operand_layouts"));
        if (array.empty() && (!other || other.empty())) return;
        return Put(attr.name, value);
      }
      case kPrecision: {
        auto array = mlir::dyn_cast<mlir::ArrayAttr>(value);
        if (!array) return Wrong(attr.name, "array");
        bool all_default = true;
        for (Attribute a : array) {
          auto precision = mlir::dyn_cast<sh::PrecisionAttr>(a);
          if (!precision) return Wrong(attr.name, "array of precisions");
          all_default &= precision.getValue() == sh::Precision::DEFAULT;
        }
        return all_default ? void() : Put(attr.name, value);
      }
      case kAccuracy: {
        auto accuracy = mlir::dyn_cast<sh::ResultAccuracyAttr>(value);
        if (!accuracy) return Wrong(attr.name, "result accuracy");
        const bool is_default = accuracy.getAtol().isZero() && accuracy.getRtol().isZero() && accuracy.getUlps() == 0 &&
                                accuracy.getMode().getValue() == sh::ResultAccuracyMode::DEFAULT;
        return is_default ? void() : Put(attr.name, value);
      }
      case kApiVersion: {
        auto integer = mlir::dyn_cast<mlir::IntegerAttr>(value);
        if (!integer || !integer.getType().isInteger(32)) return Wrong(attr.name, "API version");
        return integer.getInt() == 1 ? void() : Put(attr.name, value);
      }
      case kBackendConfig: {
        auto text = mlir::dyn_cast<mlir::StringAttr>(value);
        auto dictionary = mlir::dyn_cast<mlir::DictionaryAttr>(value);
        if (!text && !dictionary) return Wrong(attr.name, "string or dictionary");
        return (text ? text.empty() : dictionary.empty()) ? void() : Put(attr.name, value);
      }
      case kChannelId: {
        const int64_t id = Int(attr.name);
        return id == 0 ? void() : Put("channel_handle", sh::ChannelHandleAttr::get(context_, id, 0));
      }
    }
  }

  void Convolution() {
    auto numbers = sh::ConvDimensionNumbersAttr::get(
        context_, Int("input_batch_dimension"), Int("input_feature_dimension"), Ints("input_spatial_dimensions"),
        Int("kernel_input_feature_dimension"), Int("kernel_output_feature_dimension"),
        Ints("kernel_spatial_dimensions"), Int("output_batch_dimension"), Int("output_feature_dimension"),
        Ints("output_spatial_dimensions"));
    Put("dimension_numbers", numbers);
  }

  void DotGeneral() {
    Put("dot_dimension_numbers",
        sh::DotDimensionNumbersAttr::get(context_, Ints("lhs_batching_dimensions"), Ints("rhs_batching_dimensions"),
                                         Ints("lhs_contracting_dimensions"), Ints("rhs_contracting_dimensions")));
    Attribute count = Find("lhs_component_count");
    if (!count || IsNone(count)) return;  // dot_general_v1, or no algorithm.
    auto flag = mlir::dyn_cast<mlir::BoolAttr>(Find("allow_imprecise_accumulation"));
    if (!flag) return Wrong("allow_imprecise_accumulation", "boolean");
    mlir::Type lhs = ElementType("lhs_precision_type");
    mlir::Type rhs = ElementType("rhs_precision_type");
    mlir::Type accumulation = ElementType("accumulation_type");
    if (!lhs || !rhs || !accumulation) return;
    Put("algorithm",
        sh::DotAlgorithmAttr::get(context_, lhs, rhs, accumulation, Int("lhs_component_count"),
                                  Int("rhs_component_count"), Int("num_primitive_operations"), flag.getValue()));
  }
  static bool IsNone(Attribute value) {
    auto type = mlir::dyn_cast<mlir::TypeAttr>(value);
    return type && mlir::isa<mlir::NoneType>(type.getValue());
  }
  mlir::Type ElementType(std::string_view name) {
    auto type = mlir::dyn_cast<mlir::TypeAttr>(Find(name));
    if (!type || IsNone(type)) {
      Wrong(name, "element type");
      return {};
    }
    return type.getValue();
  }

  void Gather() {
    Put("dimension_numbers",
        sh::GatherDimensionNumbersAttr::get(context_, Ints("offset_dims"), Ints("collapsed_slice_dims"),
                                            Ints("operand_batching_dims"), Ints("start_indices_batching_dims"),
                                            Ints("start_index_map"), Int("index_vector_dim")));
  }

  void Scatter() {
    Put("scatter_dimension_numbers",
        sh::ScatterDimensionNumbersAttr::get(context_, Ints("update_window_dims"), Ints("inserted_window_dims"),
                                             Ints("input_batching_dims"), Ints("scatter_indices_batching_dims"),
                                             Ints("scatter_dims_to_operand_dims"), Int("index_vector_dim")));
  }

  void Transfer() {
    Put("channel_handle", sh::ChannelHandleAttr::get(context_, Int("channel_id"), Int("channel_type")));
  }

  const Op& op_;
  llvm::ArrayRef<Attribute> values_;
  mlir::NamedAttrList& out_;
  mlir::MLIRContext* context_;
  Status status_;
};

}  // namespace

Status ToStablehlo(const Op& op, llvm::ArrayRef<Attribute> values, mlir::NamedAttrList& out) {
  return Reader(op, values, out).Run();
}

}  // namespace tenon::vhlo
