#pragma once

#include "tenon/base/bytes.h"
#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/plan/plan.h"

namespace tenon::host {

/// What a saved executable holds of a compiled program beside its source, for the build that wrote it.
void PutProgram(ByteWriter& out, const compiler::CompiledProgram& about, const plan::Plan& plan);
/// The opposite, plan included. INVALID_ARGUMENT or DATA_LOSS for bytes that PutProgram did not write; what its kernels
/// touch is not proved yet (runtime::CheckOutsidePlan).
Status GetProgram(ByteReader& in, compiler::CompiledProgram& about);

}  // namespace tenon::host
