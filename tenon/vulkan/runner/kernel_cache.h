#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/base/status.h"
#include "tenon/emit_spirv/emit.h"
#include "tenon/kir/kir.h"
#include "tenon/target/target.h"
#include "tenon/vulkan/device.h"

namespace tenon::vulkan {

/// A kernel in the device's code: one pipeline per launch of the module.
struct DeviceKernel {
  emit_spirv::Module module;  ///< Without its words.
  std::vector<std::shared_ptr<const Pipeline>> pipelines;
  int64_t code_bytes = 0;  ///< Of SPIR-V.
  bool baked = false;      ///< Params are written into it.
};

/// The kernels of one device: equal ones are emitted and compiled once. Thread-safe.
class KernelCache {
 public:
  KernelCache(std::shared_ptr<Device> device, std::shared_ptr<const target::Target> target)
      : device_(std::move(device)), target_(std::move(target)) {}

  /// The kernel, ready for a run with these params on arrays in such places; the reason where the device has no form of
  /// it.
  Result<std::shared_ptr<const DeviceKernel>> Get(const kir::Kernel& kernel, std::span<const int64_t> params,
                                                  emit_spirv::Places places);

  Device& device() const { return *device_; }
  const std::shared_ptr<Device>& shared_device() const { return device_; }
  const target::Target& target() const { return *target_; }

  struct Counters {
    int64_t kernels = 0;  ///< That were compiled.
    int64_t refused = 0;
  };
  Counters counters() const;

 private:
  using Entry = Result<std::shared_ptr<const DeviceKernel>>;
  Entry Find(const kir::Kernel& kernel, bool baked, emit_spirv::Places places);
  Entry Make(const kir::Kernel& kernel, bool baked, emit_spirv::Places places) const;
  Entry ForPlaces(const kir::Kernel& kernel, bool baked, emit_spirv::Places places);

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<const target::Target> target_;
  struct Known {
    kir::Kernel kernel;
    emit_spirv::Places places;
    Entry entry;
  };
  mutable std::mutex mutex_;
  std::unordered_multimap<Hash128, std::unique_ptr<Known>, Hash128Hasher> known_;
  Counters counters_;
};

}  // namespace tenon::vulkan
