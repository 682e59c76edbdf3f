#include "tenon/abi/tenon_signature.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/executable_arrays.h"

namespace tenon::plugin::bind {

TENON_BIND_EXTENSION(Tenon_Executable_Parameters) {
  TENON_REQUIRE(executable);
  const std::vector<Tenon_Parameter>& parameters = FromC(args.executable)->c_arrays().parameters;
  args.parameters = parameters.data();
  args.num_parameters = parameters.size();
  return OkStatus();
}

PJRT_Extension_Base* SignatureExtension(PJRT_Extension_Base* next) {
  static Tenon_Signature_Extension extension = {
      .base = {.struct_size = Tenon_Signature_Extension_STRUCT_SIZE,
               .type = static_cast<PJRT_Extension_Type>(TENON_EXTENSION_TYPE_SIGNATURE),
               .next = next},
      .Tenon_Executable_Parameters = Bind_Tenon_Executable_Parameters,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
