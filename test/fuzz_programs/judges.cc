#include "test/fuzz_programs/judges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/compiler/compile.h"
#include "tenon/host/services.h"
#include "tenon/kernels/families.h"
#include "tenon/kir/builder.h"
#include "tenon/reference/reference.h"
#include "tenon/runtime/outside_plan.h"
#include "tenon/runtime/program.h"
#include "tenon/target/target.h"
#include "tenon/threads/flush_denormals.h"
#include "test/compiler/compare.h"
#include "test/compiler/plan_interpreter.h"
#include "test/fuzz_programs/bind.h"
#include "test/fuzz_programs/sharded.h"

namespace tenon::fuzz {
namespace {

constexpr int64_t kMemoryLimit = int64_t{1} << 31;
/// Plans with more memory than this are too slow to interpret.
constexpr int64_t kMaxInterpretedBytes = 192 << 10;

using Outputs = std::vector<std::string>;

uint64_t BitsAt(const std::string& bytes, size_t i, size_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * width, width);
  return bits;
}

/// The least normal number of the types that compiled code flushes; 0 for the others.
double LeastNormal(DType type) {
  switch (type) {
    case DType::kF64:
      return std::numeric_limits<double>::min();
    case DType::kF32:
    case DType::kBF16:
      return std::numeric_limits<float>::min();
    default:
      return 0;
  }
}

/// Where two values of one output are further apart than allowed; empty when nowhere.
std::string Difference(const Shape& shape, const std::string& got, const std::string& want,
                       const Tolerance& tolerance) {
  if (got.size() != want.size()) return fmt::format("{} bytes, wanted {}", got.size(), want.size());
  if (got == want) return {};
  const DType part = IsComplex(shape.dtype) ? RealPartOf(shape.dtype) : shape.dtype;
  const auto width = static_cast<size_t>(ByteWidth(part));
  for (size_t i = 0; i < got.size() / width; ++i) {
    const uint64_t g = BitsAt(got, i, width), w = BitsAt(want, i, width);
    if (g == w) continue;
    const bool is_float = IsFloat(part);
    const double x = kir::LiteralValue(part, g), y = kir::LiteralValue(part, w);
    if (is_float) {
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == 0 && y == 0 && tolerance.any_zero) continue;
      if (x == 0 && std::fpclassify(y) != FP_ZERO && std::abs(y) < LeastNormal(part)) continue;  // Flushed.
      if (tolerance.absolute > 0 && std::abs(x - y) <= tolerance.absolute) continue;
    }
    return fmt::format("element {} of {}: {} ({:#x}), wanted {} ({:#x}){}", i / (IsComplex(shape.dtype) ? 2 : 1),
                       ToString(shape), x, g, y, w,
                       tolerance.absolute > 0 ? fmt::format(", allowed {:.2g}", tolerance.absolute) : "");
  }
  return {};
}

std::string Difference(const plan::Plan& plan, const Outputs& got, const Outputs& want,
                       const std::vector<Tolerance>& tolerances) {
  for (size_t o = 0; o < got.size(); ++o) {
    const std::string d = Difference(plan.outputs[o].shape, got[o], want[o], tolerances[o]);
    if (!d.empty()) return fmt::format("output {}: {}", o, d);
  }
  return {};
}

/// One run. Arguments are copied, so that a donated one may be overwritten and nothing else must be.
Result<Outputs> Run(const runtime::Program& program, const std::vector<std::string>& arguments, bool donate,
                    threads::ThreadPool& pool, runtime::MemoryPool& memory) {
  const plan::Plan& plan = program.plan();
  std::vector<std::vector<char>> in, out;
  for (const std::string& a : arguments) in.emplace_back(a.begin(), a.end());
  for (const plan::Output& o : plan.outputs) out.emplace_back(static_cast<size_t>(SizeBytes(o.shape)), '\x77');
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<bool> given(in.size(), false);
  for (auto& a : in) inputs.push_back(a.data());
  for (size_t i = 0; i < out.size(); ++i) {
    const plan::Output& o = plan.outputs[i];
    if (donate && o.alias_input >= 0 && !given[static_cast<size_t>(o.alias_input)]) {
      given[static_cast<size_t>(o.alias_input)] = true;
      outputs.push_back(in[static_cast<size_t>(o.alias_input)].data());
      continue;
    }
    if (o.alias_contents) out[i] = in[static_cast<size_t>(o.alias_input)];
    outputs.push_back(out[i].data());
  }
  host::ExecutionUser user;
  {
    const threads::ScopedFlushDenormals compute_state;
    TENON_RETURN_IF_ERROR(program.Run({.inputs = inputs, .outputs = outputs, .user = &user}, pool, memory));
  }
  Outputs results;
  for (size_t i = 0; i < out.size(); ++i) results.emplace_back(static_cast<const char*>(outputs[i]), out[i].size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (!given[i] && !std::equal(in[i].begin(), in[i].end(), arguments[i].begin()))
      return Aborted(fmt::format("argument {} was overwritten", i));
  }
  return results;
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAgree:
      return "agree";
    case Outcome::kInvalid:
      return "invalid";
    case Outcome::kNoOracle:
      return "no oracle";
    case Outcome::kCompileFailed:
      return "compile failed";
    case Outcome::kRunFailed:
      return "run failed";
    case Outcome::kDifferent:
      return "different";
  }
  return "";
}

std::string Print(const Configuration& c) {
  return fmt::format("{} {} thread{}{}", isa::IsaLevelName(c.isa), c.threads, c.threads == 1 ? "" : "s",
                     c.donate ? " donated" : "");
}

Court CheapCourt(uint64_t seed) {
  Court court;
  const isa::IsaLevel top = isa::ActiveIsa();
  court.configurations.push_back({.isa = top});
  switch (seed % 8) {
    case 0:
    case 1:
      court.configurations.push_back({.isa = top, .threads = 8});
      break;
    case 2:
      if (top > isa::IsaLevel::kAvx2 && seed % 16 == 2) court.configurations.push_back({.isa = isa::IsaLevel::kAvx2});
      break;
    case 3:
      if (seed % 64 == 3) court.configurations.push_back({.isa = isa::IsaLevel::kSse4});
      break;
    case 4:
      court.processes = true;
      break;
    case 5:
      court.optimized = true;
      break;
    default:
      court.configurations.push_back({.isa = top, .threads = 2, .donate = true});
      break;
  }
  return court;
}

Court FullCourt() {
  Court court;
  court.optimized = court.processes = true;
  for (const isa::IsaLevel isa : {isa::IsaLevel::kAvx512, isa::IsaLevel::kAvx2, isa::IsaLevel::kSse4}) {
    if (isa > isa::ActiveIsa()) continue;
    for (const int threads : {1, 2, 8}) court.configurations.push_back({.isa = isa, .threads = threads});
    court.configurations.push_back({.isa = isa, .threads = 2, .donate = true});
  }
  return court;
}

Judges::Judges() : memory_(std::make_unique<runtime::MemoryPool>(kMemoryLimit, int64_t{64} << 20)) {}
Judges::~Judges() = default;

threads::ThreadPool* Judges::Pool(int threads) {
  for (const auto& pool : pools_) {
    if (pool->num_threads() == threads) return pool.get();
  }
  auto pool = threads::ThreadPool::Create(threads);
  if (!pool.ok()) return nullptr;
  pools_.push_back(*std::move(pool));
  return pools_.back().get();
}

Verdict Judges::Judge(std::string_view program, const Court& court) {
  const Conditions conditions = ParseConditions(program);
  auto oracle = reference::Program::Load(program);
  if (!oracle.ok()) return {Outcome::kInvalid, "dialect", oracle.status().ToString()};
  std::vector<std::string> arguments;
  std::vector<reference::Value> values;
  for (size_t i = 0; i < (*oracle)->inputs().size(); ++i) {
    const Shape& shape = (*oracle)->inputs()[i];
    arguments.push_back(ArgumentBytes(conditions, i, shape));
    auto value = reference::Value::Copy(shape, std::as_bytes(std::span(arguments.back())));
    if (!value.ok()) return {Outcome::kNoOracle, "evaluator", value.status().ToString()};
    values.push_back(*std::move(value));
  }
  reference::RunOptions limits;
  limits.max_loop_iterations = 100'000;
  auto expected = (*oracle)->Run(values, limits);
  if (!expected.ok()) return {Outcome::kNoOracle, "evaluator", expected.status().ToString()};
  Outputs want;
  for (const reference::Value& v : *expected)
    want.emplace_back(reinterpret_cast<const char*>(v.bytes()), static_cast<size_t>(v.size_bytes()));

  compiler::CompileOptions checked = test::CpuOptions();
  checked.verify = true;
  const auto compiled = compiler::Compile(program, checked);
  if (!compiled.ok()) return {Outcome::kCompileFailed, "compiler", compiled.status().ToString()};
  const plan::Plan& plan = compiled->plan;
  const int64_t evaluate_steps = plan::Count(plan).evaluate_steps;
  const auto verdict = [&](Outcome outcome, std::string judge, std::string message) {
    return Verdict{outcome, std::move(judge), std::move(message), evaluate_steps};
  };
  if (const Status s = plan::Verify(plan, kernels::CpuFamilies()); !s.ok())
    return verdict(Outcome::kCompileFailed, "plan verifier", s.ToString());
  if (const Status s = runtime::CheckOutsidePlan(plan, kernels::CpuFamilies()); !s.ok())
    return verdict(Outcome::kCompileFailed, "outside plan", s.ToString());
  if (const Status s = IsRowMajor(plan); !s.ok()) return verdict(Outcome::kNoOracle, "judges", s.ToString());
  if (plan.outputs.size() != want.size())
    return verdict(Outcome::kDifferent, "plan", fmt::format("{} outputs, wanted {}", plan.outputs.size(), want.size()));
  std::vector<Tolerance> tolerances = conditions.outputs;
  tolerances.resize(want.size());

  int64_t bytes = plan.arena_bytes;
  for (const std::string& a : arguments) bytes += static_cast<int64_t>(a.size());
  for (const std::string& w : want) bytes += static_cast<int64_t>(w.size());
  for (const bool donate : {false, true}) {
    if (!court.plan || bytes > kMaxInterpretedBytes) break;
    if (donate &&
        std::none_of(plan.outputs.begin(), plan.outputs.end(), [](const auto& o) { return o.alias_input >= 0; }))
      break;
    const std::string who = donate ? "plan donated" : "plan";
    Result<Outputs> got = test::RunPlan(plan, arguments, donate);
    if (!got.ok() && got.status().code() == Code::kUnimplemented) break;
    if (!got.ok()) return verdict(Outcome::kRunFailed, who, got.status().ToString());
    const std::string d = Difference(plan, *got, want, tolerances);
    if (!d.empty()) return verdict(Outcome::kDifferent, who, d);
  }

  std::unique_ptr<const runtime::Program> bound;
  isa::IsaLevel bound_for = isa::IsaLevel::kSse4;
  Outputs first;
  std::string first_name;
  for (const Configuration& c : court.configurations) {
    const std::string who = Print(c);
    if (bound == nullptr || bound_for != c.isa) {
      // What is compiled for this level, which is the plan above for the highest one.
      compiler::CompileOptions options = checked;
      const auto target = target::CpuTarget(isa::IsaLevelName(c.isa));
      if (!target.ok()) return verdict(Outcome::kNoOracle, who, target.status().ToString());
      options.target = *target;
      const bool known = options.target == *target::StandardTarget();
      Result<compiler::CompiledProgram> again = Internal("the plan above is meant");
      if (!known) again = compiler::Compile(program, options);
      if (!known && !again.ok()) return verdict(Outcome::kCompileFailed, who, again.status().ToString());
      auto program_for = Bind(known ? plan : again->plan, c.isa);
      if (!program_for.ok()) return verdict(Outcome::kCompileFailed, who, program_for.status().ToString());
      bound = *std::move(program_for);
      bound_for = c.isa;
    }
    threads::ThreadPool* pool = Pool(c.threads);
    if (pool == nullptr) return verdict(Outcome::kNoOracle, who, "no threads");
    Result<Outputs> got = Run(*bound, arguments, c.donate, *pool, *memory_);
    if (!got.ok()) return verdict(Outcome::kRunFailed, who, got.status().ToString());
    std::string d = Difference(plan, *got, want, tolerances);
    if (!d.empty()) return verdict(Outcome::kDifferent, who, d);
    if (c.isa == isa::IsaLevel::kSse4) continue;
    if (first.empty()) {
      first = *std::move(got);
      first_name = who;
      continue;
    }
    d = Difference(plan, *got, first, std::vector<Tolerance>(want.size()));
    if (!d.empty()) return verdict(Outcome::kDifferent, who + " against " + first_name, d);
  }
  if (court.optimized) {
    const std::string who = "optimized program";
    const Result<std::string> optimized = compiler::OptimizedStablehlo(program, checked, compiled->kernel_nodes);
    if (!optimized.ok()) return verdict(Outcome::kCompileFailed, who, optimized.status().ToString());
    const Result<std::string> anew = compiler::OptimizedStablehlo(program, checked);
    if (!anew.ok() || *anew != *optimized) return verdict(Outcome::kDifferent, who, "another one when fused anew");
    auto again = reference::Program::Load(*optimized);
    if (!again.ok()) return verdict(Outcome::kCompileFailed, who, again.status().ToString());
    auto outputs = (*again)->Run(values, limits);
    if (!outputs.ok()) return verdict(Outcome::kRunFailed, who, outputs.status().ToString());
    Outputs got;
    for (const reference::Value& v : *outputs)
      got.emplace_back(reinterpret_cast<const char*>(v.bytes()), static_cast<size_t>(v.size_bytes()));
    const std::string d = Difference(plan, got, want, tolerances);
    if (!d.empty()) return verdict(Outcome::kDifferent, who, d);
  }
  if (court.processes) {
    const std::string who = "processes";
    threads::ThreadPool* pool = Pool(2);
    if (pool == nullptr) return verdict(Outcome::kNoOracle, who, "no threads");
    const Sharded sharded = Shard(program, conditions.data_seed);
    Result<Outputs> got = RunSharded(sharded, checked, arguments, *pool, *memory_);
    const Code code = got.status().code();
    if (!got.ok() && code != Code::kUnimplemented)
      return verdict(code == Code::kAborted ? Outcome::kDifferent : Outcome::kRunFailed, who, got.status().ToString());
    if (got.ok()) {
      const std::string d = Difference(plan, *got, want, tolerances);
      if (!d.empty()) return verdict(Outcome::kDifferent, who, d);
    }
  }
  return verdict(Outcome::kAgree, "", "");
}

}  // namespace tenon::fuzz
