#include "tenon/dialect/vhlo/entries.h"

#include <algorithm>
#include <utility>

#include "llvm/ADT/APFloat.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "tenon/dialect/vhlo/limits.h"
#include "tenon/dialect/vhlo/text_guard.h"

namespace tenon::vhlo {

using dialect::kMaxExpansion;
using dialect::kMaxNesting;

namespace {
llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }
}  // namespace

std::nullptr_t EntryReader::Fail(std::string why) {
  if (status_.ok()) status_ = InvalidArgument(std::move(why));
  return nullptr;
}

mlir::Attribute EntryReader::Attr(uint64_t index) {
  if (index < attrs_.size() && attrs_[index].value) {
    height_ = std::max(height_, attrs_[index].height);
    weight_ = std::min(weight_ + attrs_[index].weight, kMaxExpansion + 1);
    return attrs_[index].value;
  }
  return Resolve(attrs_, container_.attrs, index, "attribute");
}

mlir::Type EntryReader::Type(uint64_t index) {
  if (index < types_.size() && types_[index].value) {
    height_ = std::max(height_, types_[index].height);
    weight_ = std::min(weight_ + types_[index].weight, kMaxExpansion + 1);
    return types_[index].value;
  }
  return Resolve(types_, container_.types, index, "type");
}

template <class T>
T EntryReader::Resolve(std::vector<Slot<T>>& slots, const std::vector<Container::Entry>& entries, uint64_t index,
                       const char* what) {
  if (!status_.ok()) return {};
  const auto name = [&] { return std::string(what) + " " + std::to_string(index); };
  if (index >= slots.size()) {
    Fail("there is no " + name() + ", only " + std::to_string(slots.size()));
    return {};
  }
  Slot<T>& slot = slots[index];
  if (slot.busy) {
    Fail(name() + " contains itself");
    return {};
  }
  if (depth_ >= kMaxNesting) {
    Fail(name() + " is nested deeper than " + std::to_string(kMaxNesting));
    return {};
  }
  slot.busy = true;
  ++depth_;
  const uint32_t outer_height = std::exchange(height_, 0);
  const uint64_t outer_weight = std::exchange(weight_, 0);

  const Container::Entry& entry = entries[index];
  const std::string_view dialect = container_.dialects[entry.dialect].name;
  Cursor in(entry.bytes);
  T value;
  if (entry.custom) {
    if constexpr (std::is_same_v<T, mlir::Type>) {
      value = DecodeType(dialect, in);
    } else {
      value = DecodeAttr(dialect, in);
    }
    if (value && !in.Finished()) value = Fail("its encoding has the wrong length");
  } else {
    const std::string_view text = in.CString();
    if (!in.Finished()) {
      value = Fail("its text does not end in NUL");
    } else if constexpr (std::is_same_v<T, mlir::Type>) {
      value = ParseTypeText(text);
    } else {
      value = ParseAttrText(text);
    }
  }
  if (!value && status_.ok()) Fail("it cannot be read");
  if (!status_.ok()) {
    if (depth_ == 1) status_ = status_.WithContext(name() + " (" + std::string(dialect) + ")");
    --depth_;
    return {};
  }
  slot.height = height_ + 1;
  slot.weight = weight_ + 1;
  --depth_;
  height_ = std::max(outer_height, slot.height);
  weight_ = std::min(outer_weight + slot.weight, kMaxExpansion + 1);
  slot.busy = false;
  if (slot.height > kMaxNesting) {
    Fail(name() + " is nested deeper than " + std::to_string(kMaxNesting));
    return {};
  }
  if (slot.weight > kMaxExpansion) {
    Fail(name() + " expands to more than " + std::to_string(kMaxExpansion) + " parts");
    return {};
  }
  slot.value = value;
  return value;
}

mlir::Attribute EntryReader::DecodeAttr(std::string_view dialect, Cursor& in) {
  if (dialect == "vhlo") return DecodeVhloAttr(in);
  if (dialect == "builtin") return DecodeBuiltinAttr(in);
  if (dialect == "sdy") return DecodeSdyAttr(in);
  if (dialect == "stablehlo") return DecodeStablehloAttr(in);
  return Fail("attributes of dialect '" + std::string(dialect) + "' cannot be read from bytecode");
}

mlir::Type EntryReader::DecodeType(std::string_view dialect, Cursor& in) {
  if (dialect == "vhlo") return DecodeVhloType(in);
  if (dialect == "builtin") return DecodeBuiltinType(in);
  if (dialect == "stablehlo") return DecodeStablehloType(in);
  if (dialect == "quant") return DecodeQuantType(in);
  return Fail("types of dialect '" + std::string(dialect) + "' cannot be read from bytecode");
}

mlir::Attribute EntryReader::ParseAttrText(std::string_view text) {
  if (Status s = dialect::CheckText(text); !s.ok()) return Fail(std::string(s.message()));
  size_t read = 0;
  mlir::Attribute attr = mlir::parseAttribute(Ref(text), context_, mlir::Type(), &read, /*isKnownNullTerminated=*/true);
  if (!attr || read != text.size()) return Fail("its text is no attribute");
  return attr;
}

mlir::Type EntryReader::ParseTypeText(std::string_view text) {
  if (Status s = dialect::CheckText(text); !s.ok()) return Fail(std::string(s.message()));
  size_t read = 0;
  mlir::Type type = mlir::parseType(Ref(text), context_, &read, /*isKnownNullTerminated=*/true);
  if (!type || read != text.size()) return Fail("its text is no type");
  return type;
}

mlir::Type EntryReader::ReadType(Cursor& in) {
  if (!in.ok()) return Fail("it ends early");
  return Type(in.VarInt());
}

mlir::Attribute EntryReader::ReadOptionalAttr(Cursor& in) {
  const uint64_t v = in.VarInt();
  if (!in.ok()) return Fail("it ends early");
  return v & 1 ? Attr(v >> 1) : nullptr;
}

bool EntryReader::ReadAttrs(Cursor& in, llvm::SmallVectorImpl<mlir::Attribute>& out) {
  const size_t n = in.Count();
  out.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    mlir::Attribute attr = ReadAttr(in);
    if (!attr) return false;
    out.push_back(attr);
  }
  if (!in.ok()) Fail("it ends early");
  return in.ok();
}

bool EntryReader::ReadTypes(Cursor& in, llvm::SmallVectorImpl<mlir::Type>& out) {
  const size_t n = in.Count();
  out.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    mlir::Type type = ReadType(in);
    if (!type) return false;
    out.push_back(type);
  }
  if (!in.ok()) Fail("it ends early");
  return in.ok();
}

bool EntryReader::ReadInts(Cursor& in, llvm::SmallVectorImpl<int64_t>& out) {
  const size_t n = in.Count();
  out.reserve(n);
  for (size_t i = 0; i < n; ++i) out.push_back(in.SignedVarInt());
  if (!in.ok()) Fail("it ends early");
  return in.ok();
}

std::string_view EntryReader::ReadString(Cursor& in) {
  const uint64_t index = in.VarInt();
  if (!in.ok() || index >= container_.strings.size()) {
    Fail("it refers to a string that is not there");
    return {};
  }
  return container_.strings[index];
}

uint64_t EntryReader::ReadBits(Cursor& in, unsigned width) {
  const uint64_t bits = width <= 8 ? in.Byte() : static_cast<uint64_t>(in.SignedVarInt());
  return width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

mlir::Attribute EntryReader::MakeInteger(mlir::Type type, Cursor& in) {
  unsigned width = 64;
  if (auto integer = mlir::dyn_cast_or_null<mlir::IntegerType>(type)) {
    width = integer.getWidth();
  } else if (!mlir::isa_and_nonnull<mlir::IndexType>(type)) {
    return Fail("an integer needs an integer type");
  }
  if (width == 0 || width > 64) return Fail("an integer of " + std::to_string(width) + " bits");
  const uint64_t bits = ReadBits(in, width);
  if (!in.ok()) return Fail("it ends early");
  return mlir::IntegerAttr::get(type, llvm::APInt(width, bits));
}

mlir::Attribute EntryReader::MakeFloat(mlir::Type type, Cursor& in) {
  auto float_type = mlir::dyn_cast_or_null<mlir::FloatType>(type);
  if (!float_type || float_type.getWidth() > 64) return Fail("a float needs a float type of at most 64 bits");
  const unsigned width = float_type.getWidth();
  const uint64_t bits = ReadBits(in, width);
  if (!in.ok()) return Fail("it ends early");
  return mlir::FloatAttr::get(float_type, llvm::APFloat(float_type.getFloatSemantics(), llvm::APInt(width, bits)));
}

mlir::Attribute EntryReader::MakeDictionary(llvm::SmallVectorImpl<mlir::NamedAttribute>& entries) {
  llvm::sort(entries, [](const mlir::NamedAttribute& a, const mlir::NamedAttribute& b) {
    return a.getName().getValue() < b.getName().getValue();
  });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].getName() == entries[i - 1].getName()) {
      return Fail("the dictionary has two entries '" + entries[i].getName().str() + "'");
    }
  }
  return mlir::DictionaryAttr::getWithSorted(context_, entries);
}

mlir::Type EntryReader::MakeTensor(llvm::ArrayRef<int64_t> shape, mlir::Type element, mlir::Attribute encoding) {
  if (!element || !mlir::TensorType::isValidElementType(element))
    return Fail("a tensor of elements that it cannot hold");
  if (!dialect::CheckedElements(shape.data(), shape.size(), 16)) {
    return Fail("a tensor with a negative dimension or more elements than can be addressed");
  }
  auto emit = [&]() { return mlir::emitError(mlir::UnknownLoc::get(context_)); };
  mlir::Type type = mlir::RankedTensorType::getChecked(emit, shape, element, encoding);
  return type ? type : Fail("the tensor's encoding does not suit it");
}

mlir::Type EntryReader::MakeBuffer(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
  if (!element || !mlir::BaseMemRefType::isValidElementType(element))
    return Fail("a buffer of elements that it cannot hold");
  if (!dialect::CheckedElements(shape.data(), shape.size(), 16)) {
    return Fail("a buffer with a negative dimension or more elements than can be addressed");
  }
  return mlir::MemRefType::get(shape, element);
}

mlir::Type EntryReader::MakeComplex(mlir::Type element) {
  if (!mlir::isa_and_nonnull<mlir::FloatType, mlir::IntegerType>(element))
    return Fail("a complex number of no number type");
  return mlir::ComplexType::get(element);
}

namespace {

// Bytes of one element in a raw buffer; 0 for element types that have none. i1 counts as one byte.
size_t ElementBytes(mlir::Type type) {
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type)) return 2 * ElementBytes(complex.getElementType());
  if (mlir::isa<mlir::IndexType>(type)) return 8;
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() > 64) return 0;
  if (mlir::isa<mlir::FloatTF32Type>(type)) return 0;  // No literal of it exists.
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

mlir::Attribute MakeBools(mlir::ShapedType type, uint64_t count, std::string_view data) {
  if (count == 0) return data.size() <= 1 ? mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>()) : nullptr;
  if (data.size() == 1 && static_cast<uint8_t>(data[0]) == 0xFF) return mlir::DenseElementsAttr::get(type, true);
  llvm::SmallVector<bool> values(count);
  if (data.size() == (count + 7) / 8 && data.size() != count) {
    for (uint64_t i = 0; i < count; ++i) values[i] = (static_cast<uint8_t>(data[i / 8]) >> (i % 8)) & 1;
  } else if (data.size() == count) {
    for (uint64_t i = 0; i < count; ++i) values[i] = data[i] != 0;
  } else if (data.size() == 1) {
    return mlir::DenseElementsAttr::get(type, data[0] != 0);
  } else {
    return {};
  }
  return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(values));
}

}  // namespace

mlir::Attribute EntryReader::MakeElements(mlir::Type type, std::string_view data) {
  auto shaped = mlir::dyn_cast_or_null<mlir::ShapedType>(type);
  if (!mlir::isa_and_nonnull<mlir::RankedTensorType, mlir::VectorType>(type) || !shaped.hasStaticShape()) {
    return Fail("a literal needs a tensor type of static shape");
  }
  const mlir::Type element = shaped.getElementType();
  const size_t each = ElementBytes(element);
  if (each == 0) return Fail("a literal of elements that have no bytes");
  const auto count = dialect::CheckedElements(shaped.getShape().data(), shaped.getRank(), each);
  if (!count) return Fail("a literal larger than can be addressed");
  const auto wrong_size = [&] {
    return Fail("a literal of " + std::to_string(*count) + " elements has " + std::to_string(data.size()) + " bytes");
  };
  if (element.isInteger(1)) {
    mlir::Attribute bools = MakeBools(shaped, *count, data);
    return bools ? bools : wrong_size();
  }
  // One element stands for all, also where there are none.
  if (data.size() != each * *count && data.size() != each) return wrong_size();
  if (*count == 0) data = {};
  if (data.size() >= literals_.borrow_from && data.size() > each) {
    auto blob = mlir::UnmanagedAsmResourceBlob::allocateInferAlign(llvm::ArrayRef<char>(data.data(), data.size()));
    return mlir::DenseResourceElementsAttr::get(shaped, "literal", std::move(blob));
  }
  llvm::ArrayRef<char> raw(data.data(), data.size());
  llvm::SmallVector<char> masked;
  if (element.isIntOrFloat() && element.getIntOrFloatBitWidth() < 8) {
    // The bits above the value are nobody's; equal literals must be equal attributes.
    const uint8_t mask = static_cast<uint8_t>((1u << element.getIntOrFloatBitWidth()) - 1);
    masked.assign(raw.begin(), raw.end());
    for (char& c : masked) c = static_cast<char>(c & mask);
    raw = masked;
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(shaped, raw);
}

}  // namespace tenon::vhlo
