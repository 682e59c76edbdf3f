#include "tenon/threads/thread_start.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <system_error>

#include "tenon/threads/flush_denormals.h"

namespace tenon::threads::internal {

Result<std::thread> StartThread(const std::string& name, void (*body)(void* context, int index), void* context,
                                int index) {
  // The new thread inherits the mask: signals of the host program are the host's threads' to handle.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  std::string error;
  try {
    thread = std::thread([name = name.substr(0, 15), body, context, index] {
      pthread_setname_np(pthread_self(), name.c_str());
      SetFloatControl(kComputeFloatControl);
      body(context, index);
    });
  } catch (const std::system_error& e) {
    error = e.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!thread.joinable()) return ResourceExhausted(fmt::format("cannot start thread {}: {}", name, error));
  return thread;
}

}  // namespace tenon::threads::internal
