#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/plugin/plugin.h"

namespace tenon::plugin::testing {

/// A plugin for the SDK's own tests: `num_devices` devices (option, default 2) with memories "device" and
/// "pinned_host", and programs that are one word. Numbers are f32[4] unless stated.
///   add        two arguments, their sum
///   increment  one argument, which the program takes; plus one, in place when it may be
///   echo       one argument, as it is
///   column     one f32[2,3] argument that must be laid out by columns; its bytes in that order as f32[6]
///   pair       no argument, two outputs: four ones, and a scalar s32 7
///   token      a token argument, and four ones
///   refuse     Execute fails with INTERNAL
///   fail       one argument; executes later and fails with ABORTED
///   throw      Execute throws
///   mute       as echo; from then on nothing reads what the process writes to its standard output and error
///   crash, exit, hang  one argument; Execute ends the process by SIGSEGV or with status 3, or never returns
/// Programs that begin with "later " are executed by RunPending. A program begun with "everywhere " is loaded on as
/// many devices as there are replicas and runs on each.
class FakePlugin final : public Plugin {
 public:
  static FakePlugin& Get();

  std::vector<NamedValue> Attributes() const override;
  std::span<const OptionSpec> client_option_specs() const override;
  std::span<const OptionSpec> compile_option_specs() const override;
  Result<Ref<Client>> CreateClient(ClientOptions options) override;
  Result<Ref<Topology>> CreateTopology(std::string_view name, const Options& options) override;
  Result<Ref<Executable>> CompileForTopology(const Program& program, const CompileOptions& options, Topology& topology,
                                             Client* client) override;
  Status RegisterFfiHandler(const FfiHandlerRegistration& registration) override;
  bool has_custom_partitioners() const override { return true; }
  Status RegisterCustomPartitioner(std::string_view name,
                                   std::shared_ptr<const CustomPartitioner> partitioner) override;
  bool has_abi_versions() const override { return true; }
  bool has_executable_metadata() const override { return true; }
  /// Its clients receive what they sent themselves, under the same key and of any device.
  bool has_cross_host_transfers() const override { return true; }
  /// "parse" and "lower", which write their name around the program: "lower(parse(add))".
  std::vector<std::string> phase_names() const override { return {"parse", "lower"}; }
  Result<PartialProgram> RunPhase(std::string_view phase, const PartialProgram& program, const CompileOptions& options,
                                  Topology& topology) override;

  /// What the last client was made with.
  ClientOptions last_client_options;
  std::vector<std::string> ffi_targets;
  std::map<std::string, std::shared_ptr<const CustomPartitioner>> partitioners;
  /// The user data of type `ffi_type` that the last execution saw.
  int64_t ffi_type = 0;
  std::atomic<void*> last_user_data{nullptr};
  /// Whether new clients have device memory that the host cannot address.
  bool remote_memory = false;
};

/// What extensions have handed out and not got back: raw buffers, host memory, compilers and their texts, ABI versions.
int64_t LiveExtensionObjects();

/// Work that "later" programs and scheduled copies left behind. Runs until there is none.
void RunPending();
/// Whether Client::Schedule queues its work for RunPending, for copies of any size. Off by default.
void SetScheduling(bool on);

}  // namespace tenon::plugin::testing
