// Portable artifacts: entries are decoded on demand, each once; operations come in one walk over the IR section.
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tenon/base/float_bits.h"
#include "tenon/vhlo/container.h"
#include "tenon/vhlo/internal/storage.h"
#include "tenon/vhlo/table.h"
#include "tenon/vhlo/wire.h"

namespace tenon::vhlo::internal {
namespace {

// Nodes of an attribute or type written out as a tree: sharing makes short input expand exponentially.
constexpr uint64_t kMaxExpansion = uint64_t{1} << 22;
// Parts of a location that are looked at: they may hold each other, and many times.
constexpr int kMaxLocationSteps = 64;

/// Decodes the attributes and types of a container. Null means an error, when status() says which; errors stick.
class Entries {
 public:
  Entries(const Container& container, Program::Storage& storage)
      : container_(container), storage_(storage), attrs_(container.attrs.size()), types_(container.types.size()) {}

  const Status& status() const { return status_; }
  std::nullptr_t Fail(std::string why) {
    if (status_.ok()) status_ = InvalidArgument(std::move(why));
    return nullptr;
  }

  const Attribute* Attr(uint64_t index) {
    return Resolve(attrs_, container_.attrs, index, "attribute", [this](auto& entry) { return AttrOf(entry); });
  }
  const Type* TypeAt(uint64_t index) {
    return Resolve(types_, container_.types, index, "type", [this](auto& entry) { return TypeOf(entry); });
  }
  const Attribute* ReadAttr(Cursor& in) { return in.ok() ? Attr(in.VarInt()) : Fail("it ends early"); }
  const Type* ReadType(Cursor& in) { return in.ok() ? TypeAt(in.VarInt()) : Fail("it ends early"); }

  /// "file:line:column" of the first such part of a location; empty when it has none.
  std::string_view Location(uint64_t index) {
    const auto [it, fresh] = locations_.try_emplace(index);
    if (fresh) {
      int steps = kMaxLocationSteps;
      it->second = storage_.Keep(Place(index, steps));
    }
    return it->second;
  }

 private:
  template <class T>
  struct Slot {
    const T* value = nullptr;
    uint32_t height = 0;
    uint64_t weight = 0;
    bool busy = false;
  };

  template <class T, class Decode>
  const T* Resolve(std::vector<Slot<T>>& slots, const std::vector<Container::Entry>& entries, uint64_t index,
                   const char* what, const Decode& decode) {
    if (!status_.ok()) return nullptr;
    const auto name = [&] { return std::string(what) + " " + std::to_string(index); };
    if (index >= slots.size()) return Fail("there is no " + name() + ", only " + std::to_string(slots.size()));
    Slot<T>& slot = slots[index];
    if (slot.value == nullptr) {
      if (slot.busy) return Fail(name() + " contains itself");
      if (depth_ >= kMaxNesting) return Fail(name() + " is nested deeper than " + std::to_string(kMaxNesting));
      slot.busy = true;
      ++depth_;
      const uint32_t outer_height = std::exchange(height_, 0);
      const uint64_t outer_weight = std::exchange(weight_, 0);
      slot.value = decode(entries[index]);
      slot.height = std::exchange(height_, outer_height) + 1;
      slot.weight = std::exchange(weight_, outer_weight) + 1;
      --depth_;
      slot.busy = false;
      if (slot.value == nullptr) {
        if (status_.ok()) Fail("it cannot be read");
        if (depth_ == 0) status_ = status_.WithContext(name());
        return nullptr;
      }
      if (slot.height > kMaxNesting || slot.weight > kMaxExpansion) return Fail(name() + " is nested too deep");
    }
    height_ = std::max(height_, slot.height);
    weight_ = std::min(weight_ + slot.weight, kMaxExpansion + 1);
    return slot.value;
  }

  std::string_view DialectOf(const Container::Entry& entry) const { return container_.dialects[entry.dialect].name; }

  // Text up to its NUL.
  std::string_view TextOf(const Container::Entry& entry) {
    Cursor in(entry.bytes);
    const std::string_view text = in.CString();
    if (!in.Finished()) Fail("its text does not end in NUL");
    return text;
  }

  const Attribute* AttrOf(const Container::Entry& entry) {
    const std::string_view dialect = DialectOf(entry);
    Attribute opaque{.kind = Attribute::Kind::kOpaque};
    if (!entry.custom) {
      const std::string_view text = TextOf(entry);
      if (!status_.ok()) return nullptr;
      if (const Attribute* read = ReadAttribute(storage_, text)) return read;
      opaque.text = text;
      return storage_.Add(std::move(opaque));
    }
    Cursor in(entry.bytes);
    const Attribute* value = nullptr;
    if (dialect == "vhlo") {
      value = VhloAttr(in);
    } else if (dialect == "builtin") {
      value = BuiltinAttr(in, entry.bytes);
    } else {
      opaque.text = dialect;
      opaque.bytes = entry.bytes;
      return storage_.Add(std::move(opaque));
    }
    return Whole(in, value);
  }

  const Type* TypeOf(const Container::Entry& entry) {
    const std::string_view dialect = DialectOf(entry);
    if (!entry.custom) {
      const std::string_view text = TextOf(entry);
      if (!status_.ok()) return nullptr;
      const Type* read = ::tenon::vhlo::internal::ReadType(storage_, text);
      return read != nullptr ? read : storage_.Add(Type{.kind = Type::Kind::kOther, .name = std::string(text)});
    }
    Cursor in(entry.bytes);
    if (dialect == "vhlo") return Whole(in, VhloType(in));
    if (dialect == "builtin") return Whole(in, BuiltinType(in));
    return storage_.Add(Type{.kind = Type::Kind::kOther, .name = std::string(dialect)});
  }

  template <class T>
  const T* Whole(const Cursor& in, const T* value) {
    if (value != nullptr && !in.Finished()) return Fail("its encoding has the wrong length");
    return value;
  }

  //===--- Parts ---===//

  std::string_view Text(Cursor& in) {
    const uint64_t index = in.VarInt();
    if (in.ok() && index < container_.strings.size()) return container_.strings[index];
    Fail("it refers to a string that is not there");
    return {};
  }
  uint64_t Bits(Cursor& in, int width) {
    const uint64_t bits = width <= 8 ? in.Byte() : static_cast<uint64_t>(in.SignedVarInt());
    return width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1);
  }
  double Double(Cursor& in) { return std::bit_cast<double>(Bits(in, 64)); }
  std::vector<int64_t> Ints(Cursor& in) {
    std::vector<int64_t> ints(in.Count());
    for (int64_t& v : ints) v = in.SignedVarInt();
    return ints;
  }
  const Attribute* IntList(Cursor& in) {
    Attribute list{.kind = Attribute::Kind::kArray};
    for (const int64_t v : Ints(in)) list.parts.push_back(storage_.Integer(v, "i64"));
    return in.ok() ? storage_.Add(std::move(list)) : nullptr;
  }
  bool Parts(Cursor& in, std::vector<const Attribute*>& out) {
    const size_t n = in.Count();
    for (size_t i = 0; i < n; ++i) {
      out.push_back(ReadAttr(in));
      if (out.back() == nullptr) return false;
    }
    return in.ok() || Fail("it ends early") != nullptr;
  }
  bool Parts(Cursor& in, std::vector<const Type*>& out) {
    const size_t n = in.Count();
    for (size_t i = 0; i < n; ++i) {
      out.push_back(ReadType(in));
      if (out.back() == nullptr) return false;
    }
    return in.ok() || Fail("it ends early") != nullptr;
  }

  //===--- Attributes ---===//

  const Attribute* MakeArray(Cursor& in) {
    Attribute array{.kind = Attribute::Kind::kArray};
    return Parts(in, array.parts) ? storage_.Add(std::move(array)) : nullptr;
  }

  const Attribute* MakeDictionary(Cursor& in) {
    Attribute dictionary{.kind = Attribute::Kind::kDictionary};
    const size_t n = in.Count(2);
    for (size_t i = 0; i < n; ++i) {
      const Attribute* name = ReadAttr(in);
      const Attribute* value = name == nullptr ? nullptr : ReadAttr(in);
      if (value == nullptr) return nullptr;
      if (name->kind != Attribute::Kind::kString || name->text.empty()) return Fail("an entry without a name");
      dictionary.names.push_back(name->text);
      dictionary.parts.push_back(value);
    }
    return in.ok() ? storage_.Add(std::move(dictionary)) : Fail("it ends early");
  }

  const Attribute* MakeInteger(Cursor& in) {
    const Type* type = ReadType(in);
    if (type == nullptr) return nullptr;
    const DType dtype = type->shape.dtype;
    if (type->kind != Type::Kind::kElement || !(IsInteger(dtype) || dtype == DType::kPred || type->name == "index"))
      return Fail("an integer of type " + type->ToString());
    const int width = type->name == "index" ? 64 : dtype == DType::kPred ? 1 : DTypeBits(dtype);
    uint64_t bits = Bits(in, width);
    if (!in.ok()) return Fail("it ends early");
    if (dtype == DType::kPred) return storage_.Bool(bits != 0);
    if (width < 64 && IsSigned(dtype) && (bits >> (width - 1)) != 0) bits |= ~uint64_t{0} << width;
    return storage_.Add(
        Attribute{.kind = Attribute::Kind::kInteger, .integer = static_cast<int64_t>(bits), .type = type});
  }

  const Attribute* MakeFloat(Cursor& in) {
    const Type* type = ReadType(in);
    if (type == nullptr) return nullptr;
    if (type->kind != Type::Kind::kElement || !IsFloat(type->shape.dtype))
      return Fail("a number of type " + type->ToString());
    const uint64_t bits = Bits(in, DTypeBits(type->shape.dtype));
    if (!in.ok()) return Fail("it ends early");
    return storage_.Add(
        Attribute{.kind = Attribute::Kind::kFloat, .real = FloatFromBits(type->shape.dtype, bits), .type = type});
  }

  const Attribute* MakeTensor(const Type* type, std::string_view data, bool ok) {
    if (type == nullptr) return nullptr;
    if (!ok) return Fail("it ends early");
    const auto count = NumLiteralElements(*type);
    const auto wrong = [&] {
      return Fail("a literal of type " + type->ToString() + " has " + std::to_string(data.size()) + " bytes");
    };
    if (type->kind != Type::Kind::kTensor || !count) return wrong();
    if (type->shape.dtype == DType::kPred) {
      if (*count != data.size() || *count == 1) {  // Else a byte each, which are told from bits by their number.
        const bool packed = data.size() == (*count + 7) / 8 && *count != 0;
        const bool all = data.size() == 1 && (!packed || *count == 1 || static_cast<uint8_t>(data[0]) == 0xFF);
        if (!packed && !all && !(*count == 0 && data.size() <= 1)) return wrong();
        std::string bytes(all ? 1 : static_cast<size_t>(*count), '\0');
        for (size_t i = 0; i < bytes.size(); ++i)
          bytes[i] = all ? (data[0] & (*count == 1 ? 0xFF : 1)) != 0 : (data[i / 8] >> (i % 8)) & 1;
        data = storage_.Keep(std::move(bytes));
      } else {
        std::string bytes(data);
        for (char& c : bytes) c = c != 0;
        data = storage_.Keep(std::move(bytes));
      }
    }
    const Attribute* tensor = storage_.Tensor(type, data);
    return tensor != nullptr ? tensor : wrong();
  }

  Attribute Record(std::string_view what) { return {.kind = Attribute::Kind::kDictionary, .text = what}; }
  static void Put(Attribute& record, std::string_view name, const Attribute* value) {
    record.names.push_back(name);
    record.parts.push_back(value);
  }

  const Attribute* VhloAttr(Cursor& in) {
    const uint64_t raw = in.VarInt();
    const auto code = static_cast<AttrCode>(raw);
    if (const auto last = EnumLast(code)) {
      const uint64_t value = in.VarInt();
      if (!in.ok() || value < EnumFirst(code) || value > *last)
        return Fail(std::string(Name(code)) + " has no case " + std::to_string(value));
      if (code == AttrCode::kApiVersion) return storage_.Integer(static_cast<int64_t>(value), "i32");
      return storage_.Add(Attribute{.kind = Attribute::Kind::kEnum, .text = EnumCases(code)[value - EnumFirst(code)]});
    }
    switch (code) {
      case AttrCode::kArray:
        return MakeArray(in);
      case AttrCode::kBoolean: {
        const uint64_t value = in.VarInt();
        return in.ok() && value <= 1 ? storage_.Bool(value != 0) : Fail("a boolean that is neither 0 nor 1");
      }
      case AttrCode::kDictionary:
        return MakeDictionary(in);
      case AttrCode::kFloat:
        return MakeFloat(in);
      case AttrCode::kInteger:
        return MakeInteger(in);
      case AttrCode::kOutputOperandAlias: {
        Attribute record = Record("output_operand_alias");
        Put(record, "output_tuple_indices", IntList(in));
        Put(record, "operand_index", storage_.Integer(in.SignedVarInt(), "i64"));
        Put(record, "operand_tuple_indices", IntList(in));
        return in.ok() ? storage_.Add(std::move(record)) : Fail("it ends early");
      }
      case AttrCode::kString: {
        const std::string_view text = Text(in);
        return status_.ok() ? storage_.String(text) : nullptr;
      }
      case AttrCode::kTensor: {
        const Type* type = ReadType(in);
        const std::string_view data = in.Blob();
        return MakeTensor(type, data, in.ok());
      }
      case AttrCode::kType: {
        const Type* type = ReadType(in);
        return type == nullptr ? nullptr : storage_.Add(Attribute{.kind = Attribute::Kind::kType, .type = type});
      }
      case AttrCode::kTypeExtensions: {
        Attribute record = Record("bounds");
        Put(record, "bounds", IntList(in));
        return in.ok() ? storage_.Add(std::move(record)) : Fail("it ends early");
      }
      case AttrCode::kResultAccuracy: {
        Attribute record = Record("result_accuracy");
        for (const std::string_view name : {"atol", "rtol"}) {
          const double value = Double(in);
          if (value != 0) Put(record, name, storage_.Add(Attribute{.kind = Attribute::Kind::kFloat, .real = value}));
        }
        if (const int64_t ulps = in.SignedVarInt(); ulps != 0) Put(record, "ulps", storage_.Integer(ulps, "i64"));
        Put(record, "mode", ReadAttr(in));
        return record.parts.back() == nullptr ? nullptr : storage_.Add(std::move(record));
      }
      case AttrCode::kSubAxisInfo: {
        Attribute record = Record("sub_axis_info");
        for (const std::string_view name : {"pre_size", "size"})
          Put(record, name, storage_.Integer(in.SignedVarInt(), "i64"));
        return in.ok() ? storage_.Add(std::move(record)) : Fail("it ends early");
      }
      case AttrCode::kAxisRef: {
        Attribute record = Record("axis_ref");
        Put(record, "name", ReadAttr(in));
        const uint64_t present = record.parts.back() == nullptr ? 0 : in.VarInt();
        if (!in.ok() || present > 1) return Fail("a broken axis reference");
        if (present == 1) Put(record, "sub_axis_info", ReadAttr(in));
        return record.parts.back() == nullptr ? nullptr : storage_.Add(std::move(record));
      }
      case AttrCode::kReplicaGroupMeshAxes:
        return Fields(in, "replica_group_mesh_axes", {"mesh", "axes"});
      case AttrCode::kMeshAxis: {
        Attribute record = Record("mesh_axis");
        Put(record, "name", ReadAttr(in));
        Put(record, "size", storage_.Integer(in.SignedVarInt(), "i64"));
        return in.ok() && record.parts[0] != nullptr ? storage_.Add(std::move(record)) : Fail("it ends early");
      }
      case AttrCode::kMesh: {
        Attribute record = Record("mesh");
        Put(record, "axes", ReadAttr(in));
        const uint64_t ids = record.parts.back() == nullptr ? 0 : in.VarInt();
        if (ids & 1) Put(record, "device_ids", Attr(ids >> 1));
        return in.ok() && record.parts.back() != nullptr ? storage_.Add(std::move(record)) : Fail("it ends early");
      }
      default:
        return Fail("there is no VHLO attribute of code " + std::to_string(raw) + " up to version " +
                    kCurrentVersion.ToString());
    }
  }

  const Attribute* Fields(Cursor& in, std::string_view what, std::initializer_list<std::string_view> names) {
    Attribute record = Record(what);
    for (const std::string_view name : names) {
      Put(record, name, ReadAttr(in));
      if (record.parts.back() == nullptr) return nullptr;
    }
    return storage_.Add(std::move(record));
  }

  // Codes as MLIR's builtin dialect has them. What programs have no use for stays opaque.
  const Attribute* BuiltinAttr(Cursor& in, std::string_view all) {
    switch (in.VarInt()) {
      case 0:
        return MakeArray(in);
      case 1:
        return MakeDictionary(in);
      case 2: {
        const std::string_view text = Text(in);
        return status_.ok() ? storage_.String(text) : nullptr;
      }
      case 3: {
        const std::string_view text = Text(in);
        return ReadType(in) == nullptr ? nullptr : storage_.String(text);
      }
      case 4:
        return ReadAttr(in);  // A symbol: its name.
      case 6: {
        const Type* type = ReadType(in);
        return type == nullptr ? nullptr : storage_.Add(Attribute{.kind = Attribute::Kind::kType, .type = type});
      }
      case 7:
        return storage_.Bool(true);
      case 8:
        return MakeInteger(in);
      case 9:
        return MakeFloat(in);
      case 17: {
        const Type* element = ReadType(in);
        const uint64_t count = in.VarInt();
        const std::string_view data = in.Blob();
        if (element == nullptr || !in.ok() || count > data.size()) return Fail("a broken dense array");
        Type list{.kind = Type::Kind::kTensor, .shape = {element->shape.dtype, {static_cast<int64_t>(count)}}};
        list.name = element->name;
        return MakeTensor(storage_.Add(std::move(list)), data, true);
      }
      case 18: {
        const Type* type = ReadType(in);
        const std::string_view data = in.Blob();
        return MakeTensor(type, data, in.ok());
      }
      default:
        in = Cursor();
        return storage_.Add(Attribute{.kind = Attribute::Kind::kOpaque, .text = "builtin", .bytes = all});
    }
  }

  //===--- Types ---===//

  const Type* MakeTensorType(Type::Kind kind, std::vector<int64_t> dims, const Type* element,
                             std::vector<int64_t> bounds) {
    if (element == nullptr) return nullptr;
    if (element->kind != Type::Kind::kElement) return Fail("a tensor of elements that it cannot hold");
    Type type{.kind = kind, .shape = {element->shape.dtype, {}}, .name = element->name};
    type.quantization = element->quantization;
    std::vector<int64_t> known;
    for (const int64_t dim : dims) {
      type.shape.dims.push_back(dim);
      if (dim != kDynamic) known.push_back(dim);
    }
    if (!NumLiteralElements({.shape = {type.shape.dtype, Dims(known.begin(), known.end())}}))
      return Fail("a tensor with a negative dimension or more elements than can be addressed");
    if (!bounds.empty() && bounds.size() != dims.size()) return Fail("a tensor with bounds of another rank");
    type.bounds = std::move(bounds);
    return storage_.Add(std::move(type));
  }

  const Type* Encoded(Cursor& in) {
    const Attribute* encoding = ReadAttr(in);
    if (encoding == nullptr) return nullptr;
    const Attribute* bounds = encoding->Find("bounds");
    if (encoding->kind == Attribute::Kind::kOpaque) bounds = nullptr;
    std::vector<int64_t> dims = Ints(in);
    return MakeTensorType(Type::Kind::kTensor, std::move(dims), ReadType(in),
                          bounds == nullptr ? std::vector<int64_t>() : bounds->Ints());
  }

  const Type* PartsType(Cursor& in, Type::Kind kind) {
    Type type{.kind = kind};
    if (!Parts(in, type.parts)) return nullptr;
    if (kind == Type::Kind::kFunction) {
      type.num_parameters = type.parts.size();
      if (!Parts(in, type.parts)) return nullptr;
    }
    return storage_.Add(std::move(type));
  }

  const Type* ComplexType(Cursor& in) {
    const Type* part = ReadType(in);
    if (part == nullptr) return nullptr;
    const Type* type = storage_.Element("complex<" + part->name + ">");
    return type != nullptr ? type : Fail("a complex number of " + part->ToString());
  }

  const Type* VhloType(Cursor& in) {
    static constexpr std::pair<TypeCode, std::string_view> kElements[] = {
        {TypeCode::kBoolean, "i1"},
        {TypeCode::kSI2, "i2"},
        {TypeCode::kSI4, "i4"},
        {TypeCode::kSI8, "i8"},
        {TypeCode::kSI16, "i16"},
        {TypeCode::kSI32, "i32"},
        {TypeCode::kSI64, "i64"},
        {TypeCode::kUI2, "ui2"},
        {TypeCode::kUI4, "ui4"},
        {TypeCode::kUI8, "ui8"},
        {TypeCode::kUI16, "ui16"},
        {TypeCode::kUI32, "ui32"},
        {TypeCode::kUI64, "ui64"},
        {TypeCode::kIndex, "index"},
        {TypeCode::kNone, "none"},
        {TypeCode::kBF16, "bf16"},
        {TypeCode::kF16, "f16"},
        {TypeCode::kTF32, "tf32"},
        {TypeCode::kF32, "f32"},
        {TypeCode::kF64, "f64"},
        {TypeCode::kF4E2M1FN, "f4E2M1FN"},
        {TypeCode::kF6E2M3FN, "f6E2M3FN"},
        {TypeCode::kF6E3M2FN, "f6E3M2FN"},
        {TypeCode::kF8E3M4, "f8E3M4"},
        {TypeCode::kF8E4M3, "f8E4M3"},
        {TypeCode::kF8E4M3FN, "f8E4M3FN"},
        {TypeCode::kF8E4M3FNUZ, "f8E4M3FNUZ"},
        {TypeCode::kF8E4M3B11FNUZ, "f8E4M3B11FNUZ"},
        {TypeCode::kF8E5M2, "f8E5M2"},
        {TypeCode::kF8E5M2FNUZ, "f8E5M2FNUZ"},
        {TypeCode::kF8E8M0FNU, "f8E8M0FNU"},
    };
    const uint64_t raw = in.VarInt();
    if (!in.ok()) return Fail("it ends early");
    for (const auto& [code, name] : kElements) {
      if (code == static_cast<TypeCode>(raw)) return storage_.Element(name);
    }
    switch (static_cast<TypeCode>(raw)) {
      case TypeCode::kComplex:
        return ComplexType(in);
      case TypeCode::kToken:
        return storage_.Add(Type{.kind = Type::Kind::kToken});
      case TypeCode::kTuple:
        return PartsType(in, Type::Kind::kTuple);
      case TypeCode::kFuture:
        return PartsType(in, Type::Kind::kFuture);
      case TypeCode::kFunction:
        return PartsType(in, Type::Kind::kFunction);
      case TypeCode::kRankedTensor:
      case TypeCode::kRankedBuffer: {
        std::vector<int64_t> dims = Ints(in);
        const bool tensor = static_cast<TypeCode>(raw) == TypeCode::kRankedTensor;
        return MakeTensorType(tensor ? Type::Kind::kTensor : Type::Kind::kBuffer, std::move(dims), ReadType(in), {});
      }
      case TypeCode::kRankedTensorWithEncoding:
        return Encoded(in);
      case TypeCode::kUnrankedTensor:
        return MakeTensorType(Type::Kind::kUnranked, {}, ReadType(in), {});
      case TypeCode::kQuantized:
        return QuantizedType(in, false);
      case TypeCode::kQuantizedPerAxis:
        return QuantizedType(in, true);
      default:
        return Fail("there is no VHLO type of code " + std::to_string(raw) + " up to version " +
                    kCurrentVersion.ToString());
    }
  }

  const Type* QuantizedType(Cursor& in, bool per_axis) {
    const uint64_t flags = in.VarInt();
    const Type* storage = ReadType(in);
    const Type* expressed = storage == nullptr ? nullptr : ReadType(in);
    if (expressed == nullptr) return nullptr;
    auto q = std::make_shared<Quantization>();
    if (per_axis) {
      q->axis = static_cast<int64_t>(in.VarInt());
    } else {
      q->scales.push_back(Double(in));
      q->zero_points.push_back(in.SignedVarInt());
    }
    q->low = in.SignedVarInt();
    q->high = in.SignedVarInt();
    if (per_axis) {
      const size_t n = in.Count();
      for (size_t i = 0; i < n; ++i) q->scales.push_back(Double(in));
      q->zero_points = Ints(in);
    }
    q->expressed = expressed->shape.dtype;
    if (!in.ok() || flags > 1 || q->axis < (per_axis ? 0 : -1) || q->zero_points.size() != q->scales.size() ||
        !IsSigned(storage->shape.dtype) || !IsFloat(q->expressed))
      return Fail("a broken quantized type");
    // Signed integers are written as such; a flag says whether they are.
    const Type* stored = flags == 1 ? storage : storage_.Element("u" + storage->name);
    if (stored == nullptr) return Fail("a quantized type stored as " + storage->name);
    q->storage = stored->shape.dtype;
    return storage_.Add(QuantizedElement(std::move(q)));
  }

  const Type* BuiltinType(Cursor& in) {
    const auto element = [&](std::string_view name) {
      const Type* type = storage_.Element(name);
      return type != nullptr ? type : Fail("elements of type " + std::string(name));
    };
    const uint64_t code = in.VarInt();
    switch (code) {
      case 0: {
        const uint64_t value = in.VarInt();
        if (!in.ok() || (value & 3) > 2) return Fail("a broken integer type");
        const Type* type = storage_.Element(((value & 3) == 2 ? "ui" : "i") + std::to_string(value >> 2));
        return type != nullptr ? type : Fail("an integer of " + std::to_string(value >> 2) + " bits");
      }
      case 1:
        return storage_.Element("index");
      case 2:
        return PartsType(in, Type::Kind::kFunction);
#define TENON_BUILTIN_FLOAT(code, name, type) \
  case code:                                  \
    return element(name);
#include "tenon/vhlo/builtin_floats.def"
#undef TENON_BUILTIN_FLOAT
      case 9:
        return ComplexType(in);
      case 12:
        return storage_.Element("none");
      case 13: {
        std::vector<int64_t> dims = Ints(in);
        return MakeTensorType(Type::Kind::kTensor, std::move(dims), ReadType(in), {});
      }
      case 14:
        return Encoded(in);
      case 15:
        return PartsType(in, Type::Kind::kTuple);
      case 18:
        return MakeTensorType(Type::Kind::kUnranked, {}, ReadType(in), {});
      default:
        return Fail("builtin types of code " + std::to_string(code) + " have no place in a program");
    }
  }

  //===--- Locations ---===//

  // `steps`: how many more entries may be looked at.
  std::string Place(uint64_t index, int& steps) {
    if (index >= container_.attrs.size() || --steps < 0) return {};
    const Container::Entry& entry = container_.attrs[index];
    if (!entry.custom || DialectOf(entry) != "builtin") return {};
    Cursor in(entry.bytes);
    const uint64_t code = in.VarInt();
    if (code == 10) return Place(in.VarInt(), steps);  // A call's: where the callee stands.
    if (code == 12 || code == 13) {
      const size_t n = in.Count();
      for (size_t i = 0; i < n && steps > 0; ++i) {
        if (std::string place = Place(in.VarInt(), steps); !place.empty()) return place;
      }
    }
    if (code == 14) {
      in.VarInt();
      return Place(in.VarInt(), steps);
    }
    if (code != 11 && code != 22) return {};
    const uint64_t file = in.VarInt();
    if (file >= container_.attrs.size() || !container_.attrs[file].custom) return {};
    Cursor name(container_.attrs[file].bytes);
    if (DialectOf(container_.attrs[file]) != "builtin" || name.VarInt() != 2) return {};
    const uint64_t string = name.VarInt();
    if (code == 22) in.Count();
    const uint64_t line = in.VarInt(), column = in.VarInt();
    if (!name.ok() || string >= container_.strings.size()) return {};
    return std::string(container_.strings[string]) + ":" + std::to_string(line) + ":" + std::to_string(column);
  }

  const Container& container_;
  Program::Storage& storage_;
  std::vector<Slot<Attribute>> attrs_;
  std::vector<Slot<Type>> types_;
  std::unordered_map<uint64_t, std::string_view> locations_;
  // What the entries read since the enclosing Resolve began add up to.
  uint32_t height_ = 0, depth_ = 0;
  uint64_t weight_ = 0;
  Status status_;
};

class IrReader {
 public:
  IrReader(const Container& container, Program::Storage& storage)
      : container_(container), storage_(storage), entries_(container, storage), names_(container.op_names.size()) {}

  Status Run() {
    Cursor in(container_.ir);
    if (in.VarInt() != 2 || !in.ok()) return Malformed("it does not hold exactly one module");
    Head head;
    if (!ReadHead(in, head)) return Failure();
    if (head.name->full != "builtin.module" || head.num_regions != 1 || !head.results.empty() || !head.operands.empty())
      return Malformed("its top operation is no module");
    if (head.dictionary != nullptr) Append(*head.dictionary, storage_.attributes);
    std::erase_if(storage_.attributes, [&](const NamedAttribute& a) {  // Where bytecode has no properties yet.
      if (a.name == "sym_name") storage_.name = a.value->text;
      return a.name == "sym_name" || a.name == "sym_visibility";
    });
    if (head.properties) {  // A name and a visibility, each of which may be absent.
      Cursor properties(*head.properties);
      const uint64_t name = properties.VarInt();
      const Attribute* text = name & 1 ? entries_.Attr(name >> 1) : nullptr;
      if (text != nullptr) storage_.name = text->text;
    }
    std::string_view body;
    if (!RegionBytes(in, head.isolated, body)) return Failure();
    Cursor region(body);
    if (region.VarInt() != 1) return Malformed("the module has not one block");
    region.VarInt();  // Values: those of functions count on their own.
    const uint64_t num_ops = region.VarInt() >> 1;
    for (uint64_t i = 0; i < num_ops; ++i) {
      if (!region.ok() || !ReadTop(region)) return Failure();
    }
    if (!region.Finished() || !(head.isolated ? in.Finished() : true)) return Malformed("bytes left over");
    if (!entries_.status().ok()) return entries_.status();
    return status_;
  }

 private:
  enum Part : uint8_t {
    kAttrs = 1,
    kResults = 2,
    kOperands = 4,
    kSuccessors = 8,
    kRegions = 16,
    kUseListOrder = 32,
    kProperties = 64,
  };

  struct Name {
    const Op* vhlo = nullptr;
    std::string_view full;  // Empty: not looked up yet.
  };

  // An operation up to its regions.
  struct Head {
    const Name* name = nullptr;
    uint64_t location = 0;
    const Attribute* dictionary = nullptr;
    std::optional<std::string_view> properties;
    std::vector<const Type*> results;
    std::vector<uint64_t> operands;  // Numbers on the wire.
    size_t num_regions = 0;
    bool isolated = false;
  };

  static Status Malformed(const std::string& why) { return InvalidArgument("malformed bytecode: " + why); }
  bool Fail(const std::string& why) {
    if (status_.ok()) status_ = InvalidArgument(why);
    return false;
  }
  Status Failure() const {
    if (!status_.ok()) return status_;
    return entries_.status().ok() ? Malformed("it ends inside an operation") : entries_.status();
  }
  // Prefixes the error with the operation at fault; the innermost one wins.
  bool Blame(const Head& head) {
    if (blamed_) return false;
    blamed_ = true;
    const std::string_view place = entries_.Location(head.location);
    const std::string name(head.name == nullptr ? "an operation" : head.name->full);
    status_ = Failure().WithContext("'" + name + "'" + (place.empty() ? "" : " at " + std::string(place)));
    return false;
  }

  const Name* FindName(uint64_t index) {
    if (index >= names_.size()) {
      Fail("malformed bytecode: there is no op name " + std::to_string(index));
      return nullptr;
    }
    Name& name = names_[index];
    if (!name.full.empty()) return &name;
    const Container::OpName& wire = container_.op_names[index];
    const std::string_view dialect = container_.dialects[wire.dialect].name;
    if (dialect != "vhlo") {
      name.full = storage_.Keep(std::string(dialect) + "." + std::string(wire.name));
      return &name;
    }
    name.vhlo = FindOp(wire.name);
    if (name.vhlo == nullptr) {
      Fail("unknown op 'vhlo." + std::string(wire.name) + "': no version up to " + kCurrentVersion.ToString() +
           " has it");
      return nullptr;
    }
    name.full = name.vhlo->stablehlo;
    return &name;
  }

  bool ReadHead(Cursor& in, Head& head) {
    head.name = FindName(in.VarInt());
    if (head.name == nullptr) return false;
    const uint8_t parts = in.Byte();
    head.location = in.VarInt();
    if (parts & kAttrs) {
      head.dictionary = entries_.ReadAttr(in);
      if (head.dictionary == nullptr) return false;
      if (head.dictionary->kind != Attribute::Kind::kDictionary) return Fail("its attributes are no dictionary");
    }
    if (parts & kProperties) {
      const uint64_t index = in.VarInt();
      if (!in.ok() || index >= container_.properties.size()) return Fail("malformed bytecode: no such properties");
      head.properties = container_.properties[index];
    }
    if (parts & kResults) {
      head.results.resize(in.Count());
      for (const Type*& type : head.results) {
        if ((type = entries_.ReadType(in)) == nullptr) return false;
      }
    }
    if (parts & kOperands) {
      head.operands.resize(in.Count());
      for (uint64_t& operand : head.operands) operand = in.VarInt();
    }
    if (parts & kSuccessors) return Fail("control flow between blocks is not supported");
    if ((parts & kUseListOrder) && container_.version >= 3) SkipUseListOrder(in, head.results.size());
    if (parts & kRegions) {
      const uint64_t value = in.VarInt();
      head.isolated = value & 1;
      head.num_regions = static_cast<size_t>(value >> 1);
      if (!in.ok() || head.num_regions > in.left()) return Fail("malformed bytecode: more regions than bytes");
    }
    return in.ok() || Fail("malformed bytecode: it ends inside an op");
  }

  // The bytes of isolated regions: a section of their own, or what follows.
  bool RegionBytes(Cursor& in, bool isolated, std::string_view& bytes) {
    if (!isolated || container_.version < 2) {
      bytes = in.Bytes(in.left());
      return true;
    }
    const uint8_t id = in.Byte();
    bytes = in.Blob();
    return (in.ok() && id == 4) || Fail("malformed bytecode: an isolated region has no section");
  }

  static void Append(const Attribute& dictionary, std::vector<NamedAttribute>& out) {
    for (size_t i = 0; i < dictionary.names.size(); ++i) out.push_back({dictionary.names[i], dictionary.parts[i]});
  }

  // The values of a VHLO operation's attributes in the table's order; others go to `others`.
  bool Attributes(const Head& head, std::vector<const Attribute*>& values, std::vector<NamedAttribute>& others) {
    const Op& op = *head.name->vhlo;
    values.assign(op.attrs.size(), nullptr);
    if (head.properties) {
      Cursor blob(*head.properties);
      for (const Attribute*& value : values) {
        if ((value = entries_.ReadAttr(blob)) == nullptr) return false;
      }
      if (!blob.Finished()) return Fail("its properties have the wrong length");
    }
    if (head.dictionary != nullptr) {
      for (size_t i = 0; i < head.dictionary->names.size(); ++i) {
        const auto own = std::find_if(op.attrs.begin(), op.attrs.end(),
                                      [&](const Attr& a) { return a.name == head.dictionary->names[i]; });
        if (own != op.attrs.end()) {
          values[static_cast<size_t>(own - op.attrs.begin())] = head.dictionary->parts[i];
        } else {
          others.push_back({head.dictionary->names[i], head.dictionary->parts[i]});
        }
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == nullptr) return Fail("attribute '" + std::string(op.attrs[i].name) + "' is missing");
    }
    return true;
  }

  bool WrongCount(Count count, size_t got, const char* what) {
    if (count.Allows(got)) return false;
    Fail("it has " + std::to_string(got) + " " + what + ", wanted " + (count.variadic ? "at least " : "") +
         std::to_string(count.number));
    return true;
  }
  bool CheckCounts(const Head& head) {
    const Op& op = *head.name->vhlo;
    return !WrongCount(op.operands, head.operands.size(), "operands") &&
           !WrongCount(op.results, head.results.size(), "results") &&
           !WrongCount(op.regions, head.num_regions, "regions");
  }

  // An operation of the module.
  bool ReadTop(Cursor& in) {
    Head head;
    if (!ReadHead(in, head)) return Blame(head);
    if (head.name->full == "func.func" && head.name->vhlo != nullptr)
      return (CheckCounts(head) && ReadFunction(in, head)) || Blame(head);
    if (!head.results.empty() || !head.operands.empty() || head.num_regions != 0) {
      Fail("a module holds functions");
      return Blame(head);
    }
    Operation op{.name = head.name->full, .location = entries_.Location(head.location)};
    if (head.dictionary != nullptr) Append(*head.dictionary, op.others);
    storage_.others.push_back(std::move(op));
    return true;
  }

  bool ReadFunction(Cursor& in, const Head& head) {
    Function function;
    std::vector<const Attribute*> values;
    std::vector<NamedAttribute> others;
    if (!Attributes(head, values, others)) return false;
    const Attribute *parameters = values[0], *signature = values[1], *results = values[2];
    if (signature->kind != Attribute::Kind::kType || signature->type->kind != Type::Kind::kFunction)
      return Fail("its type is no function's");
    const Type& type = *signature->type;
    const size_t num_results = type.parts.size() - type.num_parameters;
    const auto dictionaries = [&](const Attribute* list, size_t count, std::vector<const Attribute*>& out) {
      out.resize(count);
      if (list->parts.empty()) return true;
      if (list->parts.size() != count) return Fail("it has attributes of another number of parameters or results");
      for (size_t i = 0; i < count; ++i) {
        if (!list->parts[i]->parts.empty()) out[i] = list->parts[i];
      }
      return true;
    };
    if (!dictionaries(parameters, type.num_parameters, function.parameter_attributes) ||
        !dictionaries(results, num_results, function.result_attributes))
      return false;
    function.name = values[3]->text;
    function.is_private = values[4]->text == "private";
    if (!function_names_.insert(function.name).second)
      return Fail("there are two functions " + std::string(function.name));
    function_ = &function;
    scope_.clear();
    function.body = {};
    std::string_view bytes;
    if (!RegionBytes(in, head.isolated, bytes)) return false;
    Cursor body(bytes);
    if (!ReadRegion(body, function.body, 1)) return false;
    if (head.isolated && container_.version >= 2) {
      if (!body.Finished()) return Fail("malformed bytecode: bytes left over after a region");
    } else {
      in = body;
    }
    std::vector<const Type*> got;
    for (const ValueId value : function.body.arguments) got.push_back(function.types[value]);
    if (!SameTypes(got, {type.parts.begin(), type.parts.begin() + static_cast<std::ptrdiff_t>(type.num_parameters)}))
      return Fail("its parameters are not those of its type");
    got.clear();
    for (const ValueId value : function.body.results) got.push_back(function.types[value]);
    if (!SameTypes(got, {type.parts.begin() + static_cast<std::ptrdiff_t>(type.num_parameters), type.parts.end()}))
      return Fail("what it returns is not what its type says");
    storage_.functions.push_back(std::move(function));
    return true;
  }

  static bool SameTypes(const std::vector<const Type*>& got, const std::vector<const Type*>& want) {
    return std::equal(got.begin(), got.end(), want.begin(), want.end(),
                      [](const Type* a, const Type* b) { return a == b || a->ToString() == b->ToString(); });
  }

  ValueId NewValue(const Type* type) {
    function_->types.push_back(type);
    return static_cast<ValueId>(function_->types.size() - 1);
  }

  bool Define(ValueId value, size_t end) {
    if (next_ >= end) return Fail("malformed bytecode: a region defines more values than it says");
    scope_[next_++] = value;
    return true;
  }

  // One block that ends in a return. `in` goes behind it.
  bool ReadRegion(Cursor& in, Region& region, uint32_t depth) {
    if (depth > kMaxNesting) return Fail("regions are nested deeper than " + std::to_string(kMaxNesting));
    if (in.Count() != 1) return Fail("a region has not one block");
    const size_t num_values = in.Count();
    const size_t base = scope_.size();
    if (!in.ok() || base + num_values > container_.ir.size()) return Fail("malformed bytecode: more values than bytes");
    scope_.resize(base + num_values, kUndefined);
    const size_t outer = std::exchange(next_, base);
    const bool ok = ReadBlock(in, region, depth);
    scope_.resize(base);
    next_ = outer;
    return ok;
  }

  bool ReadBlock(Cursor& in, Region& region, uint32_t depth) {
    const size_t end = scope_.size();
    const uint64_t header = in.VarInt();
    if (header & 1) {
      const size_t n = in.Count();
      for (size_t i = 0; i < n; ++i) {
        uint64_t type = in.VarInt();
        bool has_location = true;
        if (container_.version >= 4) {
          has_location = type & 1;
          type >>= 1;
        }
        const Type* of = in.ok() ? entries_.TypeAt(type) : nullptr;
        if (of == nullptr) return false;
        if (has_location) in.VarInt();
        region.arguments.push_back(NewValue(of));
        if (!Define(region.arguments.back(), end)) return false;
      }
      if (container_.version >= 3 && in.Byte() != 0) SkipUseListOrder(in, n);
    }
    const uint64_t num_ops = header >> 1;
    if (!in.ok() || num_ops > in.left() || num_ops == 0) return Fail("malformed bytecode: a block without a return");
    for (uint64_t i = 0; i < num_ops; ++i) {
      Head head;
      if (!ReadHead(in, head) || !ReadOp(in, head, region, depth, i + 1 == num_ops, end)) return Blame(head);
    }
    return true;
  }

  bool ReadOp(Cursor& in, const Head& head, Region& region, uint32_t depth, bool last, size_t end) {
    std::vector<ValueId> operands;
    for (size_t i = 0; i < head.operands.size(); ++i) {
      if (head.operands[i] >= scope_.size() || scope_[head.operands[i]] == kUndefined)
        return Fail("operand " + std::to_string(i) + " is used before it is defined");
      operands.push_back(scope_[head.operands[i]]);
    }
    // A cast between a VHLO type and what it stands for is nothing once types are read.
    if (head.name->full == "builtin.unrealized_conversion_cast" && head.results.size() == operands.size()) {
      for (const ValueId operand : operands) {
        if (!Define(operand, end)) return false;
      }
      return true;
    }
    const bool returns = head.name->full.ends_with(".return");
    if (returns != last) return Fail(last ? "a block ends without a return" : "operations follow a return");
    if (returns) {
      region.results = std::move(operands);
      return head.num_regions == 0 && head.results.empty();
    }
    Operation op{.name = head.name->full, .operands = std::move(operands)};
    op.location = entries_.Location(head.location);
    if (head.name->vhlo != nullptr) {
      std::vector<const Attribute*> values;
      if (!CheckCounts(head) || !Attributes(head, values, op.others)) return false;
      const Op& row = *head.name->vhlo;
      for (size_t i = 0; i < values.size(); ++i) {
        if (!IsDefault(row.attrs[i].kind, *values[i])) op.attributes.push_back({row.attrs[i].name, values[i]});
      }
    } else if (head.dictionary != nullptr) {
      Append(*head.dictionary, op.others);
    }
    for (const Type* type : head.results) op.results.push_back(NewValue(type));
    if (head.num_regions > 0) {
      std::string_view bytes;
      if (!RegionBytes(in, head.isolated, bytes)) return false;
      Cursor body(bytes);
      // An isolated operation's regions see nothing from outside, and number their values anew.
      std::vector<ValueId> outer;
      if (head.isolated) outer = std::exchange(scope_, {});
      for (size_t i = 0; i < head.num_regions; ++i) {
        if (!ReadRegion(body, op.regions.emplace_back(), depth + 1)) return false;
      }
      if (head.isolated) scope_ = std::move(outer);
      if (!head.isolated || container_.version < 2) {
        in = body;
      } else if (!body.Finished()) {
        return Fail("malformed bytecode: bytes left over after a region");
      }
    }
    // Its regions do not see its results, whose numbers stand before theirs.
    for (const ValueId result : op.results) {
      if (!Define(result, end)) return false;
    }
    region.operations.push_back(std::move(op));
    return true;
  }

  static constexpr ValueId kUndefined = ~ValueId{0};

  const Container& container_;
  Program::Storage& storage_;
  Entries entries_;
  std::vector<Name> names_;
  std::unordered_set<std::string_view> function_names_;
  Function* function_ = nullptr;
  std::vector<ValueId> scope_;  // By number on the wire; those from next_ on are yet to be defined.
  size_t next_ = 0;
  Status status_;
  bool blamed_ = false;
};

}  // namespace

Status ReadArtifact(Program::Storage& storage) {
  TENON_ASSIGN_OR_RETURN(const Container container, ReadContainer(storage.input));
  if (!container.producer.starts_with(kPortableProducer)) {
    return Unimplemented("the bytecode is no portable artifact of StableHLO; its producer is '" +
                         std::string(container.producer) + "'");
  }
  return IrReader(container, storage).Run();
}

}  // namespace tenon::vhlo::internal
