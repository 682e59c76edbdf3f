#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tenon/base/fork.h"
#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"
#include "tenon/plugin/device.h"
#include "tenon/plugin/event.h"
#include "tenon/plugin/memory.h"

namespace tenon::host {

/// The executions of a client that have begun to wait or run on its queues. Once the client is given up, tells whether
/// anybody may still see what they compute: a loop that nobody can see the end of need not end by itself. Thread-safe.
class InFlight {
 public:
  /// One execution while it is in the list.
  class Entry {
   public:
    Entry() = default;
    ~Entry() { Leave(); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Notes that the execution holds a reference to `storage` (may be null), until Leave. Before Enter.
    void Holds(const plugin::Storage* storage, bool is_output) {
      if (storage != nullptr) held_.push_back({storage, is_output});
    }
    /// Names what Poison finds: `done` is the event of the outputs, which must stay until Leave. `device` null: all
    /// devices. Before Enter.
    void Names(const plugin::Device* device, int32_t launch_id, plugin::Event* done) {
      device_ = device;
      launch_id_ = launch_id;
      done_ = done;
    }
    /// Enters the list, before the execution can run.
    void Enter(InFlight& list);
    /// Before the references are given up. May be called again.
    void Leave();

   private:
    friend class InFlight;
    InFlight* list_ = nullptr;
    Entry* next_ = nullptr;
    Entry** link_ = nullptr;  // What points here.
    struct Held {
      const plugin::Storage* storage;
      bool is_output;
    };
    SmallVector<Held, 8> held_;
    const plugin::Device* device_ = nullptr;
    int32_t launch_id_ = 0;
    plugin::Event* done_ = nullptr;
  };

  const std::atomic<bool>& given_up() const { return given_up_; }
  void GiveUp() { given_up_.store(true, std::memory_order_relaxed); }

  /// Whether nobody but executions in the list refers to what they write: no buffer is left of any output. Looks at
  /// most every policy::kUnseenInterval; between, it repeats what it said.
  bool Unseen();

  /// Fails the outputs of the oldest execution with that launch id on the device that has not ended, at once; it goes
  /// on, and nobody sees what it computes. Whether there was one.
  bool Poison(const plugin::Device& device, int32_t launch_id, const Status& error);

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> given_up_{false};
  ForkSafeMutex mutex_;
  Entry* first_ = nullptr;
  bool unseen_ = false;
  Clock::time_point looked_;
};

}  // namespace tenon::host
