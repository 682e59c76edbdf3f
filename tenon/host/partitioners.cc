#include "tenon/host/partitioners.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenon::host {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const plugin::CustomPartitioner>, std::less<>> by_name;
};

Registry& TheRegistry() {
  static auto& registry = *new Registry;
  return registry;
}

std::vector<plugin::PartitionedArray> ToPlugin(std::span<const compiler::PartitionedArray> arrays) {
  std::vector<plugin::PartitionedArray> converted;
  for (const compiler::PartitionedArray& array : arrays) converted.push_back({array.shape, array.sharding});
  return converted;
}

}  // namespace

void RegisterPartitioner(std::string_view name, std::shared_ptr<const plugin::CustomPartitioner> partitioner) {
  const std::lock_guard lock(TheRegistry().mutex);
  // The one before goes behind the lock: its end is the caller's code.
  std::swap(TheRegistry().by_name[std::string(name)], partitioner);
}

compiler::Partitioners RegisteredPartitioners() {
  compiler::Partitioners partitioners;
  const std::lock_guard lock(TheRegistry().mutex);
  for (const auto& [name, partitioner] : TheRegistry().by_name) {
    partitioners[name] = [partitioner](std::span<const compiler::PartitionedArray> operands,
                                       std::span<const compiler::PartitionedArray> results,
                                       std::string_view config) -> Result<compiler::PartitionedCall> {
      TENON_ASSIGN_OR_RETURN(plugin::PartitionedCall call,
                             partitioner->Partition(ToPlugin(operands), ToPlugin(results), config));
      return compiler::PartitionedCall{std::move(call.program), std::move(call.operand_shardings),
                                       std::move(call.result_sharding)};
    };
  }
  return partitioners;
}

}  // namespace tenon::host
