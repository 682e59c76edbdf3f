#pragma once

#include <cstdint>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/small_vector.h"
#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// One dim of a stage of a pad, which is about the places `place`, `place` + `step`, ... of the result, `count` of
/// them: for each it stores what lies `from` to `until` (which it includes) beside it.
struct PaddedDim {
  int64_t count = 1;
  int64_t place = 0;
  int64_t step = 1;
  int64_t first = 0;  ///< The operand's element that goes to `place`.
  int64_t from = 0;
  int64_t until = 0;
};

/// A loop nest that stores elements of the operand with the holes beside them, or nothing but padding.
struct PaddedStage {
  bool has_elements = false;
  SmallVector<PaddedDim, 4> dims;
  /// What is stored in one step of the nest.
  int64_t stores() const;
};

/// The stages that together write every place of a pad once, elements first. Holes of the last dim that has any are
/// written with an element beside them, so that vectors are stored as a whole: behind it, in front of it where there is
/// room, else behind all but the last, which is a stage of its own. Holes of other dims are rows of padding. Empty
/// where the pad crops elements.
std::vector<PaddedStage> StagesOfPad(const Dims& from, const Dims& to, const PadAttrs& pad);

}  // namespace tenon::compiler
