#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tenon::dialect {

// Bounds on what a program may contain. They keep recursive walks (MLIR's parser, printer and verifier, and our own)
// within a small stack and a bounded time; real programs stay far below.

/// Nesting of brackets in text, of regions in bytecode, and of attributes and types in either.
inline constexpr uint32_t kMaxNesting = 256;
/// Nodes of an attribute or type written out as a tree: sharing makes short input expand exponentially.
inline constexpr uint64_t kMaxExpansion = uint64_t{1} << 22;
/// Bytes of one tensor. Products of dimensions below it cannot overflow.
inline constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 60;

/// The elements of a static shape whose elements take `bytes_each`; nothing when the bytes pass kMaxTensorBytes.
/// Dynamic dimensions (INT64_MIN) count as 1; other negative ones are refused.
std::optional<uint64_t> CheckedElements(const int64_t* dims, size_t rank, uint64_t bytes_each);

}  // namespace tenon::dialect
