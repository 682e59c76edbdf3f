// Files by Landlock, whose interface the C library and older headers do not have: linux/landlock.h of Linux 6.12.
#include "tenon/sandbox/landlock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace tenon::sandbox {

namespace {

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kVersionFlag = 1;
constexpr int kPathBeneath = 1;

// Rights, by bit; the number of those that a version knows.
constexpr uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDir = 1 << 3;
constexpr uint64_t kTruncate = 1 << 14, kIoctlDevice = 1 << 15;
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDevice;
constexpr uint64_t kRead = kExecute | kReadFile | kReadDir;
// Connecting and binding TCP sockets; abstract sockets and signals to processes outside.
constexpr uint64_t kNetwork = 3, kScopes = 3;

struct RulesetAttributes {
  uint64_t files;
  uint64_t network;  // since 4
  uint64_t scopes;   // since 6
};
struct [[gnu::packed]] PathRule {
  uint64_t allowed;
  int32_t parent;
};

uint64_t RightsOfVersion(int version) {
  if (version >= 5) return (1 << 16) - 1;
  if (version >= kTruncationVersion) return (1 << 15) - 1;
  if (version == 2) return (1 << 14) - 1;
  return (1 << 13) - 1;
}

Status Failed(const char* what, const std::string& of) {
  return FailedPrecondition(fmt::format("cannot {} {}: {}", what, of, std::strerror(errno)));
}

class Descriptor {
 public:
  explicit Descriptor(long fd) : fd_(static_cast<int>(fd)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

Status Allow(int ruleset, const std::string& path, uint64_t rights) {
  const Descriptor at(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info;
  if (at.get() < 0 || ::fstat(at.get(), &info) != 0) return OkStatus();  // It is not there, or not for this user.
  if (!S_ISDIR(info.st_mode)) rights &= kOfFiles;
  const PathRule rule{rights, at.get()};
  if (::syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) != 0)
    return Failed("add to the rules of the sandbox:", path);
  return OkStatus();
}

}  // namespace

int LandlockVersion() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kVersionFlag);
  return version < 0 ? 0 : static_cast<int>(version);
}

Status RestrictFiles(const Paths& paths) {
  const int version = LandlockVersion();
  const uint64_t rights = RightsOfVersion(version);
  const RulesetAttributes attributes{rights, version >= 4 ? kNetwork : 0, version >= 6 ? kScopes : 0};
  // A kernel takes no more of the structure than it knows, unless the rest is 0.
  const Descriptor ruleset(::syscall(kCreateRuleset, &attributes, sizeof(attributes), 0));
  if (ruleset.get() < 0) return Failed("make the rules of", "the sandbox");
  for (const std::string& path : paths.readable) TENON_RETURN_IF_ERROR(Allow(ruleset.get(), path, rights & kRead));
  for (const std::string& path : paths.writable) TENON_RETURN_IF_ERROR(Allow(ruleset.get(), path, rights));
  if (::syscall(kRestrictSelf, ruleset.get(), 0) != 0) return Failed("enter", "the sandbox");
  return OkStatus();
}

}  // namespace tenon::sandbox
