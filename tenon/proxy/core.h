#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/channel/arena.h"
#include "tenon/plugin/event.h"
#include "tenon/plugin/memory.h"
#include "tenon/session/process_session.h"
#include "tenon/session/remote.h"

namespace tenon::proxy {

using session::Session;

/// When a device process is started again after its death.
enum class Restart { kNever, kLazy };

/// Where a client's devices are: in a process of this machine, or at a server.
struct Where {
  session::ProcessOptions process;
  std::optional<session::RemoteOptions> remote{};
  Result<std::shared_ptr<Session>> Start() const;
};

/// What a client, its arrays and its programs share: shared memory that outlives device processes, or the session with
/// the server that has the arrays, and the process that there is now.
class Core : public std::enable_shared_from_this<Core> {
 public:
  struct Options {
    Where where;
    wire::CreateClient client;
    bool has_client = false;  // false: for topologies alone
    Restart restart = Restart::kLazy;
    int64_t memory_limit_bytes = 0;  // of arrays
    /// Of one of several servers: what errors call it.
    std::string label{};
  };
  /// `session` may be null: then one is started when it is needed.
  Core(Options options, std::shared_ptr<Session> session);
  ~Core();

  bool is_remote() const { return options_.where.remote.has_value(); }
  channel::Arena& arena() { return arena_; }
  const Options& options() const { return options_; }
  /// Where the numbers of its devices and memories begin among the client's: those of the servers before it come first.
  /// Set once, before either is used.
  struct Base {
    int device = 0, memory = 0;
  };
  const Base& base() const { return base_; }
  void set_base(Base base) { base_ = base; }
  /// An error as the client tells it, which has devices of several servers.
  Status Labelled(const Status& status) const {
    return status.ok() || options_.label.empty() ? status : status.WithContext("at " + options_.label);
  }
  /// Bytes of all arrays, wherever they are.
  uint64_t array_bytes() const {
    return is_remote() ? remote_bytes_.load(std::memory_order_relaxed) : arena_.bytes_in_use();
  }
  void CountRemote(int64_t bytes) { remote_bytes_.fetch_add(static_cast<uint64_t>(bytes), std::memory_order_relaxed); }
  uint64_t NextNumber() { return next_number_.fetch_add(1, std::memory_order_relaxed); }

  /// Opens the devices, once.
  Result<wire::ClientText> Open();
  /// The process that there is, started anew when it has died and the options say so. UNAVAILABLE with the cause of its
  /// death otherwise.
  Result<std::shared_ptr<Session>> Live();
  /// For events that the process brings about; null where waiting threads cannot help.
  std::shared_ptr<plugin::WaitHelper> HelperOf(const std::shared_ptr<Session>& session);
  /// The process that was there last, dead or alive; for what must not start another one. May be null.
  std::shared_ptr<Session> Last() const;
  /// The session with the server that has arrays of this home. UNAVAILABLE, with the cause, when it is over.
  Result<std::shared_ptr<session::Remote>> RemoteOf(uint64_t home) const;

 private:
  Result<std::shared_ptr<Session>> StartAgain(const Status& death);
  Result<std::shared_ptr<Session>> StartSession();

  const Options options_;
  Base base_;
  channel::Arena arena_;
  std::atomic<uint64_t> next_number_{1}, remote_bytes_{0};
  std::mutex starting_;  // held while a process is started
  mutable std::mutex mutex_;
  std::shared_ptr<Session> session_;
  bool open_ = false;
  uint64_t helped_ = 0;  // the generation of the session that helper_ is of
  std::shared_ptr<plugin::WaitHelper> helper_;
};

/// An array's bytes, in shared memory or at a server.
class ArrayStorage final : public plugin::Storage {
 public:
  static Result<plugin::Ref<ArrayStorage>> Make(std::shared_ptr<Core> core, size_t size_bytes);
  ArrayStorage(std::shared_ptr<Core> core, channel::Arena::Block block, size_t size_bytes, uint64_t number);

  uint64_t number() const { return number_; }
  const channel::Arena::Block& block() const { return block_; }
  /// Where it is known (Session::home); 0: nowhere yet. Arrays at a server are in no other place.
  uint64_t home() const { return home_.load(std::memory_order_acquire); }
  void NoteHome(uint64_t home) { home_.store(home, std::memory_order_release); }
  /// Whether executions there may name the array: it has been told of it by a message that is under way.
  bool known_to(uint64_t home) const { return known_to_.load(std::memory_order_acquire) == home; }
  void NoteKnownTo(uint64_t home) {
    NoteHome(home);
    known_to_.store(home, std::memory_order_release);
  }
  /// Bytes that were uploaded to an array at a server, in however many parts.
  uint64_t uploaded() const { return uploaded_.load(std::memory_order_acquire); }
  void NoteUpload(uint64_t bytes) { uploaded_.fetch_add(bytes, std::memory_order_acq_rel); }
  /// The bytes of a small array at a server, which came with it. Before it counts as defined.
  void KeepValue(std::string value) { value_ = std::move(value); }
  std::string_view value() const { return value_; }
  const std::shared_ptr<Core>& core() const { return core_; }
  /// Of shared memory.
  wire::Place place() const { return {block_.piece == nullptr ? 0 : block_.piece->number, block_.offset}; }
  /// Whose memory the device process has the array in as well, which stays as long as this one. Before it counts as
  /// defined.
  void Share(plugin::Ref<ArrayStorage> other) { shared_.push_back(std::move(other)); }
  bool shares() const { return !shared_.empty(); }
  bool has(const wire::Place& at) const { return wire::IsWithin(at, place(), size_bytes()); }
  /// That of `arrays`, and of those that they share memory with, which has the place; null where it is not found. Of
  /// arrays that share memory so many are looked through as a process that keeps to the rules may leave.
  static plugin::Ref<ArrayStorage> HolderOf(std::span<const plugin::Ref<ArrayStorage>> arrays, const wire::Place& at);

 private:
  ~ArrayStorage() override;
  const std::shared_ptr<Core> core_;
  channel::Arena::Block block_;
  const uint64_t number_;
  std::atomic<uint64_t> home_{0}, known_to_{0}, uploaded_{0};
  std::string value_;
  SmallVector<plugin::Ref<ArrayStorage>, 1> shared_;
};

}  // namespace tenon::proxy
