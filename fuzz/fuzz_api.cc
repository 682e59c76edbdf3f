// Sequences of calls of the PJRT C interface (see Machine). Linked with backend_fake.cc it tests the SDK, with
// backend_cpu.cc the CPU plugin.

#include "fuzz/api_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tenon::fuzz::ByteInput in(data, size);
  tenon::fuzz::Machine(in).Run();
  return 0;
}
