#include "tenon/plugin/event.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "tenon/base/contain.h"
#include "tenon/base/fork.h"
#include "tenon/base/log.h"

namespace tenon::plugin {

// A promise, for as long as it is not kept or somebody waits for it.
struct Event::Promise {
  std::vector<std::shared_ptr<Promise>> waits_for;  // once it is to be kept
};
struct Event::Promises {
  std::shared_ptr<Promise> own;                     // of the event of a promise
  std::vector<std::shared_ptr<Promise>> waits_for;  // the own one, too
};

namespace {

// Guards the contents of every Promise and Promises: they are few, and looked at when promises are made and kept.
ForkSafeMutex promise_mutex;

// What ends on a thread because something else ended: on one stack up to this depth, for a failure may run through any
// number of executions.
constexpr int kMaxNested = 64;
struct Chain {
  int nested = 0;
  std::vector<std::pair<Event::Waiter*, Status>> later;  // Deeper ones, in their order.
};
thread_local constinit Chain* chain = nullptr;

void RunInOrder(Event::Waiter* list, const Status& status) {
  while (list != nullptr) {
    Event::Waiter* next = list->next;  // run() frees the node.
    // The others are to hear of it whatever one of them throws.
    const Status ran = Contain("a listener of an event", [&] { list->run(list, status); });
    if (!ran.ok()) Log(LogLevel::kError, ran.ToString());
    list = next;
  }
}

// Lists that ListenersKept keeps, in order.
using Kept = std::vector<std::pair<Event::Waiter*, Status>>;
thread_local constinit Kept* kept = nullptr;

// Runs a list that was pushed on the front, so in reverse.
void RunWaiters(Event::Waiter* list, const Status& status) {
  Event::Waiter* in_order = nullptr;
  while (list != nullptr) {
    Event::Waiter* next = list->next;
    list->next = in_order;
    in_order = list;
    list = next;
  }
  if (in_order == nullptr) return;
  if (kept != nullptr && Contain("listeners", [&] { kept->emplace_back(in_order, status); }).ok()) return;
  if (chain == nullptr) {
    Chain own;
    chain = &own;
    RunInOrder(in_order, status);
    for (size_t i = 0; i < own.later.size(); ++i) {
      const auto [next, with] = std::move(own.later[i]);
      RunInOrder(next, with);
    }
    chain = nullptr;
    return;
  }
  // Without memory to put it off it is run here.
  if (chain->nested >= kMaxNested &&
      Contain("what ends later", [&] { chain->later.emplace_back(in_order, status); }).ok())
    return;
  ++chain->nested;
  RunInOrder(in_order, status);
  --chain->nested;
}

}  // namespace

ListenersKept::ListenersKept() : list_(new Kept) { kept = static_cast<Kept*>(list_); }
ListenersKept::~ListenersKept() {
  kept = nullptr;
  delete static_cast<Kept*>(list_);
}
std::function<void()> ListenersKept::Take() {
  auto& list = *static_cast<Kept*>(list_);
  if (list.empty()) return nullptr;
  return [lists = std::exchange(list, {})] {
    for (const auto& [waiters, status] : lists) RunInOrder(waiters, status);
  };
}

bool Event::Set(Status status) {
  if (setting_.exchange(true, std::memory_order_acq_rel)) return false;
  status_ = status;
  if (promises_.load(std::memory_order_acquire) != nullptr) [[unlikely]] {
    std::vector<std::shared_ptr<Promise>> released;
    std::lock_guard lock(promise_mutex);
    Promises& promises = *promises_;
    if (promises.own != nullptr) released = std::move(promises.own->waits_for);
    promises.own = nullptr;
    promises.waits_for.clear();
  }
  Waiter* waiters = waiters_.exchange(kDone, std::memory_order_acq_rel);
  waiters_.notify_all();
  RunWaiters(waiters, status);
  return true;
}

bool Event::FailIfForked() {
  if (generation_ == ForkGeneration() || is_ready()) return false;
  // Who was to set it, and may have begun to, is a thread of the parent.
  static ForkSafeMutex mutex;
  {
    std::lock_guard lock(mutex);
    if (generation_ == ForkGeneration()) return false;
    generation_ = ForkGeneration();
    new (&status_) Status;
    setting_.store(false, std::memory_order_relaxed);
  }
  return Set(FailedPrecondition(
      fmt::format("process {} was forked while this was under way; what is to end it is a thread of its parent, {}",
                  getpid(), getppid())));
}

void Event::Wait() const {
  const_cast<Event*>(this)->FailIfForked();
  Help();
  for (;;) {
    Waiter* now = waiters_.load(std::memory_order_acquire);
    if (now == kDone) return;
    waiters_.wait(now, std::memory_order_acquire);
  }
}

void Event::AddWaiter(Waiter* waiter) {
  FailIfForked();
  Waiter* head = waiters_.load(std::memory_order_acquire);
  do {
    if (head == kDone) {
      Status status = status_;
      waiter->next = nullptr;
      waiter->run(waiter, status);
      return;
    }
    waiter->next = head;
  } while (!waiters_.compare_exchange_weak(head, waiter, std::memory_order_acq_rel, std::memory_order_acquire));
}

Event::~Event() {
  Waiter* waiters = waiters_.load(std::memory_order_acquire);
  if (waiters != kDone) RunWaiters(waiters, Cancelled("the event was given up before it was set"));
  if (Promises* const promises = promises_.load(std::memory_order_acquire)) {
    // An event given up waits for nobody; what waits for it holds its own promise, which then leads nowhere.
    std::vector<std::shared_ptr<Promise>> released;
    {
      std::lock_guard lock(promise_mutex);
      if (promises->own != nullptr) released = std::move(promises->own->waits_for);
    }
    delete promises;
  }
}

void Event::BeginPromise() {
  auto* promises = new Promises{std::make_shared<Promise>(), {}};
  promises->waits_for.push_back(promises->own);
  promises_.store(promises, std::memory_order_release);
}

void Event::NoteWaitsFor(const EventRef& other) {
  if (other.get() == nullptr || other.get() == this || is_ready()) return;
  Promises* const theirs = other.get()->promises_.load(std::memory_order_acquire);
  if (theirs == nullptr) [[likely]]
    return;
  std::lock_guard lock(promise_mutex);
  if (theirs->waits_for.empty()) return;
  Promises* mine = promises_.load(std::memory_order_relaxed);
  if (mine == nullptr) promises_.store(mine = new Promises, std::memory_order_release);
  for (const std::shared_ptr<Promise>& promise : theirs->waits_for) {
    if (std::find(mine->waits_for.begin(), mine->waits_for.end(), promise) == mine->waits_for.end())
      mine->waits_for.push_back(promise);
  }
}

bool Event::KeepPromise(const EventRef& contents) {
  if (contents.is_ready()) return true;
  Promises* const theirs = contents.get()->promises_.load(std::memory_order_acquire);
  Promises* const mine = promises_.load(std::memory_order_acquire);
  if (theirs == nullptr || mine == nullptr) return true;
  std::lock_guard lock(promise_mutex);
  if (mine->own == nullptr) return true;
  std::vector<const Promise*> reached;
  const auto reach = [&reached](const std::vector<std::shared_ptr<Promise>>& promises) {
    for (const std::shared_ptr<Promise>& promise : promises) {
      if (std::find(reached.begin(), reached.end(), promise.get()) == reached.end()) reached.push_back(promise.get());
    }
  };
  reach(theirs->waits_for);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] == mine->own.get()) return false;
    reach(reached[i]->waits_for);
  }
  mine->own->waits_for = theirs->waits_for;
  return true;
}

EventRef EventRef::Of(Status status) {
  if (status.ok()) return nullptr;
  Ref<Event> event = Event::Make();
  event->Set(std::move(status));
  return event;
}

bool EventRef::is_ready() const { return event_ == nullptr || event_->is_ready(); }

Status EventRef::status() const { return event_ == nullptr ? OkStatus() : event_->status(); }

bool EventRef::failed() const { return event_ != nullptr && event_->is_ready() && !event_->status().ok(); }

bool EventRef::succeeded() const { return event_ == nullptr || (event_->is_ready() && event_->status().ok()); }

Status EventRef::Wait() const {
  if (event_ == nullptr) return OkStatus();
  event_->Wait();
  return event_->status();
}

EventRef WhenAll(std::span<const EventRef> events) {
  struct Join : RefCounted {
    std::vector<EventRef> events;
    Ref<Event> all = Event::Make();
    // The joiner itself holds one count, so that events that become ready meanwhile do not complete it early.
    std::atomic<size_t> left{1};

    void Count() {
      if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      Status first;
      for (const EventRef& e : events) {
        if (first = e.status(); !first.ok()) break;
      }
      all->Set(std::move(first));
    }
  };
  bool all_ready = true;
  for (const EventRef& e : events) all_ready = all_ready && e.is_ready();
  if (all_ready) {
    for (const EventRef& e : events) {
      if (e.failed()) return e;
    }
    return nullptr;
  }
  auto join = MakeRef<Join>();
  join->events.assign(events.begin(), events.end());
  for (const EventRef& e : events) {
    join->left.fetch_add(1, std::memory_order_relaxed);
    e.OnReady([join](const Status&) { join->Count(); });
  }
  for (const EventRef& e : events) join->all->NoteWaitsFor(e);
  EventRef all(join->all);
  join->Count();
  return all;
}

EventRef WhenAll(const EventRef& a, const EventRef& b) {
  if (b.get() == nullptr) return a;
  if (a.get() == nullptr) return b;
  const EventRef both[] = {a, b};
  return WhenAll(both);
}

}  // namespace tenon::plugin
