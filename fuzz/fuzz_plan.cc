// Plans as text (or, with the magic of serialised ones, as bytes): a Status or a plan; a plan survives its text and its
// bytes, can be drawn, and runs with kernels that do nothing: whatever the steps name lies inside the memory that the
// plan declares.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "tenon/kernels/families.h"
#include "tenon/kir/evaluate.h"
#include "tenon/plan/plan.h"
#include "tenon/runtime/outside_plan.h"
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

// Whether the evaluator gets through a kernel soon.
bool IsSmall(const kir::Kernel& kernel, const plan::KernelStep& step) {
  int64_t points = 1;
  for (const kir::Dim& dim : kernel.dims) {
    const int64_t extent = dim.extent.Value(step.params.data());
    if (extent > 4096 || (points *= std::max<int64_t>(extent, 1)) > 16384) return false;
  }
  for (const kir::Step& part : kernel.seq) {
    if (std::holds_alternative<kir::Loop>(part.is)) return false;
  }
  return kir::LocalBytes(kernel, step.params.data()) <= kMaxBytes;
}

/// Memory of a plan with arbitrary contents.
class PlanMemory {
 public:
  explicit PlanMemory(const plan::Plan& plan) : plan_(plan) {}
  bool Allocate(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto add = [&](int64_t bytes, std::vector<std::vector<char>>& to) {
      if (bytes < 0 || bytes > kMaxBytes) return false;
      to.emplace_back(static_cast<size_t>(bytes));
      // Small numbers more often than not: they are indices somewhere.
      for (char& c : to.back()) c = random() % 4 == 0 ? static_cast<char>(random()) : 0;
      return true;
    };
    bool good = add(plan_.arena_bytes, arena_);
    for (const plan::Input& in : plan_.inputs) good = good && add(SizeBytes(in.shape), inputs_);
    for (const plan::Output& out : plan_.outputs) good = good && add(SizeBytes(out.shape), outputs_);
    for (const plan::Constant& c : plan_.constants)
      good = good && add(static_cast<int64_t>(c.bytes->size()), constants_);
    return good;
  }
  kir::BufferRef Of(plan::SlotId id) {
    if (id == plan::kNoSlot) return {};
    const plan::Slot& slot = plan_.slots[id];
    std::vector<char>& memory = slot.kind == plan::SlotKind::kArg    ? inputs_[slot.index]
                                : slot.kind == plan::SlotKind::kOut  ? outputs_[slot.index]
                                : slot.kind == plan::SlotKind::kTemp ? arena_[0]
                                                                     : constants_[slot.index];
    return {memory.data() + slot.offset_bytes, memory.data(), static_cast<int64_t>(memory.size())};
  }

 private:
  const plan::Plan& plan_;
  std::vector<std::vector<char>> arena_, inputs_, outputs_, constants_;
};

// `kernel` with arrays of any extent: the memory behind a slot is what it must stay in.
kir::Kernel WithoutExtents(kir::Kernel kernel) {
  for (kir::Buffer& buffer : kernel.buffers) {
    if (buffer.kind > kir::BufKind::kConst) continue;
    for (kir::Size& extent : buffer.extent) extent = kir::Size::Of(std::numeric_limits<int64_t>::max());
  }
  return kernel;
}

void CheckBounds(const plan::Plan& plan, uint64_t seed) {
  if (!runtime::CheckOutsidePlan(plan, kernels::CpuFamilies()).ok()) return;
  PlanMemory memory(plan);
  if (!memory.Allocate(seed)) return;
  for (const plan::Step& step : plan.steps) {
    const auto* run = std::get_if<plan::KernelStep>(&step.is);
    if (run == nullptr || !IsSmall(plan.kernels[run->kernel], *run)) continue;
    std::vector<kir::BufferRef> buffers;
    for (const plan::SlotId id : run->buffers) buffers.push_back(memory.Of(id));
    const Status status =
        kir::Evaluate(WithoutExtents(plan.kernels[run->kernel]), buffers, {run->params.data(), run->params.size()});
    if (!status.ok()) Fail("a kernel that must stay inside its slots does not", status);
  }
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
  Result<std::unique_ptr<const runtime::Program>> program =
      runtime::Program::Create(plan, code, {}, kernels::CpuFamilies());
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
  if (!plan.ok() || !plan::Verify(*plan, kernels::CpuFamilies()).ok()) return 0;
  const Result<plan::Plan> text = plan::Parse(plan::Print(*plan), plan->constants);
  if (!text.ok()) Fail("a plan's text does not parse", text.status());
  if (!(*text == *plan)) Fail("a plan changes in its text", OkStatus());
  const Result<plan::Plan> again = plan::Deserialize(plan::Serialize(*plan));
  if (!again.ok()) Fail("a plan's bytes are refused", again.status());
  if (!(*again == *plan)) Fail("a plan changes in its bytes", OkStatus());
  (void)plan::ToSvg(*plan);
  (void)plan::Count(*plan);
  CheckBounds(*plan, size);
  Run(*plan);
  return 0;
}
