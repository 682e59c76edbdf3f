#pragma once

#include "tenon/emit_spirv/emit.h"

namespace tenon::emit_spirv {

class KernelEmitter {
 public:
  KernelEmitter(const kir::Kernel&, const target::Target&) {}
  Result<Module> Run() { return Unimplemented("no kernel is emitted yet"); }
};

}  // namespace tenon::emit_spirv
