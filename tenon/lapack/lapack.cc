#include "tenon/lapack/lapack.h"

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
  // Against OpenBLAS on two cores with AVX-512: symmetric eigenvalues, singular values and QR took 1.1 to 3 times less
  // time up to 150 rows, and as long at 200 and 256; triangular systems, which are products for the most part, from 150
  // on more.
  constexpr int64_t kLongest = 200, kLongestSystem = 128;
  if (name.find("trsm") != std::string_view::npos) return kLongestSystem;
  // In which order eigenvalues come, and so which Schur form, is up to whoever computes them: programs are used to the
  // library's.
  const bool ordered = name.find("gees") == std::string_view::npos && name.find("geev") == std::string_view::npos;
  return ordered ? kLongest : 0;
}

}  // namespace tenon::lapack
