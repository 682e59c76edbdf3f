// The encodings of the builtin dialect, as MLIR writes them. Those that no program needs (vectors, sparse and string
// literals, resources, distinct attributes, memory spaces) are refused by name.

#include "mlir/IR/Location.h"
#include "mlir/IR/TypeRange.h"
#include "tenon/dialect/vhlo/entries.h"
#include "tenon/dialect/vhlo/limits.h"

namespace tenon::vhlo {
namespace {

enum Attrs : uint64_t {
  kArray = 0,
  kDictionary = 1,
  kString = 2,
  kStringWithType = 3,
  kFlatSymbolRef = 4,
  kSymbolRef = 5,
  kType = 6,
  kUnit = 7,
  kInteger = 8,
  kFloat = 9,
  kCallSiteLoc = 10,
  kFileLineColLoc = 11,
  kFusedLoc = 12,
  kFusedLocWithMetadata = 13,
  kNameLoc = 14,
  kUnknownLoc = 15,
  kDenseArray = 17,
  kDenseElements = 18,
  kFileLineColRange = 22,
};

enum Types : uint64_t {  // Floats: builtin_floats.def.
  kIntegerType = 0,
  kIndexType = 1,
  kFunctionType = 2,
  kComplex = 9,
  kMemRef = 10,
  kNone = 12,
  kTensor = 13,
  kTensorWithEncoding = 14,
  kTuple = 15,
  kUnrankedTensor = 18,
};

constexpr uint64_t kMaxLine = UINT32_MAX >> 1;

llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace

mlir::Attribute EntryReader::DecodeBuiltinAttr(Cursor& in) {
  using namespace mlir;  // NOLINT(google-build-using-namespace): nearly every name below is MLIR's.
  const uint64_t code = in.VarInt();
  switch (code) {
    case kArray: {
      llvm::SmallVector<Attribute> values;
      if (!ReadAttrs(in, values)) return {};
      return ArrayAttr::get(context_, values);
    }
    case kDictionary: {
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
      return MakeDictionary(entries);
    }
    case kString: {
      std::string_view text = ReadString(in);
      return status_.ok() ? StringAttr::get(context_, Ref(text)) : nullptr;
    }
    case kStringWithType: {
      std::string_view text = ReadString(in);
      mlir::Type type = ReadType(in);
      return type ? StringAttr::get(Ref(text), type) : nullptr;
    }
    case kFlatSymbolRef: {
      auto name = ReadAttrOf<StringAttr>(in, "string");
      return name ? FlatSymbolRefAttr::get(name) : nullptr;
    }
    case kSymbolRef: {
      auto root = ReadAttrOf<StringAttr>(in, "string");
      llvm::SmallVector<Attribute> values;
      if (!root || !ReadAttrs(in, values)) return {};
      llvm::SmallVector<FlatSymbolRefAttr> nested;
      for (Attribute value : values) {
        auto leaf = dyn_cast<FlatSymbolRefAttr>(value);
        if (!leaf) return Fail("a symbol reference whose leaf is none");
        nested.push_back(leaf);
      }
      return SymbolRefAttr::get(root, nested);
    }
    case kType: {
      mlir::Type type = ReadType(in);
      return type ? TypeAttr::get(type) : nullptr;
    }
    case kUnit:
      return UnitAttr::get(context_);
    case kInteger: {
      mlir::Type type = ReadType(in);
      return type ? MakeInteger(type, in) : nullptr;
    }
    case kFloat: {
      mlir::Type type = ReadType(in);
      return type ? MakeFloat(type, in) : nullptr;
    }
    case kCallSiteLoc: {
      auto callee = ReadAttrOf<LocationAttr>(in, "location");
      auto caller = callee ? ReadAttrOf<LocationAttr>(in, "location") : nullptr;
      return caller ? CallSiteLoc::get(Location(callee), Location(caller)) : nullptr;
    }
    case kFileLineColLoc: {
      auto file = ReadAttrOf<StringAttr>(in, "string");
      const uint64_t line = in.VarInt();
      const uint64_t column = in.VarInt();
      if (!file) return {};
      if (line > kMaxLine || column > kMaxLine) return Fail("a location with an impossible line or column");
      return FileLineColLoc::get(file, static_cast<unsigned>(line), static_cast<unsigned>(column));
    }
    case kFileLineColRange: {
      auto file = ReadAttrOf<StringAttr>(in, "string");
      const size_t n = in.Count();
      if (!file) return {};
      if (n > 4) return Fail("a location range of more than four numbers");
      unsigned v[4] = {};
      for (size_t i = 0; i < n; ++i) {
        const uint64_t value = in.VarInt();
        if (value > kMaxLine) return Fail("a location with an impossible line or column");
        v[i] = static_cast<unsigned>(value);
      }
      switch (n) {
        case 0:
          return FileLineColRange::get(file);
        case 1:
          return FileLineColRange::get(file, v[0]);
        case 2:
          return FileLineColRange::get(file, v[0], v[1]);
        // Line, start column, end column; with four, start line, start column, end line, end column.
        case 3:
          return FileLineColRange::get(file, v[0], v[1], v[2]);
        default:
          return FileLineColRange::get(file, v[0], v[1], v[2], v[3]);
      }
    }
    case kFusedLoc:
    case kFusedLocWithMetadata: {
      llvm::SmallVector<Attribute> values;
      if (!ReadAttrs(in, values)) return {};
      llvm::SmallVector<Location> locations;
      for (Attribute value : values) {
        auto location = dyn_cast<LocationAttr>(value);
        if (!location) return Fail("a fused location of something that is none");
        locations.emplace_back(location);
      }
      Attribute metadata;
      if (code == kFusedLocWithMetadata && !(metadata = ReadAttr(in))) return {};
      return LocationAttr(FusedLoc::get(locations, metadata, context_));
    }
    case kNameLoc: {
      auto name = ReadAttrOf<StringAttr>(in, "string");
      auto child = name ? ReadAttrOf<LocationAttr>(in, "location") : nullptr;
      return child ? NameLoc::get(name, Location(child)) : nullptr;
    }
    case kUnknownLoc:
      return UnknownLoc::get(context_);
    case kDenseArray: {
      mlir::Type element = ReadType(in);
      const uint64_t size = in.VarInt();
      std::string_view data = in.Blob();
      if (!element) return {};
      if (!in.ok() || !element.isIntOrFloat() || element.getIntOrFloatBitWidth() > 64)
        return Fail("a broken dense array");
      const uint64_t each = (element.getIntOrFloatBitWidth() + 7) / 8;
      if (data.size() % each != 0 || data.size() / each != size) return Fail("a dense array of the wrong length");
      if (element.isInteger(1)) {
        llvm::SmallVector<bool> flags;
        for (char c : data) flags.push_back(c != 0);
        return DenseBoolArrayAttr::get(context_, flags);
      }
      return DenseArrayAttr::get(element, static_cast<int64_t>(size), llvm::ArrayRef<char>(data.data(), data.size()));
    }
    case kDenseElements: {
      mlir::Type type = ReadType(in);
      std::string_view data = in.Blob();
      if (!type) return {};
      return in.ok() ? MakeElements(type, data) : Fail("it ends early");
    }
    default:
      return Fail("builtin attributes of code " + std::to_string(code) + " have no place in a program");
  }
}

mlir::Type EntryReader::DecodeBuiltinType(Cursor& in) {
  using namespace mlir;  // NOLINT(google-build-using-namespace)
  const uint64_t code = in.VarInt();
  switch (code) {
    case kIntegerType: {
      const uint64_t value = in.VarInt();
      if (!in.ok() || (value & 3) > 2) return Fail("a broken integer type");
      if (value >> 2 == 0 || value >> 2 > 64) return Fail("an integer type of " + std::to_string(value >> 2) + " bits");
      return IntegerType::get(context_, static_cast<unsigned>(value >> 2),
                              static_cast<IntegerType::SignednessSemantics>(value & 3));
    }
    case kIndexType:
      return IndexType::get(context_);
    case kFunctionType: {
      llvm::SmallVector<mlir::Type> inputs;
      llvm::SmallVector<mlir::Type> results;
      if (!ReadTypes(in, inputs) || !ReadTypes(in, results)) return {};
      return FunctionType::get(context_, inputs, results);
    }
#define TENON_BUILTIN_FLOAT(code, name, type) \
  case code:                                  \
    return type::get(context_);
#include "tenon/vhlo/builtin_floats.def"
#undef TENON_BUILTIN_FLOAT
    case kComplex: {
      mlir::Type element = ReadType(in);
      return element ? MakeComplex(element) : nullptr;
    }
    case kMemRef: {
      llvm::SmallVector<int64_t> shape;
      if (!ReadInts(in, shape)) return {};
      mlir::Type element = ReadType(in);
      Attribute layout = element ? ReadAttr(in) : nullptr;
      if (!layout) return {};
      auto map = dyn_cast<AffineMapAttr>(layout);
      if (!map || !map.isIdentity()) return Fail("a buffer with a layout");
      return MakeBuffer(shape, element);
    }
    case kNone:
      return NoneType::get(context_);
    case kTensor:
    case kTensorWithEncoding: {
      Attribute encoding;
      if (code == kTensorWithEncoding && !(encoding = ReadAttr(in))) return {};
      llvm::SmallVector<int64_t> shape;
      if (!ReadInts(in, shape)) return {};
      mlir::Type element = ReadType(in);
      return element ? MakeTensor(shape, element, encoding) : nullptr;
    }
    case kTuple: {
      llvm::SmallVector<mlir::Type> types;
      return ReadTypes(in, types) ? TupleType::get(context_, types) : nullptr;
    }
    case kUnrankedTensor: {
      mlir::Type element = ReadType(in);
      if (!element) return {};
      if (!TensorType::isValidElementType(element)) return Fail("a tensor of elements that it cannot hold");
      return UnrankedTensorType::get(element);
    }
    default:
      return Fail("builtin types of code " + std::to_string(code) + " have no place in a program");
  }
}

}  // namespace tenon::vhlo
