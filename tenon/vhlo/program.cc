#include "tenon/vhlo/program.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "tenon/base/element_name.h"
#include "tenon/vhlo/file.h"
#include "tenon/vhlo/internal/storage.h"

namespace tenon::vhlo {

namespace {

constexpr uint64_t kMaxLiteralBytes = uint64_t{1} << 60;
constexpr size_t kMaxInts = size_t{1} << 20;

int64_t ReadInt(DType type, const char* at) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return static_cast<int64_t>(value);
  };
  const bool is_unsigned = IsUnsigned(type) || type == DType::kPred;
  switch (ByteWidth(type)) {
    case 1:
      return is_unsigned ? as(uint8_t{}) : as(int8_t{});
    case 2:
      return is_unsigned ? as(uint16_t{}) : as(int16_t{});
    case 4:
      return is_unsigned ? as(uint32_t{}) : as(int32_t{});
    default:
      return as(int64_t{});
  }
}

bool AllInts(const Attribute& value, int64_t want) {
  if (value.kind != Attribute::Kind::kTensor) return false;
  const std::vector<int64_t> ints = value.Ints();
  if (ints.empty()) return internal::NumLiteralElements(*value.type) == 0u;
  return std::all_of(ints.begin(), ints.end(), [&](int64_t v) { return v == want; });
}

// Shortest decimal that reads back.
std::string Number(double value) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return {text, end};
}

const Attribute* FindIn(const std::vector<NamedAttribute>& list, std::string_view name) {
  for (const NamedAttribute& a : list) {
    if (a.name == name) return a.value;
  }
  return nullptr;
}

}  // namespace

//===--- Types ---===//

bool Type::is_plain_tensor() const {
  return kind == Kind::kTensor && shape.dtype != DType::kInvalid && quantization == nullptr && bounds.empty() &&
         std::find(shape.dims.begin(), shape.dims.end(), kDynamic) == shape.dims.end();
}

std::string Type::ToString() const {
  const auto list = [&](size_t from, size_t to) {
    std::string text;
    for (size_t i = from; i < to; ++i) text += (i == from ? "" : ", ") + parts[i]->ToString();
    return text;
  };
  const auto extents = [&](std::span<const int64_t> dims, const char* after) {
    std::string text;
    for (size_t i = 0; i < dims.size(); ++i) {
      text += dims[i] == kDynamic ? "?" : std::to_string(dims[i]);
      if (*after == 'x' || i + 1 < dims.size()) text += after;
    }
    return text;
  };
  switch (kind) {
    case Kind::kTensor: {
      std::string text = "tensor<" + extents(shape.dims, "x") + name;
      if (!bounds.empty()) text += ", #stablehlo.bounds<" + extents(bounds, ", ") + ">";
      return text + ">";
    }
    case Kind::kElement:
    case Kind::kOther:
      return name;
    case Kind::kToken:
      return "!stablehlo.token";
    case Kind::kTuple:
      return "tuple<" + list(0, parts.size()) + ">";
    case Kind::kFuture:
      return "!stablehlo.future<" + list(0, parts.size()) + ">";
    case Kind::kFunction:
      return "(" + list(0, num_parameters) + ") -> (" + list(num_parameters, parts.size()) + ")";
    case Kind::kUnranked:
      return "tensor<*x" + name + ">";
    case Kind::kBuffer:
      return "memref<" + extents(shape.dims, "x") + name + ">";
  }
  return name;
}

//===--- Attributes ---===//

const Attribute* Attribute::Find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return parts[i];
  }
  return nullptr;
}

bool Attribute::is_splat() const {
  if (kind != Kind::kTensor) return false;
  const auto count = internal::NumLiteralElements(*type);
  return count && *count > 1 && bytes.size() == internal::LiteralBytes(*type);
}

std::string Attribute::Expand() const {
  if (kind != Kind::kTensor) return {};
  if (!is_splat()) return std::string(bytes);
  const uint64_t count = *internal::NumLiteralElements(*type);
  std::string all;
  all.reserve(count * bytes.size());
  for (uint64_t i = 0; i < count; ++i) all += bytes;
  return all;
}

std::vector<int64_t> Attribute::Ints() const {
  std::vector<int64_t> ints;
  if (kind == Kind::kArray) {
    for (const Attribute* part : parts) {
      if (part->kind != Kind::kInteger && part->kind != Kind::kBool) return {};
      ints.push_back(part->integer);
    }
  }
  if (kind != Kind::kTensor) return ints;
  const DType dtype = type->shape.dtype;
  const auto count = internal::NumLiteralElements(*type);
  if (!count || *count > kMaxInts || !(IsInteger(dtype) || dtype == DType::kPred)) return ints;
  const size_t width = internal::LiteralBytes(*type);
  for (size_t i = 0; i < *count; ++i) ints.push_back(ReadInt(dtype, bytes.data() + (is_splat() ? 0 : i * width)));
  return ints;
}

const Attribute* Operation::Find(std::string_view key) const {
  const Attribute* own = FindIn(attributes, key);
  return own != nullptr ? own : FindIn(others, key);
}
int64_t Operation::Int(std::string_view key, int64_t absent) const {
  const Attribute* found = Find(key);
  const bool fits =
      found != nullptr && (found->kind == Attribute::Kind::kInteger || found->kind == Attribute::Kind::kBool);
  return fits ? found->integer : absent;
}
std::vector<int64_t> Operation::Ints(std::string_view key) const {
  const Attribute* found = Find(key);
  return found == nullptr ? std::vector<int64_t>() : found->Ints();
}
std::string_view Operation::Text(std::string_view key) const {
  const Attribute* found = Find(key);
  const bool fits =
      found != nullptr && (found->kind == Attribute::Kind::kString || found->kind == Attribute::Kind::kEnum);
  return fits ? found->text : std::string_view();
}

//===--- Programs ---===//

Program::Program() : storage_(std::make_unique<Storage>()) {}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

std::string_view Program::name() const { return storage_->name; }
std::span<const Function> Program::functions() const { return storage_->functions; }
std::span<const NamedAttribute> Program::attributes() const { return storage_->attributes; }
std::span<const Operation> Program::others() const { return storage_->others; }
const Function* Program::Find(std::string_view name) const {
  for (const Function& function : storage_->functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

Result<Program> Program::Read(std::string_view bytes) {
  Program program;
  program.storage_->input = bytes;
  const bool is_bytecode = bytes.starts_with(kBytecodeMagic);
  TENON_RETURN_IF_ERROR(is_bytecode ? internal::ReadArtifact(*program.storage_)
                                    : internal::ReadText(*program.storage_));
  return program;
}

const Type* Program::Storage::Element(std::string_view element) {
  const auto [it, fresh] = elements.try_emplace(std::string(element));
  if (!fresh) return it->second;
  Type type{.kind = Type::Kind::kElement, .name = std::string(element)};
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::kS1 || dtype == DType::kU1) continue;  // StableHLO has no such types.
    if (KindOf(dtype) != DTypeKind::kNone && ElementName(dtype) == element) type.shape.dtype = dtype;
  }
  std::string_view part = element;
  if (part.starts_with("complex<") && part.ends_with(">")) part = part.substr(8, part.size() - 9);
  const bool nameless = part == "index" || part == "none" || part == "tf32";
  if (type.shape.dtype == DType::kInvalid && !nameless && (part == element || Element(part) == nullptr)) return nullptr;
  return elements[std::string(element)] = Add(std::move(type));
}

const Attribute* Program::Storage::Tensor(const Type* type, std::string_view bytes) {
  const auto count = internal::NumLiteralElements(*type);
  const size_t width = internal::LiteralBytes(*type);
  if (type->kind != Type::Kind::kTensor || !count || width == 0) return nullptr;
  if (bytes.size() != width && bytes.size() != *count * width) return nullptr;
  if (*count == 0) bytes = {};
  const int bits = DTypeBits(type->shape.dtype);
  if (bits != 0 && bits < 8) {  // The bits above the value are nobody's on the wire.
    std::string whole(bytes);
    for (char& c : whole) {
      unsigned value = static_cast<uint8_t>(c) & ((1u << bits) - 1);
      if (IsSigned(type->shape.dtype) && (value >> (bits - 1)) != 0) value |= ~0u << bits;
      c = static_cast<char>(value);
    }
    bytes = Keep(std::move(whole));
  }
  return Add(Attribute{.kind = Attribute::Kind::kTensor, .bytes = bytes, .type = type});
}

const Attribute* Program::Storage::Integer(int64_t value, std::string_view element) {
  return Add(Attribute{.kind = Attribute::Kind::kInteger, .integer = value, .type = Element(element)});
}
const Attribute* Program::Storage::Bool(bool value) {
  return Add(Attribute{.kind = Attribute::Kind::kBool, .integer = value});
}
const Attribute* Program::Storage::String(std::string_view value) {
  return Add(Attribute{.kind = Attribute::Kind::kString, .text = value});
}

//===--- Rules ---===//

namespace internal {

size_t LiteralBytes(const Type& type) {
  if (type.quantization != nullptr) return 0;
  if (type.shape.dtype != DType::kInvalid) return static_cast<size_t>(ByteWidth(type.shape.dtype));
  return type.name == "index" ? 8 : 0;
}

std::optional<uint64_t> NumLiteralElements(const Type& tensor) {
  uint64_t count = 1, product = std::max<uint64_t>(LiteralBytes(tensor), 1);
  for (const int64_t dim : tensor.shape.dims) {
    if (dim < 0) return std::nullopt;
    const auto extent = static_cast<uint64_t>(dim);
    // Of the extents above zero: no order of multiplication overflows.
    if (__builtin_mul_overflow(product, std::max<uint64_t>(extent, 1), &product) || product > kMaxLiteralBytes)
      return std::nullopt;
    count *= extent;
  }
  return count;
}

std::pair<int64_t, int64_t> IntegerRange(DType type) {
  const int unused = 64 - DTypeBits(type);
  const int64_t low = IsSigned(type) ? std::numeric_limits<int64_t>::min() >> unused : 0;
  return {low, static_cast<int64_t>(~uint64_t{0} >> unused >> (IsSigned(type) ? 1 : 0))};
}

Type QuantizedElement(std::shared_ptr<const Quantization> quantization) {
  const Quantization& q = *quantization;
  const auto storage = [](DType type) { return (IsUnsigned(type) ? "u" : "i") + std::to_string(DTypeBits(type)); };
  const auto scale = [&](size_t i) {
    std::string text = Number(q.scales[i]);
    if (q.zero_points[i] != 0) text += ":" + std::to_string(q.zero_points[i]);
    return text;
  };
  std::string name = "!quant.uniform<" + storage(q.storage);
  if (std::pair(q.low, q.high) != IntegerRange(q.storage))
    name += "<" + std::to_string(q.low) + ":" + std::to_string(q.high) + ">";
  name += ":" + std::string(ElementName(q.expressed));
  if (q.axis < 0) {
    name += ", " + scale(0);
  } else {
    name += ":" + std::to_string(q.axis) + ", {";
    for (size_t i = 0; i < q.scales.size(); ++i) name += (i == 0 ? "" : ",") + scale(i);
    name += "}";
  }
  Type type{.kind = Type::Kind::kElement, .shape = {q.storage, {}}, .name = name + ">"};
  type.quantization = std::move(quantization);
  return type;
}

bool IsDefault(AttrKind kind, const Attribute& value) {
  using enum AttrKind;
  using Kind = Attribute::Kind;
  const auto is_int = [&](int64_t want) { return value.kind == Kind::kInteger && value.integer == want; };
  const bool is_empty = (value.kind == Kind::kString && value.text.empty()) ||
                        ((value.kind == Kind::kArray || value.kind == Kind::kDictionary) && value.parts.empty()) ||
                        (value.kind == Kind::kTensor && NumLiteralElements(*value.type) == 0u);
  switch (kind) {
    case kCopy:
    case kDenseArray:
    case kSymbol:
      return false;
    case kOldPadding:
      return true;
    case kNoDenseArray:
    case kNoTensor:
    case kNoString:
    case kNoArray:
    case kNoDictionary:
    case kSymbols:
    case kLayouts:
    case kBackendConfig:
      return is_empty;
    case kOnes:
      return AllInts(value, 1);
    case kFalses:
    case kZeroPadding:
      return AllInts(value, 0);
    case kUnit:
    case kFalse:
      return value.kind == Kind::kBool && value.integer == 0;
    case kMinusOne:
      return is_int(-1);
    case kVersion:
    case kChannelId:
      return is_int(0);
    case kApiVersion:
      return is_int(1);
    case kNoType:
      return value.kind == Kind::kEnum && value.text == "NOTYPE";
    case kPrecision:
      return value.kind == Kind::kArray && std::all_of(value.parts.begin(), value.parts.end(), [](const Attribute* p) {
               return p->kind == Kind::kEnum && p->text == "DEFAULT";
             });
    case kAccuracy: {
      const Attribute *atol = value.Find("atol"), *rtol = value.Find("rtol"), *ulps = value.Find("ulps"),
                      *mode = value.Find("mode");
      return (atol == nullptr || atol->real == 0) && (rtol == nullptr || rtol->real == 0) &&
             (ulps == nullptr || ulps->integer == 0) && (mode == nullptr || mode->text == "DEFAULT");
    }
    case kField:
      return is_empty || is_int(0) || (value.kind == Kind::kBool && value.integer == 0) ||
             (value.kind == Kind::kType && value.type->name == "none");
  }
  return false;
}

std::span<const std::string_view> EnumCases(AttrCode code) {
  static constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  static constexpr std::string_view kCompareTypes[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
  static constexpr std::string_view kFfts[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  static constexpr std::string_view kPrecisions[] = {"DEFAULT", "HIGH", "HIGHEST"};
  static constexpr std::string_view kModes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};
  static constexpr std::string_view kAlgorithms[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
  static constexpr std::string_view kDistributions[] = {"UNIFORM", "NORMAL"};
  static constexpr std::string_view kTransposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  switch (code) {
    case AttrCode::kComparisonDirection:
      return kDirections;
    case AttrCode::kComparisonType:
      return kCompareTypes;
    case AttrCode::kFftType:
      return kFfts;
    case AttrCode::kPrecision:
      return kPrecisions;
    case AttrCode::kResultAccuracyMode:
      return kModes;
    case AttrCode::kRngAlgorithm:
      return kAlgorithms;
    case AttrCode::kRngDistribution:
      return kDistributions;
    case AttrCode::kTranspose:
      return kTransposes;
    default:
      return {};
  }
}

const Op* NewestForm(std::string_view name) { return FindForm(name, kCurrentVersion); }

}  // namespace internal

//===--- For people ---===//

namespace {

class Writer {
 public:
  std::string Write(const Program& program) {
    text_ = "module @" + std::string(program.name());
    Attributes(program.attributes(), " {", "}");
    text_ += "\n";
    for (const Operation& op : program.others()) {
      text_ += "  " + std::string(op.name) + "\n";
    }
    for (const Function& function : program.functions()) WriteFunction(function);
    return text_;
  }

 private:
  void Attributes(std::span<const NamedAttribute> list, const char* begin, const char* end) {
    if (list.empty()) return;
    std::vector<NamedAttribute> sorted(list.begin(), list.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    text_ += begin;
    for (size_t i = 0; i < sorted.size(); ++i) {
      text_ += (i == 0 ? "" : ", ") + std::string(sorted[i].name) + " = ";
      WriteAttribute(*sorted[i].value);
    }
    text_ += end;
  }

  void WriteAttribute(const Attribute& a) {
    switch (a.kind) {
      case Attribute::Kind::kBool:
        text_ += a.integer != 0 ? "true" : "false";
        break;
      case Attribute::Kind::kInteger:
        text_ += std::to_string(a.integer);
        if (a.type != nullptr && a.type->name != "i64") text_ += " : " + a.type->name;
        break;
      case Attribute::Kind::kFloat:
        text_ += Number(a.real);
        if (a.type != nullptr && a.type->name != "f64") text_ += " : " + a.type->name;
        break;
      case Attribute::Kind::kString:
        text_ += '"' + std::string(a.text) + '"';
        break;
      case Attribute::Kind::kEnum:
        text_ += a.text;
        break;
      case Attribute::Kind::kType:
        text_ += a.type->ToString();
        break;
      case Attribute::Kind::kTensor: {
        static constexpr char kDigits[] = "0123456789ABCDEF";
        text_ += "dense<0x";
        for (const char c : a.type->shape.rank() == 1 && !a.Ints().empty() ? a.Expand() : std::string(a.bytes)) {
          text_ += kDigits[static_cast<uint8_t>(c) >> 4];
          text_ += kDigits[static_cast<uint8_t>(c) & 15];
        }
        text_ += "> : " + a.type->ToString();
        break;
      }
      case Attribute::Kind::kArray:
        text_ += "[";
        for (size_t i = 0; i < a.parts.size(); ++i) {
          if (i > 0) text_ += ", ";
          WriteAttribute(*a.parts[i]);
        }
        text_ += "]";
        break;
      case Attribute::Kind::kDictionary: {
        std::vector<NamedAttribute> entries;
        for (size_t i = 0; i < a.parts.size(); ++i) entries.push_back({a.names[i], a.parts[i]});
        text_ += a.text;
        if (entries.empty()) text_ += "{}";
        Attributes(entries, "{", "}");
        break;
      }
      case Attribute::Kind::kOpaque:
        text_ += "opaque";
        break;
    }
  }

  void Values(const std::vector<ValueId>& values) {
    for (size_t i = 0; i < values.size(); ++i) text_ += (i == 0 ? "%" : ", %") + std::to_string(values[i]);
  }
  void Types(const std::vector<ValueId>& values, const Function& function) {
    text_ += "(";
    for (size_t i = 0; i < values.size(); ++i) text_ += (i == 0 ? "" : ", ") + function.types[values[i]]->ToString();
    text_ += ")";
  }
  void Dictionaries(const std::vector<const Attribute*>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i] == nullptr) continue;
      text_ += " #" + std::to_string(i);
      WriteAttribute(*list[i]);
    }
  }

  void WriteFunction(const Function& function) {
    text_ += std::string(function.is_private ? "  private @" : "  @") + std::string(function.name);
    Types(function.body.arguments, function);
    Dictionaries(function.parameter_attributes);
    text_ += " -> ";
    Types(function.body.results, function);
    Dictionaries(function.result_attributes);
    text_ += "\n";
    WriteRegion(function.body, function, 4);
  }

  void WriteRegion(const Region& region, const Function& function, size_t indent) {
    const std::string margin(indent, ' ');
    if (!region.arguments.empty()) {
      text_ += margin + "^(";
      Values(region.arguments);
      text_ += ") : ";
      Types(region.arguments, function);
      text_ += "\n";
    }
    for (const Operation& op : region.operations) {
      text_ += margin;
      Values(op.results);
      text_ += (op.results.empty() ? "" : " = ") + std::string(op.name) + "(";
      Values(op.operands);
      text_ += ")";
      Attributes(op.attributes, " <{", "}>");
      Attributes(op.others, " {", "}");
      text_ += " : ";
      Types(op.operands, function);
      text_ += " -> ";
      Types(op.results, function);
      text_ += "\n";
      for (const Region& inner : op.regions) {
        text_ += margin + "{\n";
        WriteRegion(inner, function, indent + 2);
        text_ += margin + "}\n";
      }
    }
    text_ += margin + "return ";
    Values(region.results);
    text_ += "\n";
  }

  std::string text_;
};

}  // namespace

std::string ToText(const Program& program) { return Writer().Write(program); }

}  // namespace tenon::vhlo
