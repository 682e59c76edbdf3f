// Custom calls that say themselves how they are cut over devices.

#include <memory>

#include "tenon/abi/pjrt_custom_partitioner.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/custom_partitioner.h"

namespace tenon::plugin::bind {

TENON_BIND_EXTENSION(PJRT_Register_Custom_Partitioner) {
  TENON_REQUIRE_ARRAY(name, name_size);
  TENON_REQUIRE(callbacks);
  TENON_RETURN_IF_ERROR(CustomPartitioner::Check(*args.callbacks));
  return ThePlugin().RegisterCustomPartitioner(std::string_view(args.name, args.name_size),
                                               std::make_shared<CustomPartitioner>(args.callbacks));
}

TENON_BIND_EXTENSION(PJRT_Register_Batch_Partitionable) {
  TENON_REQUIRE_ARRAY(name, name_size);
  return ThePlugin().RegisterBatchPartitionable(std::string_view(args.name, args.name_size));
}

PJRT_Extension_Base* CustomPartitionerExtension(PJRT_Extension_Base* next) {
  if (!ThePlugin().has_custom_partitioners()) return next;
  static PJRT_Custom_Partitioner_Extension extension = {
      .base = {.struct_size = PJRT_Custom_Partitioner_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_Custom_Partitioner,
               .next = next},
      .register_custom_partitioner = Bind_PJRT_Register_Custom_Partitioner,
      .register_batch_partitionable = Bind_PJRT_Register_Batch_Partitionable,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
