#include "tenon/lapack/internal/columns.h"

#include "tenon/isa/isa.h"

namespace tenon::lapack::internal {

template <class S>
const Columns<S>& ColumnsHere() {
  static const Columns<S> here = [] {
    const isa::IsaLevel level = isa::ActiveIsa();
    if (level >= isa::IsaLevel::kAvx512) return ColumnsAvx512<S>();
    return level >= isa::IsaLevel::kAvx2 ? ColumnsAvx2<S>() : ColumnsBaseline<S>();
  }();
  return here;
}

template const Columns<float>& ColumnsHere();
template const Columns<double>& ColumnsHere();
template const Columns<std::complex<float>>& ColumnsHere();
template const Columns<std::complex<double>>& ColumnsHere();

}  // namespace tenon::lapack::internal
