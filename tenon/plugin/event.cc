#include "tenon/plugin/event.h"

#include <vector>

namespace tenon::plugin {

namespace {

// Runs a list that was pushed on the front, so in reverse.
void RunWaiters(Event::Waiter* list, const Status& status) {
  Event::Waiter* in_order = nullptr;
  while (list != nullptr) {
    Event::Waiter* next = list->next;
    list->next = in_order;
    in_order = list;
    list = next;
  }
  while (in_order != nullptr) {
    Event::Waiter* next = in_order->next;  // run() frees the node.
    in_order->run(in_order, status);
    in_order = next;
  }
}

}  // namespace

bool Event::Set(Status status) {
  if (setting_.exchange(true, std::memory_order_acq_rel)) return false;
  status_ = status;
  Waiter* waiters = waiters_.exchange(kDone, std::memory_order_acq_rel);
  waiters_.notify_all();
  RunWaiters(waiters, status);
  return true;
}

void Event::Wait() const {
  for (;;) {
    Waiter* now = waiters_.load(std::memory_order_acquire);
    if (now == kDone) return;
    waiters_.wait(now, std::memory_order_acquire);
  }
}

void Event::AddWaiter(Waiter* waiter) {
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
