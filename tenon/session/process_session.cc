#include "tenon/session/process_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/discovery/discovery.h"

namespace tenon::session {

using wire::Verb;

namespace {

constexpr size_t kOutputTail = 2048;
// What a device process may have mapped here, for arrays of handlers: a tenth of the mappings that a process may have,
// and a hundredth of its addresses. One that keeps to the rules has at most the machine's memory in it.
constexpr size_t kMaxPieces = 4096;
constexpr uint64_t kMaxPieceBytes = uint64_t{1} << 40;
// A thread that waits for an outcome looks for replies itself until none has come for so long, and for no longer than
// that: being woken costs up to 50 us, of the device process as well, which looks for its next request for less.
constexpr int64_t kLookNs = 100'000, kMostLookNs = 400'000;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ProcessSession::ProcessSession(ProcessOptions options, channel::SharedMemory link, channel::Fd control, Process process)
    : Session(options.handlers),
      options_(std::move(options)),
      link_(std::move(link)),
      control_(std::move(control)),
      process_(std::move(process)),
      pieces_({kMaxPieces, kMaxPieceBytes}) {}

ProcessSession::~ProcessSession() = default;

Result<std::shared_ptr<Session>> ProcessSession::Start(const ProcessOptions& given) {
  ProcessOptions options = given;
  std::optional<Sandbox> confinement;
  if (options.sandbox) {
    TENON_RETURN_IF_ERROR(sandbox::CheckSupport());
    // Its folders are not to be searched from inside.
    const std::vector<discovery::PluginFile> files = discovery::FilesNamed(options.plugin);
    if (!discovery::IsFile(options.plugin) && !files.empty()) options.plugin = files.front().path;
    confinement = Sandbox{options.plugin, *options.sandbox};
  }
  TENON_ASSIGN_OR_RETURN(const std::string server, FindServer());
  TENON_ASSIGN_OR_RETURN(channel::SharedMemory link, channel::Link::Create());
  TENON_ASSIGN_OR_RETURN(auto sockets, channel::MakeControlSockets());
  TENON_ASSIGN_OR_RETURN(Process process, StartProcess(server, sockets.second, link.fd(), options.limits, confinement));
  std::shared_ptr<ProcessSession> session(
      new ProcessSession(options, std::move(link), std::move(sockets.first), std::move(process)));
  Status started = StartThread([session] { session->Watch(); });
  if (!started.ok()) {
    Signal(session->process_, SIGKILL);
    (void)Reap(session->process_);
    return started;
  }
  started = StartThread([session] { session->ReadReplies(); });
  if (!started.ok()) {
    session->Kill("its host has no thread for it");
    return started;
  }
  if (options.on_start) options.on_start(session);
  if (const Status status = session->Greet(options.plugin); !status.ok()) {
    session->End();
    return status;
  }
  return std::shared_ptr<Session>(std::move(session));
}

Status ProcessSession::HandleOther(const channel::Ring::Frame& frame) {
  if (frame.verb != Verb::kDropPiece) return Session::HandleOther(frame);
  TENON_ASSIGN_OR_RETURN(const wire::DropPiece message, wire::Decode<wire::DropPiece>(frame.message));
  pieces_.Remove(message.piece);
  return OkStatus();
}

void ProcessSession::ReadReplies() {
  for (;;) {
    Status status = link_.replies().WaitReadable();
    if (status.ok()) {
      std::lock_guard lock(reading_);
      status = TakeReplies();
    }
    if (status.ok()) continue;
    // Cancelled: the process is gone, and all that it said has been read.
    if (status.code() != Code::kCancelled) Kill(fmt::format("broke the protocol: {}", status.message()));
    break;
  }
  // What is left fails once the process is gone for certain: until then it may write into arrays.
  while (!dead()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  {
    std::lock_guard lock(reading_);  // The last reply may still be in the hands of another thread.
    for (; !rests_.empty(); rests_.pop_front()) (void)Contain("listeners", rests_.front());
    FailAll();
  }
  if (options_.on_death) options_.on_death(state());
}

// Handles those that have come. With reading_.
Status ProcessSession::TakeReplies() {
  for (;;) {
    // What others left to this thread comes before what has come since.
    for (; !rests_.empty(); rests_.pop_front()) (void)Contain("listeners", rests_.front());
    if (broken_) return Cancelled("the device process broke the protocol");
    bool more = false;
    Status status = Contain("a reply", [&]() -> Status {
      TENON_ASSIGN_OR_RETURN(more, link_.replies().TryRead(frame_));
      return OkStatus();
    });
    if (status.ok() && more) status = Deliver(frame_);
    broken_ = !status.ok() && status.code() != Code::kCancelled;
    if (!status.ok() || !more) return status;
  }
}

void ProcessSession::ReadFor(const std::function<bool()>& wanted, const std::function<std::function<void()>()>& rest) {
  static const bool alone = std::thread::hardware_concurrency() < 2;
  if (alone || IsReading() || forked()) return;
  const std::unique_lock lock(reading_, std::try_to_lock);
  if (!lock || broken_) return;  // Somebody reads already.
  if (look_credit_ == 0 && ++looks_ % kLooksPerTry != 0) return;
  link_.replies().BeginLooking();
  Status status;
  const int64_t start = NowNs();
  for (int64_t seen = start, now = start; status.ok() && wanted() && now < seen + kLookNs && now < start + kMostLookNs;
       now = NowNs()) {
    bool more = false;
    for (int i = 0; i < 16 && status.ok() && wanted(); ++i) {
      status = Contain("a reply", [&]() -> Status {
        TENON_ASSIGN_OR_RETURN(more, link_.replies().TryReadWhole(frame_));
        return more ? Deliver(frame_) : OkStatus();
      });
      if (more) seen = NowNs();
    }
  }
  look_credit_ = wanted() ? std::max(look_credit_ - 1, 0) : std::min(look_credit_ + 1, kMaxLookCredit);
  broken_ = !status.ok();
  if (broken_) Kill(fmt::format("broke the protocol: {}", status.message()));
  std::function<void()> left = rest();
  const bool nudge = left != nullptr;
  if (nudge) rests_.push_back(std::move(left));
  link_.replies().EndLooking(nudge);
}

void ProcessSession::Announce(const std::shared_ptr<channel::Piece>& piece) {
  if (forked()) return;
  std::lock_guard lock(send_mutex_);
  if (!announced_.emplace(piece->number, piece).second) return;
  (void)channel::SendPiece(control_.get(), piece->number, piece->memory);
}

void ProcessSession::Forget(uint32_t piece) {
  if (forked()) return;
  FlushDrops();  // Of arrays in it.
  std::lock_guard lock(send_mutex_);
  if (announced_.erase(piece) != 0) PostLocked(Verb::kDropPiece, 0, wire::Encode(wire::DropPiece{piece}));
}

Result<Session::Bytes> ProcessSession::MemoryAt(const wire::Place& place, uint64_t size_bytes) {
  std::shared_ptr<channel::Piece> piece;
  {
    std::lock_guard lock(send_mutex_);
    if (const auto it = announced_.find(place.piece); it != announced_.end()) piece = it->second.lock();
  }
  if (piece == nullptr) {
    TENON_ASSIGN_OR_RETURN(piece, pieces_.Find(place.piece));
  }
  const uint64_t total = piece->memory.size();
  if (place.offset > total || size_bytes > total - place.offset)
    return DataLoss(fmt::format("{} bytes at offset {} leave piece {}", size_bytes, place.offset, place.piece));
  char* const data = piece->memory.data() + place.offset;
  return Bytes{std::move(piece), data};
}

// Whether more may come: a plugin may close or redirect what it writes to.
bool ProcessSession::ReadOutput() {
  char text[4096];
  for (;;) {
    const ssize_t n = ::read(process_.output.get(), text, sizeof(text));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 && errno == EAGAIN;
    // It appears where the plugin's own output would.
    for (ssize_t done = 0; done < n;) {
      const ssize_t written = ::write(STDERR_FILENO, text + done, static_cast<size_t>(n - done));
      if (written <= 0) break;
      done += written;
    }
    output_tail_.append(text, static_cast<size_t>(n));
    if (output_tail_.size() > kOutputTail) output_tail_.erase(0, output_tail_.size() - kOutputTail);
  }
}

// Whether something has been under way for longer than allowed without any reply.
bool ProcessSession::Hangs() {
  const bool waiting = IsOwed();
  if (!waiting || progress() != hang_mark_ || hang_since_ns_ == 0) {
    hang_mark_ = progress();
    hang_since_ns_ = waiting ? NowNs() : 0;
    return false;
  }
  return NowNs() - hang_since_ns_ > options_.hang_timeout_s * 1'000'000'000;
}

void ProcessSession::Watch() {
  bool control_open = true, output_open = true;
  for (;;) {
    pollfd wait[3] = {{process_.handle.get(), POLLIN, 0},
                      {output_open ? process_.output.get() : -1, POLLIN, 0},
                      {control_open ? control_.get() : -1, POLLIN, 0}};
    const int timeout_ms = options_.hang_timeout_s > 0 ? 200 : -1;
    (void)::poll(wait, 3, timeout_ms);
    if (wait[1].revents != 0) output_open = ReadOutput();
    if (wait[0].revents != 0) break;
    if (wait[2].revents != 0) {
      Result<std::optional<channel::PieceNotice>> notice = channel::ReceivePiece(control_.get(), 0);
      Status status = notice.status();
      if (notice.ok() && notice->has_value()) status = pieces_.Add(std::move(**notice));
      if (!status.ok()) {
        control_open = false;
        if (status.code() == Code::kDataLoss) Kill(fmt::format("broke the protocol: {}", status.message()));
      }
    }
    if (options_.hang_timeout_s > 0 && Hangs()) {
      Signal(process_, SIGABRT);  // For a core file, where the plugin lets it.
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      Kill(fmt::format("did not answer within {} s", options_.hang_timeout_s));
    }
  }
  const std::string how = Reap(process_);
  (void)ReadOutput();
  Die(Death(how));
  pieces_.Close();
  link_.replies().Close();
  link_.requests().Close();
}

// What is told of the process's end.
Status ProcessSession::Death(const std::string& how) {
  std::string reason;
  {
    std::lock_guard lock(reason_mutex_);
    reason = kill_reason_;
  }
  const std::string plugin = plugin_name();
  std::string text = fmt::format("the device process of '{}' (pid {}) {}{}", plugin.empty() ? options_.plugin : plugin,
                                 process_.pid, reason.empty() ? how : reason + " and was ended",
                                 Describe(GetUnderWay(link_.begun().load(std::memory_order_relaxed))));
  if (!output_tail_.empty()) {
    while (!output_tail_.empty() && output_tail_.back() == '\n') output_tail_.pop_back();
    text += fmt::format("; the end of its output: {}", output_tail_);
  }
  return Unavailable(text);
}

void ProcessSession::End() {
  if (forked()) return;
  // It ends when it sees that nobody is at the other end.
  ::shutdown(control_.get(), SHUT_RDWR);
}

void ProcessSession::Kill(const std::string& reason) {
  if (forked() || dead()) return;
  {
    std::lock_guard lock(reason_mutex_);
    if (kill_reason_.empty()) kill_reason_ = reason;
  }
  Signal(process_, SIGKILL);
}

}  // namespace tenon::session
