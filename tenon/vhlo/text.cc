// StableHLO as text: MLIR's generic form of operations, and of the pretty form what has no syntax of its own.
#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tenon/base/float_bits.h"
#include "tenon/vhlo/internal/storage.h"
#include "tenon/vhlo/lexical.h"

namespace tenon::vhlo::internal {
namespace {

using Kind = Attribute::Kind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordPart(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$'; }

// What stands between two elements of a literal, not yet of a type.
struct Number {
  bool is_real = false, is_hex = false, is_word = false;  // Words: true and false.
  uint64_t bits = 0;
  double real = 0;
};

class Parser {
 public:
  Parser(Program::Storage& storage, std::string_view text) : storage_(storage), text_(text) {}

  const Attribute* OnlyAttribute() {
    const Attribute* attr = ParseAttribute();
    Space();
    return ok_ && at_ == text_.size() ? attr : nullptr;
  }
  const Type* OnlyType() {
    const Type* type = ParseType();
    Space();
    return ok_ && at_ == text_.size() ? type : nullptr;
  }

  Status Run() {
    while (ok_ && Peek() == '#') SkipAlias();
    if (Word("module")) {
      if (Peek() == '@') storage_.name = Symbol();
      if (Word("attributes")) Dictionary(storage_.attributes);
      Want("{");
      while (ok_ && !Take("}")) Top();
      SkipLocation();
    } else if (Take("\"builtin.module\"")) {
      Want("(");
      Want(")");
      std::vector<NamedAttribute> properties;
      if (Peek() == '<') Properties(properties);
      for (const NamedAttribute& p : properties) {
        if (p.name == "sym_name") storage_.name = p.value->text;
      }
      Want("(");
      Want("{");
      while (ok_ && !Take("}")) Top();
      Want(")");
      if (Peek() == '{') Dictionary(storage_.attributes);
      Want(":");
      ParseType();
      SkipLocation();
    } else {
      while (ok_ && Peek() != '\0') Top();
      if (storage_.functions.empty()) Fail("wanted a module or functions");
    }
    while (ok_ && Peek() == '#') SkipAlias();
    Space();
    if (ok_ && at_ != text_.size()) Fail("wanted the end");
    return status_;
  }

 private:
  //===--- Characters ---===//

  std::nullptr_t Fail(const std::string& why) { return FailWith(InvalidArgument(Where(why))); }
  std::nullptr_t FailWith(Status status) {
    if (ok_) status_ = std::move(status);
    ok_ = false;
    at_ = text_.size();
    return nullptr;
  }
  std::string Where(const std::string& why) const {
    const std::string_view before = text_.substr(0, at_);
    const std::string_view here = text_.substr(before.size(), 30);
    return "line " + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ": " + why + ", got '" +
           std::string(here.substr(0, here.find('\n'))) + "'";
  }
  void Space() {
    while (at_ < text_.size()) {
      if (isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }
  char Peek() {
    Space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(std::string_view token) {
    Space();
    if (!ok_ || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void Want(std::string_view token) {
    if (ok_ && !Take(token)) Fail("wanted '" + std::string(token) + "'");
  }
  // The word that comes next is `word`, which is taken.
  bool Word(std::string_view word) {
    Space();
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    if (!ok_ || !rest.starts_with(word) || (rest.size() > word.size() && IsWordPart(rest[word.size()]))) return false;
    at_ += word.size();
    return true;
  }
  std::string_view AnyWord(const char* what) {
    Space();
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordPart(text_[at_])) ++at_;
    if (ok_ && begin == at_) Fail(std::string("wanted ") + what);
    return text_.substr(std::min(begin, text_.size()), at_ - begin);
  }

  std::string_view Quoted() {
    Want("\"");
    const size_t begin = at_;
    bool plain = true;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        plain = false;
        ++at_;
      }
      ++at_;
    }
    if (!ok_ || at_ >= text_.size()) {
      Fail("wanted the end of a string");
      return {};
    }
    const std::string_view raw = text_.substr(begin, at_ - begin);
    ++at_;
    if (plain) return raw;
    std::optional<std::string> value = Unescaped(raw);
    if (!value) {
      Fail("wanted \\\", \\\\, \\n, \\t or two hexadecimal digits in a string");
      return {};
    }
    return storage_.Keep(std::move(*value));
  }

  std::string_view Symbol() {
    Want("@");
    return Peek() == '"' ? Quoted() : AnyWord("a name");
  }

  // Everything up to the bracket that closes the one that comes next.
  std::string_view Brackets() {
    Space();
    const size_t begin = at_;
    int depth = 0;
    while (ok_ && at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        Quoted();
        continue;
      }
      const bool arrow = c == '>' && at_ > 0 && text_[at_ - 1] == '-';
      if (c == '<' || c == '[' || c == '{' || c == '(') ++depth;
      if (!arrow && (c == ']' || c == '}' || c == ')' || c == '>')) --depth;
      ++at_;
      if (depth <= 0) return text_.substr(begin, at_ - begin);
    }
    if (ok_) Fail("wanted a closing bracket");
    return {};
  }

  // "#loc1 = loc(...)". Of aliases, only those of locations can be left unread.
  void SkipAlias() {
    Want("#");
    const std::string_view name = AnyWord("a name");
    if (ok_ && !name.starts_with("loc"))
      FailWith(Unimplemented(Where("attributes with names of their own are not read")));
    Want("=");
    SkipLocation();
  }
  // "loc(...)", when it is there; its text when that is "file":line:column.
  std::string_view SkipLocation() {
    if (!Word("loc")) return {};
    Space();
    std::string_view inside = Brackets();
    if (inside.size() < 3 || inside[1] != '"') return {};
    const size_t end = inside.find('"', 2);
    if (end == std::string_view::npos || inside.substr(end + 1).find_first_not_of("0123456789:)") < inside.size())
      return {};
    return storage_.Keep(std::string(inside.substr(2, end - 2)) +
                         std::string(inside.substr(end + 1, inside.size() - end - 2)));
  }

  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser.depth_ > kMaxNesting) parser.Fail("wanted no deeper nesting");
    }
    ~Nested() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  // "element, element ..." up to `end`, which is taken.
  template <class F>
  void List(std::string_view end, const F& element) {
    if (Take(end)) return;
    do {
      element();
    } while (Take(","));
    Want(end);
  }

  //===--- Types ---===//

  const Type* ParseType() {
    const Nested nested(*this);
    if (!ok_) return nullptr;
    if (Take("!stablehlo.token")) return storage_.Add(Type{.kind = Type::Kind::kToken});
    if (Take("!stablehlo.future")) return PartsType(Type::Kind::kFuture);
    if (Word("tuple")) return PartsType(Type::Kind::kTuple);
    if (Word("tensor")) return ArrayType(Type::Kind::kTensor);
    if (Word("memref")) return ArrayType(Type::Kind::kBuffer);
    if (Take("!quant.uniform")) return QuantizedType();
    if (Peek() == '!') {
      const size_t begin = at_++;
      AnyWord("a type");
      if (at_ < text_.size() && text_[at_] == '<') Brackets();
      return !ok_ ? nullptr
                  : storage_.Add(
                        Type{.kind = Type::Kind::kOther, .name = std::string(text_.substr(begin, at_ - begin))});
    }
    if (Peek() == '(') {
      Type type{.kind = Type::Kind::kFunction};
      Types(type.parts);
      type.num_parameters = type.parts.size();
      Want("->");
      if (Peek() == '(') {
        Types(type.parts);
      } else {
        type.parts.push_back(ParseType());
      }
      return ok_ ? storage_.Add(std::move(type)) : nullptr;
    }
    return ElementType();
  }

  void Types(std::vector<const Type*>& out) {
    Want("(");
    List(")", [&] { out.push_back(ParseType()); });
  }
  const Type* PartsType(Type::Kind kind) {
    Type type{.kind = kind};
    Want("<");
    List(">", [&] { type.parts.push_back(ParseType()); });
    return ok_ ? storage_.Add(std::move(type)) : nullptr;
  }

  const Type* ElementType() {
    const Nested nested(*this);
    if (Take("!quant.uniform")) return QuantizedType();
    std::string name(AnyWord("an element type"));
    if (name == "complex") {
      Want("<");
      const Type* part = ElementType();
      Want(">");
      if (!ok_) return nullptr;
      name = "complex<" + part->name + ">";
    }
    const Type* type = ok_ ? storage_.Element(name) : nullptr;
    return type != nullptr || !ok_ ? type : Fail("wanted an element type and not " + name);
  }

  int64_t Extent() {
    if (Take("?")) return kDynamic;
    const uint64_t value = Digits();
    if (value > uint64_t{1} << 60) Fail("wanted an extent of at most 2^60");
    return static_cast<int64_t>(value);
  }
  uint64_t Digits() {
    Space();
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (!ok_ || error != std::errc()) {
      Fail("wanted a number");
      return 0;
    }
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  int64_t Integer() {
    const bool negative = Take("-");
    const uint64_t value = Digits();
    return static_cast<int64_t>(negative ? ~value + 1 : value);
  }
  double Real() {
    Space();
    const size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && (IsDigit(text_[at_]) || text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') && toupper(text_[at_ - 1]) == 'E')))
      ++at_;
    const std::optional<double> value = RealNumber(text_.substr(begin, at_ - begin));
    if (!value) Fail("wanted a number before this");
    return value.value_or(0);
  }

  const Type* ArrayType(Type::Kind kind) {
    Type type{.kind = kind};
    Want("<");
    if (Take("*")) {
      type.kind = Type::Kind::kUnranked;
      Want("x");
    }
    std::vector<int64_t> known;
    while (ok_ && type.kind != Type::Kind::kUnranked && (Peek() == '?' || IsDigit(Peek()))) {
      type.shape.dims.push_back(Extent());
      if (type.shape.dims.back() != kDynamic) known.push_back(type.shape.dims.back());
      Want("x");
    }
    const Type* element = ElementType();
    if (!ok_) return nullptr;
    type.shape.dtype = element->shape.dtype;
    type.name = element->name;
    type.quantization = element->quantization;
    if (!NumLiteralElements({.shape = {type.shape.dtype, Dims(known.begin(), known.end())}}))
      return Fail("wanted a tensor whose elements can be addressed");
    if (Take(",")) {
      if (Take("#stablehlo.bounds<")) {
        List(">", [&] { type.bounds.push_back(Extent()); });
        if (ok_ && type.bounds.size() != type.shape.rank()) Fail("wanted a bound for each dim");
      } else if (Peek() == '#') {
        ParseAttribute();
      } else {
        Fail("wanted an encoding");
      }
    }
    Want(">");
    return ok_ ? storage_.Add(std::move(type)) : nullptr;
  }

  // <i8<-128:127>:f32:axis, {scale:zero, ...}>
  const Type* QuantizedType() {
    auto q = std::make_shared<Quantization>();
    Want("<");
    const Type* storage = StoredType();
    if (ok_ && (storage->shape.dtype == DType::kPred || !IsInteger(storage->shape.dtype)))
      Fail("wanted an integer type before this");
    if (!ok_) return nullptr;
    q->storage = storage->shape.dtype;
    std::tie(q->low, q->high) = IntegerRange(q->storage);
    if (Take("<")) {
      q->low = Integer();
      Want(":");
      q->high = Integer();
      Want(">");
    }
    Want(":");
    const Type* expressed = ElementType();
    if (!ok_) return nullptr;
    q->expressed = expressed->shape.dtype;
    const auto scale = [&] {
      q->scales.push_back(Real());
      q->zero_points.push_back(Take(":") ? Integer() : 0);
    };
    if (Take(":")) {
      q->axis = static_cast<int64_t>(Digits());
      Want(",");
      Want("{");
      List("}", scale);
    } else {
      Want(",");
      scale();
    }
    Want(">");
    return ok_ ? storage_.Add(QuantizedElement(std::move(q))) : nullptr;
  }
  // In these types unsigned integers are u8, not ui8.
  const Type* StoredType() {
    std::string name(AnyWord("an integer type"));
    if (name.size() > 1 && name[0] == 'u' && IsDigit(name[1])) name.insert(1, "i");
    const Type* type = ok_ ? storage_.Element(name) : nullptr;
    return type != nullptr || !ok_ ? type : Fail("wanted an integer type and not " + name);
  }

  //===--- Attributes ---===//

  void Dictionary(std::vector<NamedAttribute>& out) {
    Want("{");
    Entries("}", out);
  }
  void Properties(std::vector<NamedAttribute>& out) {
    Want("<{");
    Entries("}>", out);
  }
  // "name = attribute, name": a name alone is a unit.
  void Entries(std::string_view end, std::vector<NamedAttribute>& out) {
    List(end, [&] {
      const std::string_view name = Peek() == '"' ? Quoted() : AnyWord("the name of an attribute");
      const Attribute* value = Take("=") ? ParseAttribute() : storage_.Bool(true);
      if (ok_) out.push_back({name, value});
    });
  }
  const Attribute* Named(std::string_view end, std::string_view what) {
    std::vector<NamedAttribute> entries;
    Entries(end, entries);
    if (!ok_) return nullptr;
    Attribute dictionary{.kind = Kind::kDictionary, .text = what};
    for (const NamedAttribute& entry : entries) {
      dictionary.names.push_back(entry.name);
      dictionary.parts.push_back(entry.value);
    }
    return storage_.Add(std::move(dictionary));
  }

  const Attribute* ParseAttribute() {
    const Nested nested(*this);
    if (!ok_) return nullptr;
    const char first = Peek();
    if (first == '"') {
      const std::string_view text = Quoted();
      return ok_ ? storage_.String(text) : nullptr;
    }
    if (first == '@') {
      const std::string_view name = Symbol();
      return ok_ ? storage_.String(name) : nullptr;
    }
    if (first == '[') {
      ++at_;
      Attribute array{.kind = Kind::kArray};
      List("]", [&] { array.parts.push_back(ParseAttribute()); });
      return ok_ ? storage_.Add(std::move(array)) : nullptr;
    }
    if (first == '{') {
      ++at_;
      return Named("}", {});
    }
    if (first == '#') return DialectAttribute();
    if (first == '-' || IsDigit(first)) return NumberAttribute();
    if (Word("true")) return storage_.Bool(true);
    if (Word("false")) return storage_.Bool(false);
    if (Word("unit")) return storage_.Bool(true);
    if (Word("dense")) return Dense();
    if (Word("array")) return DenseArray();
    const Type* type = ParseType();
    return ok_ ? storage_.Add(Attribute{.kind = Kind::kType, .type = type}) : nullptr;
  }

  const Attribute* NumberAttribute() {
    const Number number = ParseNumber();
    const Type* type = Take(":") ? ElementType() : storage_.Element(number.is_real ? "f64" : "i64");
    if (!ok_) return nullptr;
    if (IsFloat(type->shape.dtype)) {
      const double real = number.is_hex ? FloatFromBits(type->shape.dtype, number.bits) : number.real;
      return storage_.Add(Attribute{.kind = Kind::kFloat, .real = real, .type = type});
    }
    if (number.is_real || !(IsInteger(type->shape.dtype) || type->name == "index"))
      return Fail("wanted a number's type, which " + type->name + " is not,");
    return storage_.Add(Attribute{.kind = Kind::kInteger, .integer = static_cast<int64_t>(number.bits), .type = type});
  }

  Number ParseNumber() {
    Number number;
    Space();
    const std::string_view rest = text_.substr(at_);
    const bool negative = rest.starts_with('-');
    if (rest.substr(negative ? 1 : 0).starts_with("0x")) {
      number.is_hex = true;
      const char* from = rest.data() + (negative ? 3 : 2);
      const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), number.bits, 16);
      if (error != std::errc()) Fail("wanted a hexadecimal number");
      at_ = ok_ ? static_cast<size_t>(end - text_.data()) : at_;
      if (negative) number.bits = ~number.bits + 1;
      return number;
    }
    const size_t begin = at_;
    number.real = Real();
    const std::string_view digits = text_.substr(begin, at_ - begin);
    number.is_real = digits.find_first_of(".eE") != std::string_view::npos;
    if (!ok_ || number.is_real) return number;
    const auto [end, error] =
        std::from_chars(digits.data() + (negative ? 1 : 0), digits.data() + digits.size(), number.bits);
    if (error != std::errc() || end != digits.data() + digits.size()) Fail("wanted a number of 64 bits");
    if (negative) number.bits = ~number.bits + 1;
    return number;
  }

  // Nested lists of numbers; a complex number is two.
  void Numbers(std::vector<Number>& out) {
    const Nested nested(*this);
    if (Take("[")) return List("]", [&] { Numbers(out); });
    if (Take("(")) {
      out.push_back(ParseNumber());
      Want(",");
      out.push_back(ParseNumber());
      return Want(")");
    }
    Number number{.is_word = true};
    if (Word("true")) {
      number.bits = 1;
    } else if (!Word("false")) {
      number = ParseNumber();
    }
    out.push_back(number);
  }

  // Appends a number as an element of `dtype`, the parts of complex ones being f32 or f64.
  void Append(const Number& number, DType dtype, size_t width, std::string& bytes) {
    uint64_t bits = number.bits;
    if (IsFloat(dtype)) {
      if (number.is_word || (!number.is_real && !number.is_hex)) {
        Fail("wanted elements with a point before this");
      } else if (number.is_real) {
        bits = FloatBits(dtype, number.real);
      }
    } else if (number.is_real) {
      Fail("wanted integers before this");
    } else if (dtype == DType::kPred) {
      bits &= 1;
    }
    for (size_t i = 0; i < width; ++i) bytes += static_cast<char>(bits >> (8 * i));
  }

  const Attribute* Dense() {
    std::vector<Number> numbers;
    std::string_view hex;
    Want("<");
    if (Peek() == '"') {
      hex = Quoted();
    } else if (Peek() != '>') {
      Numbers(numbers);
    }
    Want(">");
    Want(":");
    const Type* type = ParseType();
    if (!ok_) return nullptr;
    const auto count = NumLiteralElements(*type);
    const size_t width = LiteralBytes(*type);
    if (type->kind != Type::Kind::kTensor || !count || width == 0)
      return Fail("wanted a literal's type, which " + type->ToString() + " is not,");
    std::string bytes;
    if (!hex.empty()) {
      std::optional<std::string> given = HexBytes(hex);
      if (!given || type->shape.dtype == DType::kPred) return Fail("wanted bytes as \"0x...\" before this");
      bytes = std::move(*given);
    } else {
      const DType part = RealPartOf(type->shape.dtype);
      const bool complex = part != DType::kInvalid;
      for (const Number& number : numbers)
        Append(number, complex ? part : type->shape.dtype, complex ? width / 2 : width, bytes);
    }
    if (!ok_) return nullptr;
    if (bytes.empty() && *count == 0) return storage_.Add(Attribute{.kind = Kind::kTensor, .type = type});
    const Attribute* tensor = storage_.Tensor(type, storage_.Keep(std::move(bytes)));
    return tensor != nullptr ? tensor : Fail("wanted as many elements as " + type->ToString() + " has before this");
  }

  // array<i64: 1, 2>
  const Attribute* DenseArray() {
    Want("<");
    const Type* element = ElementType();
    if (!ok_) return nullptr;
    std::vector<Number> numbers;
    if (Take(":")) {
      do {
        Numbers(numbers);
      } while (Take(","));
    }
    Want(">");
    const size_t width = LiteralBytes(*element);
    if (ok_ && width == 0) Fail("wanted elements of another type before this");
    std::string bytes;
    for (const Number& number : numbers) Append(number, element->shape.dtype, width, bytes);
    if (!ok_) return nullptr;
    Type list{.kind = Type::Kind::kTensor, .shape = {element->shape.dtype, {static_cast<int64_t>(numbers.size())}}};
    list.name = element->name;
    return storage_.Add(Attribute{
        .kind = Kind::kTensor, .bytes = storage_.Keep(std::move(bytes)), .type = storage_.Add(std::move(list))});
  }

  const Attribute* DialectAttribute() {
    Space();
    const size_t begin = at_++;
    const std::string_view name = AnyWord("the name of an attribute");
    if (!ok_) return nullptr;
    const size_t dot = name.find('.');
    if (name.substr(0, dot) != "stablehlo" || (name == "stablehlo.conv" && conv_ == nullptr)) {
      if (at_ < text_.size() && text_[at_] == '<') Brackets();
      return ok_ ? storage_.Add(Attribute{.kind = Kind::kOpaque, .text = text_.substr(begin, at_ - begin)}) : nullptr;
    }
    Want("<");
    if (dot == std::string_view::npos) return EnumCase(AnyWord("the name of an enum"));  // #stablehlo<precision HIGH>
    const std::string_view record = name.substr(dot + 1);
    if (record == "conv") return ConvNumbers();
    if (FindEnum(record) != nullptr) return EnumCase(record);  // #stablehlo.precision<HIGH>
    return Named(">", record);
  }

  static const AttrCode* FindEnum(std::string_view name) {
    static constexpr std::pair<std::string_view, AttrCode> kEnums[] = {
        {"comparison_direction", AttrCode::kComparisonDirection},
        {"comparison_type", AttrCode::kComparisonType},
        {"fft_type", AttrCode::kFftType},
        {"precision", AttrCode::kPrecision},
        {"result_accuracy_mode", AttrCode::kResultAccuracyMode},
        {"rng_algorithm", AttrCode::kRngAlgorithm},
        {"rng_distribution", AttrCode::kRngDistribution},
        {"transpose", AttrCode::kTranspose},
    };
    for (const auto& [known, code] : kEnums) {
      if (known == name) return &code;
    }
    return nullptr;
  }
  const Attribute* EnumCase(std::string_view name) {
    const std::string_view value = AnyWord("a case");
    Want(">");
    const AttrCode* code = FindEnum(name);
    if (!ok_) return nullptr;
    if (code == nullptr) return Fail("wanted a known enum and not " + std::string(name));
    const std::span<const std::string_view> cases = EnumCases(*code);
    const auto found = std::find(cases.begin(), cases.end(), value);
    if (found == cases.end()) return Fail("wanted a case of " + std::string(name) + " and not " + std::string(value));
    return storage_.Add(Attribute{.kind = Kind::kEnum, .text = *found});
  }

  // [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>: where the dims with names stand, and where those with numbers.
  const Attribute* ConvNumbers() {
    const auto layout = [&](std::string_view first, std::string_view first_name, std::string_view second,
                            std::string_view second_name, std::string_view spatial_name) {
      std::vector<std::pair<uint64_t, int64_t>> spatial;
      int64_t position = 0, one = -1, two = -1;
      Want("[");
      List("]", [&] {
        if (Word(first)) {
          one = position++;
        } else if (Word(second)) {
          two = position++;
        } else if (Take("?")) {
          ++position;
        } else {
          spatial.emplace_back(Digits(), position++);
        }
      });
      std::sort(spatial.begin(), spatial.end());
      std::vector<int64_t> where;
      for (size_t i = 0; i < spatial.size(); ++i) {
        if (spatial[i].first != i) Fail("wanted the spatial dims 0, 1, ... before this");
        where.push_back(spatial[i].second);
      }
      if (ok_ && (one < 0 || two < 0)) Fail("wanted both dims with letters before this");
      if (!ok_) return;
      conv_->push_back({first_name, storage_.Integer(one, "i64")});
      conv_->push_back({second_name, storage_.Integer(two, "i64")});
      conv_->push_back({spatial_name, IntTensor(where)});
    };
    layout("b", "input_batch_dimension", "f", "input_feature_dimension", "input_spatial_dimensions");
    Want("x");
    layout("i", "kernel_input_feature_dimension", "o", "kernel_output_feature_dimension", "kernel_spatial_dimensions");
    Want("->");
    layout("b", "output_batch_dimension", "f", "output_feature_dimension", "output_spatial_dimensions");
    Want(">");
    return ok_ ? storage_.Bool(true) : nullptr;  // What counts is in conv_.
  }

  const Attribute* IntTensor(const std::vector<int64_t>& values) {
    Type list{
        .kind = Type::Kind::kTensor, .shape = {DType::kS64, {static_cast<int64_t>(values.size())}}, .name = "i64"};
    std::string bytes;
    for (const int64_t v : values) {
      for (int i = 0; i < 8; ++i) bytes += static_cast<char>(static_cast<uint64_t>(v) >> (8 * i));
    }
    return storage_.Add(Attribute{
        .kind = Kind::kTensor, .bytes = storage_.Keep(std::move(bytes)), .type = storage_.Add(std::move(list))});
  }

  //===--- Functions ---===//

  void Top() {
    if (!ok_) return;
    if (Peek() == '\0') {
      Fail("wanted a function or the end of the module");
    } else if (Word("func.func")) {
      PrettyFunction();
    } else if (Take("\"func.func\"")) {
      GenericFunction();
    } else {
      const bool quoted = Peek() == '"';
      const std::string_view name = quoted ? Quoted() : AnyWord("a function");
      if (ok_ && name.find('.') == std::string_view::npos) Fail("wanted a function and not " + std::string(name));
      // Whatever else a module holds stands on a line of its own.
      at_ = ok_ ? std::min(text_.find('\n', at_), text_.size()) : at_;
      if (ok_) storage_.others.push_back(Operation{.name = name});
    }
  }

  bool Begin(std::string_view name) {
    if (!function_names_.insert(name).second) return Fail("there are two functions " + std::string(name)) != nullptr;
    function_ = Function();
    function_.name = name;
    names_.clear();
    return ok_;
  }

  const Attribute* OwnDictionary() {
    if (Peek() != '{') return nullptr;
    ++at_;
    const Attribute* dictionary = Named("}", {});
    return ok_ && !dictionary->parts.empty() ? dictionary : nullptr;
  }

  void PrettyFunction() {
    const bool is_private = Word("private");
    if (!is_private) Word("public");
    if (!Begin(Symbol())) return;
    function_.is_private = is_private;
    Want("(");
    List(")", [&] {
      Argument(function_.body);
      function_.parameter_attributes.push_back(OwnDictionary());
      SkipLocation();
    });
    std::vector<const Type*> results;
    if (Take("->")) {
      if (Take("(")) {
        List(")", [&] {
          results.push_back(ParseType());
          function_.result_attributes.push_back(OwnDictionary());
        });
      } else {
        results.push_back(ParseType());
        function_.result_attributes.push_back(nullptr);
      }
    }
    std::vector<NamedAttribute> attributes;
    if (Word("attributes")) Dictionary(attributes);
    Want("{");
    Operations(function_.body);
    SkipLocation();
    Finish(results);
  }

  void GenericFunction() {
    Want("(");
    Want(")");
    std::vector<NamedAttribute> properties;
    if (Peek() == '<') Properties(properties);
    const auto find = [&](std::string_view name) {
      const auto found =
          std::find_if(properties.begin(), properties.end(), [&](const NamedAttribute& p) { return p.name == name; });
      return found == properties.end() ? nullptr : found->value;
    };
    const Attribute *name = find("sym_name"), *visibility = find("sym_visibility"), *signature = find("function_type");
    if (ok_ && (name == nullptr || signature == nullptr || signature->kind != Kind::kType ||
                signature->type->kind != Type::Kind::kFunction))
      Fail("wanted a function with sym_name and function_type before this");
    if (!ok_ || !Begin(name->text)) return;
    function_.is_private = visibility != nullptr && visibility->text == "private";
    const Type& type = *signature->type;
    const auto dictionaries = [&](std::string_view key, size_t count, std::vector<const Attribute*>& out) {
      out.resize(count);
      const Attribute* list = find(key);
      if (list == nullptr) return;
      if (list->parts.size() != count) return (void)Fail("wanted as many attributes as values before this");
      for (size_t i = 0; i < count; ++i) out[i] = list->parts[i]->parts.empty() ? nullptr : list->parts[i];
    };
    dictionaries("arg_attrs", type.num_parameters, function_.parameter_attributes);
    dictionaries("res_attrs", type.parts.size() - type.num_parameters, function_.result_attributes);
    Want("(");
    Want("{");
    BlockHead(function_.body);
    Operations(function_.body);
    Want(")");
    std::vector<NamedAttribute> others;
    if (Peek() == '{') Dictionary(others);
    Want(":");
    ParseType();
    SkipLocation();
    if (ok_ && function_.body.arguments.size() != type.num_parameters)
      Fail("wanted the parameters of the function's type");
    for (size_t i = 0; ok_ && i < type.num_parameters; ++i) CheckType(function_.body.arguments[i], *type.parts[i]);
    if (ok_) Finish({type.parts.begin() + static_cast<std::ptrdiff_t>(type.num_parameters), type.parts.end()});
  }

  void Finish(const std::vector<const Type*>& results) {
    if (ok_ && results.size() != function_.body.results.size()) Fail("wanted a return of the function's results");
    for (size_t i = 0; ok_ && i < results.size(); ++i) CheckType(function_.body.results[i], *results[i]);
    if (ok_) storage_.functions.push_back(std::move(function_));
  }

  //===--- Values ---===//

  // "%name", "%name#1".
  std::string ValueName() {
    Want("%");
    const std::string_view name = AnyWord("the name of a value");
    std::string full(name);
    if (at_ < text_.size() && text_[at_] == '#') {
      ++at_;
      full += "#" + std::to_string(Digits());
    }
    return full;
  }
  ValueId Use() {
    const std::string name = ValueName();
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    Fail("%" + name + " is used before it is defined");
    return 0;
  }
  ValueId NewValue(const Type* type) {
    function_.types.push_back(type);
    return static_cast<ValueId>(function_.types.size() - 1);
  }
  void Define(std::string name, ValueId value) {
    const auto [it, fresh] = names_.try_emplace(std::move(name), value);
    if (!fresh) Fail("%" + it->first + " is defined twice");
    defined_.push_back(it->first);
  }
  void Argument(Region& region) {
    std::string name = ValueName();
    Want(":");
    const Type* type = ParseType();
    if (!ok_) return;
    region.arguments.push_back(NewValue(type));
    Define(std::move(name), region.arguments.back());
  }
  void CheckType(ValueId value, const Type& want) {
    const Type& got = *function_.types[value];
    if (&got != &want && got.ToString() != want.ToString())
      Fail("a value of type " + got.ToString() + " is written with type " + want.ToString() + " before this");
  }

  //===--- Operations ---===//

  // "^bb0(%a: type):", when it is there.
  void BlockHead(Region& region) {
    if (!Take("^")) return;
    AnyWord("the name of a block");
    if (Take("(")) {
      List(")", [&] {
        Argument(region);
        SkipLocation();
      });
    }
    Want(":");
  }

  // Up to the closing brace, behind the return.
  void Operations(Region& region) {
    while (ok_) {
      if (Word("return") || Word("func.return") || Word("stablehlo.return")) {
        std::vector<const Type*> types;
        if (Peek() == '%') {
          do region.results.push_back(Use());
          while (Take(","));
          Want(":");
          do types.push_back(ParseType());
          while (Take(","));
        }
        EndRegion(region, types);
        return;
      }
      if (Peek() == '}') {
        Fail("a block ends without a return");
        return;
      }
      if (ReadOperation(region)) return;
    }
  }
  void EndRegion(Region& region, const std::vector<const Type*>& types) {
    SkipLocation();
    if (ok_ && types.size() != region.results.size()) Fail("wanted a type for each value returned before this");
    for (size_t i = 0; ok_ && i < types.size(); ++i) CheckType(region.results[i], *types[i]);
    Want("}");
  }

  // An operation as it is written, before its types are compared with its values.
  struct Written {
    Operation op;
    std::vector<NamedAttribute> attributes, properties;
    std::vector<const Type*> operand_types, result_types;
  };

  // "%a, %b:2 =", when it is there.
  std::vector<std::string> ResultNames() {
    std::vector<std::string> names;
    if (Peek() != '%') return names;
    do {
      const std::string name = ValueName();
      if (!Take(":")) {
        names.push_back(name);
        continue;
      }
      const uint64_t count = Digits();
      if (count > text_.size() - std::min(at_, text_.size())) Fail("wanted fewer results");
      for (uint64_t i = 0; ok_ && i < count; ++i) names.push_back(name + "#" + std::to_string(i));
    } while (Take(","));
    Want("=");
    return names;
  }

  // "(%x) <{property = ...}> ({region}) {attribute = ...} : (type) -> type", behind the name.
  void GenericForm(Written& w) {
    Want("(");
    List(")", [&] { w.op.operands.push_back(Use()); });
    if (Peek() == '<') Properties(w.properties);
    if (Take("(")) {
      List(")", [&] {
        const Nested nested(*this);
        Want("{");
        const size_t outer = defined_.size();
        Region inner;
        BlockHead(inner);
        Operations(inner);
        w.op.regions.push_back(std::move(inner));
        for (; defined_.size() > outer; defined_.pop_back()) names_.erase(defined_.back());
      });
    }
    if (Peek() == '{') Dictionary(w.attributes);
    Want(":");
    Types(w.operand_types);
    Want("->");
    ResultTypes(w.result_types);
  }

  // "dense<...> : type"
  void ConstantForm(Written& w) {
    if (Peek() == '{') Dictionary(w.attributes);
    const Attribute* value = ParseAttribute();
    if (ok_ && value->kind != Kind::kTensor) Fail("wanted a literal before this");
    if (!ok_) return;
    w.attributes.push_back({"value", value});
    w.result_types.push_back(value->type);
  }

  // "@callee(%x) : (type) -> type"
  void CallForm(Written& w) {
    w.attributes.push_back({"callee", storage_.String(Symbol())});
    Want("(");
    List(")", [&] { w.op.operands.push_back(Use()); });
    if (Peek() == '{') Dictionary(w.attributes);
    Want(":");
    Types(w.operand_types);
    Want("->");
    ResultTypes(w.result_types);
  }

  // "%x, %y {attribute = ...} : type" or ": (type, type) -> type"
  void PlainForm(Written& w, size_t num_results) {
    if (Peek() == '%') {
      do w.op.operands.push_back(Use());
      while (Peek() == ',' && NextIsValue());
    }
    if (Peek() == '{') Dictionary(w.attributes);
    if (ok_ && !Take(":")) return NoPretty(w.op.name);
    if (Peek() == '(') {
      Types(w.operand_types);
      Want("->");
      ResultTypes(w.result_types);
      return;
    }
    const Type* type = ParseType();
    if (ok_ && Peek() == ',') return NoPretty(w.op.name);
    w.operand_types.assign(w.op.operands.size(), type);
    w.result_types.assign(num_results, type);
  }

  // True for a return, which ends its region.
  bool ReadOperation(Region& region) {
    std::vector<std::string> names = ResultNames();
    Written w;
    Operation& op = w.op;
    // Numbers in the order of the text, although types stand behind regions.
    for (size_t i = 0; i < names.size(); ++i) op.results.push_back(NewValue(nullptr));
    const bool generic = Peek() == '"';
    op.name = generic ? Quoted() : AnyWord("an operation");
    if (op.name == "call") op.name = "func.call";
    if (!ok_) return false;
    const Op* row = NewestForm(op.name);
    if (row == nullptr && (op.name.starts_with("stablehlo.") || op.name.find('.') == std::string_view::npos) &&
        op.name != "stablehlo.return")
      return Fail("unknown operation '" + std::string(op.name) + "' before this") != nullptr;
    if (generic) {
      GenericForm(w);
    } else if (op.name == "stablehlo.constant") {
      ConstantForm(w);
    } else if (op.name == "func.call") {
      CallForm(w);
    } else {
      PlainForm(w, names.size());
    }
    op.location = SkipLocation();
    if (!ok_) return false;
    if (w.operand_types.size() != op.operands.size() || w.result_types.size() != names.size())
      return Fail("'" + std::string(op.name) + "' has another number of values than of types before this") != nullptr;
    for (size_t i = 0; i < op.operands.size(); ++i) CheckType(op.operands[i], *w.operand_types[i]);
    if (op.name.ends_with(".return")) {
      region.results = std::move(op.operands);
      Want("}");
      return true;
    }
    if (row != nullptr && (!row->operands.Allows(op.operands.size()) || !row->results.Allows(names.size()) ||
                           !row->regions.Allows(op.regions.size())))
      return Fail("'" + std::string(op.name) + "' cannot have so many operands, results or regions, before this") !=
             nullptr;
    for (size_t i = 0; ok_ && i < names.size(); ++i) {
      function_.types[op.results[i]] = w.result_types[i];
      Define(std::move(names[i]), op.results[i]);
    }
    if (row == nullptr) {
      op.others = std::move(w.attributes);
    } else {
      for (const auto* list : {&w.properties, &w.attributes}) {
        for (const NamedAttribute& attribute : *list) Put(op, *row, attribute);
      }
    }
    if (ok_) region.operations.push_back(std::move(op));
    return false;
  }

  void ResultTypes(std::vector<const Type*>& out) {
    if (Peek() == '(') {
      Types(out);
    } else {
      out.push_back(ParseType());
    }
  }

  // Takes the comma when a value follows.
  bool NextIsValue() {
    const size_t comma = at_++;
    if (Peek() == '%') return true;
    at_ = comma;
    return false;
  }

  void NoPretty(std::string_view name) {
    FailWith(Unimplemented(Where("the pretty form of '" + std::string(name) +
                                 "' is not read; wanted the generic one, or a portable artifact")));
  }

  // Gives an attribute as StableHLO has it to `op` as VHLO has it.
  void Put(Operation& op, const Op& row, const NamedAttribute& attribute) {
    const auto own = [&](std::string_view name) {
      const auto found =
          std::find_if(row.attrs.begin(), row.attrs.end(), [&](const Attr& a) { return a.name == name; });
      return found == row.attrs.end() ? nullptr : &*found;
    };
    const auto put = [&](std::string_view name, const Attribute* value) {
      const Attr* attr = own(name);
      if (attr == nullptr) return;
      if (attr->kind == AttrKind::kField && value->kind == Kind::kArray) value = IntTensor(value->Ints());
      if (!IsDefault(attr->kind, *value)) op.attributes.push_back({attr->name, value});
    };
    const Attribute& value = *attribute.value;
    if (attribute.name == "dimension_numbers" && row.special == Special::kConvolution) {
      // The attribute was kept as text; its dims are read here, where they have names.
      std::vector<NamedAttribute> dims;
      Parser inner(storage_, value.text);
      inner.conv_ = &dims;
      if (value.kind != Kind::kOpaque || inner.OnlyAttribute() == nullptr) {
        Fail("wanted #stablehlo.conv<...> before this");
        return;
      }
      for (const NamedAttribute& dim : dims) put(dim.name, dim.value);
    } else if (attribute.name == "channel_handle") {
      if (const Attribute* handle = value.Find("handle")) put("channel_id", handle);
      if (const Attribute* type = value.Find("type")) put("channel_type", type);
    } else if (value.kind == Kind::kDictionary && own(attribute.name) == nullptr &&
               (attribute.name == "dimension_numbers" || attribute.name == "dot_dimension_numbers" ||
                attribute.name == "scatter_dimension_numbers" || attribute.name == "algorithm")) {
      for (size_t i = 0; i < value.names.size(); ++i) put(value.names[i], value.parts[i]);
    } else if (own(attribute.name) != nullptr) {
      put(attribute.name, attribute.value);
    } else {
      op.others.push_back(attribute);
    }
  }

  Program::Storage& storage_;
  std::string_view text_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  bool ok_ = true;
  Status status_;
  std::vector<NamedAttribute>* conv_ = nullptr;  // Where the dims of #stablehlo.conv go; null: it stays text.
  Function function_;
  std::unordered_set<std::string_view> function_names_;
  std::unordered_map<std::string, ValueId> names_;
  std::vector<std::string> defined_;  // Names in the order of their definition, to be forgotten with their region.
};

}  // namespace

Status ReadText(Program::Storage& storage) { return Parser(storage, storage.input).Run(); }
const Attribute* ReadAttribute(Program::Storage& storage, std::string_view text) {
  return Parser(storage, text).OnlyAttribute();
}
const Type* ReadType(Program::Storage& storage, std::string_view text) { return Parser(storage, text).OnlyType(); }

}  // namespace tenon::vhlo::internal
