// LLVM's fatal errors: a Status for who asked, and nothing of what LLVM worked on is unwound, reused or destroyed.
#include <gtest/gtest.h>
#include <llvm/Support/ErrorHandling.h>

#include <memory>
#include <thread>

#include "tenon/emit_llvm/emit.h"
#include "tenon/emit_llvm/internal/llvm_thread.h"
#include "tenon/emit_llvm/policy.h"
#include "tenon/emit_llvm/testing/kernels.h"
#include "tenon/emit_llvm/testing/run.h"

namespace tenon::emit_llvm {
namespace {

struct Owned {
  explicit Owned(bool* gone) : gone(gone) {}
  ~Owned() { *gone = true; }
  bool* gone;
};

/// Writes over the stack below the caller.
[[gnu::noinline]] int Scribble() {
  volatile char stack[16384];
  for (size_t i = 0; i < sizeof stack; ++i) stack[i] = static_cast<char>(i * 7 + 1);
  return stack[77];
}

TEST(LlvmThread, ResultsPassThrough) {
  int ran = 0;
  EXPECT_TRUE(RunLlvm([&] {
                ++ran;
                return OkStatus();
              }).ok());
  EXPECT_EQ(RunLlvm([] { return Unimplemented("not today"); }).message(), "not today");
  EXPECT_EQ(ran, 1);
  bool gone = false;
  (void)RunLlvm([owned = std::make_shared<Owned>(&gone)] { return OkStatus(); });
  EXPECT_TRUE(gone);
}

TEST(LlvmThread, AFatalErrorLeavesItsFramesAlone) {
  static bool gone = false;
  // A frame that was live when LLVM gave up is neither destroyed nor written over afterwards.
  static volatile uint64_t* inside = nullptr;
  const int before = LlvmFatalErrors();
  const Status status = RunLlvm([owned = std::make_shared<Owned>(&gone)]() -> Status {
    volatile uint64_t local[64];
    for (uint64_t i = 0; i < 64; ++i) local[i] = i * 0x0101010101010101u;
    inside = local;
    llvm::report_fatal_error("out of registers");
  });
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("out of registers"), std::string::npos) << status.ToString();
  EXPECT_EQ(LlvmFatalErrors(), before + 1);
  Scribble();
  (void)RunLlvm([] {
    Scribble();
    return OkStatus();
  });
  for (uint64_t i = 0; i < 64; ++i) ASSERT_EQ(inside[i], i * 0x0101010101010101u) << i;
  EXPECT_FALSE(gone);
  // And the code generator goes on.
  EXPECT_EQ(testing::CompareWithEvaluator(testing::AddKernel(DType::kF16), isa::IsaLevel::kSse4, {.params = {100}}),
            "");
}

TEST(LlvmThread, AnExceptionIsAStatusToo) {
  static bool gone = false;
  const Status status = RunLlvm([owned = std::make_shared<Owned>(&gone)]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_FALSE(gone);
}

TEST(LlvmThread, ThereIsAnEndToFatalErrors) {
  while (LlvmFatalErrors() < policy::kMaxFatalErrors)
    ASSERT_EQ(RunLlvm([]() -> Status { llvm::report_fatal_error("again"); }).code(), Code::kInternal);
  const Status refused = RunLlvm([] { return OkStatus(); });
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.message().find("16 fatal errors"), std::string::npos) << refused.ToString();
}

}  // namespace
}  // namespace tenon::emit_llvm
