#include "tenon/kernels/linalg/config.h"

#include <fmt/format.h>

namespace tenon::kernels {

std::vector<int64_t> ToConfig(const LinalgConfig& config) {
  return {static_cast<int64_t>(config.op),
          config.lower,
          config.left,
          config.transpose,
          config.unit_diagonal,
          config.has_info};
}

Result<LinalgConfig> LinalgConfigOf(std::span<const int64_t> numbers) {
  if (numbers.size() != 6)
    return InvalidArgument(fmt::format("a linear algebra configuration of {} numbers, wanted 6", numbers.size()));
  if (numbers[0] < 0 || numbers[0] > static_cast<int64_t>(LinalgOp::kLu)) {
    return InvalidArgument(fmt::format("linear algebra operation {}", numbers[0]));
  }
  for (int64_t n : numbers.subspan(1)) {
    if (n != 0 && n != 1) return InvalidArgument(fmt::format("a linear algebra configuration with flag {}", n));
  }
  return LinalgConfig{static_cast<LinalgOp>(numbers[0]),
                      numbers[1] != 0,
                      numbers[2] != 0,
                      numbers[3] != 0,
                      numbers[4] != 0,
                      numbers[5] != 0};
}

Result<LinalgSignature> SignatureOf(const LinalgConfig& config, const StridedArray& x,
                                    const std::optional<StridedArray>& a) {
  LinalgSignature s;
  s.op = config.op;
  s.type = x.type;
  s.lower = config.lower;
  s.left = config.left;
  s.transpose = config.transpose;
  s.unit_diagonal = config.unit_diagonal;
  if (a.has_value() != (config.op == LinalgOp::kTriangularSolve))
    return InvalidArgument("linear algebra with a wrong number of operands");
  const auto matrix = [](const StridedArray& array, Dims& batch, LinalgMatrix& m) -> Status {
    const size_t rank = array.dims.size();
    if (rank < 2 || array.strides.size() != rank)
      return InvalidArgument(fmt::format("linear algebra on an array of rank {}", rank));
    batch = Dims(array.dims.begin(), array.dims.end() - 2);
    m = {array.dims[rank - 2], array.dims[rank - 1], array.strides[rank - 2], array.strides[rank - 1],
         Dims(array.strides.begin(), array.strides.end() - 2)};
    return OkStatus();
  };
  TENON_RETURN_IF_ERROR(matrix(x, s.batch, s.x));
  if (a) {
    Dims batch;
    TENON_RETURN_IF_ERROR(matrix(*a, batch, s.a));
    if (a->type != x.type || batch != s.batch)
      return InvalidArgument("linear algebra on operands that do not fit each other");
  }
  TENON_RETURN_IF_ERROR(Verify(s));
  return s;
}

int64_t LinalgStepScratchBytes(const LinalgSignature& s) { return LinalgScratchBytes(s) + 4 * NumElements(s.batch); }

}  // namespace tenon::kernels
