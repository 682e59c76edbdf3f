#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/kernels/gemm/signature.h"

namespace tenon::kernels {

/// A signature as the numbers that a plan's driver step carries, and back. Batch dimensions of extent 1 at the end are
/// left out.
inline std::vector<int64_t> ToConfig(const GemmSignature& s) {
  std::vector<int64_t> config = {static_cast<int64_t>(s.a_type),
                                 static_cast<int64_t>(s.b_type),
                                 static_cast<int64_t>(s.c_type),
                                 s.m,
                                 s.n,
                                 s.k,
                                 s.a_row_stride,
                                 s.a_col_stride,
                                 s.b_row_stride,
                                 s.b_col_stride,
                                 s.c_row_stride,
                                 s.c_col_stride,
                                 s.accumulate ? 1 : 0};
  size_t used = s.batch.size();
  while (used > 0 && s.batch[used - 1].extent == 1) --used;
  for (size_t i = 0; i < used; ++i) {
    config.insert(config.end(), {s.batch[i].extent, s.batch[i].a_stride, s.batch[i].b_stride, s.batch[i].c_stride});
  }
  return config;
}

/// INVALID_ARGUMENT for numbers that ToConfig does not write, or a signature that Verify rejects.
inline Result<GemmSignature> FromConfig(std::span<const int64_t> config) {
  constexpr size_t kFixed = 13;
  constexpr size_t kPerBatchDim = 4;
  GemmSignature s;
  if (config.size() < kFixed || (config.size() - kFixed) % kPerBatchDim != 0 ||
      (config.size() - kFixed) / kPerBatchDim > s.batch.size()) {
    return InvalidArgument("a gemm configuration has " + std::to_string(config.size()) +
                           " numbers, wanted 13 and up to 4 groups of 4");
  }
  for (size_t i = 0; i < 3; ++i) {
    if (config[i] < 0 || config[i] >= kNumDTypes) {
      return InvalidArgument("a gemm configuration names element type " + std::to_string(config[i]));
    }
  }
  s.a_type = static_cast<DType>(config[0]);
  s.b_type = static_cast<DType>(config[1]);
  s.c_type = static_cast<DType>(config[2]);
  s.m = config[3];
  s.n = config[4];
  s.k = config[5];
  s.a_row_stride = config[6];
  s.a_col_stride = config[7];
  s.b_row_stride = config[8];
  s.b_col_stride = config[9];
  s.c_row_stride = config[10];
  s.c_col_stride = config[11];
  s.accumulate = config[12] != 0;
  for (size_t i = 0; i < (config.size() - kFixed) / kPerBatchDim; ++i) {
    const int64_t* dim = config.data() + kFixed + kPerBatchDim * i;
    s.batch[i] = {dim[0], dim[1], dim[2], dim[3]};
  }
  TENON_RETURN_IF_ERROR(Verify(s));
  return s;
}

}  // namespace tenon::kernels
