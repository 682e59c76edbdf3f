#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/base/status.h"
#include "tenon/collectives/engine.h"

namespace tenon::collectives {

/// Which exchange of which execution a message belongs to. Both ends must say the same.
struct Tag {
  uint64_t launch = 0;  ///< Number of the execution in its clique.
  Hash128 program;      ///< Equal in all processes for one program.
  std::string name;     ///< Of the program, for messages.
  uint32_t step = 0;    ///< Number of the exchange in the program.
  /// By member: how many exchanges the execution has had with it before. Each pair counts its own, since who has no
  /// part of an exchange knows nothing of it. Empty: none.
  std::vector<uint64_t> met = {};
};

/// A clique of processes that run programs together. Every message carries its tag and byte count, and both are checked
/// before a byte is used: processes that run programs in different orders get errors and never each other's numbers.
/// One that fails fails for good, and tells the others why through the store.
class Group {
 public:
  struct Setup {
    Meeting meeting;
    std::string secret;              ///< Equal in all processes of a job; strangers are refused by it.
    std::vector<std::string> names;  ///< Of the members, for messages ("process 3 (host h)").
  };
  /// Connects and greets. Errors as Channel::Exchange, and PERMISSION_DENIED for a member with another secret.
  static Result<std::unique_ptr<Group>> Create(Engine& engine, Setup setup);
  ~Group();

  int self() const { return setup_.meeting.self; }
  int size() const { return static_cast<int>(setup_.meeting.nodes.size()); }
  const std::vector<int>& nodes() const { return setup_.meeting.nodes; }

  /// Moves all parts, none of which is this member's own. INVALID_ARGUMENT, naming both, when a peer's tag or byte
  /// count is another one.
  Status Exchange(const Tag& tag, std::span<const SendPart> sends, std::span<const ReceivePart> receives);

  /// Ends the group with `why` (an error), here and at the other members. From any thread; the first call counts.
  void Fail(const Status& why) { Fail(why, true); }
  /// The same without a word in the store, which may be gone: the others only see that this member left.
  void Leave(const Status& why) { Fail(why, false); }
  /// Why it failed, else OK. Thread-safe.
  Status status() const;

  // What was moved so far.
  int64_t messages() const { return messages_.load(std::memory_order_relaxed); }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  explicit Group(Setup setup) : setup_(std::move(setup)) {}
  Status Greet();
  void Fail(const Status& why, bool tells);
  Status ExchangeUnguarded(const Tag& tag, std::span<const SendPart> sends, std::span<const ReceivePart> receives);
  /// `error`, and what the peers have said of their own ends.
  Status Explain(Status error) const;

  Setup setup_;
  std::unique_ptr<Channel> channel_;
  mutable std::mutex mutex_;
  Status failed_;
  std::atomic<int64_t> messages_{0}, bytes_{0};
};

/// What a running program needs for its exchanges.
struct Launch {
  Group* group = nullptr;
  Tag tag;

  /// Exchange `step` of the program. Parts name members of the group.
  Status Exchange(uint32_t step, std::span<const SendPart> sends, std::span<const ReceivePart> receives);
};

}  // namespace tenon::collectives
