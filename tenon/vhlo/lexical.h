#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Words of MLIR's text.
namespace tenon::vhlo {

/// The value of a hexadecimal digit; -1 for other characters.
int HexDigit(char c);
/// What stands between the quotes of a string, without escapes: \", \\, \n, \t and two hexadecimal digits. Nothing when
/// it has others.
std::optional<std::string> Unescaped(std::string_view quoted);
/// The bytes of "0x..."; nothing when it is no whole number of them.
std::optional<std::string> HexBytes(std::string_view text);
/// The number, in decimal and with a point or without, whatever the locale is; infinite beyond the range. Nothing when
/// something else stands in `text`.
std::optional<double> RealNumber(std::string_view text);

}  // namespace tenon::vhlo
