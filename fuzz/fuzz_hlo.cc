// HLO programs, as protobuf and as text.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/program_properties.h"
#include "tenon/dialect/hlo/module.h"

namespace {

void Fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

// Both forms of a module that was read read back, and writing them again changes nothing.
void CheckForms(const tenon::hlo::Module& module) {
  const std::string bytes = tenon::hlo::WriteProto(module);
  const auto from_bytes = tenon::hlo::ReadProto(bytes);
  if (!from_bytes.ok()) Fail("its own protobuf form does not read back", from_bytes.status().ToString());
  if (tenon::hlo::WriteProto(*from_bytes) != bytes) Fail("the protobuf form changes", module.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // Whatever the bytes are, both readers have to say something about them.
  if (const auto module = tenon::hlo::ReadProto(input); module.ok()) CheckForms(*module);
  if (const auto module = tenon::hlo::ReadText(input); module.ok()) CheckForms(*module);
  const auto kind = tenon::dialect::DetectInput(input);
  if (kind == tenon::dialect::InputKind::kHloModuleProto || kind == tenon::dialect::InputKind::kHloText)
    tenon::fuzz::CheckProgram(input);
  return 0;
}
