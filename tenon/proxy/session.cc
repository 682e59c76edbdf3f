#include "tenon/proxy/session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/proxy/handlers.h"

namespace tenon::proxy {

using wire::Decode;
using wire::Verb;

namespace {

constexpr size_t kOutputTail = 2048;
constexpr uint64_t kDropBatch = 512;
constexpr uint64_t kDropBytes = uint64_t{1} << 20;
// Looking for replies costs the device process a core where there is no other; sleeping costs 5 us.
constexpr int64_t kReplySpinNs = 0;

std::atomic<uint64_t> next_generation{1};

// The session whose replies this thread reads.
thread_local const Session* reading = nullptr;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A thread that gets no signals: those are for the host's own threads.
template <class F>
Status StartThread(F work) {
  sigset_t all, old;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  const Status status = Contain("starting a thread", [&] { std::thread(std::move(work)).detach(); });
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return status;
}

}  // namespace

Session::Session(SessionOptions options, channel::SharedMemory link, channel::Fd control, Process process)
    : options_(std::move(options)),
      generation_(next_generation.fetch_add(1)),
      link_(std::move(link)),
      control_(std::move(control)),
      process_(std::move(process)) {
  link_.replies().set_spin_ns(kReplySpinNs);
}

Session::~Session() = default;

Result<std::shared_ptr<Session>> Session::Start(const SessionOptions& options) {
  TENON_ASSIGN_OR_RETURN(const std::string server, FindServer());
  TENON_ASSIGN_OR_RETURN(channel::SharedMemory link, channel::Link::Create());
  TENON_ASSIGN_OR_RETURN(auto sockets, channel::MakeControlSockets());
  TENON_ASSIGN_OR_RETURN(Process process, StartProcess(server, sockets.second, link.fd(), options.limits));
  std::shared_ptr<Session> session(new Session(options, std::move(link), std::move(sockets.first), std::move(process)));
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
  wire::Hello hello{wire::kOldestProtocol, wire::kNewestProtocol, options.plugin};
  Result<std::string> answer = session->Call(hello);
  if (!answer.ok()) {
    session->End();
    return answer.status();
  }
  TENON_ASSIGN_OR_RETURN(session->welcome_, Decode<wire::Welcome>(*answer));
  TellHandlers(session);
  return session;
}

Status Session::state() const {
  if (forked()) return FailedPrecondition("this process was forked from the one that has the device process");
  std::lock_guard lock(mutex_);
  return dead_ ? death_ : OkStatus();
}

Result<std::string> Session::CallEncoded(Verb verb, std::string message) {
  if (forked()) return state();
  if (reading == this)
    return FailedPrecondition("a callback of an event asks the device process, and waits for itself");
  if (message.size() > wire::kMaxMessageBytes) {
    return ResourceExhausted(fmt::format("a request of {} bytes; the most that crosses to a device process is {}",
                                         message.size(), wire::kMaxMessageBytes));
  }
  Question question;
  std::unique_lock lock(mutex_);
  if (dead_) return death_;
  const uint64_t number = next_question_++;
  questions_.emplace(number, &question);
  lock.unlock();
  Post(verb, number, message);
  lock.lock();
  question.answered.wait(lock, [&] { return question.done; });
  if (!question.status.ok()) return question.status;
  return std::move(question.body);
}

void Session::Post(Verb verb, uint64_t number, std::string_view message) {
  if (forked()) return;
  std::lock_guard lock(send_mutex_);
  if (!dropped_.empty()) {
    wire::Drop drop;
    drop.arrays = std::exchange(dropped_, {});
    dropped_bytes_ = 0;
    PostLocked(Verb::kDrop, 0, wire::Encode(drop));
  }
  PostLocked(verb, number, message);
}

void Session::PostLocked(Verb verb, uint64_t number, std::string_view message) {
  if (overflow_.empty() && link_.requests().TryWrite(verb, number, message)) return;
  overflow_.push_back({verb, number, std::string(message)});
  overflow_changed_.notify_one();
  if (writer_started_) return;
  writer_started_ = true;
  const Status started = StartThread([self = shared_from_this()] { self->WriteOverflow(); });
  if (!started.ok()) Kill("its host has no thread for it");
}

void Session::WriteOverflow() {
  std::unique_lock lock(send_mutex_);
  for (;;) {
    overflow_changed_.wait_for(lock, std::chrono::seconds(1), [this] { return !overflow_.empty(); });
    if (!overflow_.empty()) {
      // It stays at the front meanwhile, so that nobody overtakes it.
      Outgoing& front = overflow_.front();
      lock.unlock();
      const Status status = link_.requests().Write(front.verb, front.number, front.message);
      lock.lock();
      overflow_.pop_front();
      if (!status.ok()) overflow_.clear();
    }
    std::lock_guard state(mutex_);
    if (dead_ && overflow_.empty()) {
      writer_started_ = false;
      return;
    }
  }
}

void Session::Announce(const std::shared_ptr<channel::Piece>& piece) {
  if (forked()) return;
  std::lock_guard lock(send_mutex_);
  if (!announced_.emplace(piece->number, piece).second) return;
  (void)channel::SendPiece(control_.get(), piece->number, piece->memory);
}

void Session::Forget(uint32_t piece) {
  if (forked()) return;
  std::lock_guard lock(send_mutex_);
  if (announced_.erase(piece) != 0) PostLocked(Verb::kDropPiece, 0, wire::Encode(wire::DropPiece{piece}));
}

Result<Session::Bytes> Session::MemoryAt(const wire::Place& place, uint64_t size_bytes) {
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

void Session::DropLater(uint64_t array, uint64_t size_bytes) {
  if (forked()) return;
  std::lock_guard lock(send_mutex_);
  dropped_.push_back(array);
  dropped_bytes_ += size_bytes;
  if (dropped_.size() < kDropBatch && dropped_bytes_ < kDropBytes) return;
  wire::Drop drop;
  drop.arrays = std::exchange(dropped_, {});
  dropped_bytes_ = 0;
  PostLocked(Verb::kDrop, 0, wire::Encode(drop));
}

uint64_t Session::Register(std::shared_ptr<PendingExecution> execution) {
  std::unique_lock lock(mutex_);
  if (dead_ && failing_) {
    const Status death = death_;
    lock.unlock();
    execution->Fail(death);
    return 0;
  }
  executions_.push_back(std::move(execution));
  return first_execution_ + executions_.size() - 1;
}

void Session::ReadReplies() {
  reading = this;
  channel::Ring::Frame frame;
  for (;;) {
    Status status = link_.replies().Read(frame);
    if (status.code() == Code::kCancelled) break;  // The process is gone, and all that it said has been read.
    if (status.ok()) status = Contain("a reply", [&] { return Handle(frame); });
    if (status.ok()) continue;
    Kill(fmt::format("broke the protocol: {}", status.message()));
    break;
  }
  // What is left fails once the process is gone for certain: until then it may write into arrays.
  {
    std::unique_lock lock(mutex_);
    while (!dead_) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      lock.lock();
    }
  }
  FailAll();
}

Status Session::Handle(const channel::Ring::Frame& frame) {
  progress_.fetch_add(1, std::memory_order_relaxed);
  switch (frame.verb) {
    case Verb::kExecuted: {
      TENON_ASSIGN_OR_RETURN(const wire::Executed message, Decode<wire::Executed>(frame.message));
      std::shared_ptr<PendingExecution> execution;
      {
        std::lock_guard lock(mutex_);
        const uint64_t index = frame.number - first_execution_;
        if (index < executions_.size()) execution = executions_[index];
      }
      if (execution == nullptr)
        return DataLoss(fmt::format("an outcome of execution {}, which is not under way", frame.number));
      TENON_RETURN_IF_ERROR(execution->Complete(message));
      if (!execution->complete()) return OkStatus();
      std::lock_guard lock(mutex_);
      executions_[frame.number - first_execution_] = nullptr;
      while (!executions_.empty() && executions_.front() == nullptr) {
        executions_.pop_front();
        ++first_execution_;
      }
      return OkStatus();
    }
    case Verb::kAnswer: {
      TENON_ASSIGN_OR_RETURN(wire::Answer message, Decode<wire::Answer>(frame.message));
      std::lock_guard lock(mutex_);
      const auto it = questions_.find(frame.number);
      if (it == questions_.end())
        return DataLoss(fmt::format("an answer to question {}, which nobody asked", frame.number));
      Question& question = *it->second;
      questions_.erase(it);
      question.status = wire::ToStatus(message.error);
      question.body = std::move(message.body);
      question.done = true;
      question.answered.notify_all();  // Under the lock: the question goes with its asker.
      return OkStatus();
    }
    case Verb::kCallHandler: {
      TENON_ASSIGN_OR_RETURN(wire::CallHandler message, Decode<wire::CallHandler>(frame.message));
      std::shared_ptr<PendingExecution> execution;
      {
        std::lock_guard lock(mutex_);
        const uint64_t index = message.execution - first_execution_;
        if (index < executions_.size()) execution = executions_[index];
      }
      RunHandler(shared_from_this(), frame.number, std::move(message), std::move(execution));
      return OkStatus();
    }
    default:
      return DataLoss(fmt::format("the device process sent {}", wire::Dump(frame.verb, frame.message)));
  }
}

void Session::FailAll() {
  for (;;) {
    std::vector<std::shared_ptr<PendingExecution>> executions;
    Status death;
    {
      std::lock_guard lock(mutex_);
      death = death_;
      for (std::shared_ptr<PendingExecution>& execution : executions_) {
        if (execution != nullptr) executions.push_back(std::move(execution));
      }
      first_execution_ += executions_.size();
      executions_.clear();
      for (auto& [number, question] : questions_) {
        question->status = death;
        question->done = true;
        question->answered.notify_all();
      }
      questions_.clear();
      failing_ = true;
      if (executions.empty()) return;
    }
    for (const std::shared_ptr<PendingExecution>& execution : executions) execution->Fail(death);
  }
}

void Session::ReadOutput() {
  char text[4096];
  for (;;) {
    const ssize_t n = ::read(process_.output.get(), text, sizeof(text));
    if (n <= 0) return;
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
bool Session::Hangs() {
  std::lock_guard lock(mutex_);
  const bool waiting = !questions_.empty() || !executions_.empty();
  const uint64_t progress = progress_.load(std::memory_order_relaxed);
  if (!waiting || progress != hang_mark_ || hang_since_ns_ == 0) {
    hang_mark_ = progress;
    hang_since_ns_ = waiting ? NowNs() : 0;
    return false;
  }
  return NowNs() - hang_since_ns_ > options_.hang_timeout_s * 1'000'000'000;
}

void Session::Watch() {
  bool control_open = true;
  for (;;) {
    pollfd wait[3] = {{process_.handle.get(), POLLIN, 0},
                      {process_.output.get(), POLLIN, 0},
                      {control_open ? control_.get() : -1, POLLIN, 0}};
    const int timeout_ms = options_.hang_timeout_s > 0 ? 200 : -1;
    (void)::poll(wait, 3, timeout_ms);
    if (wait[1].revents != 0) ReadOutput();
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
  ReadOutput();
  {
    const Status death = Death(how);
    std::lock_guard lock(mutex_);
    death_ = death;
    dead_ = true;
  }
  pieces_.Close();
  link_.replies().Close();
  link_.requests().Close();
}

// What is told of the process's end.
Status Session::Death(const std::string& how) {
  std::shared_ptr<PendingExecution> running;
  size_t lost = 0, asked = 0;
  std::string reason;
  {
    std::lock_guard lock(mutex_);
    const uint64_t begun = link_.begun().load(std::memory_order_relaxed);
    for (size_t i = 0; i < executions_.size(); ++i) {
      if (executions_[i] == nullptr) continue;
      ++lost;
      if (running == nullptr && first_execution_ + i <= begun) running = executions_[i];
    }
    asked = questions_.size();
    reason = kill_reason_;
  }
  std::string text =
      fmt::format("the device process of '{}' (pid {}) {}", welcome_.plugin.empty() ? options_.plugin : welcome_.plugin,
                  process_.pid, reason.empty() ? how : reason + " and was ended");
  if (running != nullptr) {
    running->Blame();
    text += fmt::format(" while running {}", running->Name());
  }
  if (lost != 0) text += fmt::format("; {} execution{} lost", lost, lost == 1 ? " is" : "s are");
  if (asked != 0) text += fmt::format("; {} request{} not answered", asked, asked == 1 ? " is" : "s are");
  if (!output_tail_.empty()) {
    while (!output_tail_.empty() && output_tail_.back() == '\n') output_tail_.pop_back();
    text += fmt::format("; the end of its output: {}", output_tail_);
  }
  return Unavailable(text);
}

void Session::End() {
  if (forked()) return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  // It ends when it sees that nobody is at the other end.
  ::shutdown(control_.get(), SHUT_RDWR);
}

void Session::Kill(const std::string& reason) {
  if (forked()) return;
  {
    std::lock_guard lock(mutex_);
    if (dead_) return;
    if (kill_reason_.empty()) kill_reason_ = reason;
  }
  Signal(process_, SIGKILL);
}

}  // namespace tenon::proxy
