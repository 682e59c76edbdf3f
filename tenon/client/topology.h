#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/client/compile_options.h"
#include "tenon/client/device.h"
#include "tenon/client/executable.h"
#include "tenon/client/program.h"

namespace tenon::client {

class Client;

/// The devices of a system that need not be present. Copies share it; it is freed with the last one, and with what it
/// described.
class Topology {
 public:
  /// Takes ownership when `owned`; otherwise `owner` keeps it alive.
  Topology(const Api* api, PJRT_TopologyDescription* topology, bool owned, std::shared_ptr<const void> owner);
  // Moves are copies: one that was moved from goes on.
  Topology(const Topology&) = default;
  Topology& operator=(const Topology&) = default;

  Result<std::string> PlatformName() const;
  Result<std::string> PlatformVersion() const;
  Result<std::vector<DeviceDescription>> Devices() const;
  Result<std::vector<NamedValue>> Attributes() const;
  /// Deterministic bytes, fit for cache keys and Plugin::DeserializeTopology.
  Result<std::string> Serialize() const;
  /// A hash of what matters to a compiler (0.101).
  Result<uint64_t> Fingerprint() const;
  /// Kind ids of the memories that the devices have (0.110).
  Result<std::vector<int>> MemorySpaceKindIds() const;
  /// A serialized xla.ShapeProto with the layout that this kind of memory uses (0.110).
  Result<std::string> CanonicalShape(const Shape& shape, int memory_kind_id, const Layout* layout = nullptr) const;

  /// Compiles without a device. `client`, when given, helps with autotuning. Load the result with Client::Load, or
  /// serialize it.
  Result<Executable> Compile(const Program& program, const CompileOptions& options = {},
                             const Client* client = nullptr) const;

  PJRT_TopologyDescription* get() const { return *topology_; }
  const Api& api() const { return *api_; }

 private:
  const Api* api_;
  std::shared_ptr<PJRT_TopologyDescription*> topology_;
};

}  // namespace tenon::client
