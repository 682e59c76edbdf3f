#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "tenon/client/api.h"

namespace tenon::client {

/// The completion of work that a plugin does in the background: OK or an error. Moves only; an Event that was moved
/// from, or made by default, stands for work that is done. Safe to use from several threads at once, except for
/// destruction and moves. Destroying it neither waits for nor cancels the work.
class Event {
 public:
  Event() = default;
  /// Takes ownership; null counts as done.
  Event(const Api* api, PJRT_Event* event);
  Event(Event&& other) noexcept : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept;
  ~Event() { Reset(); }

  /// An event that the caller completes with Set (needs 0.89).
  static Result<Event> Create(const Api& api);
  /// Completes an event made by Create; once.
  Status Set(const Status& status);

  Result<bool> IsReady() const;
  /// Blocks until done; the error of the work, or of the wait.
  Status Await() const;
  /// The error of the work, without waiting: FAILED_PRECONDITION when it is not done.
  Status Error() const;
  /// Has `done` called exactly once: inside this call when the work is done already, otherwise on a thread of the
  /// plugin, which `done` must not block. What `done` throws is dropped. The Event may be destroyed meanwhile. An error
  /// means that `done` is never called.
  Status OnReady(std::function<void(Status)> done) const;
  /// Keeps what the work uses until it is done; waits for that where OnReady fails.
  void Keep(std::shared_ptr<const void> used) const;

  PJRT_Event* get() const { return event_; }
  /// Gives up ownership.
  PJRT_Event* release() { return std::exchange(event_, nullptr); }

 private:
  void Reset();
  const Api* api_ = nullptr;
  PJRT_Event* event_ = nullptr;
};

/// A value that is ready when its event is. Moves only. A Future that is dropped early lets the work finish: what the
/// work writes to lives until then.
template <class T>
class Future {
 public:
  /// `value` is written by the work that `event` stands for.
  Future(Event event, std::shared_ptr<T> value) : event_(std::move(event)), value_(std::move(value)) {}
  Future(Future&&) noexcept = default;
  Future& operator=(Future&& other) noexcept {
    if (this != &other) {
      Abandon();
      event_ = std::move(other.event_);
      value_ = std::move(other.value_);
    }
    return *this;
  }
  ~Future() { Abandon(); }

  Result<bool> IsReady() const { return event_.IsReady(); }
  /// Blocks; takes the value out.
  Result<T> Await() && {
    if (value_ == nullptr) return FailedPrecondition("the value of this Future was taken already");
    TENON_RETURN_IF_ERROR(event_.Await());
    T value = std::move(*value_);
    value_.reset();
    return value;
  }
  /// Calls `done` with the value or the error, under the rules of Event::OnReady. Takes the value out.
  Status OnReady(std::function<void(Result<T>)> done) && {
    if (value_ == nullptr) return FailedPrecondition("the value of this Future was taken already");
    auto value = std::exchange(value_, nullptr);
    return event_.OnReady([value, done = std::move(done)](Status status) {
      if (status.ok()) {
        done(std::move(*value));
      } else {
        done(std::move(status));
      }
    });
  }

 private:
  void Abandon() {
    if (value_ == nullptr) return;
    event_.Keep(std::move(value_));  // The plugin may still write.
    value_.reset();
  }
  Event event_;
  std::shared_ptr<T> value_;
};

}  // namespace tenon::client
