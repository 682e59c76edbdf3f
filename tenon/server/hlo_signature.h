#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/wire/messages.h"

namespace tenon::server {

/// What a program says of itself: its parameters, with those that it aliases or donates, and the shardings of
/// parameters and results, a serialized xla.OpSharding each, where it is one of several partitions.
struct HloSignature {
  std::vector<wire::Parameter> parameters;
  std::vector<std::string> parameter_shardings, output_shardings;
};

/// Read from a program's xla.HloModuleProto ("hlo") or HloModuleProtoWithConfig ("hlo_with_config"). UNIMPLEMENTED for
/// other formats and for parameters that are tuples or have tiles, DATA_LOSS for bytes that are no such message.
Result<HloSignature> SignatureOfHlo(std::string_view format, std::string_view bytes);

}  // namespace tenon::server
