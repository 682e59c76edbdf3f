#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tenon/channel/tls.h"
#include "tenon/remote/front.h"

namespace tenon::remote {

/// How a server listens.
struct ListenOptions {
  std::string address;  // HOST:PORT; port 0: the system chooses
  channel::Credentials credentials;
  std::string plugin;  // of every session
  SessionLimits limits;
  int max_sessions = 16;
  /// Connections that have not shown yet who they are: how many there may be, and how long they may take.
  int max_strangers = 32, stranger_ms = 10000;
  /// How many of them may be of one address (of IPv6, of one network of 64 bits), so that nobody takes all places.
  int max_strangers_per_host = 16;
  /// So many failures to show who is there within `failures_ms` keep an address out until the time is over.
  int max_failures = 10, failures_ms = 10000;
  /// Who comes, who is refused and why, who goes. One call at a time, from any thread, none once the listener is gone.
  std::function<void(const std::string& line)> log{};
};

/// Lets clients in that show who they are, and keeps a session for each. Nothing is served to anybody else.
class Listener {
 public:
  /// UNAVAILABLE when the address cannot be had; INVALID_ARGUMENT for credentials that prove nothing.
  static Result<std::unique_ptr<Listener>> Start(ListenOptions options);
  ~Listener();

  int port() const { return port_; }
  /// Serves until Stop, then ends all sessions and waits for them, though not for ever.
  Status Run();
  /// From any thread, and from signal handlers.
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

 private:
  struct State;
  Listener(channel::Fd socket, int port, std::shared_ptr<State> state);
  Status TakeNext();
  const channel::Fd socket_;
  const int port_;
  const std::shared_ptr<State> state_;  // what connections may outlive the listener with
  std::atomic<bool> stopped_{false};
};

}  // namespace tenon::remote
