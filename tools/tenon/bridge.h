#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::cli {

/// Forms of a program that `tenon convert` writes.
enum class ProgramForm { kText, kArtifact, kHloText, kHloProto };

struct ConvertOptions {
  ProgramForm to = ProgramForm::kText;
  std::string target;  // StableHLO version of artifacts; empty: the newest
  bool generic = false;
  bool locations = false;
};

/// Reads a program in any form and writes it in another. Needs the dialect, hence LLVM: builds without it answer
/// UNIMPLEMENTED and say how to get it (bridge_none.cc). Programs that HLO has no form of (dynamic shapes, quantized
/// types ...) are UNIMPLEMENTED, naming the op.
Result<std::string> Convert(std::string_view program, const ConvertOptions& options);

}  // namespace tenon::cli
