#include "tenon/base/activity.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace tenon::activity {
namespace {

const Thread* Find(const Record& record, std::string_view name) {
  for (const Thread& t : record.threads) {
    for (const Event& e : t.events) {
      if (e.label->name == name) return &t;
    }
  }
  return nullptr;
}

TEST(Activity, EqualLabelsAreOne) {
  const Label* a = Intern({"kernel", {{"flops", 2}}, {}});
  EXPECT_EQ(a, Intern({"kernel", {{"flops", 2}}, {}}));
  EXPECT_NE(a, Intern({"kernel", {{"flops", 3}}, {}}));
}

TEST(Activity, NothingIsKeptUnlessRecorded) {
  {
    const Scope before("before");
  }
  bool made = false;
  {
    const Scope before([&]() -> const Label* {
      made = true;
      return nullptr;
    });
  }
  EXPECT_FALSE(made);
  Recorder recorder;
  {
    const Scope during("during");
  }
  const Record record = recorder.Stop();
  EXPECT_EQ(Find(record, "before"), nullptr);
  EXPECT_NE(Find(record, "during"), nullptr);
  {
    const Scope after("after");
  }
  Recorder again;
  EXPECT_TRUE(again.Stop().threads.empty());
}

TEST(Activity, LinesBesideTheThreadsHaveTheirNames) {
  const Label* const label = Intern({"kernel", {}, {}});
  Recorder recorder;
  const int64_t now = NowNs();
  AddTo("queue a", label, now + 2, now + 3, 5);
  AddTo("queue b", label, now, now + 1);
  AddTo("queue a", label, now, now + 1);
  std::vector<Thread> lines;
  for (Thread& t : recorder.Stop().threads) {
    if (!t.is_thread) lines.push_back(std::move(t));
  }
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].name, "queue a");
  ASSERT_EQ(lines[0].events.size(), 2u);
  EXPECT_EQ(lines[0].events[0].start_ns, now);
  EXPECT_EQ(lines[0].events[1].run, 5);
  EXPECT_EQ(lines[1].name, "queue b");
  EXPECT_NE(lines[0].id, lines[1].id);
}

TEST(Activity, SpansNestAndCarryTheirRun) {
  Recorder recorder;
  {
    const Scope outer([] { return Intern({"outer", {}, {}}); }, 7);
    {
      const Scope inner("inner");
    }
    const Handover handover;
    std::thread([&] { const Scope piece([&] { return handover.label(); }, handover.run()); }).join();
  }
  const Record record = recorder.Stop();
  ASSERT_EQ(record.threads.size(), 2u);
  const Thread& mine = *Find(record, "inner");
  ASSERT_EQ(mine.events.size(), 2u);
  EXPECT_EQ(mine.events[0].label->name, "outer");
  EXPECT_EQ(mine.events[1].label->name, "inner");
  EXPECT_LE(mine.events[0].start_ns, mine.events[1].start_ns);
  EXPECT_GE(mine.events[0].end_ns, mine.events[1].end_ns);
  EXPECT_EQ(mine.events[1].run, 7);
  const Thread& other = &record.threads[0] == &mine ? record.threads[1] : record.threads[0];
  ASSERT_EQ(other.events.size(), 1u);
  EXPECT_EQ(other.events[0].label->name, "outer");
  EXPECT_EQ(other.events[0].run, 7);
  EXPECT_NE(other.id, mine.id);
}

TEST(Activity, RecordersAtTheSameTimeKeepWhatBeganAfterThem) {
  Recorder first;
  {
    const Scope a("a");
  }
  Recorder second;
  {
    const Scope b("b");
  }
  const Record of_first = first.Stop();
  {
    const Scope c("c");
  }
  const Record of_second = second.Stop();
  EXPECT_NE(Find(of_first, "a"), nullptr);
  EXPECT_NE(Find(of_first, "b"), nullptr);
  EXPECT_EQ(Find(of_first, "c"), nullptr);
  EXPECT_EQ(Find(of_second, "a"), nullptr);
  EXPECT_NE(Find(of_second, "b"), nullptr);
  EXPECT_NE(Find(of_second, "c"), nullptr);
}

TEST(Activity, AChildOfForkRecordsAfresh) {
  Recorder recorder;
  {
    const Scope before("before");
  }
  const pid_t child = fork();
  if (child == 0) {
    bool ok = !IsOn();
    Recorder mine;
    {
      const Scope span("in the child");
    }
    const Record record = mine.Stop();
    ok = ok && Find(record, "in the child") != nullptr && Find(record, "before") == nullptr;
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(Find(recorder.Stop(), "before"), nullptr);
}

}  // namespace
}  // namespace tenon::activity
