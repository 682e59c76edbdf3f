// VHLO entries, decoded straight into builtin and StableHLO attributes and types.

#include <bit>

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/entries.h"
#include "tenon/vhlo/table.h"

namespace tenon::vhlo {
namespace {

llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }

mlir::Attribute MakeEnum(mlir::MLIRContext* context, AttrCode code, uint32_t value) {
  namespace sh = stablehlo;
  switch (code) {
    case AttrCode::kComparisonDirection:
      return sh::ComparisonDirectionAttr::get(context, static_cast<sh::ComparisonDirection>(value));
    case AttrCode::kComparisonType:
      return sh::ComparisonTypeAttr::get(context, static_cast<sh::ComparisonType>(value));
    case AttrCode::kFftType:
      return sh::FftTypeAttr::get(context, static_cast<sh::FftType>(value));
    case AttrCode::kPrecision:
      return sh::PrecisionAttr::get(context, static_cast<sh::Precision>(value));
    case AttrCode::kResultAccuracyMode:
      return sh::ResultAccuracyModeAttr::get(context, static_cast<sh::ResultAccuracyMode>(value));
    case AttrCode::kRngAlgorithm:
      return sh::RngAlgorithmAttr::get(context, static_cast<sh::RngAlgorithm>(value));
    case AttrCode::kRngDistribution:
      return sh::RngDistributionAttr::get(context, static_cast<sh::RngDistribution>(value));
    case AttrCode::kTranspose:
      return sh::TransposeAttr::get(context, static_cast<sh::Transpose>(value));
    case AttrCode::kApiVersion:
      return mlir::IntegerAttr::get(mlir::IntegerType::get(context, 32), static_cast<int64_t>(value));
    default:
      return {};
  }
}

}  // namespace

mlir::Attribute EntryReader::DecodeVhloAttr(Cursor& in) {
  using namespace mlir;  // NOLINT(google-build-using-namespace)
  namespace sh = stablehlo;
  const uint64_t raw_code = in.VarInt();
  const AttrCode code = static_cast<AttrCode>(raw_code);
  if (auto last = EnumLast(code)) {
    const uint64_t value = in.VarInt();
    if (!in.ok() || value < EnumFirst(code) || value > *last) {
      return Fail(std::string(Name(code)) + " has no case " + std::to_string(value));
    }
    return MakeEnum(context_, code, static_cast<uint32_t>(value));
  }
  switch (code) {
    case AttrCode::kArray: {
      llvm::SmallVector<Attribute> values;
      return ReadAttrs(in, values) ? ArrayAttr::get(context_, values) : nullptr;
    }
    case AttrCode::kBoolean: {
      const uint64_t value = in.VarInt();
      return in.ok() && value <= 1 ? BoolAttr::get(context_, value != 0)
                                   : Attribute(Fail("a boolean that is neither 0 nor 1"));
    }
    case AttrCode::kDictionary: {
      const size_t n = in.Count(2);
      llvm::SmallVector<NamedAttribute> entries;
      entries.reserve(n);
      for (size_t i = 0; i < n; ++i) {
        auto name = ReadAttrOf<StringAttr>(in, "string");
        Attribute value = name ? ReadAttr(in) : nullptr;
        if (!value) return {};
        if (name.empty()) return Fail("a dictionary entry without a name");
        entries.emplace_back(name, value);
      }
      return in.ok() ? MakeDictionary(entries) : Fail("it ends early");
    }
    case AttrCode::kFloat: {
      mlir::Type type = ReadType(in);
      return type ? MakeFloat(type, in) : nullptr;
    }
    case AttrCode::kInteger: {
      mlir::Type type = ReadType(in);
      return type ? MakeInteger(type, in) : nullptr;
    }
    case AttrCode::kOutputOperandAlias: {
      llvm::SmallVector<int64_t> output;
      llvm::SmallVector<int64_t> operand;
      if (!ReadInts(in, output)) return {};
      const int64_t index = in.SignedVarInt();
      if (!ReadInts(in, operand)) return {};
      return sh::OutputOperandAliasAttr::get(context_, output, index, operand);
    }
    case AttrCode::kString: {
      std::string_view text = ReadString(in);
      return status_.ok() ? StringAttr::get(context_, Ref(text)) : nullptr;
    }
    case AttrCode::kTensor: {
      mlir::Type type = ReadType(in);
      std::string_view data = in.Blob();
      if (!type) return {};
      return in.ok() ? MakeElements(type, data) : Fail("it ends early");
    }
    case AttrCode::kType: {
      mlir::Type type = ReadType(in);
      return type ? TypeAttr::get(type) : nullptr;
    }
    case AttrCode::kTypeExtensions: {
      llvm::SmallVector<int64_t> bounds;
      return ReadInts(in, bounds) ? sh::TypeExtensionsAttr::get(context_, bounds) : nullptr;
    }
    case AttrCode::kResultAccuracy: {
      const double atol = std::bit_cast<double>(ReadBits(in, 64));
      const double rtol = std::bit_cast<double>(ReadBits(in, 64));
      const int64_t ulps = in.SignedVarInt();
      auto mode = ReadAttrOf<sh::ResultAccuracyModeAttr>(in, "result accuracy mode");
      return mode ? sh::ResultAccuracyAttr::get(context_, llvm::APFloat(atol), llvm::APFloat(rtol), ulps, mode)
                  : nullptr;
    }
    case AttrCode::kSubAxisInfo: {
      const int64_t pre_size = in.SignedVarInt();
      const int64_t size = in.SignedVarInt();
      return in.ok() ? sh::SubAxisInfoAttr::get(context_, pre_size, size) : Attribute(Fail("it ends early"));
    }
    case AttrCode::kAxisRef: {
      auto name = ReadAttrOf<StringAttr>(in, "string");
      if (!name) return {};
      sh::SubAxisInfoAttr sub_axis;
      const uint64_t present = in.VarInt();
      if (!in.ok() || present > 1) return Fail("a broken axis reference");
      if (present == 1 && !(sub_axis = ReadAttrOf<sh::SubAxisInfoAttr>(in, "sub-axis"))) return {};
      return sh::AxisRefAttr::get(context_, name.getValue(), sub_axis);
    }
    case AttrCode::kReplicaGroupMeshAxes: {
      Attribute mesh = ReadAttr(in);
      auto list = mesh ? ReadAttrOf<ArrayAttr>(in, "array") : nullptr;
      if (!list) return {};
      if (auto name = dyn_cast<StringAttr>(mesh)) {
        mesh = FlatSymbolRefAttr::get(name);
      } else if (!isa<sh::MeshAttr>(mesh)) {
        return Fail("replica groups over something that is no mesh");
      }
      llvm::SmallVector<sh::AxisRefAttr> axes;
      for (Attribute a : list) {
        auto axis = dyn_cast<sh::AxisRefAttr>(a);
        if (!axis) return Fail("replica groups over something that is no axis");
        axes.push_back(axis);
      }
      return sh::ReplicaGroupMeshAxesAttr::get(context_, mesh, axes);
    }
    case AttrCode::kMeshAxis: {
      auto name = ReadAttrOf<StringAttr>(in, "string");
      const int64_t size = in.SignedVarInt();
      return name && in.ok() ? sh::MeshAxisAttr::get(context_, name.getValue(), size)
                             : Attribute(Fail("it ends early"));
    }
    case AttrCode::kMesh: {
      auto list = ReadAttrOf<ArrayAttr>(in, "array");
      if (!list) return {};
      llvm::SmallVector<sh::MeshAxisAttr> axes;
      for (Attribute a : list) {
        auto axis = dyn_cast<sh::MeshAxisAttr>(a);
        if (!axis) return Fail("a mesh of something that is no axis");
        axes.push_back(axis);
      }
      Attribute ids = ReadOptionalAttr(in);
      if (!status_.ok()) return {};
      if (ids && !isa<DenseIntElementsAttr>(ids)) return Fail("device ids of a mesh that are no integers");
      return sh::MeshAttr::get(context_, axes, cast_or_null<DenseIntElementsAttr>(ids));
    }
    default:
      return Fail("there is no VHLO attribute of code " + std::to_string(raw_code) + " up to version " +
                  kCurrentVersion.ToString());
  }
}

mlir::Type EntryReader::DecodeVhloType(Cursor& in) {
  using namespace mlir;  // NOLINT(google-build-using-namespace)
  const auto integer = [&](unsigned width) -> mlir::Type { return IntegerType::get(context_, width); };
  const auto unsigned_integer = [&](unsigned width) -> mlir::Type {
    return IntegerType::get(context_, width, IntegerType::Unsigned);
  };
  const uint64_t raw_code = in.VarInt();
  if (!in.ok()) return Fail("it ends early");
  switch (static_cast<TypeCode>(raw_code)) {
    case TypeCode::kBoolean:
      return integer(1);
    case TypeCode::kSI2:
      return integer(2);
    case TypeCode::kSI4:
      return integer(4);
    case TypeCode::kSI8:
      return integer(8);
    case TypeCode::kSI16:
      return integer(16);
    case TypeCode::kSI32:
      return integer(32);
    case TypeCode::kSI64:
      return integer(64);
    case TypeCode::kUI2:
      return unsigned_integer(2);
    case TypeCode::kUI4:
      return unsigned_integer(4);
    case TypeCode::kUI8:
      return unsigned_integer(8);
    case TypeCode::kUI16:
      return unsigned_integer(16);
    case TypeCode::kUI32:
      return unsigned_integer(32);
    case TypeCode::kUI64:
      return unsigned_integer(64);
    case TypeCode::kIndex:
      return IndexType::get(context_);
    case TypeCode::kNone:
      return NoneType::get(context_);
    case TypeCode::kF4E2M1FN:
      return Float4E2M1FNType::get(context_);
    case TypeCode::kF6E2M3FN:
      return Float6E2M3FNType::get(context_);
    case TypeCode::kF6E3M2FN:
      return Float6E3M2FNType::get(context_);
    case TypeCode::kF8E3M4:
      return Float8E3M4Type::get(context_);
    case TypeCode::kF8E4M3:
      return Float8E4M3Type::get(context_);
    case TypeCode::kF8E4M3FN:
      return Float8E4M3FNType::get(context_);
    case TypeCode::kF8E4M3FNUZ:
      return Float8E4M3FNUZType::get(context_);
    case TypeCode::kF8E4M3B11FNUZ:
      return Float8E4M3B11FNUZType::get(context_);
    case TypeCode::kF8E5M2:
      return Float8E5M2Type::get(context_);
    case TypeCode::kF8E5M2FNUZ:
      return Float8E5M2FNUZType::get(context_);
    case TypeCode::kF8E8M0FNU:
      return Float8E8M0FNUType::get(context_);
    case TypeCode::kBF16:
      return BFloat16Type::get(context_);
    case TypeCode::kF16:
      return Float16Type::get(context_);
    case TypeCode::kTF32:
      return FloatTF32Type::get(context_);
    case TypeCode::kF32:
      return Float32Type::get(context_);
    case TypeCode::kF64:
      return Float64Type::get(context_);
    case TypeCode::kToken:
      return stablehlo::TokenType::get(context_);
    case TypeCode::kComplex: {
      mlir::Type element = ReadType(in);
      return element ? MakeComplex(element) : nullptr;
    }
    case TypeCode::kFunction: {
      llvm::SmallVector<mlir::Type> inputs;
      llvm::SmallVector<mlir::Type> outputs;
      if (!ReadTypes(in, inputs) || !ReadTypes(in, outputs)) return {};
      return FunctionType::get(context_, inputs, outputs);
    }
    case TypeCode::kRankedTensor:
    case TypeCode::kRankedTensorWithEncoding: {
      Attribute encoding;
      if (static_cast<TypeCode>(raw_code) == TypeCode::kRankedTensorWithEncoding && !(encoding = ReadAttr(in)))
        return {};
      llvm::SmallVector<int64_t> shape;
      if (!ReadInts(in, shape)) return {};
      mlir::Type element = ReadType(in);
      return element ? MakeTensor(shape, element, encoding) : nullptr;
    }
    case TypeCode::kRankedBuffer: {
      llvm::SmallVector<int64_t> shape;
      if (!ReadInts(in, shape)) return {};
      mlir::Type element = ReadType(in);
      return element ? MakeBuffer(shape, element) : nullptr;
    }
    case TypeCode::kUnrankedTensor: {
      mlir::Type element = ReadType(in);
      if (!element) return {};
      if (!TensorType::isValidElementType(element)) return Fail("a tensor of elements that it cannot hold");
      return UnrankedTensorType::get(element);
    }
    case TypeCode::kTuple: {
      llvm::SmallVector<mlir::Type> types;
      return ReadTypes(in, types) ? TupleType::get(context_, types) : nullptr;
    }
    case TypeCode::kFuture: {
      llvm::SmallVector<mlir::Type> types;
      return ReadTypes(in, types) ? mlir::Type(stablehlo::FutureType::get(context_, types)) : nullptr;
    }
    case TypeCode::kQuantized:
      return MakeQuantized(in, /*per_axis=*/false);
    case TypeCode::kQuantizedPerAxis:
      return MakeQuantized(in, /*per_axis=*/true);
    case TypeCode::kWitness:
      return Fail("shape witnesses are not supported");
    default:
      return Fail("there is no VHLO type of code " + std::to_string(raw_code) + " up to version " +
                  kCurrentVersion.ToString());
  }
}

// Both VHLO and the quant dialect itself write these fields in this order.
mlir::Type EntryReader::MakeQuantized(Cursor& in, bool per_axis) {
  namespace quant = mlir::quant;
  const uint64_t flags = in.VarInt();
  mlir::Type storage = ReadType(in);
  mlir::Type expressed = storage ? ReadType(in) : nullptr;
  if (!expressed) return {};
  llvm::SmallVector<double> scales;
  llvm::SmallVector<int64_t> zero_points;
  uint64_t axis = 0;
  if (per_axis) {
    axis = in.VarInt();
  } else {
    scales.push_back(std::bit_cast<double>(ReadBits(in, 64)));
    zero_points.push_back(in.SignedVarInt());
  }
  const int64_t low = in.SignedVarInt();
  const int64_t high = in.SignedVarInt();
  if (per_axis) {
    const size_t n = in.Count();
    for (size_t i = 0; i < n; ++i) scales.push_back(std::bit_cast<double>(ReadBits(in, 64)));
    if (!ReadInts(in, zero_points)) return {};
  }
  if (!in.ok() || flags > quant::QuantizationFlags::Signed || axis > INT32_MAX) return Fail("a broken quantized type");
  auto emit = [&]() { return mlir::emitError(mlir::UnknownLoc::get(context_)); };
  if (!mlir::isa<mlir::IntegerType>(storage) || !mlir::isa<mlir::FloatType>(expressed)) {
    return Fail("a quantized type whose storage is no integer or whose value is no float");
  }
  mlir::Type type;
  if (per_axis) {
    type = quant::UniformQuantizedPerAxisType::getChecked(emit, static_cast<unsigned>(flags), storage, expressed,
                                                          scales, zero_points, static_cast<int32_t>(axis), low, high);
  } else {
    type = quant::UniformQuantizedType::getChecked(emit, static_cast<unsigned>(flags), storage, expressed, scales[0],
                                                   zero_points[0], low, high);
  }
  return type ? type : Fail("a quantized type whose parameters do not fit together");
}

mlir::Type EntryReader::DecodeQuantType(Cursor& in) {
  const uint64_t code = in.VarInt();
  if (code == 4) return MakeQuantized(in, /*per_axis=*/false);
  if (code == 5) return MakeQuantized(in, /*per_axis=*/true);
  return Fail("quantized types of code " + std::to_string(code) + " have no place in a program");
}

}  // namespace tenon::vhlo
