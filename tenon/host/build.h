#pragma once

#include <string>

namespace tenon::host {

/// "tenon 0.1.0 (LLVM 22.1.8, build <id>)": names the build, since caches of compiled programs are keyed by it.
const std::string& BuildName();

}  // namespace tenon::host
