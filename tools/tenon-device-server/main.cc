// The process in which an isolated plugin runs, started by pjrt_plugin_tenon_isolated.so; with --listen the server that
// starts such processes for clients on other machines.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "tenon/channel/link.h"
#include "tenon/remote/listener.h"
#include "tenon/sandbox/sandbox.h"
#include "tenon/server/server.h"

namespace {

using namespace tenon;  // NOLINT(google-build-using-namespace): a main program.

int Complain(const Status& status) {
  std::fprintf(stderr, "tenon-device-server: %s\n", status.ToString().c_str());
  return 2;
}

// Stands at the other end of the descriptors that the host gave.
int ServeHost(const std::optional<sandbox::Paths>& confine_to) {
  struct stat info;
  if (::fstat(channel::kControlFd, &info) != 0 || !S_ISSOCK(info.st_mode) || ::fstat(channel::kLinkFd, &info) != 0) {
    std::fprintf(stderr,
                 "tenon-device-server runs a PJRT plugin for pjrt_plugin_tenon_isolated.so, which starts it, or for "
                 "other machines: see --help\n");
    return 2;
  }
  for (const int fd : {channel::kControlFd, channel::kLinkFd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (confine_to) {
    if (const Status status = sandbox::Enter(*confine_to); !status.ok()) return Complain(status);
  }
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

remote::Listener* the_listener = nullptr;

int Listen(remote::ListenOptions options, const std::string& token_file) {
  if (!token_file.empty()) {
    Result<std::string> token = channel::ReadTokenFile(token_file);
    if (!token.ok()) return Complain(token.status());
    options.credentials.token = std::move(*token);
  }
  if (options.address.find(':') == options.address.npos) options.address = "127.0.0.1:" + options.address;
  options.log = [](const std::string& line) {
    char when[32];
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    std::strftime(when, sizeof(when), "%F %T", ::localtime_r(&now, &parts));
    std::fprintf(stderr, "%s %s\n", when, line.c_str());
  };
  Result<std::unique_ptr<remote::Listener>> listener = remote::Listener::Start(std::move(options));
  if (!listener.ok()) return Complain(listener.status());
  the_listener = listener->get();
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { the_listener->Stop(); });
  std::signal(SIGPIPE, SIG_IGN);
  // Whoever started it learns the port here, and that connections are taken.
  std::printf("listening at port %d\n", (*listener)->port());
  std::fflush(stdout);
  const Status status = (*listener)->Run();
  if (!status.ok()) return Complain(status);
  std::fflush(nullptr);
  ::_exit(0);  // Sessions are over; their threads may not have noticed yet.
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs a PJRT plugin in a process of its own: for a plugin of this machine, which starts it, or, with "
      "--listen, for clients on other machines.");
  app.set_version_flag("--version",
                       fmt::format("tenon-device-server {}, protocol {}", TENON_VERSION, wire::kNewestProtocol));
  remote::ListenOptions options;
  remote::SessionLimits& limits = options.limits;
  std::string token_file;
  bool confine = false;
  sandbox::Paths more;
  int64_t message_mib = limits.max_message_bytes >> 20, grace_s = limits.grace_ms / 1000;
  auto* listen =
      app.add_option("--listen", options.address,
                     "HOST:PORT to serve clients at; PORT alone is of the loopback, port 0 the system's choice");
  const auto only = [&](CLI::Option* option) { return option->needs(listen); };
  app.add_option("--plugin", options.plugin, "name or file of the plugin that clients get");
  auto* confines =
      app.add_flag("--sandbox", confine,
                   "device processes have no network and no files but the plugin's and the system's libraries");
  const auto confined = [&](CLI::Option* option) { return option->needs(confines)->allow_extra_args(false); };
  confined(app.add_option("--sandbox-read", more.readable, "a file or folder that they may read; may be repeated"));
  confined(app.add_option("--sandbox-write", more.writable,
                          "a file, folder or device that they may change; may be repeated"));
  only(app.add_option("--certificate", options.credentials.certificate, "this server's certificate (PEM)"));
  only(app.add_option("--key", options.credentials.key, "its key (PEM)"));
  only(app.add_option("--authority", options.credentials.authority,
                      "certificate (PEM) of the authority that signed the clients'"));
  only(app.add_option("--token-file", token_file,
                      "file of mode 600 with a text of 32 bytes or more that clients must know as well"));
  only(app.add_option("--max-sessions", options.max_sessions, "sessions at a time")->check(CLI::PositiveNumber));
  only(app.add_option("--session-bytes", limits.array_bytes, "arrays of a session; 0: no limit"));
  only(app.add_option("--session-seconds", limits.session_s, "length of a session; 0: no limit"));
  only(
      app.add_option("--process-bytes", limits.process.memory_bytes, "address space of a device process; 0: no limit"));
  only(
      app.add_option("--process-cpu-seconds", limits.process.cpu_seconds, "CPU time of a device process; 0: no limit"));
  only(app.add_option("--process-threads", limits.process.processes,
                      "threads of this user while a device process makes more; 0: no limit"));
  only(app.add_option("--hang-seconds", limits.hang_timeout_s,
                      "a device process that owes an answer for so long is ended; 0: it may take its time"));
  only(app.add_option("--message-mib", message_mib, "longest message in MiB; arrays come in pieces")
           ->check(CLI::Range(1, 1024)));
  only(app.add_option("--grace-seconds", grace_s, "how long a session waits for a connection that broke")
           ->check(CLI::Range(0, 3600)));
  CLI11_PARSE(app, argc, argv);
  if (listen->count() == 0) {
    if (!confine) return ServeHost({});
    sandbox::Paths paths = sandbox::PathsOfPlugin(options.plugin);
    paths.readable.insert(paths.readable.end(), more.readable.begin(), more.readable.end());
    paths.writable.insert(paths.writable.end(), more.writable.begin(), more.writable.end());
    return ServeHost(paths);
  }
  if (confine) limits.sandbox = more;
  if (options.plugin.empty()) return Complain(InvalidArgument("--listen wants --plugin"));
  limits.max_message_bytes = static_cast<uint32_t>(message_mib << 20);
  limits.grace_ms = static_cast<int>(grace_s * 1000);
  return Listen(std::move(options), token_file);
}
