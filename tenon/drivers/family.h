#pragma once

/// A family of drivers: precompiled code for one kind of work (matrix products, sorts ...), as compiler, plan and
/// runtime see it. None of them knows a family by name: a registry of them is passed in.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/base/strided_array.h"
#include "tenon/drivers/config.h"
#include "tenon/drivers/problem.h"
#include "tenon/drivers/tile.h"
#include "tenon/target/work.h"

namespace tenon::threads {
class ThreadPool;
}

namespace tenon::drivers {

/// How a family takes on a problem.
struct Offer {
  Config config;
  /// One per operand: the order of dims, minor to major, in which it must lie densely; nothing where it suits as it
  /// lies. The asker copies.
  std::vector<std::optional<Dims>> layouts;
};

/// What a step works on: how its operands lie. An input whose type is kInvalid is not in memory: a hook makes it.
struct Operands {
  std::span<const StridedArray> inputs, outputs;
};

/// INVALID_ARGUMENT unless there are so many operands, all of them in memory.
Status CheckCount(const Operands& operands, size_t num_inputs, size_t num_outputs);
/// Whether the array is dense and row-major; strides along an extent of 1 mean nothing.
bool IsRowMajor(const StridedArray& array);
/// The array when its dims lie densely in this order, minor to major.
StridedArray WithLayout(const StridedArray& array, const Dims& minor_to_major);
/// Bytes of some arrays together.
double BytesOf(std::span<const StridedArray> arrays);

/// Serial cycles of what was measured to take `ns` on the cores for which families write their estimates: plans keep
/// cycles, of which a target makes its own time.
inline double CyclesOfNs(double ns) { return 3.5 * ns; }

/// A place at which a driver lends its tiles to a kernel.
struct HookPoint {
  enum class Role : uint8_t {
    /// The hook writes the elements of input `index`, which then need not be in memory. A tile may be asked for more
    /// than once, and by several threads: the kernel must depend on nothing that it writes.
    kMakesInput,
    /// The hook gets every element of output `index` exactly once, complete, and changes it in place.
    kChangesOutput,
  };
  std::string_view name;
  Role role = Role::kChangesOutput;
  uint32_t index = 0;
  DType type = DType::kInvalid;
  /// The array as matrices: which of its dims run along the matrices, the rows and the columns, outermost first. Dims
  /// of extent 1 may be absent.
  Dims batch_dims, row_dims, col_dims;
  int64_t batch = 0, rows = 0, cols = 0;  ///< Their extents.
  int64_t col_stride = 0;                 ///< Elements between neighbours in a row of every tile; 0: told by each tile.
  double calls = 0;                       ///< How often one run calls the hook, about.
};

/// What there is to know of a step.
struct Facts {
  int64_t scratch_bytes = 0;  ///< 64-byte aligned, unspecified before and after.
  double flops = 0;           ///< Multiplications and additions that were asked for, for statistics.
  target::Work work;          ///< What the driver does for them.
  std::vector<HookPoint> hooks;
};

/// Memory of one run.
struct Memory {
  const void* const* inputs = nullptr;  ///< Elements (0, ..., 0); null for one that a hook makes.
  void* const* outputs = nullptr;       ///< Overlap each other, the inputs and the scratch nowhere.
  void* scratch = nullptr;
  const TileHook* hooks = nullptr;  ///< One per hook point, empty where none is bound; null when no hook is.
};

/// A step bound once, run often. Immutable and thread-safe. Nothing is checked any more.
class Call {
 public:
  virtual ~Call() = default;
  /// On the calling thread and `pool`. Errors: RESOURCE_EXHAUSTED, or INTERNAL.
  virtual Status Run(const Memory& memory, threads::ThreadPool& pool) const = 0;
};

/// Stateless and thread-safe.
class Family {
 public:
  virtual ~Family() = default;
  /// Lower case, letters and digits; plans name families by it.
  virtual std::string_view name() const = 0;

  // What the compiler asks.

  /// Whether problems of this kind are asked about at all.
  virtual bool Takes(std::string_view op) const = 0;
  /// How the family takes `problem` on. An error is "not mine", with the reason; how the operands lie is never one,
  /// since another layout can be wanted. Once the operands lie as wanted, Describe accepts the config with them.
  virtual Result<Offer> Match(const Problem& problem) const = 0;

  // What plans, compiler and runtime ask.

  /// An error unless `config` is well formed and every element that a run then touches is an element of `operands`,
  /// whatever their data: plans from outside are judged by this. Element counts of `operands` fit int64.
  virtual Result<Facts> Describe(const Config& config, const Operands& operands) const = 0;

  // What the runtime asks.

  /// The call, of what Describe accepted. `hooked`: one per hook point, whether runs bring a hook there; may be empty
  /// for none.
  virtual Result<std::unique_ptr<const Call>> Bind(const Config& config, const Operands& operands,
                                                   std::span<const bool> hooked) const = 0;
};

}  // namespace tenon::drivers
