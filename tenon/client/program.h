#pragma once

#include <string>
#include <string_view>

#include "tenon/base/status.h"

namespace tenon::client {

/// Code in one of the formats of PJRT.
struct Program {
  std::string code;
  std::string format;

  /// StableHLO as text, MLIR bytecode or portable artifact.
  static Program Mlir(std::string code) { return {std::move(code), "mlir"}; }
  /// A serialized xla.HloModuleProto.
  static Program Hlo(std::string proto) { return {std::move(proto), "hlo"}; }
  /// A serialized xla.HloModuleProtoWithConfig.
  static Program HloWithConfig(std::string proto) { return {std::move(proto), "hlo_with_config"}; }
  /// Reads a file and tells its format by its contents: MLIR bytecode and text are "mlir", else "hlo".
  static Result<Program> FromFile(const std::string& path);
};

}  // namespace tenon::client
