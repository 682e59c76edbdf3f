#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/kir/kir.h"

namespace tenon::kir {

/// A versioned math function of one element type: "exp.f32.v1". Its number is stable within one build only; text forms
/// use the name.
using MathId = uint32_t;

/// The function's algorithm: a Graph of the operations of scalar.def other than kMath, kRead, kIndex, kParam, kReduced
/// and kCarried. Emitters inline it and the evaluator runs it, so all of them yield the same bits. Lives for the
/// process. Source of each algorithm and its stated error bound: math.def / math_*.cc.
const Graph& MathGraph(MathId id);
std::string_view MathName(MathId id);
uint32_t NumMath();

/// The newest version of `function` ("exp", "tanh", "log_plus_one", "power" ...; StableHLO's names) for `type`;
/// NOT_FOUND when there is none. f16, bf16 and f8 have none of their own: convert to f32 around the f32 one.
Result<MathId> FindMath(std::string_view function, DType type);
/// The function of that exact name ("exp.f32.v1").
Result<MathId> MathByName(std::string_view name);

}  // namespace tenon::kir
