#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "tenon/base/dtype.h"
#include "tenon/base/element.h"
#include "tenon/conformance/against/against.h"

namespace tenon::conformance {
namespace {

template <class T>
double Read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return static_cast<double>(value);
}

double Number(DType type, const char* at) {
  switch (type) {
    case DType::kF64:
      return Read<double>(at);
    case DType::kF32:
      return Read<float>(at);
    case DType::kF16:
      return Read<F16>(at);
    case DType::kBF16:
      return Read<BF16>(at);
    case DType::kS32:
      return Read<int32_t>(at);
    case DType::kS64:
      return Read<int64_t>(at);
    default:
      return Read<uint8_t>(at);
  }
}

// Of an element that is the `flat`th in row-major order: "[2,3]".
std::string Place(const Dims& dims, int64_t flat) {
  std::string text;
  for (size_t d = dims.size(); d-- > 0;) {
    text = fmt::format("{}{}{}", flat % dims[d], text.empty() ? "" : ",", text);
    flat /= dims[d];
  }
  return "[" + text + "]";
}

}  // namespace

std::string CompareOutputs(const Case& of, const std::vector<std::string>& got, const std::vector<std::string>& other) {
  if (got.size() != of.outputs.size() || other.size() != of.outputs.size())
    return fmt::format("{} and {} outputs, wanted {}", got.size(), other.size(), of.outputs.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const Case::Output& output = of.outputs[i];
    const auto want = static_cast<size_t>(SizeBytes(output.shape));
    if (got[i].size() != want || other[i].size() != want)
      return fmt::format("output {}: {} and {} bytes, wanted {}", i, got[i].size(), other[i].size(), want);
    const DType type = output.shape.dtype;
    const auto width = static_cast<size_t>(ByteWidth(type));
    for (size_t at = 0; at < want; at += width) {
      if (std::memcmp(&got[i][at], &other[i][at], width) == 0) continue;
      const double x = Number(type, &got[i][at]), y = Number(type, &other[i][at]);
      if (IsFloat(type) && ((std::isnan(x) && std::isnan(y)) || x == y || std::fabs(x - y) <= output.tolerance))
        continue;
      return fmt::format("output {}{}: {} and {}, tolerance {:.3g}", i,
                         Place(output.shape.dims, static_cast<int64_t>(at / width)), x, y, output.tolerance);
    }
  }
  return "";
}

}  // namespace tenon::conformance
