#pragma once

#include <string>
#include <vector>

namespace tenon::cli {

/// How a piece of text stands out where people read it: colours when standard output is a terminal that has them and
/// NO_COLOR is not set; otherwise the text as it is, so that pipes and files hold no escapes.
enum class Style { kHeading, kGood, kBad, kWarn, kFaint };
std::string Styled(Style style, const std::string& text);
/// The same for standard error.
std::string StyledError(Style style, const std::string& text);

/// Rows as lines: each column as wide as its longest cell, two blanks between columns, none at the end.
std::vector<std::string> Aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace tenon::cli
