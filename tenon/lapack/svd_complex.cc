#include "tenon/lapack/svd.h"

namespace tenon::lapack {

std::span<const Entry> ComplexSvdEntries() {
  static constexpr Entry kEntries[] = {TENON_LAPACK_COMPLEX("gesdd", Gesdd), TENON_LAPACK_COMPLEX("gesvd", Gesdd)};
  return kEntries;
}

}  // namespace tenon::lapack
