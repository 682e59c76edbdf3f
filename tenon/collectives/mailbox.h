#pragma once

/// Arrays from one process of a job to another, under keys that both know. A process offers bytes, and the other one
/// fetches them over a connection of its own; either may come first, and neither call waits.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/base/fd.h"
#include "tenon/base/status.h"
#include "tenon/collectives/engine.h"

namespace tenon::collectives {

/// One process's end: what it offers, and what it fetches. All functions but Begin are thread-safe.
///
/// TCP, in plain text: for trusted networks. Who connects shows the job's secret; strangers are let go of. In a forked
/// child it is of no use.
class Mailbox {
 public:
  /// Called once, on the mailbox's thread: must not block.
  using Done = std::function<void(const Status&)>;

  /// Takes a port. `address`: of this host, where the others reach it; empty: any. UNAVAILABLE when there is none.
  static Result<std::unique_ptr<Mailbox>> Open(const std::string& address);
  /// As Leave, with CANCELLED.
  ~Mailbox();

  uint16_t port() const { return port_; }

  /// Where another process listens; `name` is for messages.
  struct Peer {
    std::string host;
    uint16_t port = 0;
    std::string name;
  };
  struct Setup {
    int self = 0;             ///< This process, among `peers`.
    std::string secret;       ///< Equal in all processes.
    std::vector<Peer> peers;  ///< By number.
    Milliseconds timeout{0};  ///< So long may the other side stay silent.
  };
  /// To be called once, before what follows but Lost and Leave.
  void Begin(Setup setup);

  /// Offers `size` bytes, which must live until `done` hears that they have left, or an error: `status` then, which the
  /// other side gets in their place; DEADLINE_EXCEEDED when it does not come; ALREADY_EXISTS for a key that is offered
  /// to it.
  void Post(int peer, int64_t key, const Status& status, const std::byte* data, size_t size, Done done);
  /// Has what `peer` offers under the key written to `to`, which must live until `done` is called. Errors: those of the
  /// other side; INVALID_ARGUMENT, naming both sizes, when it offers more or fewer bytes; UNAVAILABLE when it is gone;
  /// DEADLINE_EXCEEDED.
  void Fetch(int peer, int64_t key, std::byte* to, size_t size, Done done);

  /// Calls that have not ended: their `done` is called at once after.
  int64_t pending() const;

  /// Ends all that is under way with a process, and all later calls, with `why`, an error.
  void Lost(int peer, const Status& why);
  /// The same with all processes.
  void Leave(const Status& why);

 private:
  class Loop;
  Mailbox(Fd listener, uint16_t port) : listener_(std::move(listener)), port_(port) {}

  Fd listener_;  ///< The loop's from Begin on.
  const uint16_t port_;
  std::shared_ptr<Loop> loop_;  ///< Null until Begin.
};

}  // namespace tenon::collectives
