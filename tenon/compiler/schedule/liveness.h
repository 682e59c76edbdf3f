#pragma once

// When each logical buffer is read and written, on one line through all steps.

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "tenon/compiler/fuse/fuse.h"

namespace tenon::compiler {

/// A read or write of a buffer by the step at `position`.
struct Event {
  int32_t position = 0;
  uint32_t order = 0;  ///< Of all events; rises with the position.
  bool write = false;
  plan::SlotId slot = 0;
};

/// Events in order; may be searched by position.
struct EventOrder {
  using is_transparent = void;
  bool operator()(const Event& x, const Event& y) const { return x.order < y.order; }
  bool operator()(const Event& x, int32_t position) const { return x.position < position; }
  bool operator()(int32_t position, const Event& y) const { return position < y.position; }
};
/// What happens to one buffer, or to several that share memory. A tree, since such lists grow into each other.
using Events = std::set<Event, EventOrder>;

/// The positions of one loop: condition and body, and the carry copies at `end`.
struct LoopRange {
  int32_t begin = 0;
  int32_t body = 0;
  int32_t end = 0;
  int32_t parent = -1;  ///< The loop around it, by its number; -1 for none.
};

/// One branch of one case step: positions in two branches of one step never run both.
struct Arm {
  int32_t step = 0;     ///< Position of the case step.
  int32_t end = 0;      ///< The last position in any of the step's branches.
  int32_t parent = -1;  ///< The arm around it, by its number; -1 for none.
};

/// A copy that might not be needed, when both buffers become one.
struct CopyAt {
  int32_t position = 0;
  plan::SlotId from = 0;
  plan::SlotId to = 0;
};

/// All steps on one line, loops' bodies once, and what happens to each buffer when.
struct Timeline {
  std::vector<Events> events;    ///< By buffer.
  std::vector<LoopRange> loops;  ///< Outer ones before inner ones.
  std::vector<CopyAt> copies;    ///< Copy steps and carries, in order.
  struct KernelAt {
    int32_t position = 0;
    plan::KernelStep* step = nullptr;
  };
  std::vector<KernelAt> kernels;
  std::vector<int32_t> innermost;  ///< By position: the innermost loop around it; -1 for none.
  std::vector<Arm> arms;
  std::vector<int32_t> arm;  ///< By position: the innermost branch around it; -1 for none.
  int32_t length = 0;

  /// The innermost loop around a position; nullptr for none.
  const LoopRange* LoopAround(int32_t position) const {
    const int32_t loop = innermost[static_cast<size_t>(position)];
    return loop < 0 ? nullptr : &loops[static_cast<size_t>(loop)];
  }
  /// Whether a position lies in that branch.
  bool IsInArm(int32_t position, int32_t which) const {
    int32_t a = arm[static_cast<size_t>(position)];
    while (a > which) a = arms[static_cast<size_t>(a)].parent;
    return a == which;
  }
  /// The position of the case step of which two positions lie in different branches; -1 for none.
  int32_t CaseBetween(int32_t a, int32_t b) const;
  /// The copies of one step.
  std::span<const CopyAt> CopiesAt(int32_t position) const;
};

/// Points into `program`, whose steps must stay where they are.
Timeline MakeTimeline(FusedProgram& program);

}  // namespace tenon::compiler
