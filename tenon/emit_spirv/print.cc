#include "tenon/emit_spirv/print.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "tenon/emit_spirv/internal/writer.h"

namespace tenon::emit_spirv {
namespace {

constexpr size_t kHeaderWords = 5;  // structural: magic, version, generator, bound, schema

struct Form {
  std::string_view name, operands;
};

const Form* FormOf(uint32_t op) {
  static const auto& forms = *new std::unordered_map<uint32_t, Form>{
#define TENON_SPIRV_OP(name, number, operands) {number, {#name, operands}},
#include "tenon/emit_spirv/opcodes.def"
  };
  const auto it = forms.find(op);
  return it == forms.end() ? nullptr : &it->second;
}

/// The name of a number of a category; the number where it has none.
std::string NameOf(std::string_view category, uint32_t number) {
#define TENON_SPIRV_NUMBER(of, name, value) \
  if (category == #of && number == (value)) return #name;
#include "tenon/emit_spirv/opcodes.def"
  return fmt::format("{}", number);
}

std::string_view CategoryOf(char kind) {
  switch (kind) {
    case 'a':
      return "Addressing";
    case 'c':
      return "Capability";
    case 'e':
      return "Execution";
    case 'g':
      return "Glsl";
    case 'k':
      return "Storage";
    case 'm':
      return "Model";
    case 'o':
      return "Mode";
    default:
      return {};
  }
}

/// A float by its bits, of which `mantissa` are behind the point, as an assembler reads all of them: infinities and NaN
/// have one exponent more.
std::string FloatText(uint64_t bits, int width, int mantissa) {
  const uint64_t fraction = bits & ((uint64_t{1} << mantissa) - 1);
  const auto exponent = static_cast<int>((bits >> mantissa) & ((uint64_t{1} << (width - mantissa - 1)) - 1));
  const int bias = (1 << (width - mantissa - 2)) - 1;
  const char* sign = (bits >> (width - 1)) != 0 ? "-" : "";
  if (exponent == 0) {
    if (fraction == 0) return fmt::format("{}0x0p+0", sign);
    // Below the normal ones: the highest bit becomes the one before the point.
    const int top = 63 - std::countl_zero(fraction);
    const uint64_t rest = (fraction ^ (uint64_t{1} << top)) << (52 - top);
    return fmt::format("{}0x1.{:013x}p{}", sign, rest, 1 - bias - mantissa + top);
  }
  return fmt::format("{}0x1.{:013x}p{:+}", sign, fraction << (52 - mantissa), exponent - bias);
}

class Printer {
 public:
  explicit Printer(std::span<const uint32_t> words) : words_(words) {}

  Result<std::string> All() {
    if (words_.size() < kHeaderWords) return Bad("the header");
    text_ = fmt::format("; SPIR-V {}.{}, ids below {}\n", words_[1] >> 16, (words_[1] >> 8) & 0xff, words_[3]);
    at_ = kHeaderWords;
    while (at_ < words_.size()) TENON_RETURN_IF_ERROR(Instruction());
    return std::move(text_);
  }

 private:
  Status Bad(std::string_view what) const { return DataLoss(fmt::format("SPIR-V, word {}: {}", at_, what)); }

  Status Instruction() {
    const size_t count = words_[at_] >> 16;
    const Form* const form = FormOf(words_[at_] & 0xffff);
    if (form == nullptr) return Bad(fmt::format("instruction {}", words_[at_] & 0xffff));
    if (count == 0 || count > words_.size() - at_) return Bad("an instruction's length");
    rest_ = words_.subspan(at_ + 1, count - 1);
    operands_.clear();
    result_ = type_ = 0;
    std::string_view kinds = form->operands;
    while (!kinds.empty()) {
      const bool many = kinds.size() > 1 && kinds[1] == '*';
      if (many && rest_.empty()) break;
      TENON_RETURN_IF_ERROR(Operand(kinds[0], form->name));
      if (!many) kinds.remove_prefix(1);
    }
    if (!rest_.empty()) return Bad("words behind the operands");
    const std::string result = result_ == 0 ? "" : fmt::format("%{} = ", result_);
    text_ += fmt::format("{:>12}Op{}{}\n", result, form->name, operands_);
    at_ += count;
    return OkStatus();
  }

  Status Operand(char kind, std::string_view op) {
    if (kind == 'l') return Access();
    if (rest_.empty()) return Bad(fmt::format("Op{} lacks an operand", op));
    if (kind == 's') return Text();
    if (kind == 'v') return Value();
    if (kind == 'd') return Decoration();
    const uint32_t word = rest_[0];
    rest_ = rest_.subspan(1);
    switch (kind) {
      case 'r':
        result_ = word;
        if (op == "TypeInt" && !rest_.empty()) types_[word] = {static_cast<int>(rest_[0]), false};
        if (op == "TypeFloat" && !rest_.empty()) types_[word] = {static_cast<int>(rest_[0]), true};
        return OkStatus();
      case 't':
        type_ = word;
        [[fallthrough]];
      case 'i':
        operands_ += fmt::format(" %{}", word);
        return OkStatus();
      case 'n':
        operands_ += fmt::format(" {}", word);
        return OkStatus();
      case 'z':
        if (word != 0) return Bad("a control mask");
        operands_ += " None";
        return OkStatus();
      default:
        operands_ += " " + NameOf(CategoryOf(kind), word);
        return OkStatus();
    }
  }

  Status Access() {
    if (rest_.empty()) return OkStatus();
    const uint32_t mask = rest_[0];
    if (rest_.size() != ((mask & spv::AccessAligned) != 0 ? 2u : 1u)) return Bad("how memory is accessed");
    std::string names;
    for (const uint32_t bit : {spv::AccessVolatile, spv::AccessAligned, spv::AccessNonPrivatePointer}) {
      if ((mask & bit) != 0) names += (names.empty() ? "" : "|") + NameOf("Access", bit);
    }
    operands_ += " " + names;
    if (rest_.size() > 1) operands_ += fmt::format(" {}", rest_[1]);
    rest_ = {};
    return OkStatus();
  }

  Status Text() {
    std::string text;
    while (!rest_.empty()) {
      char bytes[4];
      std::memcpy(bytes, &rest_[0], sizeof bytes);
      rest_ = rest_.subspan(1);
      const size_t length = ::strnlen(bytes, sizeof bytes);
      text.append(bytes, length);
      if (length < sizeof bytes) {
        operands_ += fmt::format(" \"{}\"", text);
        return OkStatus();
      }
    }
    return Bad("a text without an end");
  }

  Status Value() {
    const auto type = types_.find(type_);
    if (type == types_.end()) return Bad("a constant of an unknown type");
    const auto [width, is_float] = type->second;
    if (rest_.size() != (width == 64 ? 2u : 1u)) return Bad("a constant's length");
    const uint64_t bits = rest_[0] | (width == 64 ? uint64_t{rest_[1]} << 32 : 0);
    const int mantissa = width == 64 ? 52 : width == 32 ? 23 : 10;
    operands_ += is_float ? " " + FloatText(bits, width, mantissa) : fmt::format(" {}", bits);
    rest_ = {};
    return OkStatus();
  }

  Status Decoration() {
    const uint32_t which = rest_[0];
    operands_ += " " + NameOf("Decoration", which);
    for (const uint32_t word : rest_.subspan(1))
      operands_ += " " + (which == spv::DecorationBuiltIn ? NameOf("BuiltIn", word) : fmt::format("{}", word));
    rest_ = {};
    return OkStatus();
  }

  struct Type {
    int bits;
    bool is_float;
  };

  const std::span<const uint32_t> words_;
  size_t at_ = 0;
  std::string text_;
  std::unordered_map<uint32_t, Type> types_;  // Of numbers.

  // Of the instruction.
  std::span<const uint32_t> rest_;
  std::string operands_;
  uint32_t result_ = 0, type_ = 0;
};

}  // namespace

Result<std::string> Print(std::span<const uint32_t> words) { return Printer(words).All(); }

}  // namespace tenon::emit_spirv
