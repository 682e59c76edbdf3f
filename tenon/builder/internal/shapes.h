#pragma once

#include <cstdint>
#include <optional>

namespace tenon::builder::internal {

/// One dim under a window that slides over it. Dilations are steps: 1 leaves elements where they are.
struct WindowedDim {
  int64_t extent = 0;
  int64_t size = 1, stride = 1, low = 0, high = 0, base_dilation = 1, window_dilation = 1;
};

/// How often the window fits; nothing when the padded extent is negative or leaves 64 bits.
std::optional<int64_t> Windowed(const WindowedDim& dim);

}  // namespace tenon::builder::internal
