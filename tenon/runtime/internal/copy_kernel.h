#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/kir/kir.h"

namespace tenon::runtime::internal {

/// A strided copy as a kernel: buffer 0 to buffer 1.
struct CopyKernel {
  std::shared_ptr<const kir::Kernel> kernel;
  std::vector<int64_t> params;
};

/// For arrays of `dims` elements of `element_bytes` each, a power of two up to 16; strides in elements. Extents and
/// strides are params, so that few kernels serve all copies.
CopyKernel MakeCopyKernel(const Dims& dims, const Dims& from_strides, const Dims& to_strides, int64_t element_bytes);

}  // namespace tenon::runtime::internal
