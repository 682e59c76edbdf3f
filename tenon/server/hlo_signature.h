#pragma once

#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/wire/messages.h"

namespace tenon::server {

/// What a program takes, read from its xla.HloModuleProto ("hlo") or HloModuleProtoWithConfig ("hlo_with_config"): the
/// shapes and layouts of its parameters, and which of them it aliases or donates. UNIMPLEMENTED for other formats and
/// for parameters that are tuples or have tiles, DATA_LOSS for bytes that are no such message.
Result<std::vector<wire::Parameter>> ParametersOfHlo(std::string_view format, std::string_view bytes);

}  // namespace tenon::server
