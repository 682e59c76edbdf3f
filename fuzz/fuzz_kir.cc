// KIR text: a Status or a kernel; a kernel is verified without harm and survives its own text.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tenon/kir/kir.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::kir;
  const tenon::Result<Kernel> kernel = Parse({reinterpret_cast<const char*>(data), size});
  if (!kernel.ok() || !Verify(*kernel).ok()) return 0;
  const tenon::Result<Kernel> back = Parse(Print(*kernel));
  if (!back.ok() || !(*back == *kernel) || !(Hash(*back) == Hash(*kernel))) std::abort();
  (void)DependentDims(*kernel);
  return 0;
}
