// Portable artifacts and plain bytecode. Inputs without the magic get it, so that every mutation tests the reader.

#include "fuzz/program_properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kMagic = "ML\xefR";
  std::string input(reinterpret_cast<const char*>(data), size);
  if (!std::string_view(input).starts_with(kMagic)) input.insert(0, kMagic);
  tenon::fuzz::CheckProgram(input);
  return 0;
}
