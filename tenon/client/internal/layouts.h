#pragma once

#include <string>

#include "tenon/abi/pjrt_layouts.h"
#include "tenon/client/api.h"

namespace tenon::client::internal {

/// The text form of a layout that somebody else frees.
Result<std::string> LayoutText(const Api& api, PJRT_Layouts_MemoryLayout* layout);

}  // namespace tenon::client::internal
