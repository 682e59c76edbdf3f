#pragma once

// When each logical buffer is read and written, on one line through all steps.

#include <cstdint>
#include <vector>

#include "tenon/compiler/fuse/fuse.h"

namespace tenon::compiler {

/// A read or write of a buffer by the step at `position`.
struct Event {
  int32_t position = 0;
  bool write = false;
  plan::SlotId slot = 0;
};

/// The positions of one loop: condition and body, and the carry copies at `end`.
struct LoopRange {
  int32_t begin = 0;
  int32_t body = 0;
  int32_t end = 0;
};

/// A copy that might not be needed, when both buffers become one.
struct CopyAt {
  int32_t position = 0;
  plan::SlotId from = 0;
  plan::SlotId to = 0;
};

/// All steps on one line, loops' bodies once, and what happens to each buffer when.
struct Timeline {
  std::vector<std::vector<Event>> events;  ///< By buffer, in order.
  std::vector<LoopRange> loops;            ///< Outer ones before inner ones.
  std::vector<CopyAt> copies;              ///< Copy steps and carries, in order.
  struct KernelAt {
    int32_t position = 0;
    plan::KernelStep* step = nullptr;
  };
  std::vector<KernelAt> kernels;
  int32_t length = 0;

  /// The innermost loop around a position; nullptr for none.
  const LoopRange* LoopAround(int32_t position) const;
};

/// Points into `program`, whose steps must stay where they are.
Timeline MakeTimeline(FusedProgram& program);

}  // namespace tenon::compiler
