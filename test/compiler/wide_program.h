#pragma once

/// Random StableHLO programs over many op kinds and element types, empty arrays, loops and branches included.

#include <cstdint>
#include <string>

namespace tenon::test {

/// Text of a valid program; equal seeds give equal programs. Every float result is either exact whatever the order of
/// operations (integers small enough for their type) or has only gone through continuous functions, so that one
/// tolerance fits all.
std::string WideProgram(uint64_t seed, int ops);

}  // namespace tenon::test
