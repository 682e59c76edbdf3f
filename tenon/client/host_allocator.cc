#include "tenon/client/host_allocator.h"

#include <bit>
#include <string>

#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/client/client.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/extension.h"

#define TENON_CALL_HOST_ALLOCATOR(api, Function, args) \
  TENON_CALL_EXTENSION((api), PJRT_Extension_Type_HostAllocator, PJRT_HostAllocator_Extension, Function, (args))

namespace tenon::client {

HostAllocation::HostAllocation(std::shared_ptr<internal::ClientState> client, std::byte* data, size_t size)
    : client_(std::move(client)), data_(data), size_(size) {
  client_->CountHere(client_->others, internal::Kind::kOther, 1);
}

HostAllocation& HostAllocation::operator=(HostAllocation&& other) noexcept {
  if (this != &other) {
    Reset();
    client_ = std::move(other.client_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void HostAllocation::Reset() {
  if (client_ == nullptr) return;
  if (data_ != nullptr) {
    PJRT_HostAllocator_Free_Args args{};
    args.struct_size = PJRT_HostAllocator_Free_Args_STRUCT_SIZE;
    args.client = client_->client;
    args.ptr = std::exchange(data_, nullptr);
    (void)TENON_CALL_HOST_ALLOCATOR(*client_->api, free, args);
  }
  client_->CountHere(client_->others, internal::Kind::kOther, -1);
  client_.reset();
}

Result<HostAllocation> HostAllocation::Allocate(const Client& client, size_t size, size_t alignment) {
  TENON_RETURN_IF_ERROR(internal::CheckOpen(client.state()));
  if (alignment == 0) {
    TENON_ASSIGN_OR_RETURN(alignment, PreferredHostAlignment(client));
  }
  if (!std::has_single_bit(alignment)) {
    return InvalidArgument("HostAllocation: an alignment of " + std::to_string(alignment) +
                           " bytes; wanted a power of two");
  }
  PJRT_HostAllocator_Allocate_Args args{};
  args.struct_size = PJRT_HostAllocator_Allocate_Args_STRUCT_SIZE;
  args.client = client.get();
  args.size = size;
  args.alignment = alignment;
  TENON_RETURN_IF_ERROR(TENON_CALL_HOST_ALLOCATOR(client.api(), allocate, args));
  if (args.ptr == nullptr && size != 0) {
    return ResourceExhausted(client.api().name() + ": its host allocator has no memory for " + std::to_string(size) +
                             " bytes");
  }
  return HostAllocation(client.state(), static_cast<std::byte*>(args.ptr), size);
}

Result<size_t> PreferredHostAlignment(const Client& client) {
  TENON_RETURN_IF_ERROR(internal::CheckOpen(client.state()));
  PJRT_HostAllocator_GetPreferredAlignment_Args args{};
  args.struct_size = PJRT_HostAllocator_GetPreferredAlignment_Args_STRUCT_SIZE;
  args.client = client.get();
  TENON_RETURN_IF_ERROR(TENON_CALL_HOST_ALLOCATOR(client.api(), get_preferred_alignment, args));
  return args.preferred_alignment;
}

}  // namespace tenon::client
