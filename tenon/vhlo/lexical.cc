#include "tenon/vhlo/lexical.h"

#include <clocale>
#include <cstddef>
#include <cstdlib>

namespace tenon::vhlo {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::optional<std::string> Unescaped(std::string_view quoted) {
  std::string value;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      value += quoted[i];
      continue;
    }
    if (++i == quoted.size()) return std::nullopt;
    const char next = quoted[i];
    if (next == '"' || next == '\\') {
      value += next;
    } else if (next == 'n') {
      value += '\n';
    } else if (next == 't') {
      value += '\t';
    } else {
      const int high = HexDigit(next), low = ++i < quoted.size() ? HexDigit(quoted[i]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      value += static_cast<char>(high * 16 + low);
    }
  }
  return value;
}

std::optional<std::string> HexBytes(std::string_view text) {
  if (!text.starts_with("0x") || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 2; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]), low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::optional<double> RealNumber(std::string_view text) {
  // Words that strtod knows besides (0x1p3, nan) are none of MLIR's.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  // The functions without a locale read "1.5" as 1 where programs have set one with decimal commas.
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string whole(text);
  char* end = nullptr;
  const double value = ::strtod_l(whole.c_str(), &end, plain);
  return end == whole.c_str() + whole.size() ? std::optional(value) : std::nullopt;
}

}  // namespace tenon::vhlo
