#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tenon/channel/pipe.h"
#include "tenon/channel/tls.h"
#include "tenon/session/session.h"

namespace tenon::session {

/// How a server (tenon-device-server --listen) is reached.
struct RemoteOptions {
  std::string address;  // HOST:PORT
  channel::Credentials credentials;
  std::shared_ptr<HandlerHost> handlers{};
  /// How long a connection may take, and how long a broken one may take to be made again; 0: what the server allows.
  int connect_ms = 10000, grace_ms = 0;
  int keep_alive_ms = 5000, silence_ms = 20000;
};

class RemoteSession;

/// A session with a server: two connections, of which one carries messages and one the bytes of arrays, made again when
/// they break. Arrays are at the server and outlive device processes there. Thread-safe; its threads keep it alive
/// until the session has ended.
class Remote : public std::enable_shared_from_this<Remote> {
 public:
  /// UNAVAILABLE when nobody is there, UNAUTHENTICATED when one side does not believe the other, FAILED_PRECONDITION
  /// when the versions have nothing in common, RESOURCE_EXHAUSTED when the server has too many sessions.
  static Result<std::shared_ptr<Remote>> Connect(const RemoteOptions& options);

  const std::string& name() const { return options_.address; }
  uint64_t number() const { return number_; }
  const std::shared_ptr<HandlerHost>& handlers() const { return options_.handlers; }
  /// OK while the session lasts.
  Status state() const;
  /// What the server takes.
  uint32_t max_message_bytes() const;
  /// Whose messages come, and go, from now on. The state, when that is not OK.
  Status SetSession(std::shared_ptr<RemoteSession> session);
  /// Sends a message of a session without waiting, after those that were posted before. What is of arrays is for the
  /// server and goes in any case; anything else is for a device process, and goes only to the one that it is meant for.
  void Post(uint64_t generation, wire::Verb verb, uint64_t number, std::string_view message);

  using Done = std::function<void(const Status&)>;
  /// Sends bytes of an array that an Upload announced. `done` says that `bytes` is not needed any more: it was sent,
  /// not that it has arrived.
  void Send(uint64_t array, uint64_t offset, std::string_view bytes, Done done);
  /// Fetches bytes of an array into `to`, which is left alone from `done` on, once the `uploaded` bytes that were said
  /// to be on their way to it are there.
  void Fetch(const wire::Fetch& what, char* to, Done done);

  /// Ends the session.
  void Close(const Status& why);
  /// Breaks the connections as a cut cable does; for tests.
  void Break();

 private:
  struct Job {
    bool is_fetch = false;
    uint64_t number = 0;  // of the array, or of the fetch
    uint64_t offset = 0;
    std::string_view bytes;
    wire::Fetch fetch;
    Done done;
  };
  struct Fetching {
    char* to = nullptr;
    uint64_t offset = 0, size = 0, arrived = 0;
    Done done;
  };

  // A message that the control connection has had no room for yet, of the session with this generation.
  struct Outgoing {
    uint64_t generation;
    wire::Verb verb;
    uint64_t number;
    std::string message;
  };

  explicit Remote(RemoteOptions options);
  channel::Pipe& control() { return *pipes_[0]; }
  Result<channel::Pipe::Dialed> Dial(wire::Lane lane, uint64_t received);
  void ReadControl();
  void WriteControl();
  void PopOverflow();
  bool MaySend(uint64_t generation, wire::Verb verb) const;
  void ReadBulk();
  void WriteBulk();
  Status HandleControl(const channel::Ring::Frame& frame);
  Status HandleBulk(const channel::Ring::Frame& frame);
  std::shared_ptr<RemoteSession> TakeSession();
  void End(const Status& why);

  const RemoteOptions options_;
  const uint64_t number_;
  channel::Address address_;
  std::shared_ptr<channel::Tls> tls_;
  std::array<std::unique_ptr<channel::Pipe>, wire::kLanes> pipes_;

  std::mutex sending_;  // after that of a session; before those of pipes
  std::condition_variable queued_;
  std::deque<Outgoing> overflow_;
  size_t outcomes_ = 0;   // of calls of the device process, among them
  uint64_t speaker_ = 0;  // the generation of the session that the device process is of; 0: there is none
  bool silent_ = false;   // the session with the server is over

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t session_number_ = 0;  // the server's
  std::string secret_;
  uint32_t grace_s_ = 0, max_message_bytes_ = wire::kMaxMessageBytes;
  std::shared_ptr<RemoteSession> session_;
  Status ended_;
  bool has_ended_ = false;
  std::deque<Job> jobs_;
  std::unordered_map<uint64_t, Fetching> fetching_;
  uint64_t next_fetch_ = 1;
};

/// A device process at a server.
class RemoteSession final : public Session {
 public:
  /// Has the server start a device process. The session with the server and its arrays stay when that fails.
  static Result<std::shared_ptr<Session>> Start(std::shared_ptr<Remote> remote);
  ~RemoteSession() override;

  const std::shared_ptr<Remote>& remote() const { return remote_; }
  uint64_t home() const override { return remote_->number(); }
  void Announce(const std::shared_ptr<channel::Piece>& piece) override {}
  void Forget(uint32_t piece) override {}
  Result<Bytes> MemoryAt(const wire::Place& place, uint64_t size_bytes) override;
  void End() override;
  void Kill(const std::string& reason) override;

 private:
  friend class Remote;
  explicit RemoteSession(std::shared_ptr<Remote> remote);
  uint32_t max_message_bytes() const override { return remote_->max_message_bytes(); }
  bool TrySend(wire::Verb verb, uint64_t number, std::string_view message) override {
    remote_->Post(generation(), verb, number, message);
    return true;
  }
  Status Send(wire::Verb verb, uint64_t number, std::string_view message) override {
    remote_->Post(generation(), verb, number, message);
    return OkStatus();
  }
  /// The device process, or the way to it, is gone.
  void Lose(const Status& why);

  const std::shared_ptr<Remote> remote_;
};

}  // namespace tenon::session
