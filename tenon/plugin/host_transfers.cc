#include "tenon/plugin/host_transfers.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <utility>

#include "tenon/plugin/error.h"

namespace tenon::plugin {

namespace {

template <class Infos>
auto* Find(const Infos& infos, int64_t channel) {
  for (const auto& info : infos) {
    if (info.channel_id == channel) return &info;
  }
  return static_cast<decltype(&infos[0])>(nullptr);
}

template <class Infos>
std::vector<int64_t> Channels(const Infos& infos) {
  std::vector<int64_t> channels;
  for (const auto& info : infos) channels.push_back(info.channel_id);
  return channels;
}

Status NoCallback(const char* what, int64_t channel) {
  return InvalidArgument(
      fmt::format("the program {} on channel {}, and the execution has no callback for it", what, channel));
}

}  // namespace

HostTransfers::HostTransfers(std::span<const PJRT_SendCallbackInfo> sends, std::span<const PJRT_RecvCallbackInfo> recvs)
    : sends_(sends.begin(), sends.end()), recvs_(recvs.begin(), recvs.end()) {}

std::vector<int64_t> HostTransfers::SendChannels() const { return Channels(sends_); }
std::vector<int64_t> HostTransfers::RecvChannels() const { return Channels(recvs_); }

Status HostTransfers::Send(int64_t channel, const void* bytes, size_t size, size_t total, bool done) const {
  const PJRT_SendCallbackInfo* const info = Find(sends_, channel);
  if (info == nullptr || info->send_callback == nullptr) return NoCallback("sends", channel);
  // The chunk is the callback's, which may keep it.
  auto copy = std::make_unique<char[]>(size);
  if (size != 0) std::memcpy(copy.get(), bytes, size);
  PJRT_Chunk chunk{};
  chunk.data = copy.release();
  chunk.size = size;
  chunk.deleter = [](void* data, void*) { delete[] static_cast<char*>(data); };
  PJRT_CallbackError make_error = &MakeCallbackError;
  return TakeCError(info->send_callback(&chunk, &make_error, total, done, info->user_arg));
}

Result<Ref<CopyToDeviceStream>> HostTransfers::Begin(int64_t channel, void* to, size_t size,
                                                     const Ref<Event>& received) const {
  const PJRT_RecvCallbackInfo* const info = Find(recvs_, channel);
  if (info == nullptr || info->recv_callback == nullptr) return NoCallback("receives", channel);
  auto stream = MakeRef<CopyToDeviceStream>(static_cast<char*>(to), size, received);
  Ref<CopyToDeviceStream> handle = stream;
  info->recv_callback(reinterpret_cast<PJRT_CopyToDeviceStream*>(handle.release()), info->user_arg);
  return stream;
}

EventRef HostTransfers::Receive(int64_t channel, void* to, size_t size) const {
  Ref<Event> received = Event::Make();
  const Result<Ref<CopyToDeviceStream>> stream = Begin(channel, to, size, received);
  if (!stream.ok()) return EventRef::Of(stream.status());
  return EventRef(std::move(received));
}

Status HostTransfers::ReceiveAll(int64_t channel, void* to, size_t size, std::chrono::milliseconds every,
                                 const std::function<bool()>& gave_up) const {
  struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
  };
  Ref<Event> received = Event::Make();
  TENON_ASSIGN_OR_RETURN(const Ref<CopyToDeviceStream> stream, Begin(channel, to, size, received));
  auto waiting = std::make_shared<Waiting>();
  EventRef(received).OnReady([waiting](const Status&) {
    const std::lock_guard lock(waiting->mutex);
    waiting->over = true;
    waiting->changed.notify_all();
  });
  {
    std::unique_lock lock(waiting->mutex);
    while (!waiting->changed.wait_for(lock, every, [&] { return waiting->over; })) {
      if (gave_up()) break;
    }
  }
  stream->Close();
  return EventRef(std::move(received)).Wait();
}

Status CopyToDeviceStream::Add(const void* bytes, size_t size) {
  Status status;
  bool complete = false;
  {
    std::lock_guard lock(mutex_);
    if (over_) {
      status = FailedPrecondition(fmt::format("the stream has had its {} bytes, or failed", total_));
    } else if (size > total_ - current_) {
      over_ = true;
      status = InvalidArgument(
          fmt::format("a chunk of {} bytes for a stream that has {} of {} already", size, current_, total_));
    } else {
      // Under the lock, so that whoever hears that all are there sees those of other threads.
      if (size != 0) std::memcpy(to_ + current_, bytes, size);
      current_ += size;
      over_ = complete = current_ == total_;
    }
  }
  if (complete || status.code() == Code::kInvalidArgument) received_->Set(status);
  return status;
}

void CopyToDeviceStream::Close() {
  size_t current;
  {
    std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    current = current_;
  }
  if (total_ == 0) {
    received_->Set();
  } else {
    received_->Set(Aborted(fmt::format("the receive callback gave {} of {} bytes", current, total_)));
  }
}

int64_t CopyToDeviceStream::current() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(current_);
}

}  // namespace tenon::plugin
