#pragma once

#include <memory>

#include "tenon/plugin/client.h"
#include "tenon/proxy/core.h"

namespace tenon::proxy {

/// Devices of a plugin in another process, as a PJRT client of this one. Everything that it says of itself is known
/// here: only compiling, executing, statistics and the like ask the device process, and may fail with UNAVAILABLE.
class ProxyClient final : public plugin::Client {
 public:
  /// Opens the devices of `core`.
  static Result<plugin::Ref<plugin::Client>> Create(std::shared_ptr<Core> core);
  ~ProxyClient() override;

  const std::shared_ptr<Core>& core() const { return core_; }

  Result<plugin::Ref<plugin::LoadedExecutable>> Compile(const plugin::Program& program,
                                                        const plugin::CompileOptions& options,
                                                        const plugin::DeviceAssignment& assignment) override;
  /// The plugin knows what it reads.
  bool AcceptsFormat(std::string_view format) const override { return true; }
  Result<plugin::Ref<plugin::LoadedExecutable>> Load(plugin::Ref<plugin::Executable> executable,
                                                     const plugin::CompileOptions* options) override;
  Result<plugin::Ref<plugin::LoadedExecutable>> Deserialize(std::string_view bytes,
                                                            const plugin::CompileOptions* options) override;
  void Schedule(std::function<void()> work) override;
  size_t inline_copy_limit() const override;

 private:
  class Worker;
  ProxyClient(Info info, std::shared_ptr<Core> core);
  Status Fill(const wire::ClientText& text);

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<Worker> worker_;
};

}  // namespace tenon::proxy
