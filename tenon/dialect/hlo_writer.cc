#include "tenon/dialect/hlo_writer.h"

#include "tenon/dialect/hlo/module.h"
#include "tenon/dialect/hlo/stablehlo.h"
#include "tenon/dialect/parse_mlir.h"

namespace tenon::dialect {

Result<std::string> WriteHlo(mlir::Operation* module, HloForm form) {
  auto op = mlir::dyn_cast_or_null<mlir::ModuleOp>(module);
  if (!op) return InvalidArgument("only a module can be written as HLO");
  TENON_ASSIGN_OR_RETURN(const hlo::Module program, hlo::FromStablehlo(op));
  return form == HloForm::kText ? hlo::WriteText(program) : hlo::WriteProto(program, form == HloForm::kProtoWithConfig);
}

}  // namespace tenon::dialect
