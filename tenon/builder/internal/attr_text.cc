#include "tenon/builder/internal/attr_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "tenon/vhlo/lexical.h"

namespace tenon::builder::internal {
namespace {

using Kind = ParsedAttr::Kind;

// Bytes per element of a tensor whose numbers can be read; 0 for other types.
size_t Width(std::string_view element) {
  if (element == "i1" || element == "i8" || element == "ui8") return 1;
  if (element == "i16" || element == "ui16") return 2;
  if (element == "i32" || element == "ui32" || element == "f32") return 4;
  if (element == "i64" || element == "ui64" || element == "f64" || element == "index") return 8;
  return 0;
}

bool IsElementName(std::string_view word) {
  if (word == "index" || word == "bf16" || word == "none") return true;
  if (word.starts_with("ui")) {
    word.remove_prefix(2);
  } else if (word.starts_with("tf")) {
    word.remove_prefix(2);
  } else if (word.starts_with('i') || word.starts_with('f')) {
    word.remove_prefix(1);
  }
  return !word.empty() && isdigit(static_cast<unsigned char>(word[0]));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<ParsedAttr> Run() {
    ParsedAttr attr = Attr();
    Space();
    if (ok_ && at_ != text_.size()) Fail();
    if (!ok_) {
      return Unimplemented(fmt::format(
          "the attribute {} cannot be read at '{}'; wanted numbers, strings, symbols, element types, arrays, "
          "dictionaries, tensors of them, or a dialect's own",
          text_, text_.substr(failed_, 20)));
    }
    return attr;
  }

 private:
  static constexpr int kMaxDepth = 100;

  void Fail() {
    if (ok_) failed_ = at_;
    ok_ = false;
  }
  void Space() {
    while (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char Peek() {
    Space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(std::string_view token) {
    Space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void Want(std::string_view token) {
    if (!Take(token)) Fail();
  }
  std::string Word() {
    Space();
    const size_t begin = at_;
    const auto part = [](char c) {
      return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' || c == '-';
    };
    while (at_ < text_.size() && part(text_[at_])) ++at_;
    if (begin == at_) Fail();
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string String() {
    Want("\"");
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    std::optional<std::string> value;
    if (at_ < text_.size()) value = vhlo::Unescaped(text_.substr(begin, at_++ - begin));
    at_ = std::min(at_, text_.size());
    if (!value) Fail();
    return value.value_or("");
  }

  // "name = value, ..." up to `end`.
  void Fields(std::string_view end, ParsedAttr& attr) {
    while (ok_ && !Take(end)) {
      std::string name = Peek() == '"' ? String() : Word();
      ParsedAttr value;  // A name alone is a unit.
      if (Take("=")) value = Attr();
      attr.fields.push_back(std::move(name));
      attr.parts.push_back(std::move(value));
      if (!Take(",") && ok_) {
        Want(end);
        return;
      }
    }
  }

  ParsedAttr Attr() {
    ParsedAttr attr;
    if (++depth_ > kMaxDepth) Fail();
    if (!ok_) return attr;
    const char first = Peek();
    if (first == '"') {
      attr.kind = Kind::kString;
      attr.text = String();
    } else if (first == '@') {
      ++at_;
      attr.kind = Kind::kSymbol;
      attr.text = Peek() == '"' ? String() : Word();
    } else if (first == '[') {
      ++at_;
      attr.kind = Kind::kArray;
      while (ok_ && !Take("]")) {
        attr.parts.push_back(Attr());
        if (!Take(",") && ok_) {
          Want("]");
          break;
        }
      }
    } else if (first == '{') {
      ++at_;
      attr.kind = Kind::kDictionary;
      Fields("}", attr);
    } else if (first == '#') {
      Dialect(attr);
    } else if (first == '-' || isdigit(static_cast<unsigned char>(first)) != 0) {
      Number(attr);
    } else {
      Named(attr);
    }
    --depth_;
    return attr;
  }

  void Named(ParsedAttr& attr) {
    const size_t begin = at_;
    const std::string word = Word();
    if (word == "true" || word == "false") {
      attr.kind = Kind::kBool;
      attr.bits = word == "true" ? 1 : 0;
    } else if (word == "unit") {
      attr.kind = Kind::kUnit;
    } else if (word == "dense") {
      Dense(attr);
    } else if (word == "array") {
      Array(attr);
    } else if (IsElementName(word)) {
      attr.kind = Kind::kType;
      attr.element = word;
    } else {
      at_ = begin;
      Fail();
    }
  }

  void Number(ParsedAttr& attr) {
    Space();
    const size_t begin = at_;
    bool real = false;
    if (text_[at_] == '-') ++at_;
    const bool hex = text_.substr(at_).starts_with("0x");
    if (hex) at_ += 2;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool sign = (c == '+' || c == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (hex ? vhlo::HexDigit(c) < 0
              : isdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != 'e' && c != 'E' && !sign)
        break;
      real |= !hex && (c == '.' || c == 'e' || c == 'E');
      ++at_;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    attr.kind = real ? Kind::kFloat : Kind::kInteger;
    attr.element = real ? "f64" : "i64";
    if (real) {
      const std::optional<double> value = vhlo::RealNumber(digits);
      if (!value) Fail();
      attr.real = value.value_or(0);
    } else {
      const bool negative = digits[0] == '-';
      const char* from = digits.data() + (negative ? 1 : 0) + (hex ? 2 : 0);
      const auto [end, error] = std::from_chars(from, digits.data() + digits.size(), attr.bits, hex ? 16 : 10);
      if (error != std::errc() || end != digits.data() + digits.size()) Fail();
      if (negative) attr.bits = ~attr.bits + 1;
    }
    if (in_list_ || !Take(":")) return;
    attr.element = Word();
    const bool wants_real = attr.element.find('f') != std::string::npos;
    if (!IsElementName(attr.element) || wants_real != real) Fail();
  }

  void Append(const ParsedAttr& number, std::string_view element, std::string& bytes) {
    uint64_t bits = number.bits;
    if (number.kind == Kind::kFloat && element == "f64") bits = std::bit_cast<uint64_t>(number.real);
    if (number.kind == Kind::kFloat && element == "f32")
      bits = std::bit_cast<uint32_t>(static_cast<float>(number.real));
    for (size_t i = 0; i < Width(element); ++i) bytes += static_cast<char>(bits >> (8 * i));
  }

  // The numbers of nested lists, in order.
  void List(std::vector<ParsedAttr>& numbers) {
    if (!Take("[")) {
      numbers.push_back(Attr());
      const Kind kind = numbers.back().kind;
      if (kind != Kind::kInteger && kind != Kind::kFloat && kind != Kind::kBool) Fail();
      return;
    }
    while (ok_ && !Take("]")) {
      if (++depth_ > kMaxDepth) Fail();
      List(numbers);
      --depth_;
      if (!Take(",") && ok_) {
        Want("]");
        return;
      }
    }
  }

  void TensorType(ParsedAttr& attr) {
    Want("tensor");
    Want("<");
    while (ok_ && isdigit(static_cast<unsigned char>(Peek())) != 0) {
      int64_t dim = 0;
      while (at_ < text_.size() && isdigit(static_cast<unsigned char>(text_[at_])) != 0 && dim < (int64_t{1} << 40))
        dim = dim * 10 + (text_[at_++] - '0');
      attr.dims.push_back(dim);
      Want("x");
    }
    attr.element = Word();
    Want(">");
  }

  void Dense(ParsedAttr& attr) {
    attr.kind = Kind::kTensor;
    std::vector<ParsedAttr> numbers;
    std::string hex;
    Want("<");
    if (Peek() == '"') {
      hex = String();
    } else if (Peek() != '>') {
      const bool outer = std::exchange(in_list_, true);
      List(numbers);
      in_list_ = outer;
    }
    Want(">");
    Want(":");
    TensorType(attr);
    if (!ok_) return;
    if (Width(attr.element) == 0 && hex.empty() && !numbers.empty()) return Fail();
    if (!hex.empty()) {
      std::optional<std::string> bytes = vhlo::HexBytes(hex);
      if (!bytes || attr.element == "i1") return Fail();
      attr.text = std::move(*bytes);
      return;
    }
    uint64_t count = 1;
    for (const int64_t dim : attr.dims) count *= static_cast<uint64_t>(dim);
    if (numbers.size() != count && !(numbers.size() == 1 && count != 0)) return Fail();
    const bool wants_real = attr.element[0] == 'f';
    for (const ParsedAttr& number : numbers) {
      if (wants_real != (number.kind == Kind::kFloat)) return Fail();
      Append(number, attr.element, attr.text);
    }
  }

  // array<i64: 1, 2>
  void Array(ParsedAttr& attr) {
    attr.kind = Kind::kTensor;
    Want("<");
    attr.element = Word();
    if (attr.element != "i64" && attr.element != "i1") Fail();
    const bool outer = std::exchange(in_list_, true);
    attr.dims = {0};
    if (Take(":")) {
      do {
        const ParsedAttr number = Attr();
        if (number.kind != Kind::kInteger && number.kind != Kind::kBool) Fail();
        Append(number, attr.element, attr.text);
        ++attr.dims[0];
      } while (ok_ && Take(","));
    }
    in_list_ = outer;
    Want(">");
  }

  void Dialect(ParsedAttr& attr) {
    const size_t begin = at_++;
    std::string name = Word();
    const size_t dot = name.find('.');
    const std::string dialect = name.substr(0, dot);
    if (dialect != "stablehlo") {
      attr.kind = Kind::kForeign;
      attr.name = dialect;
      if (at_ < text_.size() && text_[at_] == '<') SkipBrackets();
      attr.text = text_.substr(begin, at_ - begin);
      if (dialect.empty() || dialect == "builtin" || dot == std::string::npos) Fail();
      return;
    }
    Want("<");
    if (dot == std::string::npos) {  // #stablehlo<precision HIGH>
      attr.kind = Kind::kEnum;
      attr.name = Word();
      attr.text = Word();
      return Want(">");
    }
    attr.name = name.substr(dot + 1);
    attr.kind = Kind::kRecord;
    Fields(">", attr);
    if (attr.fields.size() == 1 && attr.parts[0].kind == Kind::kUnit) {  // #stablehlo.precision<HIGH>
      attr.kind = Kind::kEnum;
      attr.text = attr.fields[0];
    }
  }

  void SkipBrackets() {
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        String();
        continue;
      }
      if (c == '<' || c == '[' || c == '{' || c == '(') ++depth;
      if (c == ']' || c == '}' || c == ')' || (c == '>' && text_[at_ - 1] != '-')) --depth;
      ++at_;
    } while (ok_ && depth > 0 && at_ < text_.size());
    if (depth != 0) Fail();
  }

  std::string_view text_;
  size_t at_ = 0, failed_ = 0;
  int depth_ = 0;
  bool ok_ = true;
  bool in_list_ = false;  // Numbers have no type of their own.
};

}  // namespace

const ParsedAttr* ParsedAttr::Find(std::string_view field) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == field) return &parts[i];
  }
  return nullptr;
}

Result<ParsedAttr> ParseAttrText(std::string_view text) { return Parser(text).Run(); }

}  // namespace tenon::builder::internal
