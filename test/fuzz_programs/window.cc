#include "test/fuzz_programs/window.h"

#include <fmt/format.h>

namespace tenon::fuzz {

int64_t NumWindows(int64_t n, const WindowDim& w) {
  const int64_t whole = (n == 0 ? 0 : (n - 1) * w.base + 1) + w.low + w.high;
  const int64_t reach = (w.size - 1) * w.dilation + 1;
  if (whole < 0) return -1;
  return whole < reach ? 0 : (whole - reach) / w.stride + 1;
}

bool Windows::Add(int64_t n, const WindowDim& w) {
  const int64_t windows = NumWindows(n, w);
  if (windows < 0) return false;
  size.push_back(w.size);
  stride.push_back(w.stride);
  base.push_back(w.base);
  dilation.push_back(w.dilation);
  out.push_back(windows);
  padding += fmt::format("{}[{}, {}]", padding.empty() ? "" : ", ", w.low, w.high);
  points *= w.size;
  return true;
}

std::string Windows::Attributes(bool dilated) const {
  std::string text = fmt::format("window_dimensions = {}, window_strides = {}, ", Array(size), Array(stride));
  if (dilated) text += fmt::format("base_dilations = {}, window_dilations = {}, ", Array(base), Array(dilation));
  return text + fmt::format("padding = dense<[{}]> : tensor<{}x2xi64>", padding, size.size());
}

}  // namespace tenon::fuzz
