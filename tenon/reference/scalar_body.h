#pragma once

// Regions that are functions on scalars (the bodies of reduce, scatter, sort, map ...), run without a Value per number.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tenon/reference/evaluator.h"

namespace tenon::reference {

/// Lanes that a body runs at most at once.
inline constexpr int64_t kLanes = 64;

/// A block all of whose operations are elementwise (or constants, or scalar reshapes), as a list of kernels over
/// registers of kLanes elements.
class ScalarBody {
 public:
  /// Null when the block is something else.
  static std::shared_ptr<const ScalarBody> Make(const PreparedBlock& block);

  struct Instruction {
    Kernel kernel;
    int inputs[kMaxKernelOperands];
    int output;
  };
  struct Filled {  // a register that holds one scalar in every lane: a constant, or a value of the frame
    int reg;
    int width;
    Value constant;
    int slot;  // -1: the constant
  };
  std::vector<int> arguments;  // registers; -1 when nobody reads it
  std::vector<Filled> filled;
  std::vector<Instruction> instructions;
  std::vector<int> results;
  int num_registers = 0;
};

/// A region as a function of scalars, bound to a frame: applies it to `n` lanes at once, each on its own.
class Computation {
 public:
  /// `region` of the operation of `context`; its arguments and results must be of rank 0.
  static Result<Computation> Bind(const OpContext& context, unsigned region);

  size_t num_arguments() const { return block_->argument_types.size(); }
  DType argument_type(size_t i) const { return block_->argument_types[i]; }
  DType result_type(size_t i) const { return block_->returned_types[i]; }

  /// args[i] and results[i] are dense arrays of n <= kLanes elements; results may be the same arrays as args.
  Status Apply(int64_t n, std::span<const void* const> args, std::span<void* const> results);

 private:
  Computation(Evaluator& evaluator, Frame& frame, const PreparedBlock& block)
      : evaluator_(&evaluator), frame_(&frame), block_(&block) {}
  Status ApplyGenerally(int64_t n, std::span<const void* const> args, std::span<void* const> results);
  std::byte* Register(int r) { return registers_.get() + static_cast<size_t>(r) * kLanes * 16; }

  Evaluator* evaluator_;
  Frame* frame_;
  const PreparedBlock* block_;
  std::shared_ptr<std::byte[]> registers_;
  std::vector<const void*> current_;  // what each register's lanes are in this Apply
};

}  // namespace tenon::reference
