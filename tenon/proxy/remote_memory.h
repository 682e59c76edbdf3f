#pragma once

#include <memory>

#include "tenon/plugin/memory.h"
#include "tenon/proxy/core.h"

namespace tenon::proxy {

/// A memory at a server: arrays are known here by number alone, and their bytes cross when they are written or read.
class RemoteMemory final : public plugin::Memory {
 public:
  RemoteMemory(int id, plugin::MemoryKind kind, std::shared_ptr<Core> core)
      : Memory(id, std::move(kind)), core_(std::move(core)) {}

  bool host_accessible() const override { return false; }
  Result<plugin::Ref<plugin::Storage>> Allocate(plugin::Device*, size_t size_bytes) override;
  /// Ready when `src` is not needed any more; executions that read the array follow its bytes.
  plugin::EventRef Write(plugin::Storage& dst, size_t offset, const void* src, size_t size_bytes) override;
  plugin::EventRef Read(const plugin::Storage& src, size_t offset, void* dst, size_t size_bytes) override;

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace tenon::proxy
