#include "tenon/reference/types.h"

#include <fmt/format.h>

#include <cstring>

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace tenon::reference {
namespace {

DType IntegerType(unsigned width, bool is_unsigned) {
  switch (width) {
    case 1:
      return DType::kPred;
    case 2:
      return is_unsigned ? DType::kU2 : DType::kS2;
    case 4:
      return is_unsigned ? DType::kU4 : DType::kS4;
    case 8:
      return is_unsigned ? DType::kU8 : DType::kS8;
    case 16:
      return is_unsigned ? DType::kU16 : DType::kS16;
    case 32:
      return is_unsigned ? DType::kU32 : DType::kS32;
    case 64:
      return is_unsigned ? DType::kU64 : DType::kS64;
    default:
      return DType::kInvalid;
  }
}

// Writes the low bytes of an element given by its bits, as the evaluator stores it.
void StoreBits(DType type, const llvm::APInt& bits, std::byte* out) {
  const int width = ByteWidth(type);
  const uint64_t raw = bits.isSingleWord() || bits.getActiveBits() <= 64 ? bits.getZExtValue() : 0;
  const uint64_t value = IsSigned(type) ? static_cast<uint64_t>(bits.getSExtValue()) : raw;
  std::memcpy(out, &value, static_cast<size_t>(width));
}

Result<Value> FromDense(mlir::DenseElementsAttr dense, const Shape& shape) {
  TENON_ASSIGN_OR_RETURN(Value value, Value::Allocate(shape));
  const int64_t n = value.num_elements();
  const auto width = static_cast<size_t>(ByteWidth(shape.dtype));
  std::byte* out = value.mutable_bytes();
  const bool splat = dense.isSplat();
  const auto stored = static_cast<size_t>(DTypeBits(shape.dtype));
  if (n == 0) return value;
  if (!splat && shape.dtype != DType::kPred && stored == 8 * width &&
      dense.getRawData().size() == width * static_cast<size_t>(n)) {
    std::memcpy(out, dense.getRawData().data(), dense.getRawData().size());
    return value;
  }
  const auto fill = [&](auto range, auto store) {
    int64_t i = 0;
    for (auto element : range) {
      store(element, out + static_cast<size_t>(i) * width);
      if (splat) break;
      ++i;
    }
  };
  if (IsComplex(shape.dtype)) {
    fill(dense.getValues<std::complex<llvm::APFloat>>(), [&](const std::complex<llvm::APFloat>& z, std::byte* p) {
      const DType part = RealPartOf(shape.dtype);
      StoreBits(part, z.real().bitcastToAPInt(), p);
      StoreBits(part, z.imag().bitcastToAPInt(), p + width / 2);
    });
  } else if (IsFloat(shape.dtype)) {
    fill(dense.getValues<llvm::APFloat>(),
         [&](const llvm::APFloat& f, std::byte* p) { StoreBits(shape.dtype, f.bitcastToAPInt(), p); });
  } else {
    fill(dense.getValues<llvm::APInt>(), [&](const llvm::APInt& i, std::byte* p) { StoreBits(shape.dtype, i, p); });
  }
  if (splat) {
    for (int64_t i = 1; i < n; ++i) std::memcpy(out + static_cast<size_t>(i) * width, out, width);
  }
  return value;
}

Result<Value> FromResource(mlir::DenseResourceElementsAttr resource, const Shape& shape) {
  const mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
  if (blob == nullptr)
    return InvalidArgument("the resource of a constant is missing (was it printed with elided literals?)");
  TENON_ASSIGN_OR_RETURN(Value value, Value::Allocate(shape));
  const llvm::ArrayRef<char> data = blob->getData();
  const auto n = static_cast<size_t>(value.num_elements());
  if (shape.dtype == DType::kPred && data.size() == (n + 7) / 8 && n > 1) {
    for (size_t i = 0; i < n; ++i) value.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(data[i / 8] >> (i % 8) & 1);
    return value;
  }
  if (static_cast<int64_t>(data.size()) != value.size_bytes()) {
    return InvalidArgument(fmt::format("the resource of a constant holds {} bytes, {} takes {}", data.size(),
                                       ToString(shape), value.size_bytes()));
  }
  std::memcpy(value.mutable_bytes(), data.data(), data.size());
  return value;
}

}  // namespace

DType ElementTypeOf(mlir::Type type) {
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type))
    return IntegerType(integer.getWidth(), integer.isUnsigned());
  if (auto quantized = mlir::dyn_cast<mlir::quant::QuantizedType>(type)) {
    return IntegerType(quantized.getStorageTypeIntegralWidth(), !quantized.isSigned());
  }
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type))
    return complex.getElementType().isF32() ? DType::kC64 : DType::kC128;
  return llvm::TypeSwitch<mlir::Type, DType>(type)
      .Case<mlir::IndexType>([](auto) { return DType::kS64; })
      .Case<mlir::Float32Type>([](auto) { return DType::kF32; })
      .Case<mlir::Float64Type>([](auto) { return DType::kF64; })
      .Case<mlir::Float16Type>([](auto) { return DType::kF16; })
      .Case<mlir::BFloat16Type>([](auto) { return DType::kBF16; })
      .Case<mlir::Float8E5M2Type>([](auto) { return DType::kF8E5M2; })
      .Case<mlir::Float8E4M3Type>([](auto) { return DType::kF8E4M3; })
      .Case<mlir::Float8E3M4Type>([](auto) { return DType::kF8E3M4; })
      .Case<mlir::Float8E4M3FNType>([](auto) { return DType::kF8E4M3FN; })
      .Case<mlir::Float8E4M3FNUZType>([](auto) { return DType::kF8E4M3FNUZ; })
      .Case<mlir::Float8E5M2FNUZType>([](auto) { return DType::kF8E5M2FNUZ; })
      .Case<mlir::Float8E4M3B11FNUZType>([](auto) { return DType::kF8E4M3B11FNUZ; })
      .Case<mlir::Float8E8M0FNUType>([](auto) { return DType::kF8E8M0FNU; })
      .Case<mlir::Float4E2M1FNType>([](auto) { return DType::kF4E2M1FN; })
      .Case<mlir::Float6E2M3FNType>([](auto) { return DType::kF6E2M3FN; })
      .Case<mlir::Float6E3M2FNType>([](auto) { return DType::kF6E3M2FN; })
      .Default([](auto) { return DType::kInvalid; });
}

Shape ShapeOf(mlir::Type type) {
  Shape shape;
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    shape.dtype = ElementTypeOf(tensor.getElementType());
    for (int64_t d : tensor.getShape()) shape.dims.push_back(mlir::ShapedType::isDynamic(d) ? -1 : d);
  } else if (!mlir::isa<mlir::TupleType, mlir::MemRefType, mlir::UnrankedTensorType>(type)) {
    // Of the types that a program's values have, the token (and the future, which nobody looks into) remains.
    shape.dtype = DType::kToken;
  }
  return shape;
}

Result<Value> ValueOf(mlir::Attribute literal, mlir::Type type) {
  const Shape shape = ShapeOf(type);
  for (int64_t d : shape.dims) {
    if (d < 0) return InvalidArgument("a constant has a dynamic shape");
  }
  if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(literal)) return FromDense(dense, shape);
  if (auto resource = mlir::dyn_cast<mlir::DenseResourceElementsAttr>(literal)) return FromResource(resource, shape);
  return Unimplemented("a constant is neither dense nor dense_resource");
}

Dims IntsOf(mlir::Attribute attribute) {
  Dims ints;
  if (auto array = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
    for (int64_t v : array.asArrayRef()) ints.push_back(v);
  } else if (auto array_32 = mlir::dyn_cast<mlir::DenseI32ArrayAttr>(attribute)) {
    for (int32_t v : array_32.asArrayRef()) ints.push_back(v);
  } else if (auto bools = mlir::dyn_cast<mlir::DenseBoolArrayAttr>(attribute)) {
    for (bool v : bools.asArrayRef()) ints.push_back(v);
  } else if (auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(attribute)) {
    const bool is_bool = dense.getElementType().isInteger(1);
    for (const llvm::APInt& v : dense.getValues<llvm::APInt>()) {
      ints.push_back(is_bool ? static_cast<int64_t>(v.getZExtValue()) : v.getSExtValue());
    }
  } else if (auto list = mlir::dyn_cast<mlir::ArrayAttr>(attribute)) {
    for (mlir::Attribute v : list) {
      if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(v)) ints.push_back(integer.getInt());
    }
  }
  return ints;
}

Dims IntsAttr(mlir::Operation* op, llvm::StringRef name, const Dims& missing) {
  const mlir::Attribute attribute = op->getAttr(name);
  return attribute ? IntsOf(attribute) : missing;
}

int64_t IntAttr(mlir::Operation* op, llvm::StringRef name, int64_t missing) {
  auto attribute = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op->getAttr(name));
  return attribute ? attribute.getValue().getSExtValue() : missing;
}

bool BoolAttr(mlir::Operation* op, llvm::StringRef name, bool missing) {
  const mlir::Attribute attribute = op->getAttr(name);
  if (auto value = mlir::dyn_cast_or_null<mlir::BoolAttr>(attribute)) return value.getValue();
  return attribute && mlir::isa<mlir::UnitAttr>(attribute) ? true : missing;
}

std::string StringAttr(mlir::Operation* op, llvm::StringRef name) {
  auto attribute = mlir::dyn_cast_or_null<mlir::StringAttr>(op->getAttr(name));
  return attribute ? attribute.getValue().str() : std::string();
}

double FloatAttr(mlir::Operation* op, llvm::StringRef name, double missing) {
  auto attribute = mlir::dyn_cast_or_null<mlir::FloatAttr>(op->getAttr(name));
  return attribute ? attribute.getValueAsDouble() : missing;
}

Dims IntsOf(const Value& value) {
  Dims ints;
  VisitType(value.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (IntCompute<ComputeOf<T>>) {
      for (int64_t i = 0; i < value.num_elements(); ++i) ints.push_back(static_cast<int64_t>(Load(value.data<T>()[i])));
    }
    return 0;
  });
  return ints;
}

}  // namespace tenon::reference
