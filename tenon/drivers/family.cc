#include "tenon/drivers/family.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::drivers {

Status CheckCount(const Operands& operands, size_t num_inputs, size_t num_outputs) {
  if (operands.inputs.size() != num_inputs || operands.outputs.size() != num_outputs) {
    return InvalidArgument(fmt::format("{} inputs and {} outputs, wanted {} and {}", operands.inputs.size(),
                                       operands.outputs.size(), num_inputs, num_outputs));
  }
  for (const StridedArray& input : operands.inputs) {
    if (input.type == DType::kInvalid) return InvalidArgument("an input is not in memory");
  }
  return OkStatus();
}

bool IsRowMajor(const StridedArray& array) {
  int64_t dense = 1;
  for (size_t d = array.dims.size(); d-- > 0; dense *= array.dims[d]) {
    if (array.dims[d] != 1 && array.strides[d] != dense) return false;
  }
  return true;
}

StridedArray WithLayout(const StridedArray& array, const Dims& minor_to_major) {
  StridedArray laid = array;
  int64_t stride = 1;
  for (int64_t d : minor_to_major) {
    laid.strides[static_cast<size_t>(d)] = stride;
    stride *= std::max<int64_t>(array.dims[static_cast<size_t>(d)], 1);
  }
  return laid;
}

double BytesOf(std::span<const StridedArray> arrays) {
  double bytes = 0;
  for (const StridedArray& array : arrays) {
    double size = ByteWidth(array.type);
    for (int64_t d : array.dims) size *= static_cast<double>(d);
    bytes += size;
  }
  return bytes;
}

}  // namespace tenon::drivers
