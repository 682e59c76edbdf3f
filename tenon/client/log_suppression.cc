#include "tenon/client/log_suppression.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace tenon::client {
namespace {
// File descriptors belong to the process, so the first one silences and the last one restores.
struct Shared {
  std::mutex mutex;
  int count = 0;
  int saved = -1;
};
Shared& TheShared() {
  static Shared& shared = *new Shared;
  return shared;
}
}  // namespace

SuppressAbseilLogging::SuppressAbseilLogging() {
  Shared& shared = TheShared();
  std::lock_guard lock(shared.mutex);
  if (shared.count++ != 0) return;
  std::fflush(stderr);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  shared.saved = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (shared.saved >= 0) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

SuppressAbseilLogging::~SuppressAbseilLogging() {
  Shared& shared = TheShared();
  std::lock_guard lock(shared.mutex);
  if (--shared.count != 0 || shared.saved < 0) return;
  std::fflush(stderr);
  ::dup2(shared.saved, STDERR_FILENO);
  ::close(shared.saved);
  shared.saved = -1;
}

}  // namespace tenon::client
