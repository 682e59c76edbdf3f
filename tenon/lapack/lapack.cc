#include "tenon/lapack/lapack.h"

#include <algorithm>

#include "tenon/lapack/call.h"

namespace tenon::lapack {

XLA_FFI_Handler* FindHandler(std::string_view name) {
  for (const std::span<const Entry> family :
       {QrEntries(), TriangularEntries(), TridiagonalEntries(), SymmetricEntries(), SchurEntries(), SvdEntries()}) {
    for (const Entry& entry : family) {
      if (entry.name == name) return entry.handler;
    }
  }
  return nullptr;
}

int64_t LongestFast(std::string_view name) {
  // Against OpenBLAS on two cores with AVX-512: QR took 1.1 to 3 times less time up to 150 rows, and as long at 200 and
  // 256; triangular systems, which are products for the most part, from 150 on more.
  constexpr int64_t kLongest = 200, kLongestSystem = 128;
  // The order of the eigenvalues of a Schur form and the signs of eigenvectors and singular vectors are up to whoever
  // computes them: programs are used to the library's.
  constexpr std::string_view kUndetermined[] = {"gees", "geev", "syevd", "heevd", "gesdd", "gesvd"};
  const auto is_of = [&](std::string_view routine) { return name.find(routine) != std::string_view::npos; };
  if (std::ranges::any_of(kUndetermined, is_of)) return 0;
  return is_of("trsm") ? kLongestSystem : kLongest;
}

}  // namespace tenon::lapack
