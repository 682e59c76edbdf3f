#pragma once

/// What runs a program, and whether all of them agree.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/isa/isa.h"
#include "tenon/runtime/memory_pool.h"
#include "tenon/threads/pool.h"
#include "test/fuzz_programs/generator.h"

namespace tenon::fuzz {

enum class Outcome : uint8_t {
  kAgree,
  kInvalid,        ///< The dialect rejects the program.
  kNoOracle,       ///< The evaluator cannot run it.
  kCompileFailed,  ///< A valid program that the compiler or the code generator does not take.
  kRunFailed,
  kDifferent,
};
std::string_view OutcomeName(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::kAgree;
  std::string judge;    ///< Who failed or differs: "plan", "avx512 1 thread" ...
  std::string message;  ///< What differs, or the error.
  int64_t evaluate_steps = 0;
};

/// One way to run the compiled plan.
struct Configuration {
  isa::IsaLevel isa = isa::IsaLevel::kAvx512;
  int threads = 1;
  bool donate = false;  ///< Outputs take over arguments where the plan says they may.
};
std::string Print(const Configuration& configuration);

/// Which judges a program is put before, besides the evaluator.
struct Court {
  bool plan = true;  ///< The plan, step by step, kernels by KIR's evaluator; both with and without donation.
  std::vector<Configuration> configurations;
  bool optimized = false;  ///< What the compiler says has become of the program, before the evaluator.
  bool processes = false;  ///< Over the devices of several processes, with shardings that follow the data's seed.
};
/// One configuration, the top level of this machine, and one more that goes round with the seed.
Court CheapCourt(uint64_t seed);
/// Every level that this machine has, 1, 2 and 8 threads, donated or not.
Court FullCourt();

/// Holds thread pools and memory between programs. Not thread-safe.
class Judges {
 public:
  Judges();
  ~Judges();
  /// The evaluator's results against those of each judge, outputs by the program's own Conditions; the configurations
  /// with FMA also against each other, bit for bit.
  Verdict Judge(std::string_view program, const Court& court);

 private:
  threads::ThreadPool* Pool(int threads);

  std::vector<std::unique_ptr<threads::ThreadPool>> pools_;
  std::unique_ptr<runtime::MemoryPool> memory_;
};

}  // namespace tenon::fuzz
