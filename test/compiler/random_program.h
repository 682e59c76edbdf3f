#pragma once

/// Random StableHLO programs of elementwise ops, moves, reductions and products, for comparing the compiler with the
/// reference.

#include <cstdint>
#include <string>

namespace tenon::test {

/// Text of a valid program; equal seeds give equal programs.
std::string RandomProgram(uint64_t seed, int ops);

}  // namespace tenon::test
