#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tenon/channel/arena.h"
#include "tenon/plugin/memory.h"
#include "tenon/proxy/session.h"

namespace tenon::proxy {

/// When a device process is started again after its death.
enum class Restart { kNever, kLazy };

/// What a client, its arrays and its programs share: shared memory that outlives device processes, and the process that
/// there is now.
class Core : public std::enable_shared_from_this<Core> {
 public:
  struct Options {
    SessionOptions session;
    wire::CreateClient client;
    bool has_client = false;  // false: for topologies alone
    Restart restart = Restart::kLazy;
    int64_t memory_limit_bytes = 0;  // of arrays
  };
  /// `session` may be null: then one is started when it is needed.
  Core(Options options, std::shared_ptr<Session> session);
  ~Core();

  channel::Arena& arena() { return arena_; }
  const Options& options() const { return options_; }
  uint64_t NextNumber() { return next_number_.fetch_add(1, std::memory_order_relaxed); }

  /// Opens the devices, once.
  Result<wire::ClientText> Open();
  /// The process that there is, started anew when it has died and the options say so. UNAVAILABLE with the cause of its
  /// death otherwise.
  Result<std::shared_ptr<Session>> Live();
  /// The process that was there last, dead or alive; for what must not start another one. May be null.
  std::shared_ptr<Session> Last() const;

 private:
  Result<std::shared_ptr<Session>> StartAgain(const Status& death);

  const Options options_;
  channel::Arena arena_;
  std::atomic<uint64_t> next_number_{1};
  std::mutex starting_;  // held while a process is started
  mutable std::mutex mutex_;
  std::shared_ptr<Session> session_;
  bool open_ = false;
};

/// An array's bytes in shared memory.
class ArrayStorage final : public plugin::Storage {
 public:
  static Result<plugin::Ref<ArrayStorage>> Make(std::shared_ptr<Core> core, size_t size_bytes);
  ArrayStorage(std::shared_ptr<Core> core, channel::Arena::Block block, size_t size_bytes);

  uint64_t number() const { return number_; }
  const channel::Arena::Block& block() const { return block_; }
  /// Whether the device process of this generation knows the array, or has been told of it by a message that is under
  /// way.
  bool known_to(uint64_t generation) const { return known_to_.load(std::memory_order_acquire) == generation; }
  void NoteKnownTo(uint64_t generation) { known_to_.store(generation, std::memory_order_release); }

 private:
  ~ArrayStorage() override;
  const std::shared_ptr<Core> core_;
  channel::Arena::Block block_;
  const uint64_t number_;
  std::atomic<uint64_t> known_to_{0};
};

}  // namespace tenon::proxy
