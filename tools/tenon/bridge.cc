// In builds with LLVM: the dialect reads and writes programs. Nothing of MLIR is included: the dialect's facade hides
// it.

#include "tools/tenon/bridge.h"

#include "tenon/dialect/hlo_writer.h"
#include "tenon/dialect/parse.h"

namespace tenon::cli {
namespace {}  // namespace

Result<std::string> Convert(std::string_view program, const ConvertOptions& options) {
  dialect::Context context;
  TENON_ASSIGN_OR_RETURN(const dialect::OwnedModule module, dialect::Parse(context, program));
  switch (options.to) {
    case ProgramForm::kText:
      return dialect::ToText(module.op(), {.generic = options.generic, .locations = options.locations});
    case ProgramForm::kArtifact: {
      dialect::Version target = dialect::kCurrentVersion;
      if (!options.target.empty()) {
        const std::optional<dialect::Version> version = dialect::Version::Parse(options.target);
        if (!version) return InvalidArgument("'" + options.target + "' is no version, wanted X.Y.Z such as 1.9.0");
        target = *version;
      }
      return dialect::Serialize(module.op(), target);
    }
    case ProgramForm::kHloText:
      return dialect::WriteHlo(module.op(), dialect::HloForm::kText);
    case ProgramForm::kHloProto:
      return dialect::WriteHlo(module.op(), dialect::HloForm::kProto);
  }
  return Internal("unknown form");
}

}  // namespace tenon::cli
