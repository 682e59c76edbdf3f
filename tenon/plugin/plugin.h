#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/pjrt.h"
#include "tenon/plugin/client.h"
#include "tenon/plugin/custom_partitioner.h"

namespace tenon::plugin {

/// The key-value store that a framework lends to the processes of one job. Thread-safe; valid as long as the client.
class KeyValueStore {
 public:
  KeyValueStore(PJRT_KeyValueGetCallback get, void* get_arg, PJRT_KeyValueTryGetCallback try_get, void* try_get_arg,
                PJRT_KeyValuePutCallback put, void* put_arg)
      : get_(get), try_get_(try_get), put_(put), get_arg_(get_arg), try_get_arg_(try_get_arg), put_arg_(put_arg) {}

  /// Blocks until the key is there. DEADLINE_EXCEEDED or what the store says.
  Result<std::string> Get(std::string_view key, int timeout_ms) const;
  /// NOT_FOUND when the key is not there. UNIMPLEMENTED when the store cannot try.
  Result<std::string> TryGet(std::string_view key) const;
  Status Put(std::string_view key, std::string_view value) const;

 private:
  PJRT_KeyValueGetCallback get_;
  PJRT_KeyValueTryGetCallback try_get_;
  PJRT_KeyValuePutCallback put_;
  void *get_arg_, *try_get_arg_, *put_arg_;
};

/// What PJRT_Client_Create was called with.
struct ClientOptions {
  /// Checked against Plugin::client_option_specs.
  Options values;
  /// Set only when the option num_nodes is greater than 1: callers without a job leave garbage in the callbacks.
  std::optional<KeyValueStore> store;

  // The option, or the default.
  int64_t GetInt(std::string_view name, int64_t otherwise) const;
  bool GetBool(std::string_view name, bool otherwise) const;
  std::string GetString(std::string_view name, std::string_view otherwise) const;
};

/// A handler for typed custom calls, as the FFI extension registers it.
struct FfiHandlerRegistration {
  std::string_view target_name;
  std::string_view platform_name;
  /// An XLA_FFI_Handler* (see tenon/abi/xla_ffi.h): the execute stage.
  void* handler = nullptr;
  uint32_t traits = 0;
};

/// What stands between two phases of a compiler.
struct PartialProgram {
  std::string code;
  /// What `code` is. Empty: "mlir", what callers begin with.
  std::string format;
  /// The phase that made it; empty for a program that has seen none.
  std::string made_by;
  std::string name;
};

/// The plugin as such: one object per shared library, which lives as long as the library. Functions are called from any
/// thread, some of them before Initialize.
class Plugin {
 public:
  virtual ~Plugin() = default;

  /// Fails when the plugin cannot run here. May be called again.
  virtual Status Initialize() { return OkStatus(); }

  /// StableHLO versions that the plugin reads: {major, minor, patch}. Callers serialize for the current one, so it
  /// decides what arrives.
  virtual std::array<int64_t, 3> stablehlo_current_version() const { return {1, 9, 0}; }
  virtual std::array<int64_t, 3> stablehlo_minimum_version() const { return {0, 9, 0}; }
  /// Further attributes; "xla_version" and the two versions are there already.
  virtual std::vector<NamedValue> Attributes() const { return {}; }

  /// The first of a list of extensions of the plugin's own, which live as long as it: callers find them behind those of
  /// the SDK, and of two with one type the SDK's. Null: none. Called once, by MakeApi.
  virtual PJRT_Extension_Base* Extensions() { return nullptr; }

  /// Options of PJRT_Client_Create. node_id, num_nodes and partition_index are always accepted.
  virtual std::span<const OptionSpec> client_option_specs() const { return {}; }
  /// Keys of env_option_overrides that compilations accept.
  virtual std::span<const OptionSpec> compile_option_specs() const { return {}; }

  /// Whether options of clients and compilations that the specs do not name are taken as they come, for a plugin that
  /// passes them on to somebody who knows them. Otherwise they are refused.
  virtual bool takes_other_options() const { return false; }

  virtual Result<Ref<Client>> CreateClient(ClientOptions options) = 0;

  /// Describes devices without opening them. UNIMPLEMENTED unless overridden.
  virtual Result<Ref<Topology>> CreateTopology(std::string_view name, const Options& options);
  /// The default reads what Topology::Serialize writes.
  virtual Result<Ref<Topology>> DeserializeTopology(std::string_view bytes);
  /// Compiles ahead of time; `client` may be null. UNIMPLEMENTED unless overridden.
  virtual Result<Ref<Executable>> CompileForTopology(const Program& program, const CompileOptions& options,
                                                     Topology& topology, Client* client);

  /// The compiler's phases in their order, fixed for the plugin's life, and one of them: `phase` is a name of the list.
  /// The default has one, "compile": a program to the bytes of Executable::Serialize, format "executable". An empty
  /// list leaves the extension out.
  virtual std::vector<std::string> phase_names() const;
  virtual Result<PartialProgram> RunPhase(std::string_view phase, const PartialProgram& program,
                                          const CompileOptions& options, Topology& topology);

  /// Whether clients send arrays to other processes (Client::SendToProcess): false leaves the extension
  /// CrossHostTransfers out.
  virtual bool has_cross_host_transfers() const { return false; }
  /// Whether executables and clients tell ABI versions (ExecutableInfo::abi_version, Client::executable_versions):
  /// false leaves the extension AbiVersion out. With it JAX 0.12 saves no executable, in its compilation cache either,
  /// since it reads such versions of CUDA, ROCm and TPU alone; without it JAX saves all.
  virtual bool has_abi_versions() const { return false; }
  /// Whether Executable::Metadata says something: false leaves the extension ExecutableMetadata out.
  virtual bool has_executable_metadata() const { return false; }

  /// Handlers for custom calls, once per name and platform. UNIMPLEMENTED unless overridden.
  virtual Status RegisterFfiHandler(const FfiHandlerRegistration& registration);

  /// Whether callers may say how custom calls are cut over devices: false leaves the extension CustomPartitioner out.
  virtual bool has_custom_partitioners() const { return false; }
  /// That of the custom calls of a name, for all clients; the last one of a name holds. UNIMPLEMENTED unless
  /// overridden.
  virtual Status RegisterCustomPartitioner(std::string_view name, std::shared_ptr<const CustomPartitioner> partitioner);
  /// Says of the custom calls of a name that they compute each entry of their leading dims for itself. Does nothing
  /// unless overridden: it changes no results.
  virtual Status RegisterBatchPartitionable(std::string_view name) { return OkStatus(); }
};

/// The id of a type of user data, by name: the same for every caller in this process, registered on first use. What
/// FfiHandler's context functions use as well. A nonzero `id` is checked against the name: INVALID_ARGUMENT when they
/// disagree.
Result<int64_t> RegisterFfiType(std::string_view name, int64_t id, void (*deleter)(void*));

/// The table of `plugin`, which must live as long as the table; the same pointer each time. Every entry is bound. A
/// shared library has one plugin: `extern "C" const PJRT_Api* GetPjrtApi() { static MyPlugin plugin; return
/// tenon::plugin::MakeApi(plugin); }`. The environment variable TENON_PJRT_MINOR lowers the declared minor version, for
/// clients that demand an exact one.
const PJRT_Api* MakeApi(Plugin& plugin);

}  // namespace tenon::plugin
