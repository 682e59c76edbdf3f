#include "tenon/dialect/hlo/shardings.h"

namespace tenon::hlo {

Status SetShardings(const Module& module, mlir::func::FuncOp main) { return OkStatus(); }

}  // namespace tenon::hlo
