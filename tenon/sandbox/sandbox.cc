#include "tenon/sandbox/sandbox.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "tenon/sandbox/filter.h"
#include "tenon/sandbox/landlock.h"

namespace tenon::sandbox {

namespace {

// What libraries of every kind of device read, and nothing of users.
constexpr const char* kSystemReadable[] = {
    "/usr",          "/lib",       "/lib64",       "/nix/store",    "/etc/ld.so.cache", "/proc/self", "/proc/cpuinfo",
    "/proc/meminfo", "/proc/stat", "/proc/sys/vm", "/proc/version", "/proc/driver",     "/sys",       "/etc/vulkan",
};
constexpr const char* kSystemWritable[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

// Rights that the user root has beyond others, also those of programs that are started.
Status DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (::syscall(SYS_capset, &header, none) == 0) return OkStatus();
  return FailedPrecondition(fmt::format("cannot give up capabilities: {}", std::strerror(errno)));
}

}  // namespace

Status CheckSupport() {
  if (LandlockVersion() == 0) {
    return FailedPrecondition(
        "this kernel cannot confine a process: Landlock is not there (Linux 5.13 or later, with landlock among those "
        "of "
        "/sys/kernel/security/lsm)");
  }
  // Asks for no filter: EFAULT says that one would have been read.
  if (::prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, nullptr) == 0 || errno != EFAULT)
    return FailedPrecondition("this kernel cannot confine a process: it takes no seccomp filters");
  return OkStatus();
}

Paths PathsOfPlugin(const std::string& plugin) {
  Paths paths{{std::begin(kSystemReadable), std::end(kSystemReadable)},
              {std::begin(kSystemWritable), std::end(kSystemWritable)}};
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(plugin, ignored);
  paths.readable.push_back(file);
  // Of its folder only what may be a part of it: it may be anybody's. What lies elsewhere is no part, whatever links
  // there.
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), ignored)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".so") && name.find(".so.") == name.npos) continue;
    const std::filesystem::path target = std::filesystem::canonical(entry.path(), ignored);
    if (target.parent_path() == file.parent_path() && std::filesystem::is_regular_file(target, ignored))
      paths.readable.push_back(target);
  }
  const char* libraries = std::getenv("LD_LIBRARY_PATH");
  for (std::string_view rest = libraries == nullptr ? "" : libraries; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) paths.readable.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return paths;
}

Status Enter(const Paths& paths) {
  TENON_RETURN_IF_ERROR(CheckSupport());
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return FailedPrecondition(fmt::format("cannot enter the sandbox: {}", std::strerror(errno)));
  TENON_RETURN_IF_ERROR(RestrictFiles(paths));
  TENON_RETURN_IF_ERROR(DropCapabilities());
  return RestrictCalls(/*no_truncation=*/LandlockVersion() < kTruncationVersion);
}

}  // namespace tenon::sandbox
