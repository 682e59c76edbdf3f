#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "tenon/abi/pjrt_executable.h"
#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"
#include "tenon/plugin/event.h"
#include "tenon/plugin/ref.h"

namespace tenon::plugin {

class CopyToDeviceStream;

/// What the caller gave one device of an execution for the channels through which its program talks to the host. Keep a
/// reference until the execution ends. Thread-safe; the caller's functions may block and may call back into the client.
class HostTransfers final : public RefCounted {
 public:
  HostTransfers(std::span<const PJRT_SendCallbackInfo> sends, std::span<const PJRT_RecvCallbackInfo> recvs);

  /// The channels for which there are callbacks.
  std::vector<int64_t> SendChannels() const;
  std::vector<int64_t> RecvChannels() const;
  /// Gives the caller bytes that the program sends on a channel: a dense array in row-major order, or a part of it.
  /// `total` are all bytes of the array; `done`: these are the last. They are copied. The caller's error;
  /// INVALID_ARGUMENT when it has no callback for the channel.
  Status Send(int64_t channel, const void* bytes, size_t size, size_t total, bool done) const;
  /// Has the caller fill `to`, which must live until the event is ready: when all bytes are there, or it gave up, or
  /// gave more. INVALID_ARGUMENT when there is no callback for the channel.
  EventRef Receive(int64_t channel, void* to, size_t size) const;
  /// The same, and waits. `gave_up` is asked `every` so often; once it says so, nothing more is written to `to`, and
  /// the call returns. Not for threads that others wait for.
  Status ReceiveAll(int64_t channel, void* to, size_t size, std::chrono::milliseconds every,
                    const std::function<bool()>& gave_up) const;

 private:
  ~HostTransfers() override = default;
  Result<Ref<CopyToDeviceStream>> Begin(int64_t channel, void* to, size_t size, const Ref<Event>& received) const;

  SmallVector<PJRT_SendCallbackInfo, 2> sends_;
  SmallVector<PJRT_RecvCallbackInfo, 2> recvs_;
};

/// What a recv callback fills. The handle that it gets is one reference.
class CopyToDeviceStream final : public RefCounted {
 public:
  /// `received` is set when all bytes are there, or none will come.
  CopyToDeviceStream(char* to, size_t size, Ref<Event> received)
      : to_(to), total_(size), received_(std::move(received)) {}

  /// Copies. INVALID_ARGUMENT for more bytes than there is room for: then nothing more is taken.
  Status Add(const void* bytes, size_t size);
  /// The caller adds nothing more.
  void Close();
  int64_t total() const { return static_cast<int64_t>(total_); }
  int64_t current() const;
  /// Bytes come in multiples of it.
  static constexpr int64_t kGranuleBytes = 1;

 private:
  ~CopyToDeviceStream() override = default;
  char* const to_;
  const size_t total_;
  const Ref<Event> received_;
  mutable std::mutex mutex_;
  size_t current_ = 0;
  bool over_ = false;
  [[no_unique_address]] internal::Counted<ObjectKind::kHostStream> counted_;
};

}  // namespace tenon::plugin
