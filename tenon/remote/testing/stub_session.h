#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tenon/session/session.h"

namespace tenon::remote::testing {

/// A device process that is none: what a front asks of it is kept, and the test says what it answers.
class StubSession final : public session::Session {
 public:
  explicit StubSession(std::shared_ptr<session::HandlerHost> handlers) : Session(std::move(handlers)) {}

  using Frame = channel::Ring::Frame;
  /// The next message to the process; waits for it. False when there is none and `wait` is not wanted.
  bool Next(Frame& frame, bool wait = true) {
    std::unique_lock lock(mutex_);
    if (wait) came_.wait(lock, [this] { return !requests_.empty(); });
    if (requests_.empty()) return false;
    frame = std::move(requests_.front());
    requests_.pop_front();
    return true;
  }
  size_t waiting() const {
    std::lock_guard lock(mutex_);
    return requests_.size();
  }
  /// What the process says. Of one thread at a time, as a session's reply thread is one.
  Status Say(wire::Verb verb, uint64_t number, std::string message) {
    return Deliver({verb, number, std::move(message)});
  }
  template <class Message>
  Status Say(uint64_t number, const Message& message) {
    return Say(Message::kVerb, number, wire::Encode(message));
  }
  void DieOf(const Status& why) {
    Die(why);
    FailAll();
  }

  void Announce(const std::shared_ptr<channel::Piece>& piece) override {
    std::lock_guard lock(mutex_);
    piece_ = piece;
  }
  void Forget(uint32_t) override {}
  Result<Bytes> MemoryAt(const wire::Place& place, uint64_t size_bytes) override {
    std::lock_guard lock(mutex_);
    if (piece_ == nullptr || place.piece != piece_->number || place.offset > piece_->memory.size() ||
        size_bytes > piece_->memory.size() - place.offset)
      return DataLoss("there is no such memory");
    return Bytes{piece_, piece_->memory.data() + place.offset};
  }
  void End() override { Die(Cancelled("it was ended")); }
  void Kill(const std::string& reason) override { Die(Unavailable(reason)); }

 private:
  bool TrySend(wire::Verb verb, uint64_t number, std::string_view message) override {
    std::lock_guard lock(mutex_);
    requests_.push_back({verb, number, std::string(message)});
    came_.notify_all();
    return true;
  }
  Status Send(wire::Verb verb, uint64_t number, std::string_view message) override {
    (void)TrySend(verb, number, message);
    return OkStatus();
  }

  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Frame> requests_;
  std::shared_ptr<channel::Piece> piece_;  // the last one
};

}  // namespace tenon::remote::testing
