#pragma once

#include <string>

#include "tenon/base/status.h"

namespace mlir {
class Operation;
}  // namespace mlir

namespace tenon::dialect {

enum class HloForm {
  kText,             ///< "HloModule name, ...", as XLA's parser reads it.
  kProto,            ///< Serialized xla.HloModuleProto.
  kProtoWithConfig,  ///< Serialized xla.HloModuleProtoWithConfig.
};

/// Writes `module` (a builtin.module of verified StableHLO) as an HLO module; it is left as it is. Donated and aliased
/// arguments of main are kept, layouts are row-major. UNIMPLEMENTED names an op that has no HLO form here: dynamic
/// shapes, quantized types, regions that use values from outside (other than if, case and while), communication with
/// the host.
Result<std::string> WriteHlo(mlir::Operation* module, HloForm form);

}  // namespace tenon::dialect
