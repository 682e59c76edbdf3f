#pragma once

#include <memory>
#include <string_view>

#include "tenon/compiler/partitioners.h"
#include "tenon/plugin/custom_partitioner.h"

namespace tenon::host {

/// The partitioners that callers have registered, for all clients of this process. They are never given back: whose
/// they are may be gone when the process ends. Thread-safe.
void RegisterPartitioner(std::string_view name, std::shared_ptr<const plugin::CustomPartitioner> partitioner);
compiler::Partitioners RegisteredPartitioners();

}  // namespace tenon::host
