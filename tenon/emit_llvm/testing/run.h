#pragma once

/// Runs a kernel both ways, as machine code and on KIR's evaluator, on the same random memory, and compares every byte.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/isa/isa.h"
#include "tenon/kir/kir.h"

namespace tenon::emit_llvm::testing {

struct RunOptions {
  std::vector<int64_t> params = {};
  uint64_t seed = 1;
  /// Fills element `index` of a buffer with other than the default bits; returns false to keep the default.
  std::function<bool(kir::Buf buffer, int64_t index, uint64_t* bits)> fill = {};
  /// Pieces per call: 0 runs everything in one call, otherwise calls cover this many flat indices each, last first.
  int64_t indices_per_call = 0;
  /// Bytes by which arguments are shifted from 64-byte alignment (rounded to their element's size).
  int64_t misalign_bytes = 0;
  /// Floats of one sign may be so many numbers of their type apart.
  uint64_t ulps = 0;
};

/// Empty when the memory is equal afterwards (NaNs equal any NaN), else what differs first.
std::string CompareWithEvaluator(const kir::Kernel& kernel, isa::IsaLevel isa, const RunOptions& options = {});

}  // namespace tenon::emit_llvm::testing
