#include "tenon/builder/internal/portable.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace tenon::builder::internal {
namespace {

using vhlo::AttrCode;
using vhlo::File;
using vhlo::Sink;
using vhlo::TypeCode;
using Number = Portable::Number;

struct ElementRow {
  std::string_view name;
  TypeCode code;
};
constexpr ElementRow kElements[] = {
    {"i1", TypeCode::kBoolean},
    {"i2", TypeCode::kSI2},
    {"i4", TypeCode::kSI4},
    {"i8", TypeCode::kSI8},
    {"i16", TypeCode::kSI16},
    {"i32", TypeCode::kSI32},
    {"i64", TypeCode::kSI64},
    {"ui2", TypeCode::kUI2},
    {"ui4", TypeCode::kUI4},
    {"ui8", TypeCode::kUI8},
    {"ui16", TypeCode::kUI16},
    {"ui32", TypeCode::kUI32},
    {"ui64", TypeCode::kUI64},
    {"index", TypeCode::kIndex},
    {"none", TypeCode::kNone},
    {"bf16", TypeCode::kBF16},
    {"f16", TypeCode::kF16},
    {"tf32", TypeCode::kTF32},
    {"f32", TypeCode::kF32},
    {"f64", TypeCode::kF64},
    {"f4E2M1FN", TypeCode::kF4E2M1FN},
    {"f6E2M3FN", TypeCode::kF6E2M3FN},
    {"f6E3M2FN", TypeCode::kF6E3M2FN},
    {"f8E3M4", TypeCode::kF8E3M4},
    {"f8E4M3", TypeCode::kF8E4M3},
    {"f8E4M3FN", TypeCode::kF8E4M3FN},
    {"f8E4M3FNUZ", TypeCode::kF8E4M3FNUZ},
    {"f8E4M3B11FNUZ", TypeCode::kF8E4M3B11FNUZ},
    {"f8E5M2", TypeCode::kF8E5M2},
    {"f8E5M2FNUZ", TypeCode::kF8E5M2FNUZ},
    {"f8E8M0FNU", TypeCode::kF8E8M0FNU},
};

struct EnumRow {
  std::string_view type;
  AttrCode code;
  std::vector<std::string_view> cases;  // From EnumFirst(code) on.
};
const EnumRow* FindEnum(std::string_view type) {
  static const std::vector<EnumRow> rows = {
      {"comparison_direction", AttrCode::kComparisonDirection, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
      {"comparison_type", AttrCode::kComparisonType, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
      {"fft_type", AttrCode::kFftType, {"FFT", "IFFT", "RFFT", "IRFFT"}},
      {"precision", AttrCode::kPrecision, {"DEFAULT", "HIGH", "HIGHEST"}},
      {"result_accuracy_mode", AttrCode::kResultAccuracyMode, {"DEFAULT", "HIGHEST", "TOLERANCE"}},
      {"rng_algorithm", AttrCode::kRngAlgorithm, {"DEFAULT", "THREE_FRY", "PHILOX"}},
      {"rng_distribution", AttrCode::kRngDistribution, {"UNIFORM", "NORMAL"}},
      {"transpose", AttrCode::kTranspose, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
  };
  for (const EnumRow& row : rows) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

void PutInts(const std::vector<int64_t>& values, Sink& out) {
  out.VarInt(values.size());
  for (const int64_t v : values) out.SignedVarInt(v);
}

void PutDouble(double value, Sink& out) { out.SignedVarInt(std::bit_cast<int64_t>(value)); }

std::string_view Chars(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string Bytes(const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t v : values) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(static_cast<uint64_t>(v) >> (8 * i));
  }
  return bytes;
}

int BitsOf(std::string_view element) {
  const size_t digits = element.find_first_of("0123456789");
  return digits == std::string_view::npos ? 64 : std::atoi(std::string(element.substr(digits)).c_str());
}

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

//===--- Entries ---===//

Number Portable::Add(File::Kind kind, Sink& out) { return file_.Add(kind, {file_.Dialect("vhlo"), true, out.Take()}); }

Number Portable::Text(File::Kind kind, std::string_view dialect, std::string_view text) {
  return file_.Add(kind, {file_.Dialect(dialect), false, std::string(text) + '\0'});
}

Sink Portable::Begin(AttrCode code) {
  if (const vhlo::Version since = vhlo::Since(code); since > target()) {
    Fail(InvalidArgument(
        fmt::format("version {} has no {}, which came with {}", target().ToString(), Name(code), since.ToString())));
  }
  Sink out;
  out.VarInt(static_cast<uint64_t>(code));
  return out;
}

Sink Portable::Begin(TypeCode code) {
  if (const vhlo::Version since = vhlo::Since(code); since > target()) {
    Fail(InvalidArgument(fmt::format("version {} has no type {}, which came with {}", target().ToString(), Name(code),
                                     since.ToString())));
  }
  Sink out;
  out.VarInt(static_cast<uint64_t>(code));
  return out;
}

//===--- Types ---===//

Number Portable::ElementType(std::string_view name) {
  if (name.starts_with("complex<")) {
    const Number real = ElementType(name.substr(8, name.size() - 9));
    Sink out = Begin(TypeCode::kComplex);
    out.VarInt(real);
    return Add(File::Kind::kType, out);
  }
  for (const ElementRow& row : kElements) {
    if (row.name != name) continue;
    Sink out = Begin(row.code);
    return Add(File::Kind::kType, out);
  }
  Fail(Unimplemented(fmt::format("the type {} has no portable form", name)));
  return 0;
}

Number Portable::TensorType(const std::vector<int64_t>& dims, std::string_view element) {
  const Number of = ElementType(element);
  Sink out = Begin(TypeCode::kRankedTensor);
  PutInts(dims, out);
  out.VarInt(of);
  return Add(File::Kind::kType, out);
}

Number Portable::Type(const builder::Type& type) {
  const auto list = [&](TypeCode code) {
    std::vector<Number> parts;
    for (const builder::Type& part : type.elements()) parts.push_back(Type(part));
    Sink out = Begin(code);
    out.VarInt(parts.size());
    for (const Number part : parts) out.VarInt(part);
    return Add(File::Kind::kType, out);
  };
  switch (type.kind()) {
    case builder::Type::Kind::kTuple:
      return list(TypeCode::kTuple);
    case builder::Type::Kind::kFuture:
      return list(TypeCode::kFuture);
    case builder::Type::Kind::kToken: {
      Sink out = Begin(TypeCode::kToken);
      return Add(File::Kind::kType, out);
    }
    case builder::Type::Kind::kNone:
      return ElementType("none");
    case builder::Type::Kind::kTensor:
      break;
  }
  Number element = 0;
  if (const Quantization* q = type.quantization()) {
    const bool is_signed = !IsUnsigned(q->storage);
    const int bits = DTypeBits(q->storage);
    // The storage has no sign of its own: a flag says it.
    const Number storage = ElementType(fmt::format("i{}", bits));
    const Number expressed = ElementType(ElementName(q->expressed));
    const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t high = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
    std::vector<int64_t> zero_points = q->zero_points;
    zero_points.resize(q->scales.size());
    Sink out = Begin(q->axis < 0 ? TypeCode::kQuantized : TypeCode::kQuantizedPerAxis);
    out.VarInt(is_signed ? 1 : 0);
    out.VarInt(storage);
    out.VarInt(expressed);
    if (q->axis < 0) {
      PutDouble(q->scales[0], out);
      out.SignedVarInt(zero_points[0]);
    } else {
      out.VarInt(static_cast<uint64_t>(q->axis));
    }
    out.SignedVarInt(low);
    out.SignedVarInt(high);
    if (q->axis >= 0) {
      out.VarInt(q->scales.size());
      for (const double scale : q->scales) PutDouble(scale, out);
      PutInts(zero_points, out);
    }
    element = Add(File::Kind::kType, out);
  } else {
    element = ElementType(ElementName(type.dtype()));
  }
  std::optional<Number> extensions;
  if (!type.bounds().empty()) {
    Sink bounds = Begin(AttrCode::kTypeExtensions);
    PutInts(type.bounds(), bounds);
    extensions = Add(File::Kind::kAttr, bounds);
  }
  Sink out = Begin(extensions ? TypeCode::kRankedTensorWithEncoding : TypeCode::kRankedTensor);
  if (extensions) out.VarInt(*extensions);
  PutInts({type.dims().begin(), type.dims().end()}, out);
  out.VarInt(element);
  return Add(File::Kind::kType, out);
}

Number Portable::FunctionType(const std::vector<builder::Type>& inputs, const std::vector<builder::Type>& results) {
  std::vector<Number> numbers;
  for (const std::vector<builder::Type>* list : {&inputs, &results}) {
    for (const builder::Type& type : *list) numbers.push_back(Type(type));
  }
  Sink out = Begin(TypeCode::kFunction);
  out.VarInt(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) out.VarInt(numbers[i]);
  out.VarInt(results.size());
  for (size_t i = 0; i < results.size(); ++i) out.VarInt(numbers[inputs.size() + i]);
  return Add(File::Kind::kType, out);
}

//===--- Attributes ---===//

Number Portable::Integer(int64_t value, std::string_view element) {
  const Number type = ElementType(element);
  Sink out = Begin(AttrCode::kInteger);
  out.VarInt(type);
  const int bits = BitsOf(element);
  if (bits <= 8) {
    out.Byte(static_cast<uint8_t>(static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1)));
  } else {
    // The bits without the sign above them.
    out.SignedVarInt(bits == 64 ? value
                                : static_cast<int64_t>(static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1)));
  }
  return Add(File::Kind::kAttr, out);
}

Number Portable::Bool(bool value) {
  Sink out = Begin(AttrCode::kBoolean);
  out.VarInt(value ? 1 : 0);
  return Add(File::Kind::kAttr, out);
}

Number Portable::String(std::string_view value) {
  Sink out = Begin(AttrCode::kString);
  out.VarInt(file_.String(value));
  return Add(File::Kind::kAttr, out);
}

Number Portable::TypeAttr(Number type) {
  Sink out = Begin(AttrCode::kType);
  out.VarInt(type);
  return Add(File::Kind::kAttr, out);
}

Number Portable::Array(const std::vector<Number>& parts) {
  Sink out = Begin(AttrCode::kArray);
  out.VarInt(parts.size());
  for (const Number part : parts) out.VarInt(part);
  return Add(File::Kind::kAttr, out);
}

Number Portable::Dictionary(std::vector<Named> entries) {
  std::sort(entries.begin(), entries.end());
  std::vector<Number> names;
  for (const auto& [name, value] : entries) names.push_back(String(name));
  Sink out = Begin(AttrCode::kDictionary);
  out.VarInt(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    out.VarInt(names[i]);
    out.VarInt(entries[i].second);
  }
  return Add(File::Kind::kAttr, out);
}

Number Portable::Tensor(Number type, std::string_view element, int64_t count, std::string_view bytes) {
  Sink out = Begin(AttrCode::kTensor);
  out.VarInt(type);
  const auto narrow = [&](int bits) {
    std::string low(bytes);
    for (char& c : low) c = static_cast<char>(static_cast<uint8_t>(c) & ((1u << bits) - 1));
    out.Blob(low);
  };
  if (element == "i1") {
    if (count > 1 && bytes.size() == 1) {
      out.Blob(bytes[0] != 0 ? std::string_view("\xFF", 1) : std::string_view("\0", 1));
    } else {
      std::string packed((bytes.size() + 7) / 8, '\0');
      for (size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] != 0) packed[i / 8] = static_cast<char>(packed[i / 8] | 1 << (i % 8));
      }
      out.Blob(packed);
    }
  } else if (element == "i2" || element == "ui2") {
    narrow(2);
  } else if (element == "i4" || element == "ui4" || element.starts_with("f4E")) {
    narrow(4);
  } else if (element.starts_with("f6E")) {
    narrow(6);
  } else {
    out.Blob(bytes);
  }
  return Add(File::Kind::kAttr, out);
}

Number Portable::Ints(const Dims& values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor(TensorType({count}, "i64"), "i64", count, Bytes({values.begin(), values.end()}));
}

Number Portable::Bools(const std::vector<bool>& values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor(TensorType({count}, "i1"), "i1", count, std::string(values.begin(), values.end()));
}

Number Portable::Zeros(int64_t rows) {
  return Tensor(TensorType({rows, 2}, "i64"), "i64", 2 * rows,
                Bytes(std::vector<int64_t>(static_cast<size_t>(2 * rows))));
}

Number Portable::Enum(AttrCode code, uint64_t value) {
  Sink out = Begin(code);
  out.VarInt(value);
  return Add(File::Kind::kAttr, out);
}

Number Portable::Enum(std::string_view type, std::string_view value) {
  if (const EnumRow* row = FindEnum(type)) {
    const auto found = std::find(row->cases.begin(), row->cases.end(), value);
    if (found != row->cases.end()) {
      return Enum(row->code, vhlo::EnumFirst(row->code) + static_cast<uint64_t>(found - row->cases.begin()));
    }
  }
  Fail(Unimplemented(fmt::format("#stablehlo<{} {}> has no portable form", type, value)));
  return 0;
}

Number Portable::DefaultAccuracy() {
  const Number mode = Enum("result_accuracy_mode", "DEFAULT");
  Sink out = Begin(AttrCode::kResultAccuracy);
  PutDouble(0, out);
  PutDouble(0, out);
  out.SignedVarInt(0);
  out.VarInt(mode);
  return Add(File::Kind::kAttr, out);
}

Number Portable::Attr(const Attribute& attribute) {
  return std::visit(Overloaded{
                        [&](int64_t v) { return Integer(v); },
                        [&](bool v) { return Bool(v); },
                        [&](const Dims& v) { return Ints(v); },
                        [&](const std::vector<bool>& v) { return Bools(v); },
                        [&](const AttrInt32& v) { return Integer(v.value, "i32"); },
                        [&](const AttrFloat& v) {
                          ParsedAttr parsed;
                          parsed.kind = ParsedAttr::Kind::kFloat;
                          parsed.element = "f32";
                          parsed.real = v.value;
                          return Attr(parsed);
                        },
                        [&](const AttrString& v) { return String(v.value); },
                        [&](const AttrSymbol& v) { return String(v.name); },
                        [&](const AttrEnum& v) { return Enum(v.type, v.value); },
                        [&](const AttrUnit&) { return Bool(true); },
                        [&](const AttrMatrix& v) {
                          return Tensor(TensorType({v.rows, v.columns}, "i64"), "i64", v.rows * v.columns,
                                        Bytes(v.values));
                        },
                        [&](const AttrText& v) { return AttrOfText(v.text); },
                        [&](const Literal& v) {
                          const std::string_view element = ElementName(v.shape.dtype);
                          const int64_t count = NumElements(v.shape.dims);
                          std::string_view bytes = Chars(v.bytes);
                          if (count > 1 && v.is_splat())
                            bytes = bytes.substr(0, static_cast<size_t>(ByteWidth(v.shape.dtype)));
                          if (count == 0) bytes = {};
                          return Tensor(Type(builder::Type(v.shape)), element, count, bytes);
                        },
                        [&](const auto&) {  // Dimension numbers: AttributesOf takes them apart.
                          Fail(Internal("dimension numbers are no attribute of their own"));
                          return Number{0};
                        },
                    },
                    attribute);
}

Number Portable::AttrOfText(std::string_view text) {
  const Result<ParsedAttr> parsed = ParseAttrText(text);
  if (parsed.ok()) return Attr(*parsed);
  Fail(parsed.status());
  return 0;
}

Number Portable::Attr(const ParsedAttr& a) {
  using Kind = ParsedAttr::Kind;
  const auto no_form = [&](std::string_view what) {
    Fail(Unimplemented(fmt::format("{} has no portable form", what)));
    return Number{0};
  };
  switch (a.kind) {
    case Kind::kInteger:
      return Integer(static_cast<int64_t>(a.bits), a.element);
    case Kind::kFloat: {
      if (a.element != "f32" && a.element != "f64") return no_form("a number of type " + a.element);
      const Number type = ElementType(a.element);
      Sink out = Begin(AttrCode::kFloat);
      out.VarInt(type);
      if (a.element == "f64") {
        PutDouble(a.real, out);
      } else {
        out.SignedVarInt(std::bit_cast<uint32_t>(static_cast<float>(a.real)));
      }
      return Add(File::Kind::kAttr, out);
    }
    case Kind::kBool:
      return Bool(a.bits != 0);
    case Kind::kString:
    case Kind::kSymbol:
      return String(a.text);
    case Kind::kType:
      return TypeAttr(ElementType(a.element));
    case Kind::kUnit:
      return no_form("a unit attribute");
    case Kind::kArray: {
      std::vector<Number> parts;
      for (const ParsedAttr& part : a.parts) parts.push_back(Attr(part));
      return Array(parts);
    }
    case Kind::kDictionary: {
      std::vector<Named> entries;
      for (size_t i = 0; i < a.parts.size(); ++i) entries.emplace_back(a.fields[i], Attr(a.parts[i]));
      return Dictionary(std::move(entries));
    }
    case Kind::kEnum:
      return Enum(a.name, a.text);
    case Kind::kTensor: {
      int64_t count = 1;
      for (const int64_t dim : a.dims) count *= dim;
      return Tensor(TensorType(a.dims, a.element), a.element, count, a.text);
    }
    case Kind::kForeign:
      return NativeText(a.name, a.text);
    case Kind::kRecord:
      break;
  }
  const auto ints = [&](std::string_view field, Sink& out) {
    std::vector<int64_t> values;
    if (const ParsedAttr* list = a.Find(field)) {
      for (const ParsedAttr& value : list->parts) values.push_back(static_cast<int64_t>(value.bits));
    }
    PutInts(values, out);
  };
  if (a.name == "output_operand_alias" && a.Find("operand_index") != nullptr) {
    Sink out = Begin(AttrCode::kOutputOperandAlias);
    ints("output_tuple_indices", out);
    out.SignedVarInt(static_cast<int64_t>(a.Find("operand_index")->bits));
    ints("operand_tuple_indices", out);
    return Add(File::Kind::kAttr, out);
  }
  const ParsedAttr* const mode = a.Find("mode");
  if (a.name == "result_accuracy" && mode != nullptr) {
    const Number of = Attr(*mode);
    Sink out = Begin(AttrCode::kResultAccuracy);
    for (const std::string_view field : {"atol", "rtol"}) PutDouble(a.Find(field) ? a.Find(field)->real : 0, out);
    out.SignedVarInt(a.Find("ulps") ? static_cast<int64_t>(a.Find("ulps")->bits) : 0);
    out.VarInt(of);
    return Add(File::Kind::kAttr, out);
  }
  return no_form("#stablehlo." + a.name);
}

//===--- What builtin and Shardy's operations have ---===//

Number Portable::NativeString(std::string_view value) {
  Sink out;
  out.VarInt(2);
  out.VarInt(file_.String(value));
  return file_.Add(File::Kind::kAttr, {file_.Dialect("builtin"), true, out.Take()});
}

Number Portable::NativeDictionary(std::vector<Named> entries) {
  std::sort(entries.begin(), entries.end());
  Sink out;
  out.VarInt(1);
  out.VarInt(entries.size());
  for (const auto& [name, value] : entries) {
    out.VarInt(NativeString(name));
    out.VarInt(value);
  }
  return file_.Add(File::Kind::kAttr, {file_.Dialect("builtin"), true, out.Take()});
}

Number Portable::UnknownLocation() {
  Sink out;
  out.VarInt(15);
  return file_.Add(File::Kind::kAttr, {file_.Dialect("builtin"), true, out.Take()});
}

}  // namespace tenon::builder::internal
