#pragma once

#include <memory>
#include <vector>

#include "tenon/plugin/client.h"
#include "tenon/proxy/core.h"

namespace tenon::proxy {

/// Devices of a plugin in another process, or of plugins at several servers, as a PJRT client of this one. Everything
/// that it says of itself is known here: only compiling, executing, statistics and the like ask the device process, and
/// may fail with UNAVAILABLE.
class ProxyClient final : public plugin::Client {
 public:
  using Cores = std::vector<std::shared_ptr<Core>>;
  /// Opens the devices of all of them, which are numbered in their order.
  static Result<plugin::Ref<plugin::Client>> Create(Cores cores);
  ~ProxyClient() override;

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
  ProxyClient(Info info, Cores cores);
  Status Fill(const std::vector<wire::ClientText>& texts);
  Status Fill(const std::shared_ptr<Core>& core, const wire::ClientText& text);
  /// The one whose devices these are. UNIMPLEMENTED when they are of several.
  Result<std::shared_ptr<Core>> CoreOf(const plugin::DeviceAssignment& assignment) const;
  std::string AtHome(const Core& core, const plugin::CompileOptions& options,
                     plugin::DeviceAssignment assignment) const;
  Result<plugin::Ref<plugin::LoadedExecutable>> DeserializeAt(const std::shared_ptr<Core>& core, std::string_view bytes,
                                                              const plugin::CompileOptions* options,
                                                              const plugin::DeviceAssignment& assignment);

  const Cores cores_;
  const std::shared_ptr<Worker> worker_;
};

/// Whose device it is.
const std::shared_ptr<Core>& CoreOf(const plugin::Device& device);

}  // namespace tenon::proxy
