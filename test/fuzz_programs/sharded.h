#pragma once

/// A program over the devices of several processes, made of one for a single device.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/runtime/memory_pool.h"
#include "tenon/threads/pool.h"

namespace tenon::fuzz {

struct Sharded {
  std::string program;         ///< With a mesh, and shardings of arguments, results and values in between.
  std::vector<int> of_device;  ///< The process of each device.
};
/// `program` is one of GenerateProgram; what lies where follows `seed`.
Sharded Shard(std::string_view program, uint64_t seed);

/// Whole results, put together from the devices' parts, of the program compiled for each process and run by all of them
/// side by side. UNIMPLEMENTED where the compiler says so; ABORTED where devices that hold the same part differ.
Result<std::vector<std::string>> RunSharded(const Sharded& sharded, const compiler::CompileOptions& options,
                                            const std::vector<std::string>& arguments, threads::ThreadPool& pool,
                                            runtime::MemoryPool& memory);

}  // namespace tenon::fuzz
