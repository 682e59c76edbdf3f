#include "tenon/sandbox/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "tenon/sandbox/filter.h"

namespace tenon::sandbox {
namespace {

using ::testing::HasSubstr;

class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const Status status = CheckSupport(); !status.ok()) GTEST_SKIP() << status.ToString();
    char name[] = "/tmp/tenon_sandbox_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    for (const char* file : {"secret", "given", "libplugin.so", "libpart.so.1"}) std::ofstream(Path(file)) << "bytes";
    std::filesystem::create_directory(Path("cache"));
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  // What `body` says in a process that has entered the sandbox; "died ..." when it did not come so far.
  std::string Confined(const std::function<std::string()>& body, Paths more = {}) {
    Paths paths = PathsOfPlugin(Path("libplugin.so"));
    paths.readable.insert(paths.readable.end(), more.readable.begin(), more.readable.end());
    paths.writable.insert(paths.writable.end(), more.writable.begin(), more.writable.end());
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const int pid = ::fork();
    if (pid == 0) {
      const Status status = Enter(paths);
      const std::string text = status.ok() ? body() : status.ToString();
      (void)!::write(ends[1], text.data(), text.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char bytes[256];
    for (ssize_t n; (n = ::read(ends[0], bytes, sizeof(bytes))) > 0;) text.append(bytes, static_cast<size_t>(n));
    ::close(ends[0]);
    int how = 0;
    ::waitpid(pid, &how, 0);
    if (!WIFEXITED(how)) text += "died of signal " + std::to_string(WTERMSIG(how));
    return text;
  }

  std::string folder_;
};

std::string Said(long result) { return result >= 0 ? "done" : std::strerror(errno); }
std::string Opened(const std::string& path, int how) { return Said(::open(path.c_str(), how | O_CLOEXEC, 0600)); }

TEST_F(SandboxTest, OpensThePluginAndItsPartsAndTheSystemsLibraries) {
  EXPECT_EQ(Confined([&] { return Opened(Path("libplugin.so"), O_RDONLY); }), "done");
  EXPECT_EQ(Confined([&] { return Opened(Path("libpart.so.1"), O_RDONLY); }), "done");
  EXPECT_EQ(Confined([] { return Opened("/proc/self/maps", O_RDONLY); }), "done");
  EXPECT_EQ(Confined([] { return Opened("/dev/null", O_RDWR); }), "done");
  EXPECT_EQ(Confined([] { return Opened("/usr/bin", O_RDONLY | O_DIRECTORY); }), "done");
}

TEST_F(SandboxTest, OpensNoOtherFile) {
  const char* const refused = "Permission denied";
  EXPECT_EQ(Confined([&] { return Opened(Path("secret"), O_RDONLY); }), refused);
  EXPECT_EQ(Confined([&] { return Opened(Path("libplugin.so"), O_WRONLY); }), refused);
  EXPECT_EQ(Confined([&] { return Opened(Path("new"), O_WRONLY | O_CREAT); }), refused);
  EXPECT_EQ(Confined([&] { return Opened(folder_, O_RDONLY | O_DIRECTORY); }), refused);
  EXPECT_EQ(Confined([] { return Opened("/etc/passwd", O_RDONLY); }), refused);
  EXPECT_EQ(Confined([] { return Opened("/proc/1/environ", O_RDONLY); }), refused);
  EXPECT_EQ(Confined([&] { return Said(::unlink(Path("secret").c_str())); }), refused);
  EXPECT_EQ(Confined([&] { return Said(::truncate(Path("secret").c_str(), 0)); }), "Operation not permitted");
  EXPECT_EQ(Confined([&] { return Said(::chmod(Path("secret").c_str(), 0777)); }), "Operation not permitted");
  EXPECT_EQ(std::filesystem::file_size(Path("secret")), 5u);
}

// What has a library's name and lies elsewhere is no part of the plugin.
TEST_F(SandboxTest, LinksLeadNowhereElse) {
  std::filesystem::create_symlink("/", Path("all.so"));
  std::filesystem::create_symlink("/etc/passwd", Path("users.so"));
  std::filesystem::create_directory(Path("folder.so"));
  std::ofstream(Path("folder.so/secret")) << "bytes";
  EXPECT_EQ(Confined([] { return Opened("/etc/passwd", O_RDONLY); }), "Permission denied");
  EXPECT_EQ(Confined([&] { return Opened(Path("folder.so/secret"), O_RDONLY); }), "Permission denied");
  std::filesystem::create_symlink(Path("libpart.so.1"), Path("libpart.so"));
  EXPECT_EQ(Confined([&] { return Opened(Path("libpart.so"), O_RDONLY); }), "done");
}

TEST_F(SandboxTest, ChangesNothingThatItMayRead) {
  const std::string plugin = Path("libplugin.so");
  const auto with = [&](const std::function<long(int)>& change) {
    return Confined([&] { return Said(change(::open(plugin.c_str(), O_RDONLY | O_CLOEXEC))); });
  };
  const char* const refused = "Operation not permitted";
  EXPECT_EQ(with([](int fd) { return ::fchmod(fd, 04755); }), refused);
  EXPECT_EQ(with([](int fd) { return ::fchown(fd, 1, 1); }), refused);
  EXPECT_EQ(with([](int fd) { return ::fsetxattr(fd, "user.mark", "x", 1, 0); }), refused);
  EXPECT_EQ(with([](int fd) {
              int flags = 0;
              return ::ioctl(fd, 0x40086602, &flags);  // FS_IOC_SETFLAGS
            }),
            refused);
  EXPECT_NE(Confined([&] { return Opened(plugin, O_RDONLY | O_TRUNC); }), "done");
  EXPECT_EQ(std::filesystem::file_size(plugin), 5u);
}

// For kernels whose Landlock does not see files emptied.
TEST_F(SandboxTest, FilterKeepsFilesFromBeingEmptied) {
  const Paths all{{}, {folder_}};
  const auto opened = [&](int how) {
    return Confined([&] { return RestrictCalls(true).ok() ? Opened(Path("given"), how) : "no filter"; }, all);
  };
  EXPECT_EQ(opened(O_RDWR), "done");
  EXPECT_EQ(opened(O_RDWR | O_TRUNC), "Operation not permitted");
  EXPECT_EQ(opened(O_RDONLY | O_TRUNC), "Operation not permitted");
  EXPECT_EQ(std::filesystem::file_size(Path("given")), 5u);
}

TEST_F(SandboxTest, OpensWhatIsNamed) {
  EXPECT_EQ(Confined([&] { return Opened(Path("given"), O_RDONLY); }, {{Path("given")}, {}}), "done");
  EXPECT_EQ(Confined([&] { return Opened(Path("given"), O_WRONLY); }, {{Path("given")}, {}}), "Permission denied");
  EXPECT_EQ(Confined([&] { return Opened(Path("cache/new"), O_RDWR | O_CREAT); }, {{}, {Path("cache")}}), "done");
  EXPECT_TRUE(std::filesystem::exists(Path("cache/new")));
  // What is not there is no mistake: a driver's folder may come and go.
  EXPECT_EQ(Confined([] { return std::string("in"); }, {{Path("no such")}, {Path("nor this")}}), "in");
}

TEST_F(SandboxTest, HasNoNetworkAndReachesNoOtherProcess) {
  const char* const refused = "Operation not permitted";
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK})
    EXPECT_EQ(Confined([&] { return Said(::socket(family, SOCK_STREAM, 0)); }), refused) << family;
  EXPECT_EQ(Confined([] {
              int ends[2];
              return Said(::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
            }),
            refused);
  EXPECT_EQ(Confined([] { return Said(::syscall(425, 8, nullptr)); }), refused);  // io_uring_setup
  const int parent = ::getpid();
  EXPECT_EQ(Confined([&] {
              int ends[2];
              return Said(::pipe(ends) == 0 ? ::fcntl(ends[0], F_SETOWN, parent) : 0);
            }),
            refused);
  EXPECT_EQ(Confined([&] {
              const cpu_set_t all = {};
              return Said(::sched_setaffinity(parent, sizeof(all), &all));
            }),
            refused);
  EXPECT_EQ(Confined([&] { return Said(::kill(parent, 0)); }), refused);
  EXPECT_EQ(Confined([&] { return Said(::ptrace(PTRACE_ATTACH, parent, 0, 0)); }), refused);
  EXPECT_EQ(Confined([&] {
              char byte = 0;
              const iovec mine{&byte, 1}, theirs{this, 1};
              return Said(::process_vm_readv(parent, &mine, 1, &theirs, 1, 0));
            }),
            refused);
  EXPECT_EQ(Confined([&] {
              const rlimit limit{1, 1};
              return Said(::prlimit(parent, RLIMIT_NOFILE, &limit, nullptr));
            }),
            refused);
  EXPECT_EQ(Confined([] { return Said(::syscall(SYS_unshare, 0x10000000)); }), refused);  // CLONE_NEWUSER
}

TEST_F(SandboxTest, GoesOnAsPluginsDo) {
  EXPECT_EQ(Confined([] {
              int sum = 0;
              std::thread([&] { sum = 7; }).join();
              void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              const bool executable = ::mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0;
              const int memory = ::memfd_create("block", MFD_CLOEXEC | MFD_ALLOW_SEALING);
              const bool shared = memory >= 0 && ::ftruncate(memory, 4096) == 0;
              return std::to_string(sum) + (executable ? " code" : "") + (shared ? " memory" : "");
            }),
            "7 code memory");
  EXPECT_EQ(Confined([]() -> std::string {
              std::signal(SIGUSR1, SIG_IGN);
              return Said(::raise(SIGUSR1) == 0 && ::kill(::getpid(), SIGUSR1) == 0 ? 0 : -1);
            }),
            "done");
  EXPECT_EQ(Confined([]() -> std::string { std::abort(); }), "died of signal 6");
  // What it starts is confined, too.
  EXPECT_EQ(Confined([&] {
              const std::string command = "cat " + Path("secret") + " 2>/dev/null";
              return "status " + std::to_string(WEXITSTATUS(std::system(command.c_str())));
            }),
            "status 1");
}

TEST_F(SandboxTest, GivesUpTheRightsOfRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: there are none";
  EXPECT_EQ(Confined([] { return Said(::sethostname("mine", 4)); }), "Operation not permitted");
  std::ofstream(Path("closed")) << "bytes";
  ASSERT_EQ(::chown(Path("closed").c_str(), 12345, 12345), 0);
  ASSERT_EQ(::chmod(Path("closed").c_str(), 0600), 0);
  EXPECT_EQ(Confined([&] { return Opened(Path("closed"), O_RDONLY); }, {{Path("closed")}, {}}), "Permission denied");
}

}  // namespace
}  // namespace tenon::sandbox
