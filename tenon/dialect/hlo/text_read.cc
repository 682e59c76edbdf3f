#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

bool LooksLikeText(std::string_view bytes) { return false; }

Result<Module> ReadText(std::string_view text) { return Unimplemented("HLO text cannot be read yet"); }

}  // namespace tenon::hlo
