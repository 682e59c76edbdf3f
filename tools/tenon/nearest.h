#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

/// The one of `known` that `word` is most likely a misspelling of: at most a third of its letters, and one at least,
/// are wrong, missing, too many or in each other's place. Empty when none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

/// ", did you mean 'x'?" for Nearest, or nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace tenon::cli
