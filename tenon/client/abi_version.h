#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/client/plugin.h"

struct PJRT_RuntimeAbiVersion;
struct PJRT_ExecutableAbiVersion;

namespace tenon::client {

class Client;
class Executable;

// The ABI version extension: whether a serialized executable runs on a runtime, before anybody tries. UNIMPLEMENTED
// without it.

/// What an executable needs of its runtime. Moves only; one that was moved from answers FAILED_PRECONDITION.
class ExecutableAbiVersion {
 public:
  static Result<ExecutableAbiVersion> Of(const Executable& executable);
  /// The opposite of ToProto; needs no client.
  static Result<ExecutableAbiVersion> FromProto(const Plugin& plugin, std::string_view bytes);
  ExecutableAbiVersion(ExecutableAbiVersion&& other) noexcept
      : api_(other.api_), version_(std::exchange(other.version_, nullptr)) {}
  ExecutableAbiVersion& operator=(ExecutableAbiVersion&& other) noexcept;
  ~ExecutableAbiVersion() { Reset(); }

  /// A serialized xla.PjRtExecutableAbiVersionProto, to keep with the executable.
  Result<std::string> ToProto() const;
  Result<uint64_t> PlatformId() const;

  PJRT_ExecutableAbiVersion* get() const { return version_; }
  const Api& api() const { return *api_; }

 private:
  ExecutableAbiVersion(const Api* api, PJRT_ExecutableAbiVersion* version);
  void Reset();
  const Api* api_;
  PJRT_ExecutableAbiVersion* version_;
};

/// What executables a client can run. Moves only; one that was moved from answers FAILED_PRECONDITION.
class RuntimeAbiVersion {
 public:
  static Result<RuntimeAbiVersion> Of(const Client& client);
  /// The opposite of ToProto; needs no client.
  static Result<RuntimeAbiVersion> FromProto(const Plugin& plugin, std::string_view bytes);
  RuntimeAbiVersion(RuntimeAbiVersion&& other) noexcept
      : api_(other.api_), version_(std::exchange(other.version_, nullptr)) {}
  RuntimeAbiVersion& operator=(RuntimeAbiVersion&& other) noexcept;
  ~RuntimeAbiVersion() { Reset(); }

  /// A serialized xla.PjRtRuntimeAbiVersionProto.
  Result<std::string> ToProto() const;
  Result<uint64_t> PlatformId() const;
  /// OK when this runtime can run the executable; the error says why not. INVALID_ARGUMENT for versions of another
  /// plugin.
  Status IsCompatibleWith(const ExecutableAbiVersion& executable) const;
  /// OK when this runtime can take the place of the other one.
  Status IsCompatibleWith(const RuntimeAbiVersion& other) const;

  PJRT_RuntimeAbiVersion* get() const { return version_; }
  const Api& api() const { return *api_; }

 private:
  RuntimeAbiVersion(const Api* api, PJRT_RuntimeAbiVersion* version);
  void Reset();
  const Api* api_;
  PJRT_RuntimeAbiVersion* version_;
};

}  // namespace tenon::client
