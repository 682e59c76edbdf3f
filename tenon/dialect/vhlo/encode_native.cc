// Attributes and types of the builtin dialect and of Shardy in their own encodings: locations, the module's attributes,
// and what Shardy's ops carry.

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/vhlo/encoder.h"

namespace tenon::vhlo {
namespace {

void Ints(llvm::ArrayRef<int64_t> values, Sink& out) {
  out.VarInt(values.size());
  for (int64_t v : values) out.SignedVarInt(v);
}

}  // namespace

llvm::StringRef Encoder::EncodeNativeAttr(mlir::Attribute attr, Sink& out) {
  const auto ref = [&](mlir::Attribute a) { out.VarInt(Attr(a, Form::kNative)); };
  constexpr llvm::StringLiteral kBuiltin = "builtin";
  if (attr.getDialect().getNamespace() == "sdy") return EncodeSdyAttr(attr, out) ? "sdy" : "";
  if (auto a = mlir::dyn_cast<mlir::ArrayAttr>(attr)) {
    out.VarInt(0);
    Attrs(a.getValue(), Form::kNative, out);
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::DictionaryAttr>(attr)) {
    out.VarInt(1);
    out.VarInt(a.size());
    for (mlir::NamedAttribute entry : a) {
      ref(entry.getName());
      ref(entry.getValue());
    }
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::StringAttr>(attr)) {
    const bool typed = !mlir::isa<mlir::NoneType>(a.getType());
    out.VarInt(typed ? 3 : 2);
    out.VarInt(String(a.getValue()));
    if (typed) out.VarInt(Type(a.getType(), Form::kNative));
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::SymbolRefAttr>(attr)) {
    const bool flat = a.getNestedReferences().empty();
    out.VarInt(flat ? 4 : 5);
    ref(a.getRootReference());
    if (flat) return kBuiltin;
    out.VarInt(a.getNestedReferences().size());
    for (mlir::FlatSymbolRefAttr leaf : a.getNestedReferences()) ref(leaf);
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::TypeAttr>(attr)) {
    out.VarInt(6);
    out.VarInt(Type(a.getValue(), Form::kNative));
    return kBuiltin;
  }
  if (mlir::isa<mlir::UnitAttr>(attr)) {
    out.VarInt(7);
    return kBuiltin;
  }
  const auto number = [&](uint64_t code, mlir::Type type, const llvm::APInt& bits) {
    out.VarInt(code);
    out.VarInt(Type(type, Form::kNative));
    if (bits.getBitWidth() <= 8) {
      out.Byte(static_cast<uint8_t>(bits.getZExtValue()));
    } else {
      out.SignedVarInt(static_cast<int64_t>(bits.getZExtValue()));
    }
    return kBuiltin;
  };
  if (auto a = mlir::dyn_cast<mlir::IntegerAttr>(attr); a && a.getValue().getBitWidth() <= 64) {
    return number(8, a.getType(), a.getValue());
  }
  if (auto a = mlir::dyn_cast<mlir::FloatAttr>(attr); a && a.getType().getIntOrFloatBitWidth() <= 64) {
    return number(9, a.getType(), a.getValue().bitcastToAPInt());
  }
  if (auto a = mlir::dyn_cast<mlir::CallSiteLoc>(attr)) {
    out.VarInt(10);
    ref(a.getCallee());
    ref(a.getCaller());
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::FileLineColRange>(attr)) {
    // Readers of versions before 1.9.0 know positions only.
    if (mlir::isa<mlir::FileLineColLoc>(attr) || target_ < Version{1, 9, 0}) {
      out.VarInt(11);
      ref(a.getFilename());
      out.VarInt(a.getStartLine());
      out.VarInt(a.getStartColumn());
      return kBuiltin;
    }
    out.VarInt(22);
    ref(a.getFilename());
    const bool one_line = a.getStartLine() == a.getEndLine();
    out.VarInt(one_line ? 3 : 4);
    out.VarInt(a.getStartLine());
    out.VarInt(a.getStartColumn());
    if (!one_line) out.VarInt(a.getEndLine());
    out.VarInt(a.getEndColumn());
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::FusedLoc>(attr)) {
    out.VarInt(a.getMetadata() ? 13 : 12);
    out.VarInt(a.getLocations().size());
    for (mlir::Location location : a.getLocations()) ref(location);
    if (a.getMetadata()) ref(a.getMetadata());
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::NameLoc>(attr)) {
    out.VarInt(14);
    ref(a.getName());
    ref(a.getChildLoc());
    return kBuiltin;
  }
  if (mlir::isa<mlir::UnknownLoc>(attr)) {
    out.VarInt(15);
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::DenseArrayAttr>(attr)) {
    out.VarInt(17);
    out.VarInt(Type(a.getElementType(), Form::kNative));
    out.VarInt(static_cast<uint64_t>(a.getSize()));
    out.Blob({a.getRawData().data(), a.getRawData().size()});
    return kBuiltin;
  }
  if (auto a = mlir::dyn_cast<mlir::DenseIntOrFPElementsAttr>(attr)) {
    out.VarInt(18);
    out.VarInt(Type(a.getType(), Form::kNative));
    out.Blob({a.getRawData().data(), a.getRawData().size()});
    return kBuiltin;
  }
  if (mlir::isa<mlir::DenseResourceElementsAttr>(attr))
    Fail("a literal in a resource has no form outside of StableHLO ops");
  return "";
}

llvm::StringRef Encoder::EncodeNativeType(mlir::Type type, Sink& out) {
  const auto ref = [&](mlir::Type t) { out.VarInt(Type(t, Form::kNative)); };
  constexpr llvm::StringLiteral kBuiltin = "builtin";
  const auto plain = [&](uint64_t code) -> llvm::StringRef {
    out.VarInt(code);
    return kBuiltin;
  };
  if (auto t = mlir::dyn_cast<mlir::IntegerType>(type)) {
    out.VarInt(0);
    out.VarInt(uint64_t{t.getWidth()} << 2 | static_cast<uint64_t>(t.getSignedness()));
    return kBuiltin;
  }
  if (mlir::isa<mlir::IndexType>(type)) return plain(1);
  if (auto t = mlir::dyn_cast<mlir::FunctionType>(type)) {
    out.VarInt(2);
    out.VarInt(t.getNumInputs());
    for (mlir::Type input : t.getInputs()) ref(input);
    out.VarInt(t.getNumResults());
    for (mlir::Type result : t.getResults()) ref(result);
    return kBuiltin;
  }
  if (mlir::isa<mlir::BFloat16Type>(type)) return plain(3);
  if (mlir::isa<mlir::Float16Type>(type)) return plain(4);
  if (mlir::isa<mlir::Float32Type>(type)) return plain(5);
  if (mlir::isa<mlir::Float64Type>(type)) return plain(6);
  if (auto t = mlir::dyn_cast<mlir::ComplexType>(type)) {
    out.VarInt(9);
    ref(t.getElementType());
    return kBuiltin;
  }
  if (mlir::isa<mlir::NoneType>(type)) return plain(12);
  if (auto t = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    out.VarInt(t.getEncoding() ? 14 : 13);
    if (t.getEncoding()) out.VarInt(Attr(t.getEncoding(), Form::kNative));
    Ints(t.getShape(), out);
    ref(t.getElementType());
    return kBuiltin;
  }
  if (auto t = mlir::dyn_cast<mlir::TupleType>(type)) {
    out.VarInt(15);
    out.VarInt(t.size());
    for (mlir::Type part : t.getTypes()) ref(part);
    return kBuiltin;
  }
  return "";
}

bool Encoder::EncodeSdyAttr(mlir::Attribute attr, Sink& out) {
  const auto ref = [&](mlir::Attribute a) { out.VarInt(Attr(a, Form::kNative)); };
  const auto list = [&](auto range) {
    out.VarInt(range.size());
    for (mlir::Attribute a : range) ref(a);
  };
  if (auto a = mlir::dyn_cast<sdy::ManualAxesAttr>(attr)) {
    out.VarInt(0);
    list(a.getValue());
  } else if (auto a = mlir::dyn_cast<sdy::MeshAxisAttr>(attr)) {
    out.VarInt(1);
    out.VarInt(String(a.getName()));
    out.SignedVarInt(a.getSize());
  } else if (auto a = mlir::dyn_cast<sdy::MeshAttr>(attr)) {
    out.VarInt(2);
    list(a.getAxes());
    Ints(a.getDeviceIds(), out);
  } else if (auto a = mlir::dyn_cast<sdy::SubAxisInfoAttr>(attr)) {
    out.VarInt(3);
    out.SignedVarInt(a.getPreSize());
    out.SignedVarInt(a.getSize());
  } else if (auto a = mlir::dyn_cast<sdy::AxisRefAttr>(attr)) {
    out.VarInt(4);
    out.VarInt(String(a.getName()));
    out.VarInt(a.getSubAxisInfo() ? Attr(a.getSubAxisInfo(), Form::kNative) << 1 | 1 : 0);
  } else if (auto a = mlir::dyn_cast<sdy::DimensionShardingAttr>(attr)) {
    out.VarInt(5);
    list(a.getAxes());
    out.Byte(a.getIsClosed() ? 1 : 0);
    out.VarInt(a.getPriority() ? static_cast<uint64_t>(*a.getPriority()) << 1 | 1 : 0);
  } else if (auto a = mlir::dyn_cast<sdy::TensorShardingAttr>(attr)) {
    const bool sum = a.getReductionOp() == sdy::ReductionOp::SUM;
    out.VarInt(!sum ? 17 : a.getUnreducedAxes().empty() ? 6 : 15);
    ref(a.getMeshOrRef());
    list(a.getDimShardings());
    list(a.getReplicatedAxes());
    if (!sum || !a.getUnreducedAxes().empty()) list(a.getUnreducedAxes());
    if (!sum) out.SignedVarInt(static_cast<int64_t>(a.getReductionOp()));
  } else if (auto a = mlir::dyn_cast<sdy::TensorShardingPerValueAttr>(attr)) {
    const bool unreduced =
        llvm::any_of(a.getShardings(), [](sdy::TensorShardingAttr s) { return !s.getUnreducedAxes().empty(); });
    out.VarInt(unreduced ? 16 : 7);
    list(a.getShardings());
  } else if (auto a = mlir::dyn_cast<sdy::DimMappingAttr>(attr)) {
    out.VarInt(8);
    Ints(a.getFactorIndices(), out);
  } else if (auto a = mlir::dyn_cast<sdy::TensorMappingAttr>(attr)) {
    out.VarInt(9);
    list(a.getDimMappings());
  } else if (auto a = mlir::dyn_cast<sdy::OpShardingRuleAttr>(attr)) {
    out.VarInt(10);
    Ints(a.getFactorSizes(), out);
    list(a.getOperandMappings());
    list(a.getResultMappings());
    Ints(a.getReductionFactors(), out);
    Ints(a.getNeedReplicationFactors(), out);
    Ints(a.getPermutationFactors(), out);
    Ints(a.getBlockedPropagationFactors(), out);
    out.Byte(a.getIsCustomRule() ? 1 : 0);
  } else if (auto a = mlir::dyn_cast<sdy::AxisRefListAttr>(attr)) {
    out.VarInt(11);
    list(a.getValue());
  } else if (auto a = mlir::dyn_cast<sdy::ListOfAxisRefListsAttr>(attr)) {
    out.VarInt(12);
    list(a.getValue());
  } else if (auto a = mlir::dyn_cast<sdy::AllToAllParamAttr>(attr)) {
    out.VarInt(13);
    list(a.getAxes());
    out.SignedVarInt(a.getSrcDim());
    out.SignedVarInt(a.getTgtDim());
  } else if (auto a = mlir::dyn_cast<sdy::AllToAllParamListAttr>(attr)) {
    out.VarInt(14);
    list(a.getValue());
  } else {
    return false;
  }
  return true;
}

}  // namespace tenon::vhlo
