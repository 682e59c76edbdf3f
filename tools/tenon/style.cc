#include "tools/tenon/style.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tenon::cli {
namespace {

bool HasColours(int file) {
  const char* const no = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(file) != 0 && (no == nullptr || *no == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string Wrapped(Style style, const std::string& text, bool colours) {
  if (!colours) return text;
  constexpr const char* kCodes[] = {"1", "32", "31;1", "33", "2"};
  return "\033[" + std::string(kCodes[static_cast<int>(style)]) + "m" + text + "\033[0m";
}

}  // namespace

std::string Styled(Style style, const std::string& text) {
  static const bool colours = HasColours(STDOUT_FILENO);
  return Wrapped(style, text, colours);
}

std::string StyledError(Style style, const std::string& text) {
  static const bool colours = HasColours(STDERR_FILENO);
  return Wrapped(style, text, colours);
}

std::vector<std::string> Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows) {
    std::string& line = lines.emplace_back();
    size_t end = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      line.resize(end, ' ');
      line += row[i];
      end += widths[i] + 2;
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace tenon::cli
