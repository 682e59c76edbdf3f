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
/// queue when all arguments are there. A program that other processes (`nodes`, this one among them) run as well runs
/// on the job's queue, in the order of the calls.
Status ExecuteGlobally(plugin::Ref<plugin::LoadedExecutable> executable, std::shared_ptr<const Code> code,
                       CpuClient& client, const std::vector<int>& nodes, plugin::ExecuteRequest& request);

/// Ends what this process does together with `nodes`, after an execution failed in this one alone: the others hear of
/// it and do not wait.
void FailTogether(CpuClient& client, const std::vector<int>& nodes, const Status& error);

}  // namespace tenon::cpu
