#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/status.h"
#include "tenon/plugin/ref.h"

namespace tenon::plugin {

class Event;

/// What a thread that is about to sleep for an event can do instead, where it may bring the event about.
class WaitHelper {
 public:
  virtual ~WaitHelper() = default;
  /// Returns when the event is ready, or soon. Any thread.
  virtual void Help(const Event& event) = 0;
};

/// While one lives, events that its thread completes keep their listeners for Take: those may be anybody's, and the
/// thread may be in the middle of something.
class ListenersKept {
 public:
  ListenersKept();
  ~ListenersKept();
  ListenersKept(const ListenersKept&) = delete;
  ListenersKept& operator=(const ListenersKept&) = delete;
  /// Runs what was kept, on whatever thread; null: there was nothing. To be called before the end.
  std::function<void()> Take();

 private:
  void* list_;
};

/// A one-shot future that carries OK or an error. The null EventRef is an event that is ready with OK: work that is
/// done at once returns it and allocates nothing. Copies refer to the same event. Everything here is thread-safe.
class EventRef {
 public:
  EventRef() = default;
  EventRef(std::nullptr_t) {}                               // NOLINT(google-explicit-constructor)
  EventRef(Ref<Event> event) : event_(std::move(event)) {}  // NOLINT(google-explicit-constructor)

  /// An event that is ready with `status`; null when that is OK.
  static EventRef Of(Status status);

  bool is_ready() const;
  /// The outcome. Requires is_ready().
  Status status() const;
  /// is_ready() with an error. False says nothing for longer than the call: what is pending may fail at any time, so
  /// whether something may be used now is succeeded()'s to say.
  bool failed() const;
  /// is_ready() with OK, for good: what the event stands for may be used. One look, where !failed() and is_ready() are
  /// two with room for a failure between them.
  bool succeeded() const;
  /// Whether it is pending and a promise must be kept first; see Event::BeginPromise.
  bool waits_for_promises() const;
  /// Blocks until ready and returns the outcome. Not for threads that others wait for.
  Status Wait() const;
  /// Calls callback(const Status&) exactly once: now, on this thread, when the event is ready; else on the thread that
  /// completes it, or another one where that one only waits. The callback must not block for long and must not throw.
  /// It may drop any reference, this one too.
  template <class F>
  void OnReady(F callback) const;

  Event* get() const { return event_.get(); }
  Ref<Event> TakeRef() && { return std::move(event_); }

 private:
  Ref<Event> event_;
};

/// The event behind an EventRef that can still be pending. Whoever makes one keeps a reference and calls Set exactly
/// once; when the last reference goes before that, waiters get CANCELLED.
class Event final : public RefCounted {
 public:
  static Ref<Event> Make() { return MakeRef<Event>(); }
  Event() = default;

  /// Completes the event and runs the callbacks on this thread, in the order in which they were registered; those of
  /// events deep in a chain of events that complete one another when the first one's are done. Further calls do nothing
  /// and return false. The caller must hold a reference, and no lock that a callback may want.
  bool Set(Status status = OkStatus());

  /// Whoever waits calls it first. Before the event is handed out.
  void set_helper(std::shared_ptr<WaitHelper> helper) { helper_ = std::move(helper); }
  /// For a thread that is about to wait for the event in a way of its own.
  void Help() const {
    if (helper_ != nullptr && !is_ready()) helper_->Help(*this);
  }

  /// Marks this event as one that the caller of the C API made and sets. Before it is handed out.
  void GiveToCaller() { callers_ = true; }
  bool is_callers() const { return callers_; }

  bool is_ready() const { return waiters_.load(std::memory_order_acquire) == kDone; }
  /// In a forked child, fails a pending event that was made before the fork, since nobody is left to set it: true when
  /// it did. Wait and AddWaiter do so themselves.
  bool FailIfForked();
  const Status& status() const { return status_; }
  void Wait() const;

  // What follows tells which promises (Buffer::MakePromise) an event waits for, so that a promise is not kept with what
  // waits for it. Events that wait for none cost nothing.

  /// Marks this event as that of a promise. Before it is handed out.
  void BeginPromise();
  /// Notes that this event completes no sooner than `other`.
  void NoteWaitsFor(const EventRef& other);
  /// Notes that this promise is kept when `contents` is ready. False, and nothing is noted, when `contents` waits for
  /// this promise.
  bool KeepPromise(const EventRef& contents);
  bool waits_for_promises() const { return promises_.load(std::memory_order_acquire) != nullptr && !is_ready(); }

  /// A registered callback. `run` is called once and frees the node.
  struct Waiter {
    Waiter* next = nullptr;
    void (*run)(Waiter* self, const Status& status) = nullptr;
  };
  /// Runs `waiter` now when the event is ready.
  void AddWaiter(Waiter* waiter);

 private:
  struct Promise;
  struct Promises;
  ~Event() override;
  static inline Waiter* const kDone = reinterpret_cast<Waiter*>(1);

  std::atomic<Waiter*> waiters_{nullptr};
  std::atomic<bool> setting_{false};
  bool callers_ = false;
  uint32_t generation_ = ForkGeneration();
  std::shared_ptr<WaitHelper> helper_;
  Status status_;
  std::atomic<Promises*> promises_{nullptr};  // owned; made once, contents under one lock for all
  [[no_unique_address]] internal::Counted<ObjectKind::kEvent> counted_;
};

/// Ready when all are; with the error of the first in `events` that failed. Null when all are ready with OK already.
EventRef WhenAll(std::span<const EventRef> events);
EventRef WhenAll(const EventRef& a, const EventRef& b);

inline bool EventRef::waits_for_promises() const { return event_ != nullptr && event_->waits_for_promises(); }

template <class F>
void EventRef::OnReady(F callback) const {
  if (event_ == nullptr) {
    callback(OkStatus());
    return;
  }
  if (event_->is_ready()) {
    Status status = event_->status();  // A copy: the callback may destroy the event.
    callback(status);
    return;
  }
  struct Node : Event::Waiter {
    explicit Node(F f) : function(std::move(f)) {}
    F function;
  };
  Node* node = new Node(std::move(callback));
  node->run = [](Event::Waiter* self, const Status& status) {
    std::unique_ptr<Node> owned(static_cast<Node*>(self));
    owned->function(status);
  };
  event_->AddWaiter(node);
}

}  // namespace tenon::plugin
