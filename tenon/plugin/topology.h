#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/plugin/device.h"

namespace tenon::plugin {

/// The devices of a system, open or only described. Immutable; a client owns one, callers may make others for compiling
/// ahead of time.
class Topology : public RefCounted {
 public:
  struct Info {
    std::string platform_name;
    std::string platform_version;
    std::vector<std::shared_ptr<const DeviceDescription>> devices{};
    std::vector<NamedValue> attributes{};
  };
  explicit Topology(Info info);

  const Info& info() const { return info_; }
  const NamedValueArray& attributes() const { return attributes_; }
  std::span<const DeviceDescription* const> descriptions() const { return descriptions_; }
  /// Ids of all memory kinds that devices here have, each once, in order of appearance.
  std::span<const int> memory_kind_ids() const { return memory_kind_ids_; }

  /// Deterministic bytes, which Plugin::DeserializeTopology of the same build reads. The default describes Info
  /// completely.
  virtual Result<std::string> Serialize() const;
  /// The Info behind the default Serialize. INVALID_ARGUMENT for other bytes.
  static Result<Info> ParseInfo(std::string_view bytes);
  /// A hash of what matters to a compiler; the default hashes Serialize().
  virtual Result<uint64_t> Fingerprint() const;

 private:
  Info info_;
  NamedValueArray attributes_;
  std::vector<const DeviceDescription*> descriptions_;
  std::vector<int> memory_kind_ids_;
  [[no_unique_address]] internal::Counted<ObjectKind::kTopology> counted_;
};

}  // namespace tenon::plugin
