#pragma once

#include <cstdint>
#include <span>

#include "tenon/kir/kir.h"

namespace tenon::kir {

/// The memory of one Kernel::buffers entry: `data` points at element (0, ..., 0); accesses outside [begin, begin +
/// size_bytes) are an error.
struct BufferRef {
  void* data = nullptr;
  void* begin = nullptr;
  int64_t size_bytes = 0;
};

/// Runs a verified kernel the slow, obvious way over all of its points: the judge of every emitter, sharing no code
/// with any. `buffers`: one per Kernel::buffers entry; kLocal and kSignal ones are made by the evaluator.
/// `flush_denormals`: subnormal inputs and results of arithmetic count as zero (of the same sign), as code for CPUs
/// runs; otherwise those of math functions alone, which are made for that. Out-of-range accesses and fewer params than
/// num_params are INVALID_ARGUMENT.
Status Evaluate(const Kernel& kernel, std::span<const BufferRef> buffers, std::span<const int64_t> params,
                bool flush_denormals = true);

/// One operation, which is no leaf and no kMath, on bit patterns (zero-extended) of its operands. `in_type`: the type
/// of the last one, which is that of the data of a select or compare and the source of a convert. Node::in is not
/// looked at.
uint64_t EvaluateScalar(const Node& node, DType in_type, std::span<const uint64_t> in, bool flush_denormals = true);

/// One call of a graph on scalar bit patterns (zero-extended).
Result<SmallVector<uint64_t, 2>> Evaluate(const Graph& graph, std::span<const uint64_t> arguments,
                                          bool flush_denormals = true);

}  // namespace tenon::kir
