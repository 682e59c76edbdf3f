// System calls by a seccomp filter: a list of comparisons with the call's number, each before what becomes of it.
#include "tenon/sandbox/filter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace tenon::sandbox {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
#error "the machine's name for seccomp is not known"
#endif
// Numbers of the x32 interface, which names the same calls again, are above it; no other machine has such ones.
constexpr uint32_t kOtherInterface = 0x40000000;
constexpr uint32_t kClone3 = 435, kOpenat2 = 437;

constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t Refuse(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

class Program {
 public:
  void Load(size_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
  // When what is loaded is `value` ...
  void IfEqualReturn(uint32_t value, uint32_t action) { IfReturn(BPF_JEQ, value, action); }
  void IfAtLeastReturn(uint32_t value, uint32_t action) { IfReturn(BPF_JGE, value, action); }
  void IfAnyBitReturn(uint32_t bits, uint32_t action) { IfReturn(BPF_JSET, bits, action); }
  void UnlessEqualReturn(uint32_t value, uint32_t action) {
    Jump(BPF_JEQ, value, 1, 0);
    Return(action);
  }
  void Return(uint32_t action) { Add(BPF_RET | BPF_K, action); }
  // Runs `then` for calls of this number; where it does not return, the number has to be loaded again.
  template <class Then>
  void ForCall(uint32_t number, const Then& then) {
    const size_t at = code_.size();
    Jump(BPF_JEQ, number, 0, 0);
    then();
    code_[at].jf = static_cast<uint8_t>(code_.size() - at - 1);
  }
  std::vector<sock_filter>& code() { return code_; }

 private:
  void Add(int code, uint32_t k) { code_.push_back({static_cast<uint16_t>(code), 0, 0, k}); }
  void Jump(int how, uint32_t k, uint8_t if_true, uint8_t if_false) {
    code_.push_back({static_cast<uint16_t>(BPF_JMP | BPF_K | how), if_true, if_false, k});
  }
  void IfReturn(int how, uint32_t k, uint32_t action) {
    Jump(how, k, 0, 1);
    Return(action);
  }

  std::vector<sock_filter> code_;
};

// The low half of an argument: both machines put it first.
constexpr size_t Argument(int number) {
  return offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(number);
}

std::vector<sock_filter> MakeProgram(bool no_truncation) {
  // A program that is started from here may not even signal itself.
  const auto self = static_cast<uint32_t>(::getpid());
  Program program;
  program.Load(offsetof(seccomp_data, arch));
  program.UnlessEqualReturn(kMachine, SECCOMP_RET_KILL_PROCESS);
  program.Load(offsetof(seccomp_data, nr));
  program.IfAtLeastReturn(kOtherInterface, SECCOMP_RET_KILL_PROCESS);
  // A clone may make namespaces, which no thread and no program wants; clone3 keeps its flags where a filter cannot
  // look, and the C library does with clone where it is not there.
  program.IfEqualReturn(kClone3, Refuse(ENOSYS));
  program.ForCall(SYS_clone, [&] {
    program.Load(Argument(0));
    program.IfAnyBitReturn(
        CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
        Refuse(EPERM));
    program.Return(kAllow);
  });
  const auto deny = [&](uint32_t number) { program.IfEqualReturn(number, Refuse(EPERM)); };
  const auto only_self = [&](uint32_t number, bool or_zero) {
    program.ForCall(number, [&] {
      program.Load(Argument(0));
      program.IfEqualReturn(self, kAllow);
      if (or_zero) program.IfEqualReturn(0, kAllow);
      program.Return(Refuse(EPERM));
    });
  };
#define ONLY_SELF(name) only_self(SYS_##name, false);
#define ONLY_SELF_OR_ZERO(name) only_self(SYS_##name, true);
  const auto deny_request = [&](uint32_t number, uint32_t request) {
    program.ForCall(number, [&] {
      program.Load(Argument(1));
      program.IfEqualReturn(request, Refuse(EPERM));
      program.Load(offsetof(seccomp_data, nr));
    });
  };
  if (no_truncation) {
    // What openat2 is asked for a filter cannot see; nothing but newer libraries' first try uses it.
    program.IfEqualReturn(kOpenat2, Refuse(ENOSYS));
    const auto deny_truncation = [&](uint32_t number, int argument) {
      program.ForCall(number, [&] {
        program.Load(Argument(argument));
        program.IfAnyBitReturn(O_TRUNC, Refuse(EPERM));
        program.Return(kAllow);
      });
    };
    deny_truncation(SYS_openat, 2);
#if defined(__x86_64__)
    deny_truncation(SYS_open, 1);
    deny(SYS_creat);
#endif
  }
#define DENIED_REQUEST(name, request) deny_request(SYS_##name, request);
#define DENIED(name) deny(SYS_##name);
#if defined(__x86_64__)
#define DENIED_X86(name) deny(SYS_##name);
#endif
#define DENIED_NUMBER(name, number) deny(number);
#include "tenon/sandbox/denied.def"
  program.Return(kAllow);
  return std::move(program.code());
}

}  // namespace

Status RestrictCalls(bool no_truncation) {
  std::vector<sock_filter> code = MakeProgram(no_truncation);
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return OkStatus();
  return FailedPrecondition(
      fmt::format("cannot enter the sandbox: the kernel takes no seccomp filter: {}", std::strerror(errno)));
}

}  // namespace tenon::sandbox
