// In builds without LLVM.

#include "tools/tenon/bridge.h"

namespace tenon::cli {

Result<std::string> Convert(std::string_view, const ConvertOptions&) {
  return Unimplemented(
      "this build has no reader of StableHLO: build Tenon with -DTENON_BUILD_CPU=ON (needs LLVM and MLIR 22)");
}

}  // namespace tenon::cli
