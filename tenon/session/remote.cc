#include "tenon/session/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tenon/base/network.h"
namespace tenon::session {

using channel::NowMs;
using wire::Decode;
using wire::Lane;
using wire::Verb;

namespace {

std::atomic<uint64_t> next_number{uint64_t{1} << 32};  // Not those of sessions.
constexpr uint32_t kMaxAttachedBytes = 4096;
constexpr int kLingerMs = 200;

Lane LaneOf(int i) { return static_cast<Lane>(i); }

}  // namespace

Remote::Remote(RemoteOptions options) : options_(std::move(options)), number_(next_number.fetch_add(1)) {}

Result<channel::Pipe::Dialed> Remote::Dial(Lane lane, uint64_t received) {
  const int64_t deadline = NowMs() + options_.connect_ms;
  TENON_ASSIGN_OR_RETURN(channel::Fd socket, channel::Connect(address_, deadline, options_.silence_ms));
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<channel::SecureStream> stream,
                         tls_->Wrap(std::move(socket), address_.host, address_.text(), deadline));
  wire::Attach attach;
  attach.magic = wire::kAttachMagic;
  attach.oldest = wire::kOldestProtocol;
  attach.newest = wire::kNewestProtocol;
  attach.build = TENON_BUILD_NAME;
  attach.lane = static_cast<uint8_t>(lane);
  attach.received = received;
  {
    std::lock_guard lock(mutex_);
    attach.session = session_number_;
    attach.secret = secret_;
  }
  const std::string& token = tls_->credentials().token;
  if (!token.empty()) {
    TENON_ASSIGN_OR_RETURN(attach.proof, stream->Prove(token, /*as_server=*/false));
  }
  TENON_RETURN_IF_ERROR(
      channel::WriteFully(*stream, channel::EncodeFrame(Verb::kAttach, 0, wire::Encode(attach)), deadline));
  channel::Ring::Frame frame;
  TENON_RETURN_IF_ERROR(channel::ReadFrame(*stream, kMaxAttachedBytes, frame, deadline));
  if (frame.verb != Verb::kAttached)
    return DataLoss(fmt::format("{} answered {}", name(), wire::Dump(frame.verb, frame.message)));
  TENON_ASSIGN_OR_RETURN(const wire::Attached attached, Decode<wire::Attached>(frame.message));
  if (const Status refused = wire::ToStatus(attached.error); !refused.ok()) return refused.WithContext(name());
  if (!token.empty()) {
    // Whoever is there must know the token as well.
    TENON_ASSIGN_OR_RETURN(const std::string proof, stream->Prove(token, /*as_server=*/true));
    if (!EqualInConstantTime(proof, attached.proof))
      return Unauthenticated(fmt::format("{} does not know the token", name()));
  }
  std::lock_guard lock(mutex_);
  if (session_number_ == 0) {
    session_number_ = attached.session;
    secret_ = attached.secret;
    grace_s_ = attached.grace_s;
    max_message_bytes_ = std::min(attached.max_message_bytes, wire::kMaxMessageBytes);
  }
  return channel::Pipe::Dialed{std::move(stream), attached.received};
}

Result<std::shared_ptr<Remote>> Remote::Connect(const RemoteOptions& options) {
  std::shared_ptr<Remote> remote(new Remote(options));
  TENON_ASSIGN_OR_RETURN(remote->address_, channel::ParseAddress(options.address));
  TENON_ASSIGN_OR_RETURN(remote->tls_, channel::Tls::Make(options.credentials, /*is_server=*/false));
  // The first connection says how long broken ones are waited for.
  std::array<channel::Pipe::Dialed, wire::kLanes> dialed;
  for (int i = 0; i < wire::kLanes; ++i) {
    Result<channel::Pipe::Dialed> one = remote->Dial(LaneOf(i), 0);
    if (!one.ok()) {
      // The server need not wait for this session's first connection to be made again.
      if (i != 0) {
        (void)channel::WriteFully(*dialed[0].stream, channel::EncodeFrame(Verb::kGoodbye, 0, {}), NowMs() + kLingerMs);
      }
      return one.status();
    }
    dialed[static_cast<size_t>(i)] = std::move(*one);
  }
  channel::PipeOptions pipe;
  pipe.max_message_bytes = std::max(pipe.max_message_bytes, remote->max_message_bytes());
  pipe.keep_alive_ms = options.keep_alive_ms;
  pipe.silence_ms = options.silence_ms;
  pipe.grace_ms = static_cast<int>(std::min<uint32_t>(remote->grace_s_, 3600)) * 1000;
  if (options.grace_ms != 0) pipe.grace_ms = options.grace_ms;
  for (int i = 0; i < wire::kLanes; ++i) {
    auto& made = remote->pipes_[static_cast<size_t>(i)];
    made = std::make_unique<channel::Pipe>(
        pipe, [self = remote.get(), lane = LaneOf(i)](uint64_t received) { return self->Dial(lane, received); });
    auto& [stream, received] = dialed[static_cast<size_t>(i)];
    TENON_RETURN_IF_ERROR(made->Resume(std::move(stream), received));
  }
  for (void (Remote::*work)() : {&Remote::ReadControl, &Remote::WriteControl, &Remote::ReadBulk, &Remote::WriteBulk}) {
    if (const Status status = StartThread([remote, work] { (*remote.*work)(); }); !status.ok()) {
      remote->End(status);
      return status;
    }
  }
  return remote;
}

Status Remote::state() const {
  std::lock_guard lock(mutex_);
  return has_ended_ ? ended_ : OkStatus();
}

uint32_t Remote::max_message_bytes() const {
  std::lock_guard lock(mutex_);
  return max_message_bytes_;
}

Status Remote::SetSession(std::shared_ptr<RemoteSession> session) {
  const uint64_t generation = session->generation();
  {
    std::lock_guard lock(mutex_);
    if (has_ended_) return ended_;
    session_ = std::move(session);
  }
  std::lock_guard lock(sending_);
  speaker_ = generation;
  return OkStatus();
}

std::shared_ptr<RemoteSession> Remote::TakeSession() {
  {
    std::lock_guard lock(sending_);
    speaker_ = 0;
  }
  std::lock_guard lock(mutex_);
  return std::exchange(session_, nullptr);
}

// A server knows its device processes by the order of messages alone: what was meant for one that is gone must not
// reach the next. With `sending_`.
bool Remote::MaySend(uint64_t generation, Verb verb) const {
  return generation == speaker_ || verb == Verb::kUpload || verb == Verb::kDrop;
}

void Remote::Post(uint64_t generation, Verb verb, uint64_t number, std::string_view message) {
  std::lock_guard lock(sending_);
  if (silent_ || !MaySend(generation, verb)) return;
  if (overflow_.empty() && control().TrySend(verb, number, message)) return;
  overflow_.push_back({generation, verb, number, std::string(message)});
  queued_.notify_one();
  if (verb != Verb::kHandlerDone || ++outcomes_ <= Session::kMaxCalls) return;
  control().Close(
      DataLoss(fmt::format("{} broke the protocol: it has called its host {} times and not taken the outcomes", name(),
                           Session::kMaxCalls)));
}

// With `sending_`.
void Remote::PopOverflow() {
  if (overflow_.front().verb == Verb::kHandlerDone) --outcomes_;
  overflow_.pop_front();
}

// Sends what the window had no room for.
void Remote::WriteControl() {
  std::unique_lock lock(sending_);
  while (!silent_) {
    if (overflow_.empty()) {
      queued_.wait(lock);
      continue;
    }
    const Outgoing& first = overflow_.front();
    if (!MaySend(first.generation, first.verb) || control().TrySend(first.verb, first.number, first.message)) {
      PopOverflow();
      continue;
    }
    lock.unlock();
    const Status room = control().WaitForRoom();
    lock.lock();
    if (!room.ok()) break;  // The thread that reads tells of the end.
  }
  silent_ = true;
  overflow_.clear();
}

void Remote::ReadControl() {
  End(control().ReceiveAll([this](const channel::Ring::Frame& frame) {
    const Status status = HandleControl(frame);
    return status.ok() ? status : Unavailable(fmt::format("{} broke the protocol: {}", name(), status.message()));
  }));
  // A session is told here alone, on the thread of its replies.
  if (const std::shared_ptr<RemoteSession> session = TakeSession()) session->Lose(state());
}

Status Remote::HandleControl(const channel::Ring::Frame& frame) {
  if (frame.verb == Verb::kGone) {
    TENON_ASSIGN_OR_RETURN(const wire::Gone gone, Decode<wire::Gone>(frame.message));
    if (const std::shared_ptr<RemoteSession> session = TakeSession())
      session->Lose(Unavailable(fmt::format("at {}: {}", name(), gone.error.message)));
    return OkStatus();
  }
  std::shared_ptr<RemoteSession> session;
  {
    std::lock_guard lock(mutex_);
    session = session_;
  }
  return session == nullptr ? OkStatus() : session->Deliver(frame);
}

void Remote::ReadBulk() {
  End(pipes_[1]->ReceiveAll([this](const channel::Ring::Frame& frame) { return HandleBulk(frame); }));
}

Status Remote::HandleBulk(const channel::Ring::Frame& frame) {
  if (frame.verb == Verb::kChunk) {
    TENON_ASSIGN_OR_RETURN(const wire::ChunkView chunk, wire::DecodeChunk(frame.message));
    std::lock_guard lock(mutex_);
    const auto it = fetching_.find(frame.number);
    if (it == fetching_.end()) return DataLoss(fmt::format("bytes for fetch {}, which is not under way", frame.number));
    Fetching& f = it->second;
    if (chunk.offset < f.offset || chunk.offset - f.offset > f.size ||
        chunk.bytes.size() > f.size - (chunk.offset - f.offset))
      return DataLoss(
          fmt::format("{} bytes at {} for a fetch of {} at {}", chunk.bytes.size(), chunk.offset, f.size, f.offset));
    std::memcpy(f.to + (chunk.offset - f.offset), chunk.bytes.data(), chunk.bytes.size());
    f.arrived += chunk.bytes.size();
    return OkStatus();
  }
  if (frame.verb != Verb::kFetched)
    return DataLoss(fmt::format("{} sent {} among bytes", name(), wire::Dump(frame.verb, frame.message)));
  TENON_ASSIGN_OR_RETURN(const wire::Fetched fetched, Decode<wire::Fetched>(frame.message));
  Fetching f;
  {
    std::lock_guard lock(mutex_);
    const auto it = fetching_.find(frame.number);
    if (it == fetching_.end())
      return DataLoss(fmt::format("the end of fetch {}, which is not under way", frame.number));
    f = std::move(it->second);
    fetching_.erase(it);
  }
  Status status = wire::ToStatus(fetched.error);
  if (status.ok() && f.arrived == 0 && fetched.data.size() == f.size) {
    std::memcpy(f.to, fetched.data.data(), f.size);
  } else if (status.ok() && f.arrived != f.size) {
    status = DataLoss(fmt::format("{} of {} bytes came from {}", f.arrived + fetched.data.size(), f.size, name()));
  }
  f.done(status);
  return OkStatus();
}

void Remote::Send(uint64_t array, uint64_t offset, std::string_view bytes, Done done) {
  {
    std::lock_guard lock(mutex_);
    if (!has_ended_) {
      Job job;
      job.number = array;
      job.offset = offset;
      job.bytes = bytes;
      job.done = std::move(done);
      jobs_.push_back(std::move(job));
      changed_.notify_all();
      return;
    }
  }
  done(state());
}

void Remote::Fetch(const wire::Fetch& what, char* to, Done done) {
  {
    std::lock_guard lock(mutex_);
    if (!has_ended_) {
      Job job;
      job.is_fetch = true;
      job.number = next_fetch_++;
      job.fetch = what;
      fetching_.emplace(job.number, Fetching{to, what.offset, what.size, 0, std::move(done)});
      jobs_.push_back(std::move(job));
      changed_.notify_all();
      return;
    }
  }
  done(state());
}

// Sends what is queued, in its order; waits where the window is closed.
void Remote::WriteBulk() {
  std::string message;
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return has_ended_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (job.is_fetch) {
      (void)pipes_[1]->Send(Verb::kFetch, job.number, wire::Encode(job.fetch));
      continue;  // Its end, or the session's, tells.
    }
    Status status;
    for (size_t at = 0; at < job.bytes.size() && status.ok(); at += wire::kChunkBytes) {
      wire::EncodeChunk(job.offset + at, job.bytes.substr(at, wire::kChunkBytes), message);
      status = pipes_[1]->Send(Verb::kChunk, job.number, message);
    }
    job.done(status);
  }
}

void Remote::Close(const Status& why) {
  for (const auto& pipe : pipes_) pipe->Finish();
  (void)control().TrySend(Verb::kGoodbye, 0, {});
  control().Close(why, kLingerMs);
  pipes_[1]->Close(why);
}

void Remote::Break() {
  for (const auto& pipe : pipes_) pipe->Break();
}

// The session is over: whoever waits for bytes is told. Once.
void Remote::End(const Status& why) {
  std::deque<Job> jobs;
  std::unordered_map<uint64_t, Fetching> fetching;
  Status ended;
  {
    std::lock_guard lock(mutex_);
    if (!has_ended_) {
      has_ended_ = true;
      ended_ = Unavailable(fmt::format("the session with {} is over: {}", name(), why.message()));
    }
    ended = ended_;
    jobs.swap(jobs_);
    fetching.swap(fetching_);
    changed_.notify_all();
  }
  for (const auto& pipe : pipes_) pipe->Close(why);
  {
    std::lock_guard lock(sending_);
    silent_ = true;
    queued_.notify_all();
  }
  for (Job& job : jobs) {
    if (job.done) job.done(ended);
  }
  for (auto& [number, f] : fetching) f.done(ended);
}

RemoteSession::RemoteSession(std::shared_ptr<Remote> remote)
    : Session(remote->handlers()), remote_(std::move(remote)) {}
RemoteSession::~RemoteSession() = default;

Result<std::shared_ptr<Session>> RemoteSession::Start(std::shared_ptr<Remote> remote) {
  std::shared_ptr<RemoteSession> session(new RemoteSession(remote));
  TENON_RETURN_IF_ERROR(remote->SetSession(session));
  TENON_RETURN_IF_ERROR(session->Greet({}));
  return std::shared_ptr<Session>(std::move(session));
}

Result<Session::Bytes> RemoteSession::MemoryAt(const wire::Place&, uint64_t) {
  return DataLoss("a server names memory of this machine");
}

void RemoteSession::Lose(const Status& why) {
  Die(Unavailable(std::string(why.message()) + Describe(GetUnderWay(0))));
  FlushDrops();
  FailAll();
}

void RemoteSession::End() {
  if (!forked()) remote_->Close(Cancelled("it was ended"));
}

void RemoteSession::Kill(const std::string& reason) {
  if (!forked()) remote_->Close(Unavailable(fmt::format("{} {}", remote_->name(), reason)));
}

}  // namespace tenon::session
