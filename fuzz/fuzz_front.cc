// What a client that was let in may say, over both connections, to a front whose device process says what the bytes
// want: whatever it is, the session goes on or ends, and nothing is left of it.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "fuzz/byte_input.h"
#include "tenon/remote/front.h"
#include "tenon/remote/testing/stub_session.h"

namespace {

using namespace tenon;
using channel::EncodeFrame;
using fuzz::ByteInput;
using remote::testing::StubSession;
using wire::Verb;

// A connection over which the client says what it is told, and hears everything.
class Connection final : public channel::Stream {
 public:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::string says;
    bool over = false, starved = false;
  };
  explicit Connection(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Result<size_t> TryRead(char* bytes, size_t size) override {
    std::lock_guard lock(state_->mutex);
    const size_t n = std::min(size, state_->says.size());
    std::memcpy(bytes, state_->says.data(), n);
    state_->says.erase(0, n);
    if (n == 0 && state_->over) return Unavailable("the client closed the connection");
    return n;
  }
  Result<size_t> TryWrite(const char*, size_t size) override { return size; }
  bool WaitReadable(int) override {
    std::unique_lock lock(state_->mutex);
    state_->starved = state_->says.empty();
    state_->changed.notify_all();
    state_->changed.wait(lock, [this] { return state_->over || !state_->says.empty(); });
    state_->starved = false;
    return true;
  }
  bool WaitWritable(int) override { return true; }
  void Shutdown() override {
    std::lock_guard lock(state_->mutex);
    state_->over = true;
    state_->changed.notify_all();
  }
  std::string peer() const override { return "fuzz"; }

 private:
  const std::shared_ptr<State> state_;
};

uint64_t Size(ByteInput& in) {
  constexpr uint64_t kSizes[] = {0, 1, 4, 16, 256, 257, 70000, uint64_t{1} << 20, uint64_t{9} << 20, uint64_t{1} << 40};
  return in.OneIn(16) ? static_cast<uint64_t>(in.I64()) : kSizes[in.Below(std::size(kSizes))];
}

class Session {
 public:
  explicit Session(ByteInput& in) : in_(in) {
    remote::Front::Options options;
    options.limits.array_bytes = uint64_t{32} << 20;
    options.limits.max_arrays = 64;
    options.limits.ahead_bytes = 5000;
    options.limits.max_message_bytes = 1 << 20;
    options.limits.grace_ms = 1;
    options.limits.silence_ms = 1;
    // The front's last member to go has it: until then what is left of the session may be on its way out, and looks
    // like a leak.
    auto there = std::make_shared<bool>(true);
    left_ = there;
    options.on_end = [this, there = std::move(there)](const std::string&) {
      std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    };
    options.start = [this](const session::ProcessOptions& process) -> Result<std::shared_ptr<session::Session>> {
      auto stub = std::make_shared<StubSession>(process.handlers);
      std::lock_guard lock(mutex_);
      stub_ = stub;
      all_.push_back(stub);
      changed_.notify_all();
      on_death_ = process.on_death;
      return std::shared_ptr<session::Session>(std::move(stub));
    };
    Result<std::shared_ptr<remote::Front>> front = remote::Front::Start(std::move(options));
    if (!front.ok()) std::abort();
    front_ = *front;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i] = std::make_shared<Connection::State>();
      (void)front_->Attach(static_cast<wire::Lane>(i), std::make_unique<Connection>(lanes_[i]), 0,
                           [](channel::Stream&, uint64_t) { return OkStatus(); });
    }
  }

  void Run() {
    if (!in_.OneIn(4)) Hello(1);
    while (!in_.empty()) {
      switch (in_.Below(16)) {
        case 0:
          Hello(in_.U8());
          break;
        case 1:
        case 2: {
          wire::Upload m{Array(), Size(in_), 0, 0, {}};
          m.bytes = in_.OneIn(4) ? Size(in_) : m.size;
          if (in_.OneIn(8)) m.offset = Size(in_);
          if (m.bytes < 300 && in_.OneIn(2)) m.data = std::string(m.bytes, 'x');
          Say(0, Verb::kUpload, 0, wire::Encode(m));
          break;
        }
        case 3:
        case 4:
        case 5:
          Execute();
          break;
        case 6: {
          wire::Drop m;
          for (size_t n = in_.Below(4); n > 0; --n) m.arrays.push_back(Array());
          Say(0, Verb::kDrop, 0, wire::Encode(m));
          break;
        }
        case 7:
          Say(1, Verb::kFetch, in_.U8(),
              wire::Encode(
                  wire::Fetch{Array(), in_.OneIn(8) ? Size(in_) : 0, Size(in_), in_.OneIn(2) ? Size(in_) : 0}));
          break;
        case 8:
        case 9: {
          const uint64_t size = Size(in_);
          Say(1, Verb::kChunk, Array(),
              wire::Encode(
                  wire::Chunk{in_.OneIn(8) ? Size(in_) : 0, std::string(std::min<uint64_t>(size, 70000), 'y')}));
          break;
        }
        case 10: {
          wire::HandlerDone m;
          if (in_.OneIn(4)) m.error.code = 3;
          for (size_t n = in_.Below(3); n > 0; --n) m.values.push_back(std::string(in_.Below(20), 'z'));
          Say(0, Verb::kHandlerDone, in_.Below(8), wire::Encode(m));
          break;
        }
        case 11:
          Say(in_.Below(2), static_cast<Verb>(in_.U8()), in_.Below(8), in_.Bytes(120));
          break;
        case 12:
          if (in_.OneIn(4)) Die();
          break;
        default:
          Answer();
      }
    }
  }

  void End() {
    front_->Close(Cancelled("the client is gone"));
    front_ = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ended_; });
    }
    for (int wait = 0; !left_.expired(); ++wait) {
      // A greeting that was under way may still have made one.
      std::vector<std::shared_ptr<StubSession>> all;
      {
        std::lock_guard lock(mutex_);
        all = all_;
      }
      for (const std::shared_ptr<StubSession>& stub : all) stub->DieOf(Unavailable("it was ended"));
      if (wait == 100000) {
        std::fprintf(stderr, "something keeps the session\n");
        std::abort();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

 private:
  uint64_t Array() { return in_.OneIn(32) ? static_cast<uint64_t>(in_.I64()) : in_.Below(100); }
  std::shared_ptr<StubSession> Stub() {
    std::lock_guard lock(mutex_);
    return stub_;
  }

  // Says something, and waits until it was heard: of the messages at least, so that runs repeat themselves.
  void Say(size_t lane, Verb verb, uint64_t number, const std::string& message) {
    Connection::State& state = *lanes_[lane];
    std::unique_lock lock(state.mutex);
    state.says += EncodeFrame(verb, number, message);
    state.changed.notify_all();
    state.changed.wait_for(lock, std::chrono::milliseconds(2), [&] { return state.over || state.starved; });
  }

  void Execute() {
    wire::Execute m;
    m.executable = in_.Below(4);
    for (size_t devices = in_.Below(3); devices > 0; --devices) {
      wire::DeviceRun run;
      for (size_t n = in_.Below(4); n > 0; --n) run.arguments.push_back({Array(), {}, 0, in_.OneIn(2)});
      for (size_t n = in_.Below(4); n > 0; --n) run.outputs.push_back({Array(), {}, Size(in_)});
      m.devices.push_back(std::move(run));
    }
    const uint64_t number = in_.U8();
    if (in_.OneIn(3)) {
      wire::Callbacks callbacks;
      for (size_t devices = in_.OneIn(8) ? in_.Below(4) : m.devices.size(); devices > 0; --devices)
        callbacks.devices.push_back({{1}, {2}});
      Say(0, Verb::kCallbacks, in_.OneIn(16) ? in_.U8() : number, wire::Encode(callbacks));
    }
    Say(0, Verb::kExecute, number, wire::Encode(m));
  }

  // The process is made on another thread: waits for it a little, if it comes.
  void Hello(uint64_t number) {
    size_t before;
    {
      std::lock_guard lock(mutex_);
      before = all_.size();
    }
    Say(0, Verb::kHello, number, wire::Encode(wire::Hello{wire::kOldestProtocol, wire::kNewestProtocol, {}}));
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(1), [&] { return ended_ || all_.size() != before; });
  }

  // What the device process says next; a word that is none ends it.
  void Answer() {
    const std::shared_ptr<StubSession> stub = Stub();
    if (stub == nullptr || !stub->state().ok()) return;
    Status status;
    StubSession::Frame frame;
    if (in_.OneIn(8)) {
      status = stub->Say(static_cast<Verb>(64 + in_.Below(6)), in_.Below(4), in_.Bytes(80));
    } else if (in_.OneIn(6)) {
      wire::CallHandler call;
      call.execution = in_.Below(4);
      for (size_t n = in_.Below(3); n > 0; --n) call.operands.push_back({{}, {1, in_.U8()}, Size(in_)});
      for (size_t n = in_.Below(3); n > 0; --n) call.results.push_back({{}, {1, in_.U8()}, in_.Below(20)});
      status = stub->Say(in_.Below(8), call);
    } else if (in_.OneIn(6)) {
      wire::Transfer transfer;
      transfer.execution = in_.Below(4);
      transfer.device = static_cast<uint32_t>(in_.Below(3));
      transfer.channel = 1;
      transfer.sends = in_.OneIn(2);
      transfer.place = {1, in_.U8()};
      transfer.size = Size(in_);
      status = stub->Say(in_.Below(8), transfer);
    } else if (stub->Next(frame, /*wait=*/false)) {
      if (frame.verb == Verb::kExecute) {
        const Result<wire::Execute> m = wire::Decode<wire::Execute>(frame.message);
        if (!m.ok()) std::abort();
        for (size_t d = 0; d < m->devices.size() && status.ok(); ++d) {
          wire::Executed done;
          done.device = static_cast<uint32_t>(in_.OneIn(16) ? in_.U8() : d);
          if (in_.OneIn(4)) done.error = {13, "failed"};
          done.places.resize(in_.OneIn(16) ? in_.Below(9) : m->devices[d].outputs.size());
          // Or where others lie, or nothing does.
          for (size_t i = 0; i < done.places.size() && i < m->devices[d].outputs.size(); ++i) {
            const size_t of = in_.OneIn(4) ? in_.Below(m->devices[d].outputs.size()) : i;
            if (!in_.OneIn(8)) done.places[i] = m->devices[d].outputs[of].place;
          }
          for (const wire::Output& output : m->devices[d].outputs) {
            const Result<session::Session::Bytes> memory = stub->MemoryAt(output.place, output.size);
            if (memory.ok()) std::memset(memory->data, 'o', std::min<uint64_t>(output.size, 4096));
          }
          status = stub->Say(frame.number, done);
        }
      } else if (frame.verb != Verb::kDrop && frame.verb != Verb::kDropExecutable &&
                 frame.verb != Verb::kRegisterHandler && frame.verb != Verb::kHandlerDone &&
                 frame.verb != Verb::kCallbacks) {
        status = stub->Say(frame.number, wire::Answer{{}, in_.Bytes(40)});
      }
    }
    if (!status.ok()) Die();
  }

  void Die() {
    const std::shared_ptr<StubSession> stub = Stub();
    if (stub == nullptr || !stub->state().ok()) return;
    stub->DieOf(Unavailable("it died"));
    if (on_death_) on_death_(stub->state());
  }

  ByteInput& in_;
  std::array<std::shared_ptr<Connection::State>, wire::kLanes> lanes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::shared_ptr<StubSession> stub_;              // the last one
  std::vector<std::shared_ptr<StubSession>> all_;  // that there were
  std::function<void(const Status&)> on_death_;
  std::shared_ptr<remote::Front> front_;
  std::weak_ptr<bool> left_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteInput in(data, size);
  Session session(in);
  session.Run();
  session.End();
  return 0;
}
