#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/channel/shared_memory.h"
#include "tenon/sandbox/sandbox.h"

namespace tenon::session {

/// What a device process may take; 0: no limit.
struct Limits {
  int64_t memory_bytes = 0;  // address space
  int64_t cpu_seconds = 0;
  int64_t processes = 0;  // of this user, threads too
};

/// How a device process is confined.
struct Sandbox {
  std::string plugin;   // its file, which it may read
  sandbox::Paths more;  // that it may use besides
};

/// A device process that runs.
struct Process {
  int pid = 0;
  channel::Fd handle;  // pidfd: readable once it has ended
  channel::Fd output;  // what it writes to stdout and stderr
};

/// The program tenon-device-server: TENON_DEVICE_SERVER, else beside this library, or where packages put it. NOT_FOUND
/// lists what was looked at.
Result<std::string> FindServer();
/// Starts `program` with these descriptors at channel::kControlFd and kLinkFd, in a session of its own. Without
/// `sandbox` it may do what this process may.
Result<Process> StartProcess(const std::string& program, const channel::Fd& control, int link, const Limits& limits,
                             const std::optional<Sandbox>& sandbox);
void Signal(const Process& process, int signal);
/// Waits for its end: "was killed by signal 11 (SIGSEGV)", "exited with status 3".
std::string Reap(const Process& process);

}  // namespace tenon::session
