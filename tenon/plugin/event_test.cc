#include "tenon/plugin/event.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tenon/plugin/testing/harness.h"

namespace tenon::plugin::testing {
namespace {

TEST(Event, NullIsReady) {
  EventRef ready;
  EXPECT_TRUE(ready.is_ready());
  EXPECT_TRUE(ready.Wait().ok());
  EXPECT_FALSE(ready.failed());
  int calls = 0;
  ready.OnReady([&](const Status& s) { calls += s.ok() ? 1 : 100; });
  EXPECT_EQ(calls, 1);
}

TEST(Event, CallbacksRunOnceInOrderEvenAfterTheHandleIsGone) {
  Ref<Event> event = Event::Make();
  std::string order;
  {
    EventRef handle(event);
    handle.OnReady([&](const Status& s) { order += "a" + std::string(CodeName(s.code())); });
    handle.OnReady([&](const Status&) { order += "b"; });
  }
  EXPECT_EQ(order, "");
  EXPECT_TRUE(event->Set(Aborted("x")));
  EXPECT_FALSE(event->Set());
  EXPECT_EQ(order, "aABORTEDb");
  EventRef(event).OnReady([&](const Status&) { order += "c"; });
  EXPECT_EQ(order, "aABORTEDbc");
}

TEST(Event, WhatAListenerThrowsStopsNeitherTheSetterNorTheOthers) {
  Ref<Event> event = Event::Make();
  int heard = 0;
  EventRef(event).OnReady([](const Status&) { throw std::runtime_error("listener"); });
  EventRef(event).OnReady([&](const Status&) { ++heard; });
  EXPECT_TRUE(event->Set());
  EXPECT_EQ(heard, 1);
}

TEST(Event, GivenUpEventsAreCancelled) {
  Status seen;
  {
    Ref<Event> event = Event::Make();
    EventRef(event).OnReady([&](const Status& s) { seen = s; });
  }
  EXPECT_EQ(seen.code(), Code::kCancelled);
}

TEST(Event, CallbackMayDropTheLastHandle) {
  Ref<Event> event = Event::Make();
  auto handle = std::make_unique<EventRef>(event);
  handle->OnReady([&](const Status&) { handle.reset(); });
  event->Set();
  EXPECT_EQ(handle, nullptr);
}

TEST(Event, AnyNumberMayEndOneAnother) {
  constexpr int kEvents = 300'000;
  std::vector<Ref<Event>> events;
  for (int i = 0; i <= kEvents; ++i) events.push_back(Event::Make());
  std::vector<int> order;
  for (int i = 0; i < kEvents; ++i) {
    EventRef(events[static_cast<size_t>(i)]).OnReady([&, i](const Status& status) {
      order.push_back(i);
      events[static_cast<size_t>(i) + 1]->Set(status);
    });
  }
  events[0]->Set(Internal("the first"));
  EXPECT_EQ(order.size(), static_cast<size_t>(kEvents));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(events.back()->status().message(), "the first");
  // So may they be given up, each with the last handle of the next one.
  int ended = 0;
  Ref<Event> first = Event::Make();
  for (int i = 0; i < kEvents; ++i) {
    Ref<Event> before = Event::Make();
    EventRef(before).OnReady([&ended, next = std::move(first)](const Status&) { ++ended; });
    first = std::move(before);
  }
  first = nullptr;
  EXPECT_EQ(ended, kEvents);
}

TEST(Event, WhenAllReportsTheFirstErrorInTheList) {
  Ref<Event> a = Event::Make(), b = Event::Make(), c = Event::Make();
  const EventRef events[] = {EventRef(a), EventRef(), EventRef(b), EventRef(c)};
  EventRef all = WhenAll(events);
  c->Set(NotFound("c"));
  EXPECT_FALSE(all.is_ready());
  a->Set();
  b->Set(Aborted("b"));
  EXPECT_TRUE(all.is_ready());
  EXPECT_EQ(all.status().message(), "b");
  EXPECT_EQ(WhenAll(std::span<const EventRef>()).get(), nullptr);
}

TEST(Event, WaitersOnManyThreads) {
  for (int round = 0; round < 50; ++round) {
    Ref<Event> event = Event::Make();
    std::atomic<int> seen{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        EXPECT_EQ(EventRef(event).Wait().code(), Code::kAborted);
        ++seen;
      });
      threads.emplace_back([&] { EventRef(event).OnReady([&](const Status&) { ++seen; }); });
    }
    event->Set(Aborted("x"));
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(seen, 6);
  }
  EXPECT_EQ(LiveObjects(ObjectKind::kEvent), 0);
}

struct Seen {
  int calls = 0;
  Status status;
  PJRT_Event* destroy = nullptr;
};
void Callback(PJRT_Error* error, void* arg) {
  auto* seen = static_cast<Seen*>(arg);
  ++seen->calls;
  seen->status = TakeStatus(error);
  if (seen->destroy != nullptr) DestroyEvent(seen->destroy);
}

TEST(EventC, CreateSetAndRead) {
  ARGS(PJRT_Event_Create, create);
  ASSERT_CALL(PJRT_Event_Create, create);
  EXPECT_FALSE(IsReady(create.event));
  ARGS(PJRT_Event_Error, early);
  early.event = create.event;
  EXPECT_CODE(CALL(PJRT_Event_Error, early), kFailedPrecondition);

  Seen seen, destroys;
  destroys.destroy = create.event;
  ARGS(PJRT_Event_OnReady, on_ready);
  on_ready.event = create.event;
  on_ready.callback = Callback;
  on_ready.user_arg = &seen;
  ASSERT_CALL(PJRT_Event_OnReady, on_ready);
  on_ready.user_arg = &destroys;  // JAX destroys events inside their callbacks.
  ASSERT_CALL(PJRT_Event_OnReady, on_ready);

  ARGS(PJRT_Event_Set, set);
  set.event = create.event;
  set.error_code = PJRT_Error_Code_DATA_LOSS;
  set.error_message = "gone";
  set.error_message_size = 4;
  ASSERT_CALL(PJRT_Event_Set, set);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(destroys.calls, 1);
  EXPECT_EQ(seen.status.code(), Code::kDataLoss);
  EXPECT_EQ(seen.status.message(), "gone");
  EXPECT_EQ(LiveObjects(ObjectKind::kEvent), 0);
}

TEST(EventC, SetTwiceIsRefused) {
  ARGS(PJRT_Event_Create, create);
  ASSERT_CALL(PJRT_Event_Create, create);
  ARGS(PJRT_Event_Set, set);
  set.event = create.event;
  EXPECT_CALL_OK(PJRT_Event_Set, set);
  EXPECT_CODE(CALL(PJRT_Event_Set, set), kFailedPrecondition);
  ARGS(PJRT_Event_Error, error);
  error.event = create.event;
  EXPECT_CALL_OK(PJRT_Event_Error, error);
  EXPECT_TRUE(Finish(create.event).ok());
}

}  // namespace
}  // namespace tenon::plugin::testing
