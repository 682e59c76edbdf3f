#pragma once

// Custom calls that say themselves how they are cut over devices. Names no type of LLVM or MLIR.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/base/partitioned_call.h"
#include "tenon/base/status.h"

namespace tenon::compiler {

/// The partitioner of the custom calls of one target. `operands` and `results` are the call's, whole, and all say how
/// they would lie by themselves. Called in the order of the program.
using Partitioner = std::function<Result<PartitionedCall>(
    std::span<const PartitionedArray> operands, std::span<const PartitionedArray> results, std::string_view config)>;
/// By target.
using Partitioners = std::map<std::string, Partitioner, std::less<>>;

/// `program`, with what their partitioners make of them in the place of such custom calls: a program that needs no
/// partitioner. Nothing where it has no such call. Thread-safe. Errors are the program's, a partitioner's, or
/// INVALID_ARGUMENT for an answer that does not fit the call, naming the call.
Result<std::optional<std::string>> RunPartitioners(std::string_view program, int64_t num_partitions,
                                                   const Partitioners& partitioners);

}  // namespace tenon::compiler
