#pragma once

#include <functional>
#include <string_view>

namespace tenon {

enum class LogLevel { kInfo, kWarning, kError };

/// Receives every line that Tenon wants to say; must be callable from any thread.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

/// Replaces the process-wide sink; an empty one restores the default, which drops kInfo and writes the rest to stderr
/// only when TENON_LOG is set (to "info" for every level). Tenon's libraries never print anywhere else.
void SetLogSink(LogSink sink);
void Log(LogLevel level, std::string_view line);

}  // namespace tenon
