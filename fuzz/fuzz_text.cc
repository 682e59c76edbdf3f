// Assembly text of any kind.

#include "fuzz/program_properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (tenon::dialect::DetectInput(input) == tenon::dialect::InputKind::kText) tenon::fuzz::CheckProgram(input);
  return 0;
}
