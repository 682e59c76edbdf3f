#include "test/fuzz_programs/bind.h"

#include <utility>
#include <vector>

#include "tenon/emit_llvm/emit.h"
#include "tenon/host/services.h"
#include "tenon/kernels/families.h"

namespace tenon::fuzz {

Status IsRowMajor(const plan::Plan& plan) {
  for (const plan::Output& out : plan.outputs) {
    if (out.stride_elems != RowMajorStridesElems(out.shape.dims))
      return Unimplemented("outputs in layouts of their own");
  }
  return OkStatus();
}

Result<std::unique_ptr<const runtime::Program>> Bind(const plan::Plan& plan, isa::IsaLevel isa) {
  std::vector<const kir::Kernel*> kernels;
  for (const kir::Kernel& k : plan.kernels) kernels.push_back(&k);
  TENON_ASSIGN_OR_RETURN(auto compiled, emit_llvm::CompileKernels(kernels, {.isa = isa}));
  std::vector<runtime::KernelCode> code;
  for (const auto& k : compiled) code.push_back({k->fn, k});
  TENON_ASSIGN_OR_RETURN(host::PlanServices made, host::MakeServices(plan));
  return runtime::Program::Create(plan, std::move(code), std::move(made.services), kernels::CpuFamilies());
}

}  // namespace tenon::fuzz
