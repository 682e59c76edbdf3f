#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/executable_arrays.h"

namespace tenon::plugin::bind {

// Executables that know no shardings answer with no list, which is not an error.
TENON_BIND_EXTENSION(PJRT_Shardings_PJRT_Executable_ParameterShardings) {
  TENON_REQUIRE(executable);
  const Executable::CArrays::Texts& texts = FromC(args.executable)->c_arrays().parameter_shardings;
  args.num_parameters = texts.data.size();
  args.shardings = texts.data.empty() ? nullptr : texts.data.data();
  args.sharding_sizes = texts.data.empty() ? nullptr : texts.sizes.data();
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Shardings_PJRT_Executable_OutputShardings) {
  TENON_REQUIRE(executable);
  const Executable::CArrays::Texts& texts = FromC(args.executable)->c_arrays().output_shardings;
  args.num_outputs = texts.data.size();
  args.shardings = texts.data.empty() ? nullptr : texts.data.data();
  args.sharding_sizes = texts.data.empty() ? nullptr : texts.sizes.data();
  return OkStatus();
}

PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next) {
  static PJRT_Shardings_Extension extension = {
      .base = {.struct_size = PJRT_Shardings_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_Shardings,
               .next = next},
      .PJRT_Shardings_PJRT_Executable_ParameterShardings = Bind_PJRT_Shardings_PJRT_Executable_ParameterShardings,
      .PJRT_Shardings_PJRT_Executable_OutputShardings = Bind_PJRT_Shardings_PJRT_Executable_OutputShardings,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
