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

}  // namespace tenon::lapack
