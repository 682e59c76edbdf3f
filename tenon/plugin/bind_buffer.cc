#include <fmt/format.h>

#include <array>

#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

namespace {

// 63, 62, ... 0: the last `rank` of these order the dimensions of a row-major array.
constexpr size_t kMaxRank = 64;
constexpr std::array<int64_t, kMaxRank> kDescending = [] {
  std::array<int64_t, kMaxRank> order{};
  for (size_t i = 0; i < kMaxRank; ++i) order[i] = static_cast<int64_t>(kMaxRank - 1 - i);
  return order;
}();

}  // namespace

TENON_BIND(PJRT_Buffer_Destroy) {
  if (args.buffer == nullptr) return OkStatus();
  Buffer* buffer = FromC(args.buffer);
  // Others may hold references to the object (promises do); the memory goes now all the same.
  if (!buffer->HasOneRef()) buffer->Delete();
  buffer->Release();
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_ElementType) {
  TENON_REQUIRE(buffer);
  args.type = static_cast<PJRT_Buffer_Type>(FromC(args.buffer)->shape().dtype);
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_Dimensions) {
  TENON_REQUIRE(buffer);
  const Dims& dims = FromC(args.buffer)->shape().dims;
  args.dims = dims.data();
  args.num_dims = dims.size();
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_UnpaddedDimensions) {
  TENON_REQUIRE(buffer);
  const Dims& dims = FromC(args.buffer)->shape().dims;
  args.unpadded_dims = dims.data();
  args.num_dims = dims.size();
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_DynamicDimensionIndices) {
  TENON_REQUIRE(buffer);
  args.dynamic_dim_indices = nullptr;
  args.num_dynamic_dims = 0;
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_GetMemoryLayout) {
  TENON_REQUIRE(buffer);
  const ArraySpec& spec = FromC(args.buffer)->spec();
  size_t rank = spec.shape.rank();
  args.layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  args.layout.extension_start = nullptr;
  args.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args.layout.tiled = PJRT_Buffer_MemoryLayout_Tiled{};
  args.layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  args.layout.tiled.minor_to_major =
      spec.row_major() ? kDescending.data() + (kMaxRank - rank) : spec.minor_to_major.data();
  args.layout.tiled.minor_to_major_size = rank;
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_OnDeviceSizeInBytes) {
  TENON_REQUIRE(buffer);
  args.on_device_size_in_bytes = FromC(args.buffer)->size_bytes();
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_Device) {
  TENON_REQUIRE(buffer);
  args.device = ToC(FromC(args.buffer)->device());
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_Memory) {
  TENON_REQUIRE(buffer);
  args.memory = ToC(FromC(args.buffer)->memory());
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_Delete) {
  TENON_REQUIRE(buffer);
  FromC(args.buffer)->Delete();
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_IsDeleted) {
  TENON_REQUIRE(buffer);
  args.is_deleted = FromC(args.buffer)->is_deleted();
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_IsOnCpu) {
  TENON_REQUIRE(buffer);
  args.is_on_cpu = FromC(args.buffer)->memory()->host_accessible();
  return OkStatus();
}

// After Delete or donation the event fails, not the call.
TENON_BIND(PJRT_Buffer_ReadyEvent) {
  TENON_REQUIRE(buffer);
  EventRef ready = FromC(args.buffer)->ready();
  // Callers with ways of their own to wait (JAX) ask for the event when they are about to, and nothing else tells.
  if (ready.get() != nullptr) ready.get()->Help();
  args.event = ToC(std::move(ready));
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_UnsafePointer) {
  TENON_REQUIRE(buffer);
  TENON_ASSIGN_OR_RETURN(void* data, FromC(args.buffer)->DataPointer());
  args.buffer_pointer = reinterpret_cast<uintptr_t>(data);
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_IncreaseExternalReferenceCount) {
  TENON_REQUIRE(buffer);
  return FromC(args.buffer)->AddExternalReference();
}

TENON_BIND(PJRT_Buffer_DecreaseExternalReferenceCount) {
  TENON_REQUIRE(buffer);
  return FromC(args.buffer)->DropExternalReference();
}

TENON_BIND(PJRT_Buffer_OpaqueDeviceMemoryDataPointer) {
  TENON_REQUIRE(buffer);
  TENON_ASSIGN_OR_RETURN(args.device_memory_ptr, FromC(args.buffer)->DataPointer());
  return OkStatus();
}

}  // namespace tenon::plugin::bind
