// Host memory that transfers like: two extensions, the older one with a call that frees, the younger with a deleter per
// block. Both ask the client.

#include <fmt/format.h>

#include <bit>

#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/abi/pjrt_host_memory_allocator.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"

namespace tenon::plugin::bind {

namespace {

Result<void*> Allocate(std::string_view fn, Client& client, size_t size, size_t alignment, int numa_node) {
  if (!std::has_single_bit(alignment))
    return InvalidArgument(fmt::format("{}: an alignment of {} bytes, wanted a power of two", fn, alignment));
  TENON_ASSIGN_OR_RETURN(void* const block, client.AllocateHostMemory(size, alignment, numa_node));
  internal::live_counters[static_cast<int>(ObjectKind::kHostMemory)].value.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void Free(Client& client, void* block) {
  if (block == nullptr) return;
  client.FreeHostMemory(block);
  internal::live_counters[static_cast<int>(ObjectKind::kHostMemory)].value.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

TENON_BIND_EXTENSION(PJRT_HostAllocator_GetPreferredAlignment) {
  TENON_REQUIRE(client);
  args.preferred_alignment = FromC(args.client)->host_memory_alignment();
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_HostAllocator_Allocate) {
  TENON_REQUIRE(client);
  TENON_ASSIGN_OR_RETURN(args.ptr, Allocate(fn, *FromC(args.client), args.size, args.alignment, -1));
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_HostAllocator_Free) {
  TENON_REQUIRE(client);
  Free(*FromC(args.client), args.ptr);
  return OkStatus();
}

// The block keeps the client, which has to free it.
TENON_BIND_EXTENSION(PJRT_HostMemoryAllocator_Allocate) {
  TENON_REQUIRE(client);
  Client& client = *FromC(args.client);
  TENON_ASSIGN_OR_RETURN(void* const block,
                         Allocate(fn, client, args.size, client.host_memory_alignment(), args.numa_node));
  args.ptr = static_cast<uint8_t*>(block);
  args.deleter_arg = Ref<Client>(&client).release();
  args.deleter = [](void* ptr, void* arg) {
    const auto keep = Ref<Client>::Adopt(static_cast<Client*>(arg));
    Free(*keep, ptr);
  };
  return OkStatus();
}

PJRT_Extension_Base* HostAllocatorExtensions(PJRT_Extension_Base* next) {
  static PJRT_HostMemoryAllocator_Extension younger = {
      .base = {.struct_size = PJRT_HostMemoryAllocator_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_HostMemoryAllocator,
               .next = next},
      .allocate = Bind_PJRT_HostMemoryAllocator_Allocate,
  };
  static PJRT_HostAllocator_Extension older = {
      .base = {.struct_size = PJRT_HostAllocator_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_HostAllocator,
               .next = &younger.base},
      .get_preferred_alignment = Bind_PJRT_HostAllocator_GetPreferredAlignment,
      .allocate = Bind_PJRT_HostAllocator_Allocate,
      .free = Bind_PJRT_HostAllocator_Free,
  };
  return &older.base;
}

}  // namespace tenon::plugin::bind
