#pragma once

#include <string>
#include <string_view>

#include "tenon/base/status.h"
#include "tools/tenon-opt/options.h"

namespace tenon::opt {

/// One kernel as text: verified, then printed, emitted or evaluated as the options ask.
Status RunKernel(std::string_view text, const Options& options);

/// The same for a plan as text; the phases of kernels apply to all of its kernels.
Status RunPlan(std::string_view text, const Options& options);

/// One program for the compiler; the phases of kernels apply to all kernels of its plan.
Status RunProgram(std::string_view bytes, const Options& options);

/// Prints the graph of a math function ("exp.f32.v1"), or all names for "list".
bool PrintMath(const std::string& name);

}  // namespace tenon::opt
