#pragma once

#include <string>
#include <string_view>

#include "tenon/base/activity.h"

namespace tenon::plugin {

/// A serialized tensorflow.profiler.XSpace with one plane, `plane`, that has a line per thread, and those beside the
/// threads. Numbers and texts of labels are stats of the event metadata, runs are the stat "run_id".
std::string ToXSpace(const activity::Record& record, std::string_view plane);

}  // namespace tenon::plugin
