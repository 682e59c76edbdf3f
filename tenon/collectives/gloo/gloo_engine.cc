// The engine "gloo": TCP by the Gloo library. Nothing of it leaves this shared object but the C table.

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenon/collectives/engine_support.h"

using namespace tenon::collectives::engine;  // NOLINT(google-build-using-namespace): one file, one library.

namespace {

/// Gloo writes to sockets whose other end may be gone: that must not end the process that the plugin is a guest of. A
/// thread that is made meanwhile, as Gloo's own, never hears of it at all.
class NoBrokenPipes {
 public:
  NoBrokenPipes() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t waiting;
    sigpending(&waiting);
    waited_ = sigismember(&waiting, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipes() {
    const timespec now = {};
    while (!waited_ && sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;

 private:
  sigset_t pipe_, before_;
  bool waited_ = false;
};

/// The job's store as Gloo wants one.
class Store final : public gloo::rendezvous::Store {
 public:
  Store(const TenonEngineStore& store, std::string prefix, Milliseconds timeout)
      : store_(store), prefix_(std::move(prefix)), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (store_.put(store_.self, (prefix_ + key).c_str(), data.data(), data.size()) != 0)
      throw std::runtime_error("the key-value store does not take '" + key + "'");
  }
  std::vector<char> get(const std::string& key) override { return Await(key, timeout_); }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const Milliseconds& timeout) override {
    for (const std::string& key : keys) Await(key, std::min(timeout, timeout_));
  }

 private:
  std::vector<char> Await(const std::string& key, Milliseconds timeout) {
    const std::optional<std::string> value = Fetch(store_, prefix_ + key, timeout);
    if (!value) throw std::runtime_error(NotEveryProcessCame(prefix_ + key));
    return {value->begin(), value->end()};
  }

  TenonEngineStore store_;
  std::string prefix_;
  Milliseconds timeout_;
};

}  // namespace

/// Those who wait look up so often whether the others still hold their ends: Gloo does not always wake them.
constexpr Milliseconds kLook{200};
/// Messages take slots from 0; what only looks takes others.
constexpr uint64_t kProbeSlot = uint64_t{1} << 62;  // structural: far from counts of messages

/// A context of its own per clique, so that one can be closed without the others. Messages between two members take
/// slots in turn.
struct TenonEngineChannel {
  ~TenonEngineChannel() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      ends = true;
    }
    wake.notify_all();
    if (looker.joinable()) looker.join();
  }

  /// Wakes those who wait, from time to time.
  void Look() {
    std::unique_lock<std::mutex> lock(mutex);
    while (!ends) {
      wake.wait_for(lock, kLook);
      for (gloo::transport::UnboundBuffer* buffer : waiting) {
        buffer->abortWaitRecv();
        buffer->abortWaitSend();
      }
    }
  }

  /// Whether the connection to a member still stands: nothing can be posted on one that does not.
  bool Stands(int peer) {
    try {
      char nothing = 0;
      context->createUnboundBuffer(&nothing, 0)->send(peer, kProbeSlot + probes++, 0, 0);
      return true;
    } catch (...) {
      return false;
    }
  }

  std::condition_variable wake;
  std::thread looker;
  bool ends = false;
  uint64_t probes = 0;
  std::shared_ptr<gloo::rendezvous::Context> context;
  std::map<int, uint64_t> sent, received;  ///< Messages so far, by peer.
  std::mutex mutex;
  std::vector<gloo::transport::UnboundBuffer*> waiting;
  bool aborted = false;

  void Close() {
    try {
      context->closeConnections();
    } catch (...) {
    }
  }
};

namespace {

int Connect(const TenonEngineMeeting* meeting, TenonEngineChannel** channel, char* error) {
  const NoBrokenPipes quiet;
  try {
    gloo::transport::tcp::attr attr;
    if (meeting->address[0] != '\0') attr.hostname = meeting->address;
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attr);
    auto made = std::make_unique<TenonEngineChannel>();
    made->context = std::make_shared<gloo::rendezvous::Context>(meeting->self, meeting->size);
    const Milliseconds timeout(meeting->timeout_ms);
    made->context->setTimeout(timeout);
    Store store(meeting->store, std::string(meeting->key) + "/gloo/", timeout);
    made->context->connectFullMesh(store, device);
    made->looker = std::thread([raw = made.get()] { raw->Look(); });
    *channel = made.release();
    return 0;
  } catch (const std::exception& e) {
    Write(error, std::string("gloo: ") + e.what());
  } catch (...) {
    Write(error, "gloo: an unknown exception");
  }
  return kUnavailable;
}

int Exchange(TenonEngineChannel* channel, const TenonEnginePart* sends, size_t num_sends,
             const TenonEnginePart* receives, size_t num_receives, int64_t timeout_ms, char* error) {
  const NoBrokenPipes quiet;
  const auto deadline = Clock::now() + Milliseconds(timeout_ms);
  // Rounded up: who gave up before the deadline would take a late peer for a broken connection.
  const auto left = [&] { return std::max(Milliseconds(1), std::chrono::ceil<Milliseconds>(deadline - Clock::now())); };
  // Behind everything that is posted below, on every way out.
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> in, out;
  const auto enter = [&] {
    const std::lock_guard<std::mutex> lock(channel->mutex);
    if (channel->aborted) return false;
    for (auto* list : {&in, &out}) {
      for (auto& buffer : *list) channel->waiting.push_back(buffer.get());
    }
    return true;
  };
  const auto leave = [&] {
    const std::lock_guard<std::mutex> lock(channel->mutex);
    channel->waiting.clear();
    return channel->aborted;
  };
  int peer = -1;
  try {
    // A peer's bytes move as soon as both ends have posted theirs: all receives first.
    for (size_t i = 0; i < num_receives; ++i) {
      peer = receives[i].peer;
      in.push_back(channel->context->createUnboundBuffer(receives[i].data, receives[i].bytes));
      in.back()->recv(receives[i].peer, channel->received[receives[i].peer]++);
    }
    for (size_t i = 0; i < num_sends; ++i) {
      peer = sends[i].peer;
      out.push_back(channel->context->createUnboundBuffer(sends[i].data, sends[i].bytes));
      out.back()->send(sends[i].peer, channel->sent[sends[i].peer]++);
    }
    if (!enter()) {
      Write(error, "gloo: the connections were given up");
      return kUnavailable;
    }
    // False: woken to look around, or given up.
    const auto goes_on = [&] {
      {
        const std::lock_guard<std::mutex> lock(channel->mutex);
        if (channel->aborted) return false;
      }
      if (!channel->Stands(peer)) throw std::runtime_error("the peer is gone");
      return true;
    };
    bool whole = true;
    for (size_t i = 0; whole && i < in.size(); ++i) {
      peer = receives[i].peer;
      while (!in[i]->waitRecv(left()) && (whole = goes_on())) {
      }
    }
    for (size_t i = 0; whole && i < out.size(); ++i) {
      peer = sends[i].peer;
      while (!out[i]->waitSend(left()) && (whole = goes_on())) {
      }
    }
    if (!leave() && whole) return 0;
    channel->Close();
    Write(error, "gloo: the connections were given up");
    return kUnavailable;
  } catch (const std::exception& e) {
    leave();
    channel->Close();
    const bool late = Clock::now() >= deadline;
    Write(error, (late ? "member " + std::to_string(peer) + " sent nothing for " + std::to_string(timeout_ms) + " ms"
                       : "the connection to member " + std::to_string(peer) + " broke") +
                     " (gloo: " + e.what() + ")");
    return late ? kDeadlineExceeded : kUnavailable;
  } catch (...) {
    leave();
    channel->Close();
    Write(error, "gloo: an unknown exception");
    return kInternal;
  }
}

void Abort(TenonEngineChannel* channel) {
  const NoBrokenPipes quiet;
  bool idle = false;
  {
    const std::lock_guard<std::mutex> lock(channel->mutex);
    if (channel->aborted) return;
    channel->aborted = true;
    idle = channel->waiting.empty();
    for (gloo::transport::UnboundBuffer* buffer : channel->waiting) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }
  // Who waits closes the connections itself.
  if (idle) channel->Close();
}

void Destroy(TenonEngineChannel* channel) {
  if (channel == nullptr) return;
  const NoBrokenPipes quiet;
  channel->Close();
  try {
    delete channel;
  } catch (...) {
  }
}

const TenonEngineTable kTable = {TENON_ENGINE_VERSION, "gloo", &Connect, &Exchange, &Abort, &Destroy};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TenonEngineTable* tenon_engine_create(int32_t version) {
  return version == TENON_ENGINE_VERSION ? &kTable : nullptr;
}
