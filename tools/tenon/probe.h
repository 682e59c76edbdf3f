#pragma once

#include <string>
#include <vector>

#include "tenon/client/discovery.h"

namespace tenon::cli {

/// The first argument of this program when it runs as the child of ProbePlugins; AnswerProbe is what it does then.
inline constexpr const char* kProbeCommand = "__probe";

/// Loads every candidate in a process of its own, several at once, and says which can be used and why others cannot: a
/// candidate that crashes, ends its process or has not answered after `seconds` is refused like any other. The order is
/// that of `candidates`. What candidates print is lost.
std::vector<client::Availability> ProbePlugins(std::vector<client::Candidate> candidates, double seconds);

/// The child's half: loads the plugin (a file or a registered name) and writes one line to standard output; ends at
/// once when the process `parent` does. Never returns; the exit status means nothing.
[[noreturn]] void AnswerProbe(const std::string& plugin, const std::string& parent);

}  // namespace tenon::cli
