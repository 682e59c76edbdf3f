#pragma once

/// A compiled program against the reference on random arguments.

#include <string_view>

#include "tenon/compiler/compile.h"

namespace tenon::test {

/// What programs are compiled with here: with the drivers that the CPU has.
compiler::CompileOptions CpuOptions();
/// Makes `options` those for the target of that name: a GPU's drivers are those of its host.
Status CompileFor(std::string_view target, compiler::CompileOptions& options);

struct Tolerance {
  /// |got - want| <= absolute + relative * |want|, in f32 and c64; f64 and c128 take 1e-9 of both, narrow floats 2^-6
  /// relative.
  double absolute = 2e-4;
  double relative = 2e-4;
};

/// OK when both agree; UNIMPLEMENTED when the interpreter or the reference cannot run the program; ABORTED with the
/// first difference.
Status CompareWithReference(std::string_view program, const compiler::CompiledProgram& compiled, uint64_t seed,
                            const Tolerance& tolerance);

}  // namespace tenon::test
