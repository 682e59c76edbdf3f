#include "tenon/channel/pipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <utility>

namespace tenon::channel {
namespace {

using ::testing::HasSubstr;
using wire::Verb;

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> Streams() {
  int ends[2] = {};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {MakeSocketStream(Fd(ends[0]), "a"), MakeSocketStream(Fd(ends[1]), "b")};
}

// Two pipes, of which one dials the other whenever their connection breaks.
struct Ends {
  explicit Ends(PipeOptions options = {})
      : server(options), client(options, [this](uint64_t received) -> Result<Pipe::Dialed> {
          if (unreachable) return Unavailable("nobody is there");
          ++dials;
          auto [ours, theirs] = Streams();
          const uint64_t peer_received = server.Suspend();
          TENON_RETURN_IF_ERROR(server.Resume(std::move(theirs), received));
          return Pipe::Dialed{std::move(ours), peer_received};
        }) {}
  std::atomic<int> dials{0};
  std::atomic<bool> unreachable{false};
  Pipe server, client;
};

// Both ways at once, with the connection cut again and again: every frame arrives once and in order.
TEST(Pipe, FramesSurviveBrokenConnections) {
  PipeOptions options;
  options.window_bytes = 100000;
  Ends ends(options);
  constexpr int kFrames = 3000;
  const auto send = [](Pipe& pipe, unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < kFrames; ++i) {
      const std::string message(random() % (i % 50 == 0 ? 200000 : 300), static_cast<char>(i));
      ASSERT_TRUE(pipe.Send(Verb::kAnswer, static_cast<uint64_t>(i), message).ok());
    }
  };
  const auto receive = [](Pipe& pipe, unsigned seed) {
    std::mt19937 random(seed);
    Ring::Frame frame;
    for (int i = 0; i < kFrames; ++i) {
      ASSERT_TRUE(pipe.Receive(frame).ok());
      ASSERT_EQ(frame.number, static_cast<uint64_t>(i));
      ASSERT_TRUE(frame.message == std::string(random() % (i % 50 == 0 ? 200000 : 300), static_cast<char>(i)));
    }
  };
  std::atomic<bool> done{false};
  std::thread cutting([&] {
    std::mt19937 random(5);
    while (!done) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
      (random() % 2 == 0 ? ends.client : ends.server).Break();
    }
  });
  std::thread a([&] { send(ends.client, 1); }), b([&] { send(ends.server, 2); }), c([&] { receive(ends.server, 1); });
  receive(ends.client, 2);
  // The server's end can only be found out by the one that dials.
  std::thread listening([&] {
    Ring::Frame frame;
    EXPECT_EQ(ends.client.Receive(frame).code(), Code::kCancelled);
  });
  a.join();
  b.join();
  c.join();
  done = true;
  cutting.join();
  ends.client.Close(Cancelled("done"));
  listening.join();
  EXPECT_GT(ends.dials, 3);
}

TEST(Pipe, TheWindowHolds) {
  PipeOptions options;
  options.window_bytes = 1000;
  Ends ends(options);  // Nobody reads.
  int sent = 0;
  while (sent < 100 && ends.client.TrySend(Verb::kDrop, 0, std::string(300, 'x'))) ++sent;
  EXPECT_EQ(sent, 4);
  ends.client.Close(Cancelled("done"));
  EXPECT_EQ(ends.client.Send(Verb::kDrop, 0, "x").code(), Code::kCancelled);
}

TEST(Pipe, NobodyThereForTooLongIsTheEnd) {
  PipeOptions options;
  options.grace_ms = options.first_ms = 150;
  Ends ends(options);
  ends.unreachable = true;
  const int64_t start = NowMs();
  Ring::Frame frame;
  const Status client = ends.client.Receive(frame);
  EXPECT_EQ(client.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(client.message()), HasSubstr("nobody is there"));
  EXPECT_EQ(ends.server.Receive(frame).code(), Code::kUnavailable);
  EXPECT_LT(NowMs() - start, 5000);
  EXPECT_EQ(ends.client.Send(Verb::kDrop, 0, "x").code(), Code::kUnavailable);
}

// One who only sends learns of it, too, though nobody receives.
TEST(Pipe, WhoOnlySendsLearnsOfTheEnd) {
  PipeOptions options;
  options.window_bytes = 1000;
  options.grace_ms = 100;
  auto [ours, theirs] = Streams();
  Pipe pipe(options);
  ASSERT_TRUE(pipe.Resume(std::move(ours), 0).ok());
  while (pipe.TrySend(Verb::kDrop, 0, std::string(300, 'x'))) {
  }
  pipe.Break();
  EXPECT_EQ(pipe.Send(Verb::kDrop, 0, "x").code(), Code::kUnavailable);
  EXPECT_EQ(pipe.WaitForRoom().code(), Code::kUnavailable);
}

TEST(Pipe, WhoDoesNotReceiveIsThereAllTheSame) {
  PipeOptions options;
  options.keep_alive_ms = 20;
  auto [ours, theirs] = Streams();
  Pipe pipe(options);
  ASSERT_TRUE(pipe.Resume(std::move(ours), 0).ok());
  Ring::Frame frame;
  ASSERT_TRUE(ReadFrame(*theirs, 100, frame, NowMs() + 20000).ok());
  EXPECT_EQ(frame.verb, Verb::kAck);
}

// A silent other side is asked; one that does not answer either is given up.
TEST(Pipe, SilenceIsNoticed) {
  PipeOptions options;
  options.keep_alive_ms = 50;
  options.silence_ms = 400;
  options.grace_ms = 100;
  auto [ours, theirs] = Streams();
  Pipe pipe(options);
  ASSERT_TRUE(pipe.Resume(std::move(ours), 0).ok());
  Ring::Frame asked;
  std::thread other([&, &stream = *theirs] {
    // One answer keeps it alive for another while.
    ASSERT_TRUE(ReadFrame(stream, 100, asked, NowMs() + 2000).ok());
    ASSERT_TRUE(WriteFully(stream, EncodeFrame(Verb::kAck, 0, wire::Encode(wire::Ack{0})), NowMs() + 1000).ok());
  });
  const int64_t start = NowMs();
  Ring::Frame frame;
  const Status status = pipe.Receive(frame);
  other.join();
  EXPECT_EQ(asked.verb, Verb::kPing);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nothing was heard from a"));
  EXPECT_GE(NowMs() - start, 400);
  EXPECT_LT(NowMs() - start, 5000);
}

// A stream that can be stopped. As encryption does, it takes after a refusal nothing but the bytes that it refused.
class Gate {
 public:
  std::unique_ptr<Stream> Before(std::unique_ptr<Stream> stream) {
    return std::make_unique<Gated>(*this, std::move(stream));
  }
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  class Gated final : public Stream {
   public:
    Gated(Gate& gate, std::unique_ptr<Stream> stream) : gate_(gate), stream_(std::move(stream)) {}
    Result<size_t> TryRead(char* bytes, size_t size) override { return stream_->TryRead(bytes, size); }
    Result<size_t> TryWrite(const char* bytes, size_t size) override {
      std::lock_guard lock(gate_.mutex_);
      if (!gate_.refused_.empty() && gate_.refused_ != std::string_view(bytes, size))
        return Unavailable("other bytes than those that were refused");
      gate_.refused_.assign(bytes, gate_.open_ ? 0 : size);
      if (!gate_.open_) return size_t{0};
      return stream_->TryWrite(bytes, size);
    }
    bool WaitReadable(int timeout_ms) override { return stream_->WaitReadable(timeout_ms); }
    bool WaitWritable(int timeout_ms) override {
      std::unique_lock lock(gate_.mutex_);
      return gate_.changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [this] { return gate_.open_; });
    }
    void Shutdown() override { stream_->Shutdown(); }
    std::string peer() const override { return stream_->peer(); }

   private:
    Gate& gate_;
    const std::unique_ptr<Stream> stream_;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::string refused_;
};

TEST(Pipe, WhatTheStreamRefusedIsOfferedAgain) {
  Gate gate;
  auto [ours, theirs] = Streams();
  Pipe pipe({});
  ASSERT_TRUE(pipe.Resume(gate.Before(std::move(ours)), 0).ok());
  ASSERT_TRUE(pipe.TrySend(Verb::kDrop, 7, "x"));  // Refused.
  // Asks for a word between frames, then sends something to receive.
  ASSERT_TRUE(WriteFully(*theirs, EncodeFrame(Verb::kPing, 0, wire::Encode(wire::Ping{})), NowMs() + 1000).ok());
  ASSERT_TRUE(WriteFully(*theirs, EncodeFrame(Verb::kAnswer, 0, "y"), NowMs() + 1000).ok());
  Ring::Frame frame;
  ASSERT_TRUE(pipe.Receive(frame).ok());
  gate.Open();
  for (const Verb wanted : {Verb::kDrop, Verb::kAck}) {
    const Status status = ReadFrame(*theirs, 1000, frame, NowMs() + 60000);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(frame.verb, wanted);
  }
}

// What goes wrong in this process, as where there is no memory, ends the pipe and nothing else, whichever thread it is.
TEST(Pipe, WhatIsThrownIsTheEnd) {
  struct Failing final : Stream {
    explicit Failing(bool w) : writing(w) {}
    Result<size_t> TryRead(char*, size_t) override { throw std::bad_alloc(); }
    Result<size_t> TryWrite(const char*, size_t) override { return size_t{0}; }
    bool WaitReadable(int) override { return false; }
    bool WaitWritable(int timeout_ms) override {
      if (writing) throw std::bad_alloc();
      std::this_thread::sleep_for(std::chrono::milliseconds(timeout_ms));
      return false;
    }
    void Shutdown() override {}
    std::string peer() const override { return "nobody"; }
    const bool writing;
  };
  {
    Pipe pipe({});
    ASSERT_TRUE(pipe.Resume(std::make_unique<Failing>(true), 0).ok());
    (void)pipe.TrySend(Verb::kDrop, 0, "x");
    for (int wait = 0; wait < 1000 && pipe.state().ok(); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(pipe.state().code(), Code::kResourceExhausted);
  }
  Pipe pipe({});
  ASSERT_TRUE(pipe.Resume(std::make_unique<Failing>(false), 0).ok());
  Ring::Frame frame;
  EXPECT_EQ(pipe.Receive(frame).code(), Code::kResourceExhausted);
  (void)pipe.Suspend();  // Nobody receives any more.
}

TEST(Pipe, BrokenRulesAreTheEnd) {
  const auto outcome = [](const std::string& bytes) {
    PipeOptions options;
    options.max_message_bytes = 1000;
    auto [ours, theirs] = Streams();
    Pipe pipe(options);
    EXPECT_TRUE(pipe.Resume(std::move(ours), 0).ok());
    EXPECT_TRUE(WriteFully(*theirs, bytes, NowMs() + 1000).ok());
    Ring::Frame frame;
    return pipe.Receive(frame);
  };
  EXPECT_THAT(outcome(EncodeFrame(Verb::kAnswer, 0, std::string(1001, 'x'))).ToString(),
              HasSubstr("DATA_LOSS: a frame announces 1001 bytes, at most 1000 are taken"));
  EXPECT_THAT(outcome(EncodeFrame(Verb::kAck, 0, wire::Encode(wire::Ack{3}))).ToString(),
              HasSubstr("3 frames are acknowledged, 0 were sent"));
  EXPECT_THAT(outcome(EncodeFrame(Verb::kAck, 0, "x")).ToString(), HasSubstr("ends early"));
  auto [ours, theirs] = Streams();
  Pipe pipe({});
  EXPECT_EQ(pipe.Resume(std::move(ours), 1).code(), Code::kDataLoss);
}

TEST(Stream, AddressesAreRead) {
  EXPECT_EQ(ParseAddress("host:80")->text(), "host:80");
  EXPECT_EQ(ParseAddress("[::1]:80")->host, "::1");
  EXPECT_EQ(ParseAddress("[::1]:80")->text(), "[::1]:80");
  for (const char* wrong : {"", "host", "host:", ":80", "::1:80", "host:x", "host:70000", "host:-1"})
    EXPECT_EQ(ParseAddress(wrong).status().code(), Code::kInvalidArgument) << wrong;
}

TEST(Stream, DrippingBytesGainNoTime) {
  auto [ours, theirs] = Streams();
  std::atomic<bool> done{false};
  std::thread drip([&, &stream = *theirs] {
    while (!done) {
      (void)stream.TryWrite("x", 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  Ring::Frame frame;
  const int64_t start = NowMs();
  char bytes[10000];
  EXPECT_EQ(ReadFully(*ours, bytes, sizeof(bytes), start + 200).code(), Code::kDeadlineExceeded);
  EXPECT_LT(NowMs() - start, 2000);
  done = true;
  drip.join();
}

}  // namespace
}  // namespace tenon::channel
