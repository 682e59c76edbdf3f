// Plans as text (or, with the magic of serialised ones, as bytes): a Status or a plan; a plan survives its text and its
// bytes, can be drawn, and runs with kernels that do nothing: whatever the steps name lies inside the memory that the
// plan declares.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "tenon/plan/plan.h"
#include "tenon/runtime/program.h"
#include "tenon/threads/flush_denormals.h"

namespace {

using namespace tenon;

constexpr int64_t kMaxBytes = 1 << 20;
constexpr int64_t kMaxTrips = 64;

[[noreturn]] void Fail(const char* what, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  std::abort();
}

// Whether a run ends soon: known trip counts, and none of what only an embedder can do.
bool IsSmall(const plan::Seq& seq, int64_t trips) {
  for (const plan::Step& step : seq) {
    if (std::holds_alternative<plan::CustomCallStep>(step.is) || std::holds_alternative<plan::EvaluateStep>(step.is))
      return false;
    if (const auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
      if (loop->trip_count < 0 || loop->trip_count > kMaxTrips || !IsSmall(loop->body, trips * (loop->trip_count + 1)))
        return false;
    }
    if (const auto* choice = std::get_if<plan::CaseStep>(&step.is)) {
      for (const plan::Seq& branch : choice->branches) {
        if (!IsSmall(branch, trips)) return false;
      }
    }
  }
  return trips <= kMaxTrips;
}

using Memory = std::unique_ptr<void, decltype(&std::free)>;

// Memory of exactly the bytes of a shape; null when it is too large to run.
Memory MemoryOf(const Shape& shape) {
  const int64_t bytes = SizeBytes(shape);
  return {bytes < 0 || bytes > kMaxBytes ? nullptr : std::calloc(1, static_cast<size_t>(bytes)), &std::free};
}

void Run(const plan::Plan& plan) {
  if (plan.arena_bytes > kMaxBytes || !IsSmall(plan.steps, 1)) return;
  std::vector<Memory> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const plan::Input& in : plan.inputs) {
    memory.push_back(MemoryOf(in.shape));
    if (memory.back() == nullptr) return;
    inputs.push_back(memory.back().get());
  }
  for (const plan::Output& out : plan.outputs) {
    memory.push_back(MemoryOf(out.shape));
    if (memory.back() == nullptr) return;
    outputs.push_back(memory.back().get());
  }
  const kir::KernelFn nothing = [](void* const*, const int64_t*, int64_t, int64_t, void*) {};
  const std::vector<runtime::KernelCode> code(plan.kernels.size(), runtime::KernelCode{nothing, nullptr});
  Result<std::unique_ptr<const runtime::Program>> program = runtime::Program::Create(plan, code, {});
  if (!program.ok()) return;
  static const Result<std::unique_ptr<threads::ThreadPool>> pool = threads::ThreadPool::Create(1);
  static runtime::MemoryPool& blocks = *new runtime::MemoryPool(int64_t{64} << 20);
  const threads::ScopedFlushDenormals compute_state;
  (void)(*program)->Run({inputs, outputs, nullptr, nullptr}, **pool, blocks);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const bool bytes = input.find("TENONPL") < 16;
  const Result<plan::Plan> plan = bytes ? plan::Deserialize(input) : plan::Parse(input);
  if (!plan.ok() || !plan::Verify(*plan).ok()) return 0;
  const Result<plan::Plan> text = plan::Parse(plan::Print(*plan), plan->constants);
  if (!text.ok()) Fail("a plan's text does not parse", text.status());
  if (!(*text == *plan)) Fail("a plan changes in its text", OkStatus());
  const Result<plan::Plan> again = plan::Deserialize(plan::Serialize(*plan));
  if (!again.ok()) Fail("a plan's bytes are refused", again.status());
  if (!(*again == *plan)) Fail("a plan changes in its bytes", OkStatus());
  (void)plan::ToSvg(*plan);
  (void)plan::Count(*plan);
  Run(*plan);
  return 0;
}
