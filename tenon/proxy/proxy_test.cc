// Plugins in a process of their own, as a client sees them: what works, and what becomes of everything when the process
// ends in one of the many ways.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tenon/client/client.h"
#include "tenon/client/stream.h"
#include "tenon/proxy/testing/children.h"
#include "tenon/proxy/testing/isolated.h"
#include "tenon/proxy/testing/load.h"
#include "tenon/sandbox/sandbox.h"

namespace tenon::proxy {
namespace {

using client::Buffer;
using client::Client;
using client::LoadedExecutable;
using client::Options;
using ::testing::AllOf;
using testing::Compile;
using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::IsolatedPlugin;

Result<Client> NewClient(const Options& options = {}) { return IsolatedPlugin().CreateClient(options); }

std::vector<int> Children() { return testing::ChildrenOf(::getpid()); }

// The device process of the client that is made by `make`.
template <class F>
int NewChild(const F& make) {
  const std::vector<int> before = Children();
  make();
  for (const int pid : Children()) {
    if (std::find(before.begin(), before.end(), pid) == before.end()) return pid;
  }
  return before.empty() ? 0 : before.back();  // The process that was started when the plugin was loaded.
}

class ProxyTest : public ::testing::Test {
 protected:
  void Open(const Options& options = {}) {
    (void)IsolatedPlugin();
    pid_ = NewChild([&] {
      Result<Client> made = NewClient(options);
      ASSERT_TRUE(made.ok()) << made.status().ToString();
      client_.emplace(std::move(*made));
    });
    ASSERT_NE(pid_, 0);
  }
  void KillChild(int signal = SIGKILL) { ASSERT_EQ(::kill(pid_, signal), 0); }
  Client& c() { return *client_; }

  std::optional<Client> client_;
  int pid_ = 0;
};

TEST_F(ProxyTest, RunsPrograms) {
  Open();
  EXPECT_EQ(c().PlatformName().value(), "fake");
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable add, Compile(c(), "add"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const Buffer y, Floats(c(), {10, 20, 30, 40}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, add.Execute({&x, &y}));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(11, 22, 33, 44));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable pair, Compile(c(), "pair"));
  ASSERT_OK_AND_ASSIGN(out, pair.Execute(std::span<const Buffer* const>()));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(out[1].ToScalar<int32_t>().value(), 7);
  EXPECT_EQ(out[1].GetMemory()->kind().value(), "pinned_host");
}

TEST_F(ProxyTest, OutputsAreArgumentsBeforeTheyAreThere) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c(), "increment"));
  ASSERT_OK_AND_ASSIGN(Buffer x, Floats(c(), {0, 1, 2, 3}));
  for (int i = 0; i < 1000; ++i) {
    client::ExecuteOptions options;
    if (i % 2 == 0) options.donate = client::Donate::All();
    ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, increment.Execute({&x}, options));
    EXPECT_EQ(x.IsDeleted().value(), i % 2 == 0);
    x = std::move(out[0]);
  }
  EXPECT_THAT(x.ToHost<float>().value(), ElementsAre(1000, 1001, 1002, 1003));
}

// What a donated array's bytes held stays with whoever still looks at them.
TEST_F(ProxyTest, DonatedBytesThatOthersSeeStay) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c(), "increment"));
  ASSERT_OK_AND_ASSIGN(Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> once, increment.Execute({&x}));
  ASSERT_TRUE(once[0].Await().ok());
  ASSERT_OK_AND_ASSIGN(const client::HostView<float> view, client::ViewOnHost<float>(once[0]));
  client::ExecuteOptions options;
  options.donate = client::Donate::All();
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> twice, increment.Execute({&once[0]}, options));
  EXPECT_THAT(twice[0].ToHost<float>().value(), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(view.elements(), ElementsAre(2, 3, 4, 5));
}

// A plugin may compute in the memory of what it was given: that is not for others as long as what came of it is there.
TEST_F(ProxyTest, MemoryOfDonatedArraysStaysWithWhatCameOfThem) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c(), "increment"));
  client::ExecuteOptions donate;
  donate.donate = client::Donate::All();
  for (int round = 0; round < 200; ++round) {
    ASSERT_OK_AND_ASSIGN(Buffer x, Floats(c(), {0, 0, 0, 0}));
    std::vector<Buffer> others;
    for (int i = 0; i < 10; ++i) {
      ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, increment.Execute({&x}, donate));
      x = std::move(out[0]);
      if (i % 3 == 0) EXPECT_OK(x.Await());
      ASSERT_OK_AND_ASSIGN(Buffer other, Floats(c(), {-1, -1, -1, -1}));
      others.push_back(std::move(other));
    }
    ASSERT_THAT(x.ToHost<float>().value(), ElementsAre(10, 10, 10, 10));
  }
}

TEST_F(ProxyTest, ErrorsCrossAsTheyAre) {
  Open();
  const Status unknown = Compile(c(), "nonsense").status();
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("unknown program 'nonsense'"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable refuse, Compile(c(), "refuse"));
  ASSERT_OK_AND_ASSIGN(Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, refuse.Execute({&x}));
  EXPECT_EQ(out[0].Await().code(), Code::kInternal);
  EXPECT_THAT(std::string(out[0].Await().message()), HasSubstr("refused on purpose"));
  // What is made of a failed array fails alike.
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c(), "increment"));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> next, increment.Execute({&out[0]}));
  EXPECT_THAT(std::string(next[0].Await().message()), HasSubstr("refused on purpose"));
}

TEST_F(ProxyTest, KilledProcessCostsWhatIsUnderWay) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c(), "increment"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable later, Compile(c(), "later echo"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> ready, increment.Execute({&x}));
  ASSERT_TRUE(ready[0].Await().ok());
  client::ExecuteOptions options;
  options.launch_id = 812;
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> pending, later.Execute({&x}, options));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(pending[0].ReadyEvent()->IsReady().value());
  KillChild();
  const Status lost = pending[0].Await();
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(lost.message()),
              AllOf(HasSubstr("the device process of 'fake'"), HasSubstr("pid " + std::to_string(pid_)),
                    HasSubstr("died of signal 9 (SIGKILL)"), HasSubstr("while running 'echo' (launch 812)"),
                    HasSubstr("1 execution is lost")));
  // Ready arrays are readable, and arguments of the next process; programs are made there when they are needed.
  EXPECT_THAT(ready[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> again, increment.Execute({&ready[0]}));
  EXPECT_THAT(again[0].ToHost<float>().value(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(pending[0].Await().code(), Code::kUnavailable);
}

// Functions whose errors end a JAX process are answered without the device process.
TEST_F(ProxyTest, WhatMustNotFailDoesNot) {
  Options options;
  options.Set("restart", "never");
  Open(options);
  ASSERT_OK_AND_ASSIGN(LoadedExecutable increment, Compile(c(), "increment"));
  ASSERT_OK_AND_ASSIGN(Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, increment.Execute({&x}));
  ASSERT_TRUE(out[0].Await().ok());
  ASSERT_OK_AND_ASSIGN(client::ExternalReference reference,
                       client::internal::PinForHost(out[0], DType::kF32, *std::make_unique<size_t>()));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable later, Compile(c(), "later echo"));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> lost, later.Execute({&x}));
  KillChild();
  EXPECT_EQ(lost[0].Await().code(), Code::kUnavailable);

  EXPECT_TRUE(c().PlatformName().ok());
  EXPECT_TRUE(c().PlatformVersion().ok());
  EXPECT_TRUE(c().ProcessIndex().ok());
  ASSERT_OK_AND_ASSIGN(const std::vector<client::Device> devices, c().Devices());
  EXPECT_TRUE(c().AddressableDevices().ok());
  for (const client::Device& device : devices) {
    EXPECT_TRUE(device.id().ok());
    EXPECT_TRUE(device.kind().ok());
    EXPECT_TRUE(device.ToString().ok());
    EXPECT_TRUE(device.DebugString().ok());
    EXPECT_TRUE(device.IsAddressable().ok());
    EXPECT_TRUE(device.LocalHardwareId().ok());
    EXPECT_TRUE(device.Attributes().ok());
    EXPECT_TRUE(device.Description()->Attributes().ok());
    EXPECT_TRUE(device.Description()->MemoryKinds().ok());
    EXPECT_TRUE(device.StartTrackingScope("x").ok());
    ASSERT_OK_AND_ASSIGN(const std::vector<client::Memory> memories, device.AddressableMemories());
    for (const client::Memory& memory : memories) {
      EXPECT_TRUE(memory.id().ok());
      EXPECT_TRUE(memory.kind().ok());
      EXPECT_TRUE(memory.kind_id().ok());
      EXPECT_TRUE(memory.ToString().ok());
      EXPECT_TRUE(memory.DebugString().ok());
      EXPECT_TRUE(memory.AddressableByDevices().ok());
    }
  }
  ASSERT_OK_AND_ASSIGN(const client::Topology topology, c().GetTopology());
  EXPECT_TRUE(topology.PlatformName().ok());
  EXPECT_TRUE(topology.Attributes().ok());
  EXPECT_TRUE(topology.Devices().ok());
  EXPECT_TRUE(IsolatedPlugin().Attributes().ok());
  for (const Buffer* buffer : {&out[0], &lost[0], &x}) {
    EXPECT_TRUE(buffer->GetDevice().ok());
    EXPECT_TRUE(buffer->dims().ok());
    EXPECT_TRUE(buffer->dtype().ok());
    EXPECT_TRUE(buffer->GetLayout().ok());
    EXPECT_TRUE(buffer->IsDeleted().ok());
    EXPECT_TRUE(buffer->IsOnCpu().ok());
    EXPECT_TRUE(buffer->ReadyEvent().ok());
  }
  const client::Executable& executable = increment.executable();
  EXPECT_TRUE(executable.Name().ok());
  EXPECT_TRUE(executable.NumReplicas().ok());
  EXPECT_TRUE(executable.NumPartitions().ok());
  EXPECT_TRUE(executable.SizeOfGeneratedCodeInBytes().ok());
  EXPECT_TRUE(increment.AddressableDeviceLogicalIds().ok());
  EXPECT_TRUE(increment.GetDeviceAssignment().ok());
  EXPECT_TRUE(increment.IsDeleted().ok());
  EXPECT_TRUE(reference.Release().ok());
  EXPECT_TRUE(x.Delete().ok());
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
  EXPECT_TRUE(out[0].Delete().ok());

  const Status compile = Compile(c(), "add").status();
  EXPECT_EQ(compile.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(compile.message()), HasSubstr("SIGKILL"));
  EXPECT_TRUE(increment.Delete().ok());
}

TEST_F(ProxyTest, CrashNamesSignalProgramAndOutput) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable crash, Compile(c(), "crash"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, crash.Execute({&x}));
    EXPECT_THAT(
        std::string(out[0].Await().message()),
        AllOf(HasSubstr("signal 11 (SIGSEGV)"), HasSubstr("running 'crash'"), HasSubstr("crashing on purpose")));
  }
  // Enough is enough; others run.
  const Status refused = crash.Execute({&x}).status();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("3 times within an hour"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable echo, Compile(c(), "echo"));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, echo.Execute({&x}));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
}

TEST_F(ProxyTest, ExitIsADeath) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable leave, Compile(c(), "exit"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, leave.Execute({&x}));
  EXPECT_THAT(std::string(out[0].Await().message()), AllOf(HasSubstr("exited with status 3"), HasSubstr("'exit'")));
}

TEST_F(ProxyTest, NobodySpinsWhenTheOutputEnds) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable mute, Compile(c(), "mute"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, mute.Execute({&x}));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 10);  // Of all threads.
  // Its end is still seen.
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable crash, Compile(c(), "crash"));
  ASSERT_OK_AND_ASSIGN(out, crash.Execute({&x}));
  EXPECT_THAT(std::string(out[0].Await().message()), HasSubstr("signal 11 (SIGSEGV)"));
}

TEST_F(ProxyTest, HangIsEndedWhenItMayBe) {
  Options options;
  options.Set("hang_timeout_s", 1);
  Open(options);
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable hang, Compile(c(), "hang"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, hang.Execute({&x}));
  const Status status = out[0].Await();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'hang'"));
}

// More than the channel holds is under way at once, while the device process stands still.
TEST_F(ProxyTest, NobodyWaitsForAFullChannel) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c(), "increment"));
  ASSERT_OK_AND_ASSIGN(Buffer x, Floats(c(), {0, 0, 0, 0}));
  KillChild(SIGSTOP);
  constexpr int kRuns = 5000;
  for (int i = 0; i < kRuns; ++i) {
    ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, increment.Execute({&x}));
    x = std::move(out[0]);
  }
  KillChild(SIGCONT);
  EXPECT_THAT(x.ToHost<float>().value(), ElementsAre(kRuns, kRuns, kRuns, kRuns));
}

TEST_F(ProxyTest, ProcessesGoWithTheirClients) {
  (void)IsolatedPlugin();
  for (int i = 0; i < 3; ++i) {
    const size_t before = Children().size();
    Open();
    ASSERT_OK_AND_ASSIGN(const LoadedExecutable add, Compile(c(), "add"));
    client_.reset();
    (void)add;
    (void)before;
  }
  for (int wait = 0; wait < 200 && ::kill(pid_, 0) == 0; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(::kill(pid_, 0), 0);
}

TEST_F(ProxyTest, OptionsGoWhereTheyBelong) {
  Options options;
  options.Set("num_devices", 3);
  Open(options);
  EXPECT_EQ(c().Devices()->size(), 3u);
  Options wrong;
  wrong.Set("no_such_option", 1);
  const Status status = NewClient(wrong).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no_such_option"));
  Options missing;
  missing.Set("plugin", "/no/such/plugin.so");
  EXPECT_THAT(NewClient(missing).status().ToString(), HasSubstr("/no/such/plugin.so"));
}

// --- Send and receive callbacks, which are the host's.

client::SendCallback Taking(std::function<Status(std::vector<float>)> take) {
  return {5, [take](std::span<const std::byte> data, size_t, bool) {
            std::vector<float> values(data.size() / sizeof(float));
            std::memcpy(values.data(), data.data(), data.size());
            return take(std::move(values));
          }};
}

TEST_F(ProxyTest, CallbacksSendAndReceive) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable channels, Compile(c(), "channels"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  std::vector<float> sent;
  client::ExecuteOptions options;
  options.send = {{Taking([&](std::vector<float> values) {
    sent = std::move(values);
    return OkStatus();
  })}};
  options.recv = {{{6, [](client::CopyToDeviceStream stream) {
                      const float values[] = {10, 20, 30, 40};
                      const auto bytes = std::as_bytes(std::span(values));
                      EXPECT_EQ(stream.TotalBytes().value(), 16);
                      EXPECT_OK(stream.AddChunk(bytes.first(8)));
                      EXPECT_OK(stream.AddChunk(bytes.subspan(8)));
                    }}}};
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, channels.Execute({&x}, options));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(sent, ElementsAre(11, 22, 33, 44));

  // A callback's error is the execution's, a stream that ends early is one, too.
  options.send = {{Taking([](std::vector<float>) { return NotFound("nobody wants it"); })}};
  ASSERT_OK_AND_ASSIGN(out, channels.Execute({&x}, options));
  EXPECT_THAT(std::string(out[0].Await().message()), HasSubstr("nobody wants it"));
  options.recv = {{{6, [](client::CopyToDeviceStream) {}}}};
  ASSERT_OK_AND_ASSIGN(out, channels.Execute({&x}, options));
  EXPECT_FALSE(out[0].Await().ok());
  // Without callbacks the plugin says what it wants.
  ASSERT_OK_AND_ASSIGN(out, channels.Execute({&x}));
  EXPECT_THAT(std::string(out[0].Await().message()), HasSubstr("wants callbacks"));
}

// The plugin is in its call for an execution, waits for another thread of its own, and that for the host, which runs
// more programs before it answers.
TEST_F(ProxyTest, CallbacksRunProgramsWhileThePluginWaits) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable blocking, Compile(c(), "blocking"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable add, Compile(c(), "add"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  client::ExecuteOptions inner, outer;
  inner.send = {{Taking([&](std::vector<float> values) {
    Result<std::vector<Buffer>> sum = add.Execute({&x, &x});
    if (!sum.ok()) return sum.status();
    const Result<std::vector<float>> doubled = (*sum)[0].ToHost<float>();
    return doubled.ok() && (*doubled)[3] == 2 * values[3] ? OkStatus() : Internal("a wrong sum");
  })}};
  outer.send = {{Taking([&](std::vector<float>) {
    const Result<std::vector<Buffer>> out = blocking.Execute({&x}, inner);
    return out.ok() ? (*out)[0].Await() : out.status();
  })}};
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, blocking.Execute({&x}, outer));
    EXPECT_OK(out[0].Await());
  }
}

TEST_F(ProxyTest, CallbacksOutliveTheProcess) {
  Open();
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable channels, Compile(c(), "channels"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  std::optional<client::CopyToDeviceStream> kept;
  std::atomic<bool> asked{false};
  client::ExecuteOptions options;
  options.send = {{Taking([](std::vector<float>) { return OkStatus(); })}};
  options.recv = {{{6, [&](client::CopyToDeviceStream stream) {
                      kept.emplace(std::move(stream));
                      asked = true;
                    }}}};
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, channels.Execute({&x}, options));
  while (!asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  KillChild();
  EXPECT_EQ(out[0].Await().code(), Code::kUnavailable);
  const float late[4] = {};
  (void)kept->AddChunk(std::as_bytes(std::span(late)));  // Its memory is there still.
}

// --- A process that is confined.

TEST_F(ProxyTest, SandboxedProcessRunsPrograms) {
  if (const Status status = sandbox::CheckSupport(); !status.ok()) GTEST_SKIP() << status.ToString();
  Options options;
  options.Set("sandbox", true);
  Open(options);
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable add, Compile(c(), "add"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, add.Execute({&x, &x}));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(2, 4, 6, 8));
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  const std::string text((std::istreambuf_iterator<char>(status)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text,
              AllOf(HasSubstr("NoNewPrivs:\t1"), HasSubstr("Seccomp:\t2"), HasSubstr("CapEff:\t0000000000000000")));
  // And so is the child that replaces it.
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable reads, Compile(c(), "reads"));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> read, reads.Execute({&x}));
    EXPECT_THAT(std::string(read[0].Await().message()), HasSubstr("Permission denied"));
    if (i != 0) break;
    ASSERT_OK_AND_ASSIGN(const LoadedExecutable hang, Compile(c(), "hang"));
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> lost, hang.Execute({&x}));
    KillChild();
    EXPECT_EQ(lost[0].Await().code(), Code::kUnavailable);
  }
}

TEST_F(ProxyTest, SandboxTakesMorePaths) {
  if (const Status status = sandbox::CheckSupport(); !status.ok()) GTEST_SKIP() << status.ToString();
  Options options;
  options.Set("sandbox_read", "/no such:/etc/passwd");
  EXPECT_THAT(std::string(NewClient(options).status().message()), HasSubstr("without 'sandbox'"));
  options.Set("sandbox", true);
  Open(options);
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable reads, Compile(c(), "reads"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c(), {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, reads.Execute({&x}));
  EXPECT_OK(out[0].Await());
}

// Ends the process at random moments while threads compile, upload, execute and download. TENON_KILL_ROUNDS: how often.
TEST_F(ProxyTest, KilledAtRandom) {
  const int rounds = testing::KillRounds(20);
  Open();
  testing::Load load(c(), testing::Load::kMemory);
  std::mt19937 random(99);
  for (int round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
    const std::vector<int> children = Children();
    if (!children.empty()) ::kill(children[random() % children.size()], SIGKILL);
  }
  EXPECT_TRUE(load.StillWorks());
  load.Stop();
  EXPECT_EQ(load.wrong, 0);
  EXPECT_EQ(testing::ArrayBytes(c()), 0);
  load.Report(rounds);
}

// Hosts that are killed at random moments take their device processes along.
TEST(HostTest, KilledAtRandom) {
  const int rounds = testing::KillRounds(10) / 10;
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    testing::Program host({TENON_LOAD_HOST});
    ASSERT_EQ(host.Start(), "running");
    const std::vector<int> children = testing::ChildrenOf(host.pid());
    EXPECT_FALSE(children.empty());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
    EXPECT_EQ(host.End(SIGKILL), SIGKILL);
    EXPECT_TRUE(testing::AllEnd(children));
  }
}

// A device process that writes rubbish into everything that it shares costs an error, whatever it writes.
TEST(RubbishTest, IsAnError) {
  (void)IsolatedPlugin();
  ::setenv("TENON_DEVICE_SERVER", TENON_RUBBISH_SERVER, 1);
  for (int seed = 0; seed < 30; ++seed) {
    ::setenv("TENON_RUBBISH_SEED", std::to_string(seed).c_str(), 1);
    Options options;
    options.Set("hang_timeout_s", 2);
    const Status status = NewClient(options).status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << seed << ": " << status.ToString();
  }
  ::unsetenv("TENON_DEVICE_SERVER");
}

}  // namespace
}  // namespace tenon::proxy
