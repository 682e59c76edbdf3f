// What others must know of generated code: backtraces through it from where it stops (its first instructions, its
// loops, its last ones), and its instructions for perf.
#include <execinfo.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tenon/emit_llvm/emit.h"
#include "tenon/emit_llvm/testing/kernels.h"

namespace tenon::emit_llvm {
namespace {

struct Seen {
  const char* kernel = nullptr;
  int64_t kernel_bytes = 0;
  void* caller = nullptr;  ///< Where the kernel's call returns to.
  int steps = 0;           ///< Instructions of the kernel that were stopped at.
  int complete = 0;        ///< Those from which the unwinder came to the caller.
};
Seen seen;

struct Walk {
  bool in_kernel = false;
  bool at_caller = false;
};

_Unwind_Reason_Code Frame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  const auto* ip = reinterpret_cast<const char*>(_Unwind_GetIP(context));
  if (walk->in_kernel) {
    walk->at_caller = ip == seen.caller;
    return _URC_END_OF_STACK;
  }
  walk->in_kernel = ip >= seen.kernel && ip < seen.kernel + seen.kernel_bytes;
  return _URC_NO_REASON;
}

/// After each instruction, by the trap flag.
void OnTrap(int, siginfo_t*, void* context) {
  const auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* ip = reinterpret_cast<const char*>(registers[REG_RIP]);
  if (ip < seen.kernel || ip >= seen.kernel + seen.kernel_bytes) return;
  if (ip == seen.kernel) {  // the return address is on top
    std::memcpy(&seen.caller, reinterpret_cast<void*>(registers[REG_RSP]), sizeof(void*));
  }
  ++seen.steps;
  Walk walk;
  _Unwind_Backtrace(Frame, &walk);
  seen.complete += walk.in_kernel && walk.at_caller;
}

/// Beyond the bytes that the compiler may use below the stack pointer.
void SetTrapFlag(bool on) {
  if (on) {
    asm volatile("leaq -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::
                     : "memory", "cc");
  } else {
    asm volatile("leaq -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::
                     : "memory", "cc");
  }
}

class Unwind : public ::testing::TestWithParam<isa::IsaLevel> {};
INSTANTIATE_TEST_SUITE_P(Levels, Unwind, ::testing::Values(isa::IsaLevel::kAvx2, isa::IsaLevel::kAvx512),
                         [](const auto& info) { return std::string(isa::IsaLevelName(info.param)); });

TEST_P(Unwind, FromEveryInstruction) {
  if (GetParam() > isa::DetectedIsa()) GTEST_SKIP() << "this machine lacks " << isa::IsaLevelName(GetParam());
  struct sigaction action{};
  struct sigaction before{};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO;
  void* warm[1];
  (void)backtrace(warm, 1);  // loads the unwinder outside of the handler
  for (const kir::Kernel& kernel :
       {testing::AddKernel(DType::kF32), testing::SoftmaxKernel(), testing::ChainKernel()}) {
    const auto code = CompileKernel(kernel, {.isa = GetParam()});
    ASSERT_TRUE(code.ok()) << code.status().ToString();
    ASSERT_EQ((*code)->llvm_reason, "");
    alignas(64) static float memory[4][64];
    for (int i = 0; i < 64; ++i) memory[0][i] = memory[1][i] = static_cast<float>(i) * 0.1f;
    void* const buffers[] = {memory[0], memory[1], memory[2], memory[3]};
    const int64_t params[] = {1, 20, 20, 20};
    alignas(64) static char scratch[4096];
    seen = {};
    seen.kernel = reinterpret_cast<const char*>((*code)->fn);
    seen.kernel_bytes = (*code)->code_bytes;
    ASSERT_EQ(sigaction(SIGTRAP, &action, &before), 0);
    SetTrapFlag(true);
    (*code)->fn(buffers, params, 0, 1, scratch);
    SetTrapFlag(false);
    sigaction(SIGTRAP, &before, nullptr);
    EXPECT_GT(seen.steps, 20);
    EXPECT_EQ(seen.complete, seen.steps);
  }
}

// Before any code is made: the file is opened once.
const bool dumps = [] {
  setenv("TENON_PERF_JITDUMP", ::testing::TempDir().c_str(), 1);
  return true;
}();

TEST(PerfJitDump, HoldsNameAndInstructions) {
  ASSERT_TRUE(dumps);
  const auto code =
      CompileKernel(testing::RowSumKernel(DType::kF64, kir::ReduceOrder::kLanes), {.isa = isa::ActiveIsa()});
  ASSERT_TRUE(code.ok()) << code.status().ToString();
  const std::string path = fmt::format("{}/jit-{}.dump", ::testing::TempDir(), getpid());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  ASSERT_GT(bytes.size(), 96u);
  EXPECT_EQ(bytes.substr(0, 4), "DTiJ");
  const size_t name = bytes.find((*code)->name);
  ASSERT_NE(name, std::string::npos);
  const size_t first = name + (*code)->name.size() + 1;
  EXPECT_EQ(bytes.substr(first, 32), std::string(reinterpret_cast<const char*>((*code)->fn), 32));
  // The record's own length leads to its end.
  uint32_t total = 0;
  std::memcpy(&total, bytes.data() + name - 56 + 4, 4);
  EXPECT_LE(name - 56 + total, bytes.size());
  EXPECT_GT(total, 56 + (*code)->name.size() + 32);
}

}  // namespace
}  // namespace tenon::emit_llvm
