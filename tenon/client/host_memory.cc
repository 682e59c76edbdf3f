#include "tenon/client/host_memory.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "tenon/client/client.h"

namespace tenon::client {

void AlignedMemory::Free::operator()(std::byte* data) const { std::free(data); }

Result<AlignedMemory> AlignedMemory::Allocate(size_t size, size_t alignment) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) {
    return InvalidArgument(
        fmt::format("an alignment of {} bytes; wanted a power of two of at least {}", alignment, sizeof(void*)));
  }
  void* data = nullptr;
  if (::posix_memalign(&data, alignment, size == 0 ? 1 : size) != 0) {
    return ResourceExhausted(fmt::format("no memory for {} bytes", size));
  }
  std::memset(data, 0, size);
  return AlignedMemory(static_cast<std::byte*>(data), size);
}

Result<SharedBuffer> Client::NewSharedBuffer(const Shape& shape, const Placement& where) const {
  TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes(shape));
  TENON_ASSIGN_OR_RETURN(AlignedMemory allocated, AlignedMemory::Allocate(static_cast<size_t>(size)));
  auto memory = std::make_shared<AlignedMemory>(std::move(allocated));
  TENON_ASSIGN_OR_RETURN(Buffer buffer, ViewOfDeviceMemory(memory->data(), shape, where, [memory] {}));
  return SharedBuffer{std::move(buffer), memory->bytes(), memory};
}

namespace internal {

Result<ExternalReference> PinForHost(const Buffer& buffer, DType wanted, size_t& count) {
  TENON_ASSIGN_OR_RETURN(const Shape shape, buffer.shape());
  if (shape.dtype != wanted) {
    return InvalidArgument(
        fmt::format("the buffer is {}; its elements were asked for as {}", ToString(shape), DTypeName(wanted)));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t n, CheckedNumElements(shape.dims));
  TENON_ASSIGN_OR_RETURN(const bool on_cpu, buffer.IsOnCpu());
  if (!on_cpu) return FailedPrecondition("the host cannot read the memory of this buffer; use ToHost");
  if (DTypeBits(wanted) < 8)
    return FailedPrecondition("elements narrower than a byte may be packed on the device; use ToHost");
  if (shape.rank() > 1) {
    TENON_ASSIGN_OR_RETURN(const Layout layout, buffer.GetLayout());
    if (layout != Layout(TiledLayout::RowMajor(shape.rank()))) {
      return FailedPrecondition("the buffer is not dense and row-major; use ToHost");
    }
  }
  TENON_RETURN_IF_ERROR(buffer.Await());
  count = static_cast<size_t>(n);
  return buffer.AcquireExternalReference();
}

}  // namespace internal

}  // namespace tenon::client
