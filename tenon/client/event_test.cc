#include "tenon/client/event.h"

#include <stdexcept>
#include <thread>

#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

using testing::FakeTest;
using testing::RunPending;
class EventTest : public FakeTest {};

TEST_F(EventTest, MadeAndSetByTheCaller) {
  ASSERT_OK_AND_ASSIGN(Event event, Event::Create(plugin_.api()));
  EXPECT_EQ(event.IsReady().value(), false);
  EXPECT_FAILS(event.Error(), kFailedPrecondition, "not done");
  int calls = 0;
  Status seen;
  EXPECT_OK(event.OnReady([&](Status status) { ++calls, seen = std::move(status); }));
  EXPECT_EQ(calls, 0);
  EXPECT_OK(event.Set(DataLoss("gone")));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen.code(), Code::kDataLoss);
  EXPECT_EQ(seen.message(), "gone");
  EXPECT_EQ(event.IsReady().value(), true);
  EXPECT_FAILS(event.Error(), kDataLoss, "gone");
  EXPECT_FAILS(event.Await(), kDataLoss, "gone");
  EXPECT_OK(event.OnReady([&](Status) { ++calls; }));
  EXPECT_EQ(calls, 2);
}

TEST_F(EventTest, EmptyMeansDone) {
  const Event event;
  EXPECT_EQ(event.IsReady().value(), true);
  EXPECT_OK(event.Await());
  EXPECT_OK(event.Error());
  bool called = false;
  EXPECT_OK(event.OnReady([&](Status status) { called = status.ok(); }));
  EXPECT_TRUE(called);
}

// Nothing may be thrown through the plugin's code, and nobody behind it would take an error.
TEST_F(EventTest, WhatCallbacksThrowIsDropped) {
  ASSERT_OK_AND_ASSIGN(Event event, Event::Create(plugin_.api()));
  int calls = 0;
  const auto fail = [&](const Status&) {
    ++calls;
    throw std::runtime_error("on purpose");
  };
  EXPECT_OK(event.OnReady(fail));
  EXPECT_OK(event.OnReady([&](const Status& status) { calls += status.ok() ? 10 : 0; }));
  EXPECT_OK(event.Set(OkStatus()));
  EXPECT_EQ(calls, 11);
  EXPECT_OK(event.OnReady(fail));
  EXPECT_OK(Event().OnReady(fail));
  EXPECT_EQ(calls, 13);
}

TEST_F(EventTest, MayBeDestroyedInItsOwnCallbackAndBeforeIt) {
  auto event = std::make_unique<Event>(Event::Create(plugin_.api()).value());
  bool called = false;
  EXPECT_OK(event->OnReady([&](Status) { called = true; }));
  EXPECT_OK(event->Set(OkStatus()));
  EXPECT_TRUE(called);
  Buffer x = Floats({1, 2, 3, 4});
  const LoadedExecutable later = Compile("later echo");
  std::vector<Buffer> y(1);
  Event done;
  const Buffer* arguments[] = {&x};
  EXPECT_OK(later.ExecuteInto(arguments, y, {}, &done));
  auto owned = std::make_shared<Event>(std::move(done));
  EXPECT_OK(owned->OnReady([owned](Status) mutable { *owned = Event(); }));
  owned.reset();
  RunPending();
}

TEST_F(EventTest, AwaitBlocksUntilAnotherThreadSets) {
  ASSERT_OK_AND_ASSIGN(Event event, Event::Create(plugin_.api()));
  std::thread setter([&] { EXPECT_OK(event.Set(OkStatus())); });
  EXPECT_OK(event.Await());
  setter.join();
}

TEST_F(EventTest, FuturesDeliverValuesAndErrors) {
  Buffer x = Floats({1, 2, 3, 4});
  {
    ASSERT_OK_AND_ASSIGN(auto future, x.ToHostAsync<float>());
    ASSERT_OK_AND_ASSIGN(const std::vector<float> values, std::move(future).Await());
    EXPECT_THAT(values, ::testing::ElementsAre(1, 2, 3, 4));
    EXPECT_FAILS(std::move(future).Await(), kFailedPrecondition, "taken");  // NOLINT: on purpose
  }
  const LoadedExecutable fail = Compile("fail");
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> failed, fail.Execute({&x}));
  ASSERT_OK_AND_ASSIGN(auto bad, failed[0].ToHostAsync<float>());
  bool called = false;
  EXPECT_OK(std::move(bad).OnReady([&](Result<std::vector<float>> r) {
    called = true;
    EXPECT_FAILS(r, kAborted, "failed on purpose");
  }));
  RunPending();
  EXPECT_TRUE(called);
}

// The plugin writes into what the future holds, also when nobody waits for it any more.
TEST_F(EventTest, DroppedFuturesKeepTheirMemory) {
  Buffer x = Floats({1, 2, 3, 4});
  const LoadedExecutable later = Compile("later echo");
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> y, later.Execute({&x}));
  {
    ASSERT_OK_AND_ASSIGN(auto future, y[0].ToHostAsync<float>());
    EXPECT_EQ(future.IsReady().value(), false);
  }
  RunPending();  // under ASan: writes into freed memory if the future freed it
}

}  // namespace
}  // namespace tenon::client
