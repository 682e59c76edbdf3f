#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/client/device.h"
#include "tenon/client/event.h"
#include "tenon/client/named_value.h"

namespace tenon::client {

class CopyToDeviceStream;
class ExecuteContext;

/// Which arguments an execution may consume, provided that the program marks them for donation.
class Donate {
 public:
  static Donate None() { return Donate(false, {}); }
  static Donate All() { return Donate(true, {}); }
  /// Only the arguments with these numbers.
  static Donate Only(std::vector<int64_t> indices) { return Donate(false, std::move(indices)); }

  bool all() const { return all_; }
  const std::vector<int64_t>& only() const { return only_; }

 private:
  Donate(bool all, std::vector<int64_t> only) : all_(all), only_(std::move(only)) {}
  bool all_;
  std::vector<int64_t> only_;
};

/// Receives what a program sends on `channel_id`, piece by piece: `data` lives for the call, `done` marks the last
/// piece. Called on threads of the plugin until the execution completes. An error fails the execution, and so does what
/// it throws.
struct SendCallback {
  int64_t channel_id = 0;
  std::function<Status(std::span<const std::byte> data, size_t total_size, bool done)> receive;
};
/// Supplies what a program receives on `channel_id`: the callback, or code that it hands the stream to, adds chunks
/// until the total is reached. What it throws ends the stream.
struct RecvCallback {
  int64_t channel_id = 0;
  std::function<void(CopyToDeviceStream stream)> supply;
};

/// What may differ between executions of one program. Lists are read during the call.
struct ExecuteOptions {
  Donate donate = Donate::None();
  /// Number of the step in a program over several devices or hosts.
  int launch_id = 0;
  /// For programs that were compiled to be portable: the device to run on.
  std::optional<Device> device;
  /// Carries user data to FFI handlers; must live until completion.
  const ExecuteContext* context = nullptr;
  /// "file:line", for diagnostics.
  std::string call_location;
  /// [device][callback]; empty, or one list per device.
  std::vector<std::vector<SendCallback>> send;
  std::vector<std::vector<RecvCallback>> recv;
  /// [device][output]: host memory in which outputs are to lie, of their size and aligned to 64 bytes, or null; empty:
  /// the plugin chooses. Must outlive the output and what reads it. A wish, which plugins on Tenon's SDK may fulfil:
  /// Buffer::UnsafePointer tells.
  std::span<void* const> output_memory;
  /// Options of the plugin (0.117).
  Options custom;
  /// Whether ExecuteOnDevices returns events of completion.
  bool want_done_events = false;
};

}  // namespace tenon::client
