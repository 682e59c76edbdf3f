#pragma once

/// Random kernels with data to run them on, for comparing whatever executes kernels with the evaluator, bit for bit.

#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/kir/evaluate.h"
#include "tenon/kir/kir.h"

namespace tenon::kir::testing {

struct RandomKernelOptions {
  /// Element types to draw from; floats, integers and pred.
  std::vector<DType> types = {DType::kF32, DType::kF64, DType::kS32, DType::kU8,
                              DType::kS64, DType::kU32, DType::kPred};
  int max_nodes = 24;      ///< Scalar operations, besides leaves.
  bool reduces = true;     ///< Stages with reductions, row-wise chains over a local buffer.
  bool loops = true;       ///< Native while loops.
  bool scatters = true;    ///< Data-dependent indices, stores with a combiner.
  bool complex = false;    ///< Complex buffers.
  bool math = true;        ///< Math functions, where the type has them.
  bool params = true;      ///< Extents, strides and offsets that are known at run time only.
  bool float_rem = false;  ///< C's fmod.
  /// Reads of places that data say, rows that go to such places, rows that the stages of a loop pass on to one another,
  /// and several long dims.
  bool places = false;
};

/// What random kernels are about, and the first of the seeds that are its own. Whatever executes kernels is tested with
/// all of them.
struct RandomKernelSet {
  std::string_view name;
  uint64_t first_seed = 0;
  RandomKernelOptions options{};
};
inline void PrintTo(const RandomKernelSet& set, std::ostream* os) { *os << set.name; }
std::span<const RandomKernelSet> RandomKernelSets();

/// The contents of a kernel's buffers. Copies are deep.
class Memory {
 public:
  struct Block {
    std::vector<char> bytes;  ///< The buffer with some space on both sides.
    int64_t data = 0;         ///< Byte offset of element (0, ..., 0).
    bool present = false;     ///< False for local buffers.
  };
  std::vector<Block> blocks;

  /// For Evaluate.
  std::vector<BufferRef> Refs();
  /// For KernelFn.
  std::vector<void*> Pointers();
};

struct Sample {
  Kernel kernel;  ///< Verified; all of its accesses are in bounds with these params.
  std::vector<int64_t> params;
  Memory memory;
};

/// The same seed and options give the same sample on every machine.
Sample RandomKernel(uint64_t seed, const RandomKernelOptions& options = {});

/// Where `got` first differs from `wanted` after both were run on; empty when nowhere. All bytes count, those around
/// the buffers too, but NaNs of one type are equal.
std::string FirstDifference(const Kernel& kernel, const std::vector<int64_t>& params, const Memory& got,
                            const Memory& wanted);

}  // namespace tenon::kir::testing
