#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenon/cpu/code.h"
#include "tenon/plugin/executable.h"

namespace tenon::cpu {

class CpuClient;

/// Runs a program of several devices once for all of them: puts the whole arrays together from the devices' arguments,
/// runs, cuts the outputs. Fills the outputs and events of every device; the work itself runs on the first device's
/// queue when all arguments are there.
Status ExecuteGlobally(plugin::Ref<plugin::LoadedExecutable> executable, std::shared_ptr<const Code> code,
                       CpuClient& client, plugin::ExecuteRequest& request);

}  // namespace tenon::cpu
