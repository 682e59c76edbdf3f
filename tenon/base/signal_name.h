#pragma once

#include <string>

namespace tenon {

/// "SIGSEGV"; "signal 40" for those without a name. Any thread; not for signal handlers.
std::string SignalName(int signal);

}  // namespace tenon
