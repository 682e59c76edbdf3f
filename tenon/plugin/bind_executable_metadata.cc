// What a plugin says of an executable in a message of its own. The args have no struct_size.

#include "tenon/abi/pjrt_executable_metadata.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"

namespace tenon::plugin::bind {

namespace {

// What callers get, with the bytes behind it.
struct Metadata {
  PJRT_ExecutableMetadata c;
  std::string bytes;
};

PJRT_Error* Get(PJRT_ExecutableMetadata_GetExecutableMetadata_Args* args) {
  constexpr std::string_view fn = "PJRT_ExecutableMetadata_GetExecutableMetadata";
  return ToCError(Contain(fn, [&]() -> Status {
    if (args == nullptr) return NullArgument(fn, "args");
    if (args->executable == nullptr) return NullArgument(fn, "executable");
    TENON_ASSIGN_OR_RETURN(std::string bytes, FromC(args->executable)->Metadata());
    auto* metadata = new Metadata{{}, std::move(bytes)};
    metadata->c = {.serialized_metadata = metadata->bytes.data(), .serialized_metadata_size = metadata->bytes.size()};
    args->metadata = &metadata->c;
    return OkStatus();
  }));
}

void Destroy(PJRT_ExecutableMetadata_DestroySerializedMetadata_Args* args) {
  if (args != nullptr) delete reinterpret_cast<Metadata*>(args->metadata);
}

}  // namespace

PJRT_Extension_Base* ExecutableMetadataExtension(PJRT_Extension_Base* next) {
  if (!ThePlugin().has_executable_metadata()) return next;
  static PJRT_ExecutableMetadata_Extension extension = {
      .base = {.struct_size = PJRT_ExecutableMetadata_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_ExecutableMetadata,
               .next = next},
      .get_executable_metadata = Get,
      .destroy_serialized_metadata = Destroy,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
