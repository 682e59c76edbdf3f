#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/plugin/client.h"
#include "tenon/plugin/topology.h"
#include "tenon/proxy/core.h"

namespace tenon::proxy {

/// A program in the device process, and what it takes to have it in the next one. Dropped there with the last holder.
class RemoteProgram {
 public:
  /// How it came to be.
  struct Source {
    enum Kind { kCompiled, kSerialized, kAheadOfTime } kind = kCompiled;
    std::string format, code;  // of kCompiled and kAheadOfTime; bytes of kSerialized in `code`
    std::string options;
    bool has_options = true;                   // of kSerialized
    plugin::Ref<plugin::Topology> topology{};  // of kAheadOfTime
  };
  /// Has the device process make it.
  static Result<std::shared_ptr<RemoteProgram>> Make(std::shared_ptr<Core> core, Source source,
                                                     wire::Executable* record);
  ~RemoteProgram();

  /// The same at another server.
  Result<std::shared_ptr<RemoteProgram>> MakeAt(std::shared_ptr<Core> core) const;

  const std::shared_ptr<Core>& core() const { return core_; }
  uint64_t number() const { return number_; }
  /// The live device process, which has the program when this returns.
  Result<std::shared_ptr<Session>> Ready();
  /// The bytes or text that `what` asks for.
  Result<std::string> Ask(wire::Question what);
  /// Whether it may call handlers of this process.
  bool may_call() const { return may_call_; }
  /// Gives up what it has on the device, its handle staying.
  void Delete();
  /// The device process died while it ran: after some times in an hour, Ready refuses.
  void Blame();

 private:
  RemoteProgram(std::shared_ptr<Core> core, Source source)
      : core_(std::move(core)),
        source_(std::move(source)),
        may_call_(source_.kind == Source::kSerialized || wire::HasCustomCalls(source_.code)),
        number_(core_->NextNumber()) {}
  Result<wire::Executable> MakeIn(Session& session);

  const std::shared_ptr<Core> core_;
  const Source source_;
  const bool may_call_;
  const uint64_t number_;
  std::atomic<uint64_t> generation_{0};
  std::mutex making_;
  std::mutex deaths_mutex_;
  std::deque<int64_t> deaths_s_;  // when
};

/// What the SDK asks of a compiled program.
class ProxyExecutable final : public plugin::Executable {
 public:
  ProxyExecutable(std::shared_ptr<RemoteProgram> program, plugin::ExecutableInfo info)
      : Executable(std::move(info)), program_(std::move(program)) {}
  const std::shared_ptr<RemoteProgram>& program() const { return program_; }
  Result<std::string> Serialize() const override;
  Result<ProgramText> OptimizedProgram() const override;

 private:
  const std::shared_ptr<RemoteProgram> program_;
};

class ProxyLoadedExecutable final : public plugin::LoadedExecutable {
 public:
  static Result<plugin::Ref<plugin::LoadedExecutable>> Make(plugin::Ref<plugin::Client> client,
                                                            std::shared_ptr<RemoteProgram> program,
                                                            const wire::Executable& record);
  ProxyLoadedExecutable(plugin::Ref<plugin::Client> client, plugin::Ref<plugin::Executable> executable,
                        plugin::DeviceAssignment assignment, std::shared_ptr<RemoteProgram> program)
      : LoadedExecutable(std::move(client), std::move(executable), std::move(assignment)),
        program_(std::move(program)) {}
  const std::shared_ptr<RemoteProgram>& program() const { return program_; }
  Status Execute(plugin::ExecuteRequest& request) override;
  bool has_effects() const override { return program_->may_call(); }
  void Delete() override;

 private:
  /// The program where the devices of an execution are: one that is bound to none may run at any server.
  Result<std::shared_ptr<RemoteProgram>> ProgramFor(const plugin::ExecuteRequest& request);

  const std::shared_ptr<RemoteProgram> program_;
  std::mutex elsewhere_mutex_;
  std::vector<std::shared_ptr<RemoteProgram>> elsewhere_;  // at other servers
};

/// A topology as the device process describes it.
class ProxyTopology final : public plugin::Topology {
 public:
  /// `number` is the device process's, 0 for the topology of its client. `request` makes it again in the next process.
  static Result<plugin::Ref<plugin::Topology>> Make(std::shared_ptr<Core> core, wire::MakeTopology request,
                                                    const wire::Topology& record, uint64_t generation);
  ProxyTopology(Info info, std::shared_ptr<Core> core, wire::MakeTopology request, wire::Topology record,
                uint64_t generation)
      : Topology(std::move(info)),
        core_(std::move(core)),
        request_(std::move(request)),
        record_(std::move(record)),
        generation_(generation) {}
  const std::shared_ptr<Core>& core() const { return core_; }
  /// Its number in this process, which has it then.
  Result<uint64_t> NumberIn(Session& session);
  Result<std::string> Serialize() const override;
  Result<uint64_t> Fingerprint() const override;

 private:
  const std::shared_ptr<Core> core_;
  const wire::MakeTopology request_;
  const wire::Topology record_;
  std::mutex mutex_;
  uint64_t generation_;
};

}  // namespace tenon::proxy
