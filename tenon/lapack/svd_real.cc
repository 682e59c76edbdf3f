#include "tenon/lapack/svd.h"

namespace tenon::lapack {

std::span<const Entry> RealSvdEntries() {
  static constexpr Entry kEntries[] = {TENON_LAPACK_REAL("gesdd", Gesdd), TENON_LAPACK_REAL("gesvd", Gesdd)};
  return kEntries;
}

}  // namespace tenon::lapack
