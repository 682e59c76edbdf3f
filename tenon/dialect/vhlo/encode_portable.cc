// Attributes and types in their VHLO encodings.

#include <bit>

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/encoder.h"

namespace tenon::vhlo {
namespace {

namespace sh = stablehlo;

template <class T>
std::string Show(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  if (text.size() > 200) text = text.substr(0, 200) + "...";
  return text;
}

void Bits(const llvm::APInt& value, Sink& out) {
  if (value.getBitWidth() <= 8) {
    out.Byte(static_cast<uint8_t>(value.getZExtValue()));
  } else {
    out.SignedVarInt(static_cast<int64_t>(value.getZExtValue()));
  }
}

void Double(double value, Sink& out) { out.SignedVarInt(std::bit_cast<int64_t>(value)); }

void Ints(llvm::ArrayRef<int64_t> values, Sink& out) {
  out.VarInt(values.size());
  for (int64_t v : values) out.SignedVarInt(v);
}

}  // namespace

bool Encoder::Allow(AttrCode code) {
  if (Since(code) <= Version{target_.major, target_.minor, 0}) return true;
  Fail("version " + target_.ToString() + " has no " + std::string(Name(code)));
  return false;
}

bool Encoder::Allow(TypeCode code) {
  if (Since(code) <= Version{target_.major, target_.minor, 0}) return true;
  Fail("version " + target_.ToString() + " has no type " + std::string(Name(code)));
  return false;
}

void Encoder::EncodeElements(mlir::DenseElementsAttr elements, Sink& out) {
  out.VarInt(static_cast<uint64_t>(AttrCode::kTensor));
  out.VarInt(Type(elements.getType(), Form::kPortable));
  if (!elements.getElementType().isInteger(1)) {
    llvm::ArrayRef<char> raw = elements.getRawData();
    out.Blob({raw.data(), raw.size()});
    return;
  }
  const int64_t count = elements.getNumElements();
  if (elements.isSplat() && count > 1) {
    out.Blob(elements.getSplatValue<bool>() ? std::string_view("\xFF", 1) : std::string_view("\0", 1));
    return;
  }
  std::string packed(static_cast<size_t>((count + 7) / 8), '\0');
  size_t i = 0;
  for (bool bit : elements.getValues<bool>()) {
    if (bit) packed[i / 8] = static_cast<char>(packed[i / 8] | 1 << (i % 8));
    ++i;
  }
  out.Blob(packed);
}

void Encoder::EncodePortableAttr(mlir::Attribute attr, Form form, Sink& out) {
  const auto code = [&](AttrCode c) {
    Allow(c);
    out.VarInt(static_cast<uint64_t>(c));
  };
  const auto enum_case = [&](AttrCode c, auto value) {
    code(c);
    out.VarInt(static_cast<uint64_t>(value));
  };
  if (form == Form::kApiVersion) {
    auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attr);
    if (!integer) return Fail("the API version of a custom call is no integer");
    return enum_case(AttrCode::kApiVersion, integer.getInt());
  }
  if (auto a = mlir::dyn_cast<mlir::ArrayAttr>(attr)) {
    code(AttrCode::kArray);
    return Attrs(a.getValue(), Form::kPortable, out);
  }
  if (auto a = mlir::dyn_cast<mlir::BoolAttr>(attr)) {
    code(AttrCode::kBoolean);
    return out.VarInt(a.getValue() ? 1 : 0);
  }
  if (auto a = mlir::dyn_cast<mlir::IntegerAttr>(attr)) {
    // Writers of the upstream form know no integers of 2 bits outside of tensors.
    code(AttrCode::kInteger);
    out.VarInt(Type(a.getType(), Form::kPortable));
    return Bits(a.getValue(), out);
  }
  if (auto a = mlir::dyn_cast<mlir::FloatAttr>(attr)) {
    code(AttrCode::kFloat);
    out.VarInt(Type(a.getType(), Form::kPortable));
    return Bits(a.getValue().bitcastToAPInt(), out);
  }
  if (auto a = mlir::dyn_cast<mlir::StringAttr>(attr)) {
    if (!mlir::isa<mlir::NoneType>(a.getType())) return Fail("a string with a type has no portable form");
    code(AttrCode::kString);
    return out.VarInt(String(a.getValue()));
  }
  if (auto a = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(attr)) {
    code(AttrCode::kString);
    return out.VarInt(String(a.getValue()));
  }
  if (auto a = mlir::dyn_cast<mlir::TypeAttr>(attr)) {
    code(AttrCode::kType);
    return out.VarInt(Type(a.getValue(), Form::kPortable));
  }
  if (auto a = mlir::dyn_cast<mlir::DictionaryAttr>(attr)) {
    code(AttrCode::kDictionary);
    out.VarInt(a.size());
    for (mlir::NamedAttribute entry : a) {
      out.VarInt(Attr(entry.getName(), Form::kPortable));
      out.VarInt(Attr(entry.getValue(), Form::kPortable));
    }
    return;
  }
  if (auto a = mlir::dyn_cast<mlir::DenseElementsAttr>(attr)) {
    if (!mlir::isa<mlir::DenseIntOrFPElementsAttr>(attr)) return Fail("a literal of strings has no portable form");
    Allow(AttrCode::kTensor);
    return EncodeElements(a, out);
  }
  if (auto a = mlir::dyn_cast<mlir::DenseResourceElementsAttr>(attr)) {
    mlir::AsmResourceBlob* blob = a.getRawHandle().getBlob();
    if (blob == nullptr) return Fail("a literal whose bytes are not there");
    code(AttrCode::kTensor);
    out.VarInt(Type(a.getType(), Form::kPortable));
    return out.Blob({blob->getData().data(), blob->getData().size()});
  }
  if (auto a = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attr)) {
    auto type = mlir::RankedTensorType::get({a.size()}, mlir::IntegerType::get(attr.getContext(), 64));
    return EncodeElements(mlir::DenseElementsAttr::get(type, a.asArrayRef()), out);
  }
  if (auto a = mlir::dyn_cast<mlir::DenseBoolArrayAttr>(attr)) {
    auto type = mlir::RankedTensorType::get({a.size()}, mlir::IntegerType::get(attr.getContext(), 1));
    return EncodeElements(mlir::DenseElementsAttr::get(type, a.asArrayRef()), out);
  }
  if (auto a = mlir::dyn_cast<sh::ComparisonDirectionAttr>(attr))
    return enum_case(AttrCode::kComparisonDirection, a.getValue());
  if (auto a = mlir::dyn_cast<sh::ComparisonTypeAttr>(attr)) return enum_case(AttrCode::kComparisonType, a.getValue());
  if (auto a = mlir::dyn_cast<sh::FftTypeAttr>(attr)) return enum_case(AttrCode::kFftType, a.getValue());
  if (auto a = mlir::dyn_cast<sh::PrecisionAttr>(attr)) return enum_case(AttrCode::kPrecision, a.getValue());
  if (auto a = mlir::dyn_cast<sh::RngAlgorithmAttr>(attr)) return enum_case(AttrCode::kRngAlgorithm, a.getValue());
  if (auto a = mlir::dyn_cast<sh::RngDistributionAttr>(attr))
    return enum_case(AttrCode::kRngDistribution, a.getValue());
  if (auto a = mlir::dyn_cast<sh::TransposeAttr>(attr)) return enum_case(AttrCode::kTranspose, a.getValue());
  if (auto a = mlir::dyn_cast<sh::ResultAccuracyModeAttr>(attr))
    return enum_case(AttrCode::kResultAccuracyMode, a.getValue());
  if (auto a = mlir::dyn_cast<sh::ResultAccuracyAttr>(attr)) {
    code(AttrCode::kResultAccuracy);
    Double(a.getAtol().convertToDouble(), out);
    Double(a.getRtol().convertToDouble(), out);
    out.SignedVarInt(a.getUlps());
    return out.VarInt(Attr(a.getMode(), Form::kPortable));
  }
  if (auto a = mlir::dyn_cast<sh::OutputOperandAliasAttr>(attr)) {
    code(AttrCode::kOutputOperandAlias);
    Ints(a.getOutputTupleIndices(), out);
    out.SignedVarInt(a.getOperandIndex());
    return Ints(a.getOperandTupleIndices(), out);
  }
  if (auto a = mlir::dyn_cast<sh::TypeExtensionsAttr>(attr)) {
    code(AttrCode::kTypeExtensions);
    return Ints(a.getBounds(), out);
  }
  if (auto a = mlir::dyn_cast<sh::SubAxisInfoAttr>(attr)) {
    code(AttrCode::kSubAxisInfo);
    out.SignedVarInt(a.getPreSize());
    return out.SignedVarInt(a.getSize());
  }
  if (auto a = mlir::dyn_cast<sh::AxisRefAttr>(attr)) {
    code(AttrCode::kAxisRef);
    out.VarInt(Attr(mlir::StringAttr::get(attr.getContext(), a.getName()), Form::kPortable));
    out.VarInt(a.getSubAxisInfo() ? 1 : 0);
    if (a.getSubAxisInfo()) out.VarInt(Attr(a.getSubAxisInfo(), Form::kPortable));
    return;
  }
  if (auto a = mlir::dyn_cast<sh::ReplicaGroupMeshAxesAttr>(attr)) {
    code(AttrCode::kReplicaGroupMeshAxes);
    out.VarInt(Attr(a.getMesh(), Form::kPortable));
    llvm::SmallVector<mlir::Attribute> axes(a.getAxes().begin(), a.getAxes().end());
    return out.VarInt(Attr(mlir::ArrayAttr::get(attr.getContext(), axes), Form::kPortable));
  }
  if (auto a = mlir::dyn_cast<sh::MeshAxisAttr>(attr)) {
    code(AttrCode::kMeshAxis);
    out.VarInt(Attr(mlir::StringAttr::get(attr.getContext(), a.getName()), Form::kPortable));
    return out.SignedVarInt(a.getSize());
  }
  if (auto a = mlir::dyn_cast<sh::MeshAttr>(attr)) {
    code(AttrCode::kMesh);
    llvm::SmallVector<mlir::Attribute> axes(a.getAxes().begin(), a.getAxes().end());
    out.VarInt(Attr(mlir::ArrayAttr::get(attr.getContext(), axes), Form::kPortable));
    return out.VarInt(a.getDeviceIds() ? Attr(a.getDeviceIds(), Form::kPortable) << 1 | 1 : 0);
  }
  Fail("attribute " + Show(attr) + " has no portable form");
}

void Encoder::EncodePortableType(mlir::Type type, Sink& out) {
  const auto code = [&](TypeCode c) {
    Allow(c);
    out.VarInt(static_cast<uint64_t>(c));
  };
  const auto types = [&](auto range) {
    out.VarInt(range.size());
    for (mlir::Type t : range) out.VarInt(Type(t, Form::kPortable));
  };
  if (auto t = mlir::dyn_cast<mlir::IntegerType>(type)) {
    if (t.isSignless()) {
      switch (t.getWidth()) {
        case 1:
          return code(TypeCode::kBoolean);
        case 2:
          return code(TypeCode::kSI2);
        case 4:
          return code(TypeCode::kSI4);
        case 8:
          return code(TypeCode::kSI8);
        case 16:
          return code(TypeCode::kSI16);
        case 32:
          return code(TypeCode::kSI32);
        case 64:
          return code(TypeCode::kSI64);
        default:
          break;
      }
    } else if (t.isUnsigned()) {
      switch (t.getWidth()) {
        case 2:
          return code(TypeCode::kUI2);
        case 4:
          return code(TypeCode::kUI4);
        case 8:
          return code(TypeCode::kUI8);
        case 16:
          return code(TypeCode::kUI16);
        case 32:
          return code(TypeCode::kUI32);
        case 64:
          return code(TypeCode::kUI64);
        default:
          break;
      }
    }
    return Fail("type " + Show(type) + " has no portable form");
  }
  if (mlir::isa<mlir::IndexType>(type)) return code(TypeCode::kIndex);
  if (mlir::isa<mlir::NoneType>(type)) return code(TypeCode::kNone);
  if (mlir::isa<mlir::BFloat16Type>(type)) return code(TypeCode::kBF16);
  if (mlir::isa<mlir::Float16Type>(type)) return code(TypeCode::kF16);
  if (mlir::isa<mlir::Float32Type>(type)) return code(TypeCode::kF32);
  if (mlir::isa<mlir::Float64Type>(type)) return code(TypeCode::kF64);
  if (mlir::isa<mlir::FloatTF32Type>(type)) return code(TypeCode::kTF32);
  if (mlir::isa<mlir::Float4E2M1FNType>(type)) return code(TypeCode::kF4E2M1FN);
  if (mlir::isa<mlir::Float6E2M3FNType>(type)) return code(TypeCode::kF6E2M3FN);
  if (mlir::isa<mlir::Float6E3M2FNType>(type)) return code(TypeCode::kF6E3M2FN);
  if (mlir::isa<mlir::Float8E3M4Type>(type)) return code(TypeCode::kF8E3M4);
  if (mlir::isa<mlir::Float8E4M3Type>(type)) return code(TypeCode::kF8E4M3);
  if (mlir::isa<mlir::Float8E4M3FNType>(type)) return code(TypeCode::kF8E4M3FN);
  if (mlir::isa<mlir::Float8E4M3FNUZType>(type)) return code(TypeCode::kF8E4M3FNUZ);
  if (mlir::isa<mlir::Float8E4M3B11FNUZType>(type)) return code(TypeCode::kF8E4M3B11FNUZ);
  if (mlir::isa<mlir::Float8E5M2Type>(type)) return code(TypeCode::kF8E5M2);
  if (mlir::isa<mlir::Float8E5M2FNUZType>(type)) return code(TypeCode::kF8E5M2FNUZ);
  if (mlir::isa<mlir::Float8E8M0FNUType>(type)) return code(TypeCode::kF8E8M0FNU);
  if (auto t = mlir::dyn_cast<mlir::ComplexType>(type)) {
    code(TypeCode::kComplex);
    return out.VarInt(Type(t.getElementType(), Form::kPortable));
  }
  if (auto t = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    code(t.getEncoding() ? TypeCode::kRankedTensorWithEncoding : TypeCode::kRankedTensor);
    if (t.getEncoding()) {
      if (!mlir::isa<sh::TypeExtensionsAttr>(t.getEncoding()))
        return Fail("type " + Show(type) + " has no portable form");
      out.VarInt(Attr(t.getEncoding(), Form::kPortable));
    }
    Ints(t.getShape(), out);
    return out.VarInt(Type(t.getElementType(), Form::kPortable));
  }
  if (auto t = mlir::dyn_cast<mlir::UnrankedTensorType>(type)) {
    code(TypeCode::kUnrankedTensor);
    return out.VarInt(Type(t.getElementType(), Form::kPortable));
  }
  if (auto t = mlir::dyn_cast<mlir::MemRefType>(type)) {
    if (!t.getLayout().isIdentity() || t.getMemorySpace()) return Fail("type " + Show(type) + " has no portable form");
    code(TypeCode::kRankedBuffer);
    Ints(t.getShape(), out);
    return out.VarInt(Type(t.getElementType(), Form::kPortable));
  }
  if (auto t = mlir::dyn_cast<mlir::FunctionType>(type)) {
    code(TypeCode::kFunction);
    types(t.getInputs());
    return types(t.getResults());
  }
  if (auto t = mlir::dyn_cast<mlir::TupleType>(type)) {
    code(TypeCode::kTuple);
    return types(t.getTypes());
  }
  if (mlir::isa<sh::TokenType>(type)) return code(TypeCode::kToken);
  if (auto t = mlir::dyn_cast<sh::FutureType>(type)) {
    code(TypeCode::kFuture);
    return types(t.getTypes());
  }
  if (auto t = mlir::dyn_cast<mlir::quant::UniformQuantizedType>(type)) {
    code(TypeCode::kQuantized);
    out.VarInt(t.getFlags());
    out.VarInt(Type(t.getStorageType(), Form::kPortable));
    out.VarInt(Type(t.getExpressedType(), Form::kPortable));
    Double(t.getScale(), out);
    out.SignedVarInt(t.getZeroPoint());
    out.SignedVarInt(t.getStorageTypeMin());
    return out.SignedVarInt(t.getStorageTypeMax());
  }
  if (auto t = mlir::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type)) {
    code(TypeCode::kQuantizedPerAxis);
    out.VarInt(t.getFlags());
    out.VarInt(Type(t.getStorageType(), Form::kPortable));
    out.VarInt(Type(t.getExpressedType(), Form::kPortable));
    out.VarInt(static_cast<uint64_t>(t.getQuantizedDimension()));
    out.SignedVarInt(t.getStorageTypeMin());
    out.SignedVarInt(t.getStorageTypeMax());
    out.VarInt(t.getScales().size());
    for (double scale : t.getScales()) Double(scale, out);
    return Ints(t.getZeroPoints(), out);
  }
  Fail("type " + Show(type) + " has no portable form");
}

}  // namespace tenon::vhlo
