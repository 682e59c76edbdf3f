#include "tenon/host/build.h"

#include <fmt/format.h>

#include "tenon/host/build_id.h"

namespace tenon::host {

const std::string& BuildName() {
  static const std::string& name =
      *new std::string(fmt::format("tenon {} (LLVM {}, build {})", kVersion, kLlvmVersion, kBuildId));
  return name;
}

}  // namespace tenon::host
