#include "tenon/host/partitioners.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

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
    partitioners[name] = [partitioner](auto operands, auto results, std::string_view config) {
      return partitioner->Partition(operands, results, config);
    };
  }
  return partitioners;
}

}  // namespace tenon::host
