#include "tenon/dialect/vhlo/text_guard.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tenon/dialect/vhlo/limits.h"

namespace tenon::dialect {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWord(char c) { return IsLetter(c) || IsDigit(c) || c == '$' || c == '.' || c == '-'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Builtin forms with parsers that no program needs, each recognised by the bracket that follows.
constexpr std::array<std::string_view, 7> kRefused = {"affine_map", "affine_set", "dense_resource", "sparse",
                                                      "strided",    "vector",     "distinct"};
constexpr uint64_t kMaxResults = 65535;
constexpr uint64_t kMaxIntegerBits = 64;

// The width that "i32", "si32" or "ui32" names; 0 for other words. Absurd widths stop at 10^9.
uint64_t IntegerBits(std::string_view word) {
  if (!word.empty() && (word[0] == 's' || word[0] == 'u')) word.remove_prefix(1);
  if (word.size() < 2 || word[0] != 'i') return 0;
  uint64_t bits = 0;
  for (char c : word.substr(1)) {
    if (!IsDigit(c)) return 0;
    bits = std::min<uint64_t>(bits * 10 + static_cast<uint64_t>(c - '0'), 1000000000);
  }
  return bits;
}

// A hex literal of one-byte booleans: text[begin, end) are its digits.
struct ByteBools {
  size_t begin;
  size_t end;
};

// One pass over the text that knows strings, comments, brackets, aliases and tensor shapes, and nothing else.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Status Run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      switch (c) {
        case '"':
          TENON_RETURN_IF_ERROR(String());
          break;
        case '/':
          if (Peek(1) == '/') {
            const size_t end = text_.find('\n', at_);
            at_ = end == std::string_view::npos ? text_.size() : end;
          } else {
            ++at_;
          }
          break;
        case '(':
        case '[':
        case '<':
          TENON_RETURN_IF_ERROR(Open(c));
          break;
        case '{':
          if (Peek(1) == '-' && Peek(2) == '#') return Error("file metadata and resources are not supported");
          TENON_RETURN_IF_ERROR(Open(c));
          break;
        case '-':
          at_ += Peek(1) == '>' ? 2 : 1;  // An arrow closes nothing.
          break;
        case ')':
          TENON_RETURN_IF_ERROR(Close('('));
          break;
        case ']':
          TENON_RETURN_IF_ERROR(Close('['));
          break;
        case '}':
          TENON_RETURN_IF_ERROR(Close('{'));
          break;
        case '>':
          TENON_RETURN_IF_ERROR(Close('<'));
          break;
        case '%':
          TENON_RETURN_IF_ERROR(Value());
          break;
        case '@':
        case '^':  // Names of symbols and blocks may look like types.
          ++at_;
          SkipWord();
          break;
        case '#':
        case '!':
          TENON_RETURN_IF_ERROR(Alias());
          break;
        case '\0':
          return Error("a NUL byte outside of strings");
        default:
          if (IsLetter(c)) {
            TENON_RETURN_IF_ERROR(Word());
          } else if (IsDigit(c)) {
            while (at_ < text_.size() && (IsDigit(text_[at_]) || IsLetter(text_[at_]))) ++at_;
          } else {
            ++at_;
          }
      }
    }
    EndDefinition();
    return OkStatus();
  }

  const std::vector<ByteBools>& byte_bools() const { return byte_bools_; }

 private:
  struct Cost {
    uint32_t height = 1;
    uint64_t weight = 1;
  };

  // To the end of an identifier; an arrow right behind it is not part of it.
  void SkipWord() {
    while (at_ < text_.size() && IsWord(text_[at_]) && !(text_[at_] == '-' && Peek(1) == '>')) ++at_;
  }

  // The first place from `at` on that holds neither space nor comment.
  size_t SkipBlank(size_t at) const {
    while (at < text_.size()) {
      if (IsSpace(text_[at])) {
        ++at;
      } else if (text_.substr(at, 2) == "//") {
        at = std::min(text_.find('\n', at), text_.size());
      } else {
        break;
      }
    }
    return at;
  }

  char Peek(size_t n) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }

  Status Error(std::string_view what) const {
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    const size_t start = before.rfind('\n');
    const size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
    return InvalidArgument(std::string(what) + " (at line " + std::to_string(line) + ", column " +
                           std::to_string(column) + ")");
  }

  Status String() {
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\n') return Error("a string without its closing quote");
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return Error("a string without its closing quote");
    }
    const size_t end = at_++;
    if (end - begin > 2 && text_[begin] == '0' && text_[begin + 1] == 'x') NoteHex(begin + 2, end);
    return OkStatus();
  }

  // After the digits of a hex string: `"> : tensor<4x8xi1>` makes it a literal of booleans.
  void NoteHex(size_t begin, size_t end) {
    size_t at = end + 1;
    const auto skip = [&] {
      while (at < text_.size() && IsSpace(text_[at])) ++at;
    };
    const auto take = [&](std::string_view word) {
      skip();
      if (text_.substr(at, word.size()) != word) return false;
      at += word.size();
      return true;
    };
    if (!take(">") || !take(":") || !take("tensor") || !take("<")) return;
    skip();
    auto elements = Shape(at);
    if (!elements || !text_.substr(at).starts_with("i1>")) return;
    const uint64_t bytes = (end - begin) / 2;
    if ((end - begin) % 2 == 0 && bytes == *elements && bytes > 1) byte_bools_.push_back({begin, end});
  }

  // Reads "2x3x" at `at` and gives the number of elements; nothing when it cannot be addressed.
  std::optional<uint64_t> Shape(size_t& at) const {
    std::vector<int64_t> dims;
    while (at < text_.size()) {
      size_t p = at;
      uint64_t dim = 0;
      if (text_[p] == '?') {
        ++p;
        dim = 1;
      } else {
        while (p < text_.size() && IsDigit(text_[p])) {
          if (dim > kMaxTensorBytes) return std::nullopt;
          dim = dim * 10 + static_cast<uint64_t>(text_[p++] - '0');
        }
        if (p == at) break;
      }
      while (p < text_.size() && IsSpace(text_[p])) ++p;
      if (p >= text_.size() || text_[p] != 'x') break;
      if (dim > kMaxTensorBytes) return std::nullopt;
      dims.push_back(static_cast<int64_t>(dim));
      at = p + 1;
      while (at < text_.size() && IsSpace(text_[at])) ++at;
    }
    return CheckedElements(dims.data(), dims.size(), 16);
  }

  Status Open(char c) {
    ++at_;
    brackets_.push_back(c);
    return CheckDepth(static_cast<uint32_t>(brackets_.size()));
  }

  Status Close(char open) {
    if (brackets_.empty() || brackets_.back() != open) return Error(std::string("'") + text_[at_] + "' closes nothing");
    brackets_.pop_back();
    ++at_;
    return OkStatus();
  }

  Status CheckDepth(uint32_t depth) {
    if (definition_) cost_.height = std::max(cost_.height, depth);
    if (depth > kMaxNesting) return Error("nested deeper than " + std::to_string(kMaxNesting));
    return OkStatus();
  }

  // %name#12 and %name:12 speak of the results of an op; the parser makes room for as many as it is told.
  Status Value() {
    ++at_;
    SkipWord();
    if ((Peek(0) == '#' || Peek(0) == ':') && IsDigit(Peek(1))) {
      ++at_;
      uint64_t number = 0;
      while (at_ < text_.size() && IsDigit(text_[at_])) {
        number = std::min<uint64_t>(number * 10 + static_cast<uint64_t>(text_[at_++] - '0'), kMaxResults + 1);
      }
      if (number > kMaxResults) return Error("more than " + std::to_string(kMaxResults) + " results");
    }
    return OkStatus();
  }

  // "#name" and "!name" without a dot are aliases. At the outermost level "#name =" defines one.
  Status Alias() {
    const size_t begin = at_++;
    SkipWord();
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (brackets_.empty()) {
      size_t next = at_;
      while (next < text_.size() && (text_[next] == ' ' || text_[next] == '\t')) ++next;
      if (next < text_.size() && text_[next] == '=' && (next + 1 >= text_.size() || text_[next + 1] != '=')) {
        EndDefinition();
        definition_ = name;
        cost_ = Cost();
        at_ = next + 1;
        return OkStatus();
      }
    }
    auto it = aliases_.find(name);
    if (it == aliases_.end()) return OkStatus();
    if (definition_) {
      cost_.weight = std::min(cost_.weight + it->second.weight, kMaxExpansion + 1);
      if (cost_.weight > kMaxExpansion)
        return Error("aliases expand to more than " + std::to_string(kMaxExpansion) + " parts");
    }
    return CheckDepth(static_cast<uint32_t>(brackets_.size()) + it->second.height);
  }

  // What follows a definition up to the next one counts as part of it; that errs on the safe side, as definitions come
  // first.
  void EndDefinition() {
    if (definition_) aliases_.insert_or_assign(*definition_, cost_);
    definition_.reset();
  }

  Status Word() {
    const size_t begin = at_;
    SkipWord();
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (IntegerBits(word) > kMaxIntegerBits) return Error("an integer type of more than 64 bits");
    // An op ends whatever alias was defined before it.
    if (brackets_.empty() && (word == "module" || word == "builtin.module" || word == "func.func")) EndDefinition();
    size_t next = SkipBlank(at_);
    const char bracket = next < text_.size() ? text_[next] : '\0';
    if (bracket != '<' && bracket != '[') return OkStatus();
    for (std::string_view refused : kRefused) {
      if (word == refused) return Error("'" + std::string(word) + "' has no place in a program");
    }
    // MLIR's parser asks index for its width, which it has not.
    if (word == "array" && text_.substr(SkipBlank(next + 1)).starts_with("index")) return Error("an array of index");
    if (bracket == '<' && (word == "tensor" || word == "memref")) {
      next = SkipBlank(next + 1);
      if (!Shape(next)) return Error("a tensor with more elements than can be addressed");
      size_t end = next;
      while (end < text_.size() && IsWord(text_[end])) ++end;
      if (IntegerBits(text_.substr(next, end - next)) > kMaxIntegerBits) {
        return Error("an integer type of more than 64 bits");
      }
    }
    return OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string brackets_;
  std::unordered_map<std::string_view, Cost> aliases_;
  std::optional<std::string_view> definition_;
  Cost cost_;
  std::vector<ByteBools> byte_bools_;
};

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 0;
}

}  // namespace

Status CheckText(std::string_view text) { return Scanner(text).Run(); }

Result<std::string> PrepareText(std::string_view text) {
  Scanner scanner(text);
  TENON_RETURN_IF_ERROR(scanner.Run());
  if (scanner.byte_bools().empty()) return std::string(text);
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (const ByteBools& literal : scanner.byte_bools()) {
    out.append(text, done, literal.begin - done);
    const size_t count = (literal.end - literal.begin) / 2;
    for (size_t first = 0; first < count; first += 8) {
      unsigned packed = 0;
      for (size_t i = first; i < std::min(first + 8, count); ++i) {
        const size_t digit = literal.begin + 2 * i;
        if (HexValue(text[digit]) != 0 || HexValue(text[digit + 1]) != 0) packed |= 1u << (i - first);
      }
      constexpr const char* kDigits = "0123456789ABCDEF";
      out.push_back(kDigits[packed >> 4]);
      out.push_back(kDigits[packed & 15]);
    }
    done = literal.end;
  }
  out.append(text, done);
  return out;
}

}  // namespace tenon::dialect
