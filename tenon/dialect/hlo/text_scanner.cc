#include "tenon/dialect/hlo/text_scanner.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "tenon/dialect/hlo/limits.h"

namespace tenon::hlo {
namespace {

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

const llvm::fltSemantics* SemanticsOf(int32_t type) {
  switch (type) {
    case 10:
      return &llvm::APFloat::IEEEhalf();
    case 16:
      return &llvm::APFloat::BFloat();
    case 19:
      return &llvm::APFloat::Float8E5M2();
    case 20:
      return &llvm::APFloat::Float8E4M3FN();
    case 23:
      return &llvm::APFloat::Float8E4M3B11FNUZ();
    case 24:
      return &llvm::APFloat::Float8E5M2FNUZ();
    case 25:
      return &llvm::APFloat::Float8E4M3FNUZ();
    case 28:
      return &llvm::APFloat::Float8E4M3();
    case 29:
      return &llvm::APFloat::Float8E3M4();
    case 32:
      return &llvm::APFloat::Float4E2M1FN();
    case 33:
      return &llvm::APFloat::Float8E8M0FNU();
    case 35:
      return &llvm::APFloat::Float6E3M2FN();
    case 36:
      return &llvm::APFloat::Float6E2M3FN();
    default:
      return nullptr;
  }
}

}  // namespace

std::string FloatBytes(const TypeInfo& type, double value) {
  std::string bytes(static_cast<size_t>(type.bytes), '\0');
  if (type.number == kF64) {
    std::memcpy(bytes.data(), &value, 8);
  } else if (type.number == kF32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(bytes.data(), &narrow, 4);
  } else {
    llvm::APFloat number(value);
    bool lost = false;
    number.convert(*SemanticsOf(type.number), llvm::APFloat::rmNearestTiesToEven, &lost);
    const uint64_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(bytes.data(), &bits, bytes.size());
  }
  return bytes;
}

double FloatValue(const TypeInfo& type, const char* bytes) {
  if (type.number == kF64) {
    double v;
    std::memcpy(&v, bytes, 8);
    return v;
  }
  if (type.number == kF32) {
    float v;
    std::memcpy(&v, bytes, 4);
    return static_cast<double>(v);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<size_t>(type.bytes));
  bits &= (uint64_t{1} << type.bits) - 1;
  llvm::APFloat number(*SemanticsOf(type.number), llvm::APInt(static_cast<unsigned>(type.bits), bits));
  bool lost = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

std::string Scanner::Place(size_t at) const {
  size_t line = 1, start = 0;
  for (size_t i = 0; i < std::min(at, text_.size()); ++i) {
    if (text_[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  return fmt::format("line {}, column {}", line, at - start + 1);
}

void Scanner::Fail(std::string_view message, size_t at) {
  if (ok()) status_ = InvalidArgument(fmt::format("HLO text, {}: {}", Place(at), message));
}

void Scanner::SkipBlanks() {
  while (at_ < text_.size()) {
    if (IsBlank(text_[at_])) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_.substr(at_, 2) == "/*") {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) {
        Fail("a comment is not closed");
        at_ = text_.size();
        return;
      }
      at_ = end + 2;
    } else {
      return;
    }
  }
}

bool Scanner::AtEnd() {
  SkipBlanks();
  return !ok() || at_ == text_.size();
}

bool Scanner::Sees(std::string_view token) {
  SkipBlanks();
  return ok() && text_.substr(at_, token.size()) == token;
}

bool Scanner::Accept(std::string_view token) {
  if (!Sees(token)) return false;
  at_ += token.size();
  return true;
}

bool Scanner::AcceptWord(std::string_view word) {
  if (!Sees(word) || (at_ + word.size() < text_.size() && IsNameChar(text_[at_ + word.size()]))) return false;
  at_ += word.size();
  return true;
}

void Scanner::Expect(std::string_view token) {
  if (Accept(token) || !ok()) return;
  const std::string_view got = text_.substr(at_, 12);
  Fail(got.empty() ? fmt::format("'{}' is wanted, got the end", token)
                   : fmt::format("'{}' is wanted, got '{}'", token, got.substr(0, got.find('\n'))));
}

std::string_view Scanner::Name() {
  SkipBlanks();
  if (!ok()) return {};
  size_t from = at_;
  if (from < text_.size() && text_[from] == '%') ++from;
  const bool percent = from != at_;
  if (from >= text_.size() || !(percent ? IsNameChar(text_[from]) : IsNameStart(text_[from]))) return {};
  size_t end = from;
  while (end < text_.size() && IsNameChar(text_[end])) {
    if (text_.substr(end, 2) == "->") break;
    ++end;
  }
  at_ = end;
  return text_.substr(from, end - from);
}

std::string_view Scanner::ExpectName(std::string_view what) {
  const std::string_view name = Name();
  if (name.empty()) Fail(fmt::format("{} is wanted", what));
  return name;
}

int64_t Scanner::Int() {
  SkipBlanks();
  if (!ok()) return 0;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range)
    Fail("the integer does not fit 64 bits");
  else if (error != std::errc())
    Fail("an integer is wanted");
  else
    at_ = static_cast<size_t>(end - text_.data());
  return ok() ? value : 0;
}

double Scanner::Number() { return ReadReal(); }

bool Scanner::Bool() {
  if (AcceptWord("true") || AcceptWord("1")) return true;
  if (!AcceptWord("false") && !AcceptWord("0")) Fail("true or false is wanted");
  return false;
}

std::string Scanner::String() {
  SkipBlanks();
  std::string value;
  const size_t start = at_;
  const bool single = Sees("'");
  Expect(single ? "'" : "\"");
  const char quote = single ? '\'' : '"';
  while (ok()) {
    if (at_ >= text_.size()) {
      Fail("the string is not closed", start);
      break;
    }
    const char c = text_[at_++];
    if (c == quote) break;
    if (c != '\\' || at_ >= text_.size()) {
      value.push_back(c);
      continue;
    }
    // C escapes, as XLA writes them.
    const char e = text_[at_++];
    switch (e) {
      case 'n':
        value.push_back('\n');
        break;
      case 't':
        value.push_back('\t');
        break;
      case 'r':
        value.push_back('\r');
        break;
      case 'x':
      case 'X': {
        unsigned byte = 0;
        const char* last = text_.data() + std::min(at_ + 2, text_.size());
        const auto [end, error] = std::from_chars(text_.data() + at_, last, byte, 16);
        if (error != std::errc()) Fail("two hexadecimal digits are wanted");
        at_ = static_cast<size_t>(end - text_.data());
        value.push_back(static_cast<char>(byte));
        break;
      }
      default:
        if (e >= '0' && e <= '7') {
          unsigned byte = 0;
          const char* last = text_.data() + std::min(at_ + 2, text_.size());
          const auto [end, error] = std::from_chars(text_.data() + at_ - 1, last, byte, 8);
          static_cast<void>(error);
          at_ = static_cast<size_t>(end - text_.data());
          value.push_back(static_cast<char>(byte));
        } else {
          value.push_back(e);
        }
    }
  }
  return value;
}

std::string_view Scanner::Raw() {
  SkipBlanks();
  const size_t from = at_;
  while (ok() && at_ < text_.size() && !IsBlank(text_[at_]) && text_[at_] != ',' && text_[at_] != '}' &&
         text_[at_] != ')')
    ++at_;
  return text_.substr(from, at_ - from);
}

std::string_view Scanner::RestOfLine() {
  if (!ok()) return {};
  const size_t from = at_;
  at_ = std::min(text_.find('\n', at_), text_.size());
  return text_.substr(from, at_ - from);
}

std::string_view Scanner::SkipValue() {
  SkipBlanks();
  const size_t from = at_;
  std::string closing;
  while (ok() && at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      String();
      continue;
    }
    if (c == '{' || c == '(' || c == '[') {
      closing.push_back(c == '{' ? '}' : c == '(' ? ')' : ']');
    } else if (c == '}' || c == ')' || c == ']') {
      if (closing.empty()) break;
      if (closing.back() != c) Fail(fmt::format("'{}' is wanted", closing.back()));
      closing.pop_back();
    } else if (closing.empty() && (c == ',' || c == '\n')) {
      break;
    }
    ++at_;
  }
  if (ok() && !closing.empty()) Fail(fmt::format("'{}' is wanted, got the end", closing.back()));
  return text_.substr(from, at_ - from);
}

std::vector<int64_t> Scanner::Ints() {
  std::vector<int64_t> values;
  Expect("{");
  if (Accept("}")) return values;
  do values.push_back(Int());
  while (ok() && Accept(","));
  Expect("}");
  return values;
}

std::vector<std::vector<int64_t>> Scanner::IntLists() {
  std::vector<std::vector<int64_t>> lists;
  Expect("{");
  if (Accept("}")) return lists;
  do lists.push_back(Ints());
  while (ok() && Accept(","));
  Expect("}");
  return lists;
}

TextMap Scanner::ReadTextMap() {
  TextMap map;
  Expect("{");
  while (ok() && !Accept("}")) {
    std::string key(ExpectName("a key"));
    Expect("=");
    map.emplace_back(std::move(key), Sees("\"") || Sees("'") ? String() : std::string(SkipValue()));
    if (!Accept(",") && !Sees("}")) Fail("',' or '}' is wanted");
  }
  return map;
}

Shape Scanner::ReadShape(int depth) {
  Shape shape;
  if (depth > kMaxNesting) Fail(fmt::format("a shape nests more than {} tuples", kMaxNesting));
  if (!ok()) return shape;
  if (Accept("(")) {
    shape.type = kTuple;
    if (Accept(")")) return shape;
    do shape.members.push_back(ReadShape(depth + 1));
    while (ok() && Accept(","));
    Expect(")");
    return shape;
  }
  const size_t start = at_;
  const std::string_view name = ExpectName("a shape");
  const TypeInfo* type = FindType(name);
  if (ok() && (type == nullptr || type->number == kTuple)) Fail(fmt::format("'{}' is no element type", name), start);
  if (!ok()) return shape;
  shape.type = type->number;
  Expect("[");
  if (!Accept("]")) {
    do {
      const bool dynamic = Accept("<=");
      if (Accept("?")) {
        shape.dims.push_back(std::numeric_limits<int64_t>::min());
        shape.dynamic.push_back(true);
        continue;
      }
      shape.dims.push_back(Int());
      shape.dynamic.push_back(dynamic);
    } while (ok() && Accept(","));
    Expect("]");
  }
  bool any = false;
  for (bool d : shape.dynamic) any = any || d;
  if (!any) shape.dynamic.clear();
  // A layout follows at once: {1,0:T(8,128)S(5)}.
  if (ok() && at_ < text_.size() && text_[at_] == '{') {
    std::vector<int64_t> order;
    Expect("{");
    while (ok() && !Sees("}") && !Sees(":")) {
      order.push_back(Int());
      if (!Accept(",")) break;
    }
    if (Accept(":")) {
      while (ok() && !Sees("}")) {
        // Tiles change the memory form; element sizes and memory spaces do not concern values.
        if (Accept("T"))
          shape.tiled = true;
        else if (Accept("S(")) {
          shape.memory_space = Int();
          Expect(")");
          continue;
        } else if (Accept("E") || Accept("D") || Accept("#") || Accept("*") || Accept("L") || Accept("P") ||
                   Accept("M") || Accept("SC")) {
        } else
          Fail("a part of a layout that is not known");
        while (Sees("(")) {
          Accept("(");
          SkipValue();
          while (Accept(",")) SkipValue();
          Expect(")");
        }
      }
    }
    Expect("}");
    if (shape.is_array()) shape.minor_to_major = std::move(order);
  }
  if (shape.is_array() && shape.dims.empty() && !shape.minor_to_major) shape.minor_to_major.emplace();
  return shape;
}

double Scanner::ReadReal() {
  SkipBlanks();
  if (!ok()) return 0;
  const bool minus = Accept("-");
  if (!minus) Accept("+");
  double value = 0;
  if (AcceptWord("inf")) {
    value = std::numeric_limits<double>::infinity();
  } else if (Accept("nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
    // A payload, which is not kept.
    if (Accept("(")) {
      Raw();
      Expect(")");
    }
  } else {
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument)
      Fail("a number is wanted");
    else
      at_ = static_cast<size_t>(end - text_.data());
    if (error == std::errc::result_out_of_range) Fail("the number does not fit a double");
  }
  return minus ? -value : value;
}

void Scanner::ReadElement(const TypeInfo& type, std::string& data) {
  SkipBlanks();
  switch (type.kind) {
    case TypeKind::kBool:
      data.push_back(Bool() ? 1 : 0);
      return;
    case TypeKind::kSigned:
    case TypeKind::kUnsigned: {
      const size_t start = at_;
      // Booleans stand for 0 and 1.
      int64_t value = 0;
      if (AcceptWord("true")) {
        value = 1;
      } else if (!AcceptWord("false")) {
        const char* end = text_.data() + text_.size();
        if (type.kind == TypeKind::kUnsigned && !Sees("-")) {
          uint64_t wide = 0;
          const auto [at, error] = std::from_chars(text_.data() + at_, end, wide);
          if (error != std::errc()) return Fail("an integer is wanted", start);
          at_ = static_cast<size_t>(at - text_.data());
          if (type.bits < 64 && wide >> type.bits != 0)
            return Fail(fmt::format("{} does not fit {}", wide, type.name), start);
          value = static_cast<int64_t>(wide);
        } else {
          value = Int();
          const int64_t limit = type.bits < 64 ? int64_t{1} << (type.bits - 1) : 0;
          const bool fits =
              type.kind == TypeKind::kUnsigned ? value == 0 : type.bits == 64 || (value >= -limit && value < limit);
          if (ok() && !fits) return Fail(fmt::format("{} does not fit {}", value, type.name), start);
        }
        if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e'))
          return Fail(fmt::format("an integer is wanted for {}", type.name), start);
      }
      data.append(reinterpret_cast<const char*>(&value), static_cast<size_t>(type.bytes));
      return;
    }
    case TypeKind::kFloat:
      data += FloatBytes(type, ReadReal());
      return;
    case TypeKind::kComplex: {
      double re = 0, im = 0;
      if (Accept("(")) {
        re = ReadReal();
        Expect(",");
        im = ReadReal();
        Expect(")");
      } else {
        re = ReadReal();
      }
      const TypeInfo& part = *FindType(type.number == kC64 ? kF32 : kF64);
      data += FloatBytes(part, re);
      data += FloatBytes(part, im);
      return;
    }
    case TypeKind::kOther:
      Fail(fmt::format("there are no literals of type {}", type.name));
      return;
  }
}

void Scanner::ReadElements(const Shape& shape, const TypeInfo& type, size_t dim, std::string& data) {
  if (dim == shape.dims.size()) {
    ReadElement(type, data);
    return;
  }
  Expect("{");
  if (Sees("...")) Fail("the literal's elements were left out when the text was printed");
  for (int64_t i = 0; ok() && i < shape.dims[dim]; ++i) {
    if (i > 0) Expect(",");
    ReadElements(shape, type, dim + 1, data);
  }
  if (ok() && !Sees("}")) Fail(fmt::format("'}}' is wanted after {} entries of dim {}", shape.dims[dim], dim));
  Accept("}");
}

Literal Scanner::ReadLiteral(const Shape& shape, int depth) {
  Literal literal;
  literal.shape = shape;
  if (depth > kMaxNesting) Fail("a literal nests too deeply");
  if (!ok()) return literal;
  if (shape.type == kTuple) {
    Expect("(");
    for (size_t m = 0; ok() && m < shape.members.size(); ++m) {
      if (m > 0) Expect(",");
      literal.members.push_back(ReadLiteral(shape.members[m], depth + 1));
    }
    Expect(")");
    return literal;
  }
  const TypeInfo* type = FindType(shape.type);
  if (shape.dims.size() > kMaxRank) Fail(fmt::format("rank {}; at most {} is accepted", shape.dims.size(), kMaxRank));
  if (!shape.dynamic.empty()) Fail("a literal of dynamic shape");
  for (int64_t d : shape.dims) {
    if (d < 0) Fail("a negative dimension");
  }
  if (!ok()) return literal;
  // Older printers write the shape first.
  const size_t before = at_;
  if (const std::string_view name = Name(); !name.empty() && FindType(name) != nullptr && Sees("[")) {
    at_ = before;
    ReadShape();
  } else {
    at_ = before;
  }
  bool empty = false;
  for (int64_t d : shape.dims) empty = empty || d == 0;
  if (empty)
    SkipValue();
  else
    ReadElements(shape, *type, 0, literal.data);
  return literal;
}

}  // namespace tenon::hlo
