#include "tenon/session/session.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "tenon/base/contain.h"

namespace tenon::session {

using wire::Decode;
using wire::Verb;

namespace {

constexpr uint64_t kDropBatch = 512;
constexpr uint64_t kDropBytes = uint64_t{1} << 20;

std::atomic<uint64_t> next_generation{1};

// The session whose replies this thread reads.
thread_local const Session* reading = nullptr;

}  // namespace

Session::Session(std::shared_ptr<HandlerHost> handlers)
    : handlers_(std::move(handlers)), generation_(next_generation.fetch_add(1)) {}
Session::~Session() = default;

Status StartThread(std::function<void()> work) {
  sigset_t all, old;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  const Status status = Contain("starting a thread", [&] {
    std::thread([work = std::move(work)] { (void)Contain("a thread", work); }).detach();
  });
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return status;
}

Status Session::Greet(const std::string& plugin) {
  TENON_ASSIGN_OR_RETURN(const std::string answer,
                         Call(wire::Hello{wire::kOldestProtocol, wire::kNewestProtocol, plugin}));
  TENON_ASSIGN_OR_RETURN(wire::Welcome welcome, Decode<wire::Welcome>(answer));
  {
    std::lock_guard lock(mutex_);
    welcome_ = std::move(welcome);
  }
  if (handlers_ != nullptr) handlers_->Tell(shared_from_this());
  return OkStatus();
}

Status Session::state() const {
  if (forked()) return FailedPrecondition("this process was forked from the one that has the device process");
  std::lock_guard lock(mutex_);
  return dead_ ? death_ : OkStatus();
}

std::string Session::plugin_name() const {
  std::lock_guard lock(mutex_);
  return welcome_.plugin;
}

bool Session::dead() const {
  std::lock_guard lock(mutex_);
  return dead_;
}

Result<std::string> Session::CallEncoded(Verb verb, std::string message) {
  if (reading == this)
    return FailedPrecondition("a callback of an event asks the device process, and waits for itself");
  Asker asker;
  std::mutex mutex;
  CallThen(verb, message, [&](Result<std::string> answer) {
    std::lock_guard lock(mutex);
    asker.answer = std::move(answer);
    asker.done = true;
    asker.answered.notify_all();  // Under the lock: it goes with the asker.
  });
  std::unique_lock lock(mutex);
  asker.answered.wait(lock, [&] { return asker.done; });
  return std::move(asker.answer);
}

void Session::CallThen(Verb verb, std::string_view message, Then then) {
  if (const uint32_t most = max_message_bytes(); message.size() > most) {
    then(ResourceExhausted(
        fmt::format("a request of {} bytes; the most that crosses to a device process is {}", message.size(), most)));
    return;
  }
  if (const Status status = state(); !status.ok()) {
    then(status);
    return;
  }
  std::unique_lock lock(mutex_);
  if (dead_) {
    const Status death = death_;
    lock.unlock();
    then(death);
    return;
  }
  const uint64_t number = next_question_++;
  questions_.emplace(number, std::move(then));
  lock.unlock();
  Post(verb, number, message);
}

void Session::FlushDrops() {
  std::lock_guard lock(send_mutex_);
  if (!dropped_.empty()) FlushDropsLocked();
}

void Session::FlushDropsLocked() {
  wire::Drop drop;
  drop.arrays = std::exchange(dropped_, {});
  dropped_bytes_ = 0;
  PostLocked(Verb::kDrop, 0, wire::Encode(drop));
}

void Session::Post(Verb verb, uint64_t number, std::string_view message) {
  if (forked()) return;
  std::lock_guard lock(send_mutex_);
  if (!dropped_.empty()) FlushDropsLocked();
  PostLocked(verb, number, message);
}

void Session::PostLocked(Verb verb, uint64_t number, std::string_view message) {
  if (overflow_.empty() && TrySend(verb, number, message)) return Sent(verb);
  overflow_.push_back({verb, number, std::string(message)});
  overflow_bytes_ += sizeof(Outgoing) + message.size();
  overflow_changed_.notify_one();
  if (writer_started_) return;
  writer_started_ = true;
  const Status started = StartThread([self = shared_from_this()] { self->WriteOverflow(); });
  if (!started.ok()) Kill("its host has no thread for it");
}

void Session::Sent(Verb verb) {
  if (verb == Verb::kHandlerDone) calls_.fetch_sub(1, std::memory_order_relaxed);
}

// One that calls without taking outcomes would have its host keep them all.
Status Session::CountCall() {
  if (calls_.fetch_add(1, std::memory_order_relaxed) >= kMaxCalls)
    return DataLoss(
        fmt::format("the device process has called its host {} times and not taken the outcomes", kMaxCalls));
  handlers_running_.fetch_add(1, std::memory_order_relaxed);
  return OkStatus();
}

void Session::WriteOverflow() {
  std::unique_lock lock(send_mutex_);
  for (;;) {
    overflow_changed_.wait_for(lock, std::chrono::seconds(1), [this] { return !overflow_.empty(); });
    if (!overflow_.empty()) {
      // It stays at the front meanwhile, so that nobody overtakes it.
      Outgoing& front = overflow_.front();
      lock.unlock();
      const Status status = Send(front.verb, front.number, front.message);
      lock.lock();
      Sent(front.verb);
      overflow_bytes_ -= sizeof(Outgoing) + front.message.size();
      overflow_.pop_front();
      if (!status.ok()) {
        overflow_.clear();
        overflow_bytes_ = 0;
      }
    }
    if (dead() && overflow_.empty()) {
      writer_started_ = false;
      return;
    }
  }
}

void Session::DropLater(uint64_t array, uint64_t size_bytes) {
  if (forked()) return;
  // No message follows that would take it along, and where the arrays outlive the process somebody has to hear of it.
  std::lock_guard lock(send_mutex_);
  const bool last = dead();
  if (last && home() == generation()) return;
  dropped_.push_back(array);
  dropped_bytes_ += size_bytes;
  if (last || dropped_.size() >= kDropBatch || dropped_bytes_ >= kDropBytes) FlushDropsLocked();
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

std::shared_ptr<PendingExecution> Session::FindExecution(uint64_t number) const {
  std::lock_guard lock(mutex_);
  const uint64_t index = number - first_execution_;
  return index < executions_.size() ? executions_[index] : nullptr;
}

bool Session::IsReading() { return reading != nullptr; }

Status Session::Deliver(const channel::Ring::Frame& frame) {
  reading = this;
  const Status status = Contain("a reply", [&] { return Handle(frame); });
  reading = nullptr;
  return status;
}

Status Session::Handle(const channel::Ring::Frame& frame) {
  progress_.fetch_add(1, std::memory_order_relaxed);
  switch (frame.verb) {
    case Verb::kExecuted: {
      TENON_ASSIGN_OR_RETURN(const wire::Executed message, Decode<wire::Executed>(frame.message));
      const std::shared_ptr<PendingExecution> execution = FindExecution(frame.number);
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
      Then then;
      {
        std::lock_guard lock(mutex_);
        const auto it = questions_.find(frame.number);
        if (it == questions_.end())
          return DataLoss(fmt::format("an answer to question {}, which nobody asked", frame.number));
        then = std::move(it->second);
        questions_.erase(it);
      }
      const Status error = wire::ToStatus(message.error);
      then(error.ok() ? Result<std::string>(std::move(message.body)) : Result<std::string>(error));
      return OkStatus();
    }
    case Verb::kCallHandler: {
      TENON_ASSIGN_OR_RETURN(wire::CallHandler message, Decode<wire::CallHandler>(frame.message));
      if (handlers_ == nullptr) return Unimplemented("the device process calls a handler, and there are none");
      std::shared_ptr<PendingExecution> execution = FindExecution(message.execution);
      TENON_RETURN_IF_ERROR(CountCall());
      handlers_->Run(shared_from_this(), frame.number, std::move(message), std::move(execution));
      return OkStatus();
    }
    case Verb::kTransfer: {
      TENON_ASSIGN_OR_RETURN(wire::Transfer message, Decode<wire::Transfer>(frame.message));
      const std::shared_ptr<PendingExecution> execution = FindExecution(message.execution);
      if (execution == nullptr)
        return DataLoss(fmt::format("a transfer of execution {}, which is not under way", message.execution));
      TENON_RETURN_IF_ERROR(CountCall());
      return execution->Transfer(shared_from_this(), frame.number, std::move(message));
    }
    default:
      return HandleOther(frame);
  }
}

Status Session::HandleOther(const channel::Ring::Frame& frame) {
  return DataLoss(fmt::format("the device process sent {}", wire::Dump(frame.verb, frame.message)));
}

void Session::Die(const Status& death) {
  std::lock_guard lock(mutex_);
  if (dead_) return;
  death_ = death;
  dead_ = true;
}

void Session::FailAll() {
  reading = this;
  for (;;) {
    std::vector<std::shared_ptr<PendingExecution>> executions;
    std::unordered_map<uint64_t, Then> questions;
    Status death;
    {
      std::lock_guard lock(mutex_);
      death = death_;
      for (std::shared_ptr<PendingExecution>& execution : executions_) {
        if (execution != nullptr) executions.push_back(std::move(execution));
      }
      first_execution_ += executions_.size();
      executions_.clear();
      questions = std::exchange(questions_, {});
      failing_ = true;
      if (executions.empty() && questions.empty()) break;
    }
    for (const std::shared_ptr<PendingExecution>& execution : executions) execution->Fail(death);
    for (auto& [number, then] : questions) then(death);
  }
  reading = nullptr;
}

bool Session::IsOwed() const {
  // A handler of ours may take its time.
  if (handlers_running_.load(std::memory_order_relaxed) > 0) return false;
  std::lock_guard lock(mutex_);
  return !questions_.empty() || !executions_.empty();
}

Session::UnderWay Session::GetUnderWay(uint64_t begun) const {
  UnderWay under_way;
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < executions_.size(); ++i) {
    if (executions_[i] == nullptr) continue;
    ++under_way.executions;
    if (under_way.running == nullptr && first_execution_ + i <= begun) under_way.running = executions_[i];
  }
  under_way.questions = questions_.size();
  return under_way;
}

std::string Session::Describe(const UnderWay& lost) {
  std::string text;
  if (lost.running != nullptr) {
    lost.running->Blame();
    text += fmt::format(" while running {}", lost.running->Name());
  }
  if (lost.executions != 0)
    text += fmt::format("; {} execution{} lost", lost.executions, lost.executions == 1 ? " is" : "s are");
  if (lost.questions != 0)
    text += fmt::format("; {} request{} not answered", lost.questions, lost.questions == 1 ? " is" : "s are");
  return text;
}

}  // namespace tenon::session
