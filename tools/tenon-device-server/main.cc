// The process in which an isolated plugin runs. Started by pjrt_plugin_tenon_isolated.so, never by hand.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tenon/channel/link.h"
#include "tenon/server/server.h"

namespace {

using namespace tenon;  // NOLINT(google-build-using-namespace): a main program.

int Complain(const Status& status) {
  std::fprintf(stderr, "tenon-device-server: %s\n", status.ToString().c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  struct stat info;
  if (argc > 1 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("tenon-device-server %s, protocol %u\n", TENON_VERSION, wire::kNewestProtocol);
    return 0;
  }
  if (argc != 1 || ::fstat(channel::kControlFd, &info) != 0 || !S_ISSOCK(info.st_mode) ||
      ::fstat(channel::kLinkFd, &info) != 0) {
    std::fprintf(stderr,
                 "tenon-device-server runs a PJRT plugin for pjrt_plugin_tenon_isolated.so, which starts it.\n"
                 "usage: tenon-device-server [--version]\n");
    return 2;
  }
  for (const int fd : {channel::kControlFd, channel::kLinkFd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  Result<channel::SharedMemory> link =
      channel::SharedMemory::Map(channel::Fd(channel::kLinkFd), static_cast<size_t>(info.st_size));
  if (!link.ok()) return Complain(link.status());
  // Threads of the plugin and of the server may go on until the process has ended.
  auto* const server = new server::Server(channel::Fd(channel::kControlFd), std::move(*link));
  const Status status = server->Run();
  if (!status.ok()) {
    Complain(status);
    std::fflush(nullptr);
    ::_exit(2);
  }
  ::_exit(0);
}
