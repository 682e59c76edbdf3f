// A front alone: a client that a test is, and a device process that does what a test says.
#include "tenon/remote/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "tenon/remote/testing/stub_session.h"

namespace tenon::remote {
namespace {

using channel::Fd;
using channel::Pipe;
using ::testing::HasSubstr;
using testing::StubSession;
using wire::Verb;
using Frame = channel::Ring::Frame;

class FrontTest : public ::testing::Test {
 protected:
  void Open(const SessionLimits& limits = {}) {
    Front::Options options;
    options.limits = limits;
    options.on_end = [this](const std::string& why) {
      std::lock_guard lock(mutex_);
      why_ = why;
      ended_.notify_all();
    };
    options.start =
        start_ ? start_ : [this](const session::ProcessOptions& process) -> Result<std::shared_ptr<session::Session>> {
      stub_ = std::make_shared<StubSession>(process.handlers);
      return std::shared_ptr<session::Session>(stub_);
    };
    Result<std::shared_ptr<Front>> front = Front::Start(std::move(options));
    ASSERT_TRUE(front.ok());
    front_ = *front;
    for (int i = 0; i < wire::kLanes; ++i) {
      lanes_[static_cast<size_t>(i)] = std::make_unique<Pipe>(channel::PipeOptions{});
      ASSERT_TRUE(Attach(i, 0).ok());
    }
    Say(1, wire::Hello{wire::kOldestProtocol, wire::kNewestProtocol, {}});
    if (start_) return;
    Frame frame;
    ASSERT_TRUE(control().Receive(frame).ok());
    ASSERT_EQ(frame.verb, Verb::kAnswer);
  }
  Status Attach(int lane, uint64_t received) {
    int ends[2] = {};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Status attached =
        front_->Attach(static_cast<wire::Lane>(lane), channel::MakeSocketStream(Fd(ends[0]), "client"), received,
                       [](channel::Stream&, uint64_t) { return OkStatus(); });
    if (!attached.ok()) return attached;
    return lanes_[static_cast<size_t>(lane)]->Resume(channel::MakeSocketStream(Fd(ends[1]), "front"), 0);
  }
  void TearDown() override {
    if (front_ == nullptr) return;
    front_->Close(Cancelled("the test is over"));
    (void)Why();
    if (stub_ != nullptr) stub_->DieOf(Unavailable("the test is over"));
    for (auto& lane : lanes_) lane.reset();
  }
  Pipe& control() { return *lanes_[0]; }
  Pipe& bulk() { return *lanes_[1]; }
  template <class Message>
  void Say(uint64_t number, const Message& message) {
    ASSERT_TRUE(control().Send(Message::kVerb, number, wire::Encode(message)).ok());
  }
  // Waits for the end of the session.
  std::string Why() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return !why_.empty(); });
    return why_;
  }
  static wire::Execute Run(uint64_t argument, uint64_t output, uint64_t size = 16) {
    wire::Execute m;
    wire::DeviceRun run;
    run.arguments.push_back({argument, {}, 0, false});
    run.outputs.push_back({output, {}, size});
    m.devices.push_back(run);
    return m;
  }
  template <class Message>
  static Message Read(const Frame& frame) {
    Result<Message> read = wire::Decode<Message>(frame.message);
    EXPECT_TRUE(read.ok() && frame.verb == Message::kVerb) << wire::Dump(frame.verb, frame.message);
    return read.ok() ? std::move(*read) : Message{};
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::string why_;
  decltype(Front::Options::start) start_;  // else the stub is there at once
  std::shared_ptr<StubSession> stub_;
  std::shared_ptr<Front> front_;
  std::array<std::unique_ptr<Pipe>, wire::kLanes> lanes_;
};

// What a client asks for beyond what its device process does stays in the client and on the way.
TEST_F(FrontTest, RequestsThatAreNotAnsweredTakeBoundedMemory) {
  SessionLimits limits;
  limits.ahead_bytes = 20000;
  Open(limits);
  constexpr uint64_t kAsked = 100;
  for (uint64_t i = 0; i < kAsked; ++i) Say(i, wire::Compile{i, "fake", std::string(4000, 'x'), {}});
  Frame frame;
  for (uint64_t i = 0; i < kAsked; ++i) {
    ASSERT_TRUE(stub_->Next(frame));
    EXPECT_LE(stub_->waiting(), 4u);
    ASSERT_TRUE(stub_->Say(frame.number, wire::Answer{}).ok());
    ASSERT_TRUE(control().Receive(frame).ok());
    EXPECT_EQ(frame.number, i);
  }
}

TEST_F(FrontTest, FetchesBeforeTheBytesAreAllAnswered) {
  Open();
  Say(1, wire::Upload{1, 16, 0, 16, std::string(16, 'a')});
  Say(1, Run(1, 2));
  constexpr uint64_t kFetches = 6000;
  std::thread fetching([&] {
    for (uint64_t i = 0; i < kFetches; ++i)
      ASSERT_TRUE(bulk().Send(Verb::kFetch, i, wire::Encode(wire::Fetch{2, 0, 16, 0})).ok());
  });
  Frame frame;
  ASSERT_TRUE(stub_->Next(frame));
  const auto run = Read<wire::Execute>(frame);
  ASSERT_EQ(run.devices.size(), 1u);
  const Result<session::Session::Bytes> out = stub_->MemoryAt(run.devices[0].outputs[0].place, 16);
  ASSERT_TRUE(out.ok());
  std::memset(out->data, 'b', 16);
  fetching.join();
  wire::Executed done;
  done.places.push_back({});
  ASSERT_TRUE(stub_->Say(frame.number, done).ok());
  for (uint64_t i = 0; i < kFetches; ++i) {
    ASSERT_TRUE(bulk().Receive(frame).ok());
    ASSERT_EQ(Read<wire::Fetched>(frame).data, std::string(16, 'b'));
  }
  ASSERT_TRUE(control().Receive(frame).ok());
  EXPECT_EQ(Read<wire::Executed>(frame).values[0], std::string(16, 'b'));
}

// Arrays for which there is no place have errors, and those are counted, too.
TEST_F(FrontTest, ArraysAreSoMany) {
  SessionLimits limits;
  limits.max_arrays = 10;
  Open(limits);
  for (uint64_t i = 0; i < 11; ++i) Say(0, wire::Upload{i, 4, 0, 4, "abcd"});
  Say(5, Run(10, 100));
  Frame frame;
  ASSERT_TRUE(control().Receive(frame).ok());
  EXPECT_EQ(frame.number, 5u);
  EXPECT_THAT(Read<wire::Executed>(frame).error.message, HasSubstr("arrays, no more are allowed"));
  for (uint64_t i = 11; i < 30; ++i) Say(0, wire::Upload{i, 4, 0, 4, "abcd"});
  EXPECT_THAT(Why(), HasSubstr("no more are allowed"));
}

TEST_F(FrontTest, UploadsBeyondCountingAreTheEnd) {
  SessionLimits limits;
  limits.array_bytes = 1 << 20;
  Open(limits);
  for (int i = 0; i < 2; ++i) Say(0, wire::Upload{1, UINT64_MAX, 0, UINT64_MAX, {}});
  EXPECT_THAT(Why(), HasSubstr("more uploads to array 1 than can be counted"));
}

TEST_F(FrontTest, FramesThatWereNeverSentCannotHaveBeenReceived) {
  Open();
  EXPECT_EQ(Attach(0, 1000).code(), Code::kDataLoss);
  EXPECT_THAT(Why(), HasSubstr("says that it received 1000 frames"));
}

TEST_F(FrontTest, ExecutionsThatReadWhatTheyMakeAreRefused) {
  Open();
  wire::Execute m;
  m.devices.resize(2);
  m.devices[0].outputs.push_back({66, {}, 16});
  m.devices[1].arguments.push_back({66, {}, 0, false});
  Say(1, m);
  EXPECT_THAT(Why(), HasSubstr("reads array 66, which it is to make"));
}

// However short the message is: what it asks for takes memory only within the session's limits.
TEST_F(FrontTest, ExecutionsOfNothingTakeBoundedMemory) {
  SessionLimits limits;
  limits.ahead_bytes = 1 << 20;
  Open(limits);
  wire::Execute m;
  m.devices.resize(1000);
  Say(1, m);
  Frame frame;
  ASSERT_TRUE(stub_->Next(frame));
  EXPECT_EQ(Read<wire::Execute>(frame).devices.size(), m.devices.size());
  m.devices.resize(2000000);  // 24 MB; 1 GB as records
  const std::string message = wire::Encode(m);
  m = {};
  ASSERT_TRUE(control().Send(Verb::kExecute, 2, message).ok());
  EXPECT_THAT(Why(), HasSubstr("takes more memory than its message may"));
}

// A plugin that does not come back from being loaded: the client is listened to meanwhile, and ends it by going.
TEST_F(FrontTest, PluginsThatLoadForEverAreEndedWithTheSession) {
  // Outlives the test in case that the thread does.
  struct Loading {
    std::mutex mutex;
    std::condition_variable changed;
    bool begun = false, ended = false;
  };
  auto loading = std::make_shared<Loading>();
  start_ = [loading](const session::ProcessOptions& process) -> Result<std::shared_ptr<session::Session>> {
    auto stub = std::make_shared<StubSession>(process.handlers);
    process.on_start(stub);
    std::unique_lock lock(loading->mutex);
    loading->begun = true;
    loading->changed.notify_all();
    while (stub->state().ok()) loading->changed.wait_for(lock, std::chrono::milliseconds(5));
    loading->ended = true;
    loading->changed.notify_all();
    return stub->state();
  };
  Open();
  const auto wait_for = [&](bool Loading::* what) {
    std::unique_lock lock(loading->mutex);
    return loading->changed.wait_for(lock, std::chrono::seconds(20), [&] { return *loading.*what; });
  };
  ASSERT_TRUE(wait_for(&Loading::begun));
  Say(2, wire::Hello{wire::kOldestProtocol, wire::kNewestProtocol, {}});
  Frame frame;
  ASSERT_TRUE(control().Receive(frame).ok());
  EXPECT_EQ(frame.number, 2u);
  EXPECT_THAT(Read<wire::Answer>(frame).error.message, HasSubstr("is being started already"));
  // Arrays come meanwhile.
  Say(0, wire::Upload{1, 16, 0, 16, std::string(16, 'a')});
  ASSERT_TRUE(bulk().Send(Verb::kFetch, 7, wire::Encode(wire::Fetch{1, 0, 16, 16})).ok());
  ASSERT_TRUE(bulk().Receive(frame).ok());
  EXPECT_EQ(Read<wire::Fetched>(frame).data, std::string(16, 'a'));
  ASSERT_TRUE(control().Send(Verb::kGoodbye, 0, {}).ok());
  EXPECT_THAT(Why(), HasSubstr("goodbye"));
  EXPECT_TRUE(wait_for(&Loading::ended));
}

// Bytes are asked for over the other connection, and may be so before the last of them are on their way.
TEST_F(FrontTest, WhatIsFetchedWaitsForAllThatWasUploadedBefore) {
  Open();
  Say(0, wire::Upload{1, 16, 8, 8, std::string(8, 'b')});
  ASSERT_TRUE(bulk().Send(Verb::kFetch, 7, wire::Encode(wire::Fetch{1, 0, 16, 16})).ok());
  Say(0, wire::Upload{2, 4, 0, 4, std::string(4, 'c')});
  ASSERT_TRUE(bulk().Send(Verb::kFetch, 8, wire::Encode(wire::Fetch{2, 0, 4, 4})).ok());
  Frame frame;
  ASSERT_TRUE(bulk().Receive(frame).ok());
  EXPECT_EQ(frame.number, 8u);  // The first one has half of its bytes.
  Say(0, wire::Upload{1, 16, 0, 8, std::string(8, 'a')});
  ASSERT_TRUE(bulk().Receive(frame).ok());
  EXPECT_EQ(frame.number, 7u);
  EXPECT_EQ(Read<wire::Fetched>(frame).data, std::string(8, 'a') + std::string(8, 'b'));
}

// What goes wrong in the server for want of memory, on whatever thread, costs one session.
TEST_F(FrontTest, WhatIsThrownCostsTheSession) {
  struct Failing final : channel::Stream {
    explicit Failing(std::unique_ptr<channel::Stream> s) : stream(std::move(s)) {}
    Result<size_t> TryRead(char* bytes, size_t size) override { return stream->TryRead(bytes, size); }
    Result<size_t> TryWrite(const char*, size_t size) override {
      if (size > 300) throw std::bad_alloc();  // No acknowledgement, but what was asked for.
      return size_t{0};
    }
    bool WaitReadable(int timeout_ms) override { return stream->WaitReadable(timeout_ms); }
    bool WaitWritable(int timeout_ms) override { return stream->WaitWritable(timeout_ms); }
    void Shutdown() override { stream->Shutdown(); }
    std::string peer() const override { return "client"; }
    const std::unique_ptr<channel::Stream> stream;
  };
  Open();
  int ends[2] = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const auto say_nothing = [](channel::Stream&, uint64_t) { return OkStatus(); };
  ASSERT_TRUE(front_
                  ->Attach(wire::Lane::kBulk,
                           std::make_unique<Failing>(channel::MakeSocketStream(Fd(ends[0]), "client")), 0, say_nothing)
                  .ok());
  ASSERT_TRUE(bulk().Resume(channel::MakeSocketStream(Fd(ends[1]), "front"), 0).ok());
  Say(0, wire::Upload{1, 4000, 0, 4000, std::string(4000, 'a')});
  ASSERT_TRUE(bulk().Send(Verb::kFetch, 7, wire::Encode(wire::Fetch{1, 0, 4000, 4000})).ok());
  EXPECT_THAT(Why(), HasSubstr("out of host memory"));
}

// An execution that is refused while an argument of it is still on its way is told of once, whoever comes first.
TEST_F(FrontTest, RefusedExecutionsAreToldOfOnce) {
  SessionLimits limits;
  limits.array_bytes = 1 << 16;
  Open(limits);
  Frame frame;
  for (uint64_t round = 0; round < 300; ++round) {
    const uint64_t first = 10 * round;
    Say(0, wire::Upload{first, 16, 0, 16, {}});
    wire::Execute m = Run(first, first + 1, uint64_t{1} << 20);  // Too large for the session.
    Say(round, m);
    std::string chunk;
    wire::EncodeTo(wire::Chunk{0, std::string(16, 'x')}, chunk);
    ASSERT_TRUE(bulk().Send(Verb::kChunk, first, chunk).ok());
    ASSERT_TRUE(control().Receive(frame).ok());
    EXPECT_EQ(frame.number, round);
    EXPECT_THAT(Read<wire::Executed>(frame).error.message, HasSubstr("out of memory"));
    Say(0, wire::Drop{{first, first + 1}});
  }
  Say(1000, wire::Ask{1, 0});
  ASSERT_TRUE(stub_->Next(frame));
  while (frame.verb == Verb::kDrop) ASSERT_TRUE(stub_->Next(frame));
  ASSERT_TRUE(stub_->Say(frame.number, wire::Answer{}).ok());
  ASSERT_TRUE(control().Receive(frame).ok());
  EXPECT_EQ(frame.verb, Verb::kAnswer) << wire::Dump(frame.verb, frame.message);
}

// Executions whose arguments arrive while they are asked for, chains of them, and arrays that go meanwhile.
TEST_F(FrontTest, ChainsAreToldInAnyOrderOfArrival) {
  Open();
  constexpr uint64_t kChains = 200, kLong = 5;
  std::thread process([&] {
    Frame frame;
    for (uint64_t ran = 0; ran < kChains * kLong;) {
      ASSERT_TRUE(stub_->Next(frame));
      if (frame.verb != Verb::kExecute) continue;
      ++ran;
      wire::Executed done;
      done.places.push_back({});
      ASSERT_TRUE(stub_->Say(frame.number, done).ok());
    }
  });
  std::thread uploading([&] {
    std::string chunk;
    wire::EncodeTo(wire::Chunk{0, std::string(16, 'x')}, chunk);
    for (uint64_t i = 0; i < kChains; ++i) ASSERT_TRUE(bulk().Send(Verb::kChunk, 100 * i, chunk).ok());
  });
  std::thread asking([&] {
    for (uint64_t i = 0; i < kChains; ++i) {
      const uint64_t array = 100 * i;
      Say(0, wire::Upload{array, 16, 0, 16, {}});
      for (uint64_t k = 0; k < kLong; ++k) Say(array + k, Run(array + k, array + k + 1));
      Say(0, wire::Drop{{array, array + 1, array + 2}});
    }
  });
  Frame frame;
  for (uint64_t i = 0; i < kChains * kLong; ++i) {
    ASSERT_TRUE(control().Receive(frame).ok());
    EXPECT_EQ(Read<wire::Executed>(frame).error.code, 0);
  }
  process.join();
  uploading.join();
  asking.join();
}

// A device process that calls handlers however often, which nobody need answer: its host keeps only so many calls.
TEST_F(FrontTest, ProcessesCallOnlySoOften) {
  Open();
  std::thread client([&] {
    Frame frame;
    while (control().Receive(frame).ok()) {
    }
  });
  Status status;
  size_t calls = 0;
  for (; status.ok() && calls < 10000; ++calls) status = stub_->Say(calls, wire::CallHandler{});
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(calls, session::Session::kMaxCalls + 1);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not taken the outcomes"));
  control().Close(Cancelled("the test is over"));
  client.join();
}

// A device process that says of every output that it lies in memory of nobody: outputs then keep what was read for
// them, which keeps what it was made of in turn.
class SharingFrontTest : public FrontTest {
 protected:
  void TearDown() override {
    stub_->DieOf(Unavailable("the test is over"));
    process_.join();
    FrontTest::TearDown();
  }
  void Begin(const SessionLimits& limits) {
    Open(limits);
    process_ = std::thread([this] {
      Frame frame;
      while (stub_->state().ok()) {
        if (!stub_->Next(frame, false)) {
          std::this_thread::yield();
        } else if (frame.verb == Verb::kExecute) {
          wire::Executed done;
          done.places.push_back({999, 64});
          EXPECT_TRUE(stub_->Say(frame.number, done).ok());
        }
      }
    });
  }
  // Array `number` is made of the one before it, which the client then drops.
  void RunOnLast(uint64_t number, size_t arguments = 1) {
    wire::Execute m = Run(number - 1, number, 0);
    m.devices[0].arguments.resize(arguments, m.devices[0].arguments[0]);
    Say(number, m);
    Say(0, wire::Drop{{number - 1}});
  }
  // The error of the next outcome, if it has one.
  std::string Outcome() {
    Frame frame;
    EXPECT_TRUE(control().Receive(frame).ok());
    return Read<wire::Executed>(frame).error.message;
  }
  std::thread process_;
};

// However many they are: they are looked through and given back one by one, and each once.
TEST_F(SharingFrontTest, ChainsMayBeLong) {
  Begin({});
  uint64_t number = 0;
  for (int batch = 0; batch < 100; ++batch) {
    for (int i = 0; i < 500; ++i) RunOnLast(++number, batch == 0 ? 2 : 1);
    for (int i = 0; i < 500; ++i) ASSERT_EQ(Outcome(), "");
  }
  Say(0, wire::Drop{{number}});
  RunOnLast(number + 2);
  ASSERT_EQ(Outcome(), "");  // By now the front has dropped them.
}

// What only others know of any more counts, too.
TEST_F(SharingFrontTest, ChainsAreOfSoMany) {
  SessionLimits limits;
  limits.max_arrays = 100;
  Begin(limits);
  uint64_t number = 0;
  std::string error;
  while (error.empty() && number < 1000) {
    RunOnLast(++number);
    error = Outcome();
  }
  EXPECT_LE(number, limits.max_arrays);
  EXPECT_THAT(error, HasSubstr("arrays, no more are allowed"));
}

// Executions that wait for arrays hold the session, which holds the arrays.
TEST_F(FrontTest, NothingThatIsAskedForWhileItEndsKeepsASession) {
  constexpr int kRounds = 200;
  constexpr uint64_t kAsked = 1000;
  for (int round = 0; round < kRounds; ++round) {
    why_.clear();
    Open();
    const std::weak_ptr<Front> left = front_;
    Say(0, wire::Upload{0, 16, 0, 16, {}});  // Its bytes never come.
    std::atomic<bool> asking = false;
    std::thread client([&] {
      for (uint64_t i = 0; i < kAsked; ++i) {
        if (!control().Send(Verb::kExecute, i, wire::Encode(Run(i, i + 1))).ok()) return;
        asking = true;
      }
    });
    while (!asking) std::this_thread::yield();
    (void)bulk().Send(Verb::kGoodbye, 0, {});  // Which is no message for that lane.
    (void)Why();
    client.join();
    std::exchange(stub_, nullptr)->DieOf(Unavailable("the client is gone"));
    for (auto& lane : lanes_) lane.reset();
    front_ = nullptr;
    for (int wait = 0; wait < 5000 && !left.expired(); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(left.expired()) << "round " << round;
  }
}

}  // namespace
}  // namespace tenon::remote
