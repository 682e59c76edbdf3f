#include "tenon/emit_llvm/internal/llvm_thread.h"

#include <fmt/format.h>
#include <llvm/Support/ErrorHandling.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/emit_llvm/policy.h"

namespace tenon::emit_llvm {
namespace {

struct Run {
  std::function<Status()> work;
  std::mutex mutex;
  std::condition_variable settled;
  std::optional<Status> status;
  bool fatal = false;
  Status out_of_memory;

  void Settle(Status result, bool is_fatal) {
    std::lock_guard lock(mutex);
    status = std::move(result);
    fatal = is_fatal;
    settled.notify_all();
  }
};

thread_local Run* running = nullptr;
std::atomic<int> fatal_errors{0};

/// What a fatal error on one of our threads comes to. Does not return: the caller would end the process.
void OnFatalError(void*, const char* reason, bool) {
  Run* run = running;
  if (run == nullptr) return;  // not ours: LLVM goes on to end the process
  running = nullptr;
  try {
    run->Settle(Internal(fmt::format("LLVM gave up: {}", reason)), true);
  } catch (...) {
    run->Settle(run->out_of_memory, true);
  }
  for (;;) pause();
}

/// LLVM's frames are gone without their destructors: what they worked on is not to be destroyed either.
void KeepForEver(std::shared_ptr<Run> run) {
  static std::mutex& mutex = *new std::mutex;
  static auto& kept = *new std::vector<std::shared_ptr<Run>>;
  std::lock_guard lock(mutex);
  kept.push_back(std::move(run));
}

void* Main(void* argument) {
  // The reference lies in this frame, so it is kept when the thread never leaves it.
  const std::unique_ptr<std::shared_ptr<Run>> held(static_cast<std::shared_ptr<Run>*>(argument));
  Run& run = **held;
  pthread_setname_np(pthread_self(), "tenon-llvm");
  running = &run;
  try {
    Status status = run.work();
    running = nullptr;
    run.work = nullptr;
    run.Settle(std::move(status), false);
    return nullptr;
  } catch (const std::bad_alloc&) {
    run.Settle(run.out_of_memory, true);
  } catch (...) {
    run.Settle(run.out_of_memory.WithContext("LLVM's code generator threw"), true);
  }
  running = nullptr;
  KeepForEver(*held);
  return nullptr;
}

}  // namespace

int LlvmFatalErrors() { return fatal_errors.load(); }

Status RunLlvm(std::function<Status()> work) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(OnFatalError); });
  if (LlvmFatalErrors() >= policy::kMaxFatalErrors) {
    return ResourceExhausted(
        fmt::format("LLVM's code generator ended in {} fatal errors in this process and is not run again",
                    policy::kMaxFatalErrors));
  }
  auto run = std::make_shared<Run>();
  run->work = std::move(work);
  run->out_of_memory = ResourceExhausted("no memory for LLVM's code generator");
  auto argument = std::make_unique<std::shared_ptr<Run>>(run);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, policy::kStackBytes);
  // Signals are the business of the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int failed = pthread_create(&thread, &attributes, Main, argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return ResourceExhausted(fmt::format("no thread for LLVM's code generator: {}", strerror(failed)));
  (void)argument.release();
  std::unique_lock lock(run->mutex);
  run->settled.wait(lock, [&] { return run->status.has_value(); });
  const Status status = *run->status;
  const bool fatal = run->fatal;
  lock.unlock();
  if (fatal) {
    ++fatal_errors;
    pthread_detach(thread);
  } else {
    pthread_join(thread, nullptr);
  }
  return status;
}

}  // namespace tenon::emit_llvm
