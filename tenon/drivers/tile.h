#pragma once

#include <cstdint>

namespace tenon::drivers {

/// A rectangle of one operand that a driver lends to a hook: element (r, c), 0 <= r < rows, 0 <= c < cols, lies at data
/// + r * row_stride + c * col_stride elements, and is the operand's element (row0 + r, col0 + c) of matrix `batch` (the
/// batch dims flattened, the first one outermost).
struct Tile {
  int64_t batch = 0;
  int64_t row0 = 0, col0 = 0;
  int64_t rows = 0, cols = 0;
  void* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;
};

/// Called on the caller's and on pool threads, several at once for different tiles, in no particular order. Must not
/// touch the tile after returning.
struct TileHook {
  void (*fn)(void* context, const Tile& tile) = nullptr;
  void* context = nullptr;
  explicit operator bool() const { return fn != nullptr; }
  void operator()(const Tile& tile) const { fn(context, tile); }
};

}  // namespace tenon::drivers
