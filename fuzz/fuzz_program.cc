// Programs as data, read without MLIR: bytes are a Status or a program that keeps what Program::Read promises. Inputs
// that begin with the magic are artifacts, all others text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tenon/vhlo/program.h"

namespace {

using namespace tenon;

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void CheckAttribute(const vhlo::Attribute* attribute) {
  Check(attribute != nullptr, "an attribute is there");
  (void)attribute->Ints();
  if (attribute->kind == vhlo::Attribute::Kind::kTensor) Check(attribute->type != nullptr, "a tensor has a type");
}

void CheckRegion(const vhlo::Region& region, const vhlo::Function& function, std::vector<bool>& defined) {
  std::vector<vhlo::ValueId> here;
  const auto define = [&](vhlo::ValueId v) {
    Check(v < function.types.size() && function.types[v] != nullptr, "a value has a type");
    Check(!defined[v], "a value is defined once");
    defined[v] = true;
    here.push_back(v);
  };
  const auto use = [&](vhlo::ValueId v) {
    Check(v < defined.size() && defined[v], "a value is defined before its use");
  };
  for (const vhlo::ValueId v : region.arguments) define(v);
  for (const vhlo::Operation& op : region.operations) {
    for (const vhlo::ValueId v : op.operands) use(v);
    for (const auto* list : {&op.attributes, &op.others}) {
      for (const vhlo::NamedAttribute& a : *list) CheckAttribute(a.value);
    }
    for (const vhlo::Region& inner : op.regions) CheckRegion(inner, function, defined);
    for (const vhlo::ValueId v : op.results) define(v);
  }
  for (const vhlo::ValueId v : region.results) use(v);
  for (const vhlo::ValueId v : here) defined[v] = false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<vhlo::Program> program = vhlo::Program::Read({reinterpret_cast<const char*>(data), size});
  if (!program.ok()) return 0;
  for (const vhlo::Function& function : program->functions()) {
    std::vector<bool> defined(function.types.size());
    CheckRegion(function.body, function, defined);
  }
  return 0;
}
