#include "tenon/lapack/internal/columns.h"

#include "tenon/isa/isa.h"

namespace tenon::lapack::internal {

template <class T>
Columns<T> ColumnsHere() {
  const isa::IsaLevel level = isa::ActiveIsa();
  if (level >= isa::IsaLevel::kAvx512) return ColumnsAvx512<T>();
  return level >= isa::IsaLevel::kAvx2 ? ColumnsAvx2<T>() : ColumnsBaseline<T>();
}

template Columns<float> ColumnsHere();
template Columns<double> ColumnsHere();

}  // namespace tenon::lapack::internal
