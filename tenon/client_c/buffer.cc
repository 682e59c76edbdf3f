#include <algorithm>
#include <array>

#include "tenon/client/layout.h"
#include "tenon/client_c/internal/handles.h"

using tenon::InvalidArgument;
using tenon::OkStatus;
using tenon::Result;
using tenon::Status;
using tenon::client::Buffer;
using tenon::client_c::Guard;
using tenon::client_c::NotNull;
namespace dlpack = tenon::client_c::dlpack;

namespace {

Result<tenon::client::Device> DeviceOr0(const tenon_client* client, const tenon_device* device) {
  if (device != nullptr) return device->device;
  return client->client.device(0);
}

Result<tenon::client::HostArray> ToArray(const tenon_array& array) {
  if (array.dtype <= 0 || array.dtype >= tenon::kNumDTypes || array.dtype == TENON_TOKEN) {
    return InvalidArgument("tenon_array::dtype must be the number of an element type, got " +
                           std::to_string(array.dtype));
  }
  if (array.rank > 0) TENON_RETURN_IF_ERROR(NotNull(array.dims));
  tenon::client::HostArray result;
  result.data = array.data;
  result.dtype = static_cast<tenon::DType>(array.dtype);
  result.dims.assign(array.dims, array.dims + array.rank);
  if (array.byte_strides != nullptr) result.byte_strides.assign(array.byte_strides, array.byte_strides + array.rank);
  TENON_ASSIGN_OR_RETURN(const int64_t elements, tenon::CheckedNumElements(result.dims));
  if (elements > 0) TENON_RETURN_IF_ERROR(NotNull(array.data));
  return result;
}

// Calls something when it goes away, unless that was called off.
class Release {
 public:
  explicit Release(std::function<void()> call) : call_(std::move(call)) {}
  ~Release() {
    if (call_) call_();
  }
  void CallOff() { call_ = nullptr; }

 private:
  std::function<void()> call_;
};

// What `release` belongs to is the buffer's only when the call succeeds.
Result<Buffer> View(const tenon_client* client, const tenon_device* device, const tenon::client::HostArray& array,
                    std::function<void()> release) {
  TENON_ASSIGN_OR_RETURN(const tenon::client::Device where, DeviceOr0(client, device));
  auto guard = std::make_shared<Release>(std::move(release));
  Result<Buffer> buffer = client->client.ViewOfHost(array, guard, where);
  if (!buffer.ok()) guard->CallOff();
  return buffer;
}

struct Held {
  const void* data;
  tenon::client::ExternalReference reference;
};

Result<Held> Hold(const Buffer& buffer) {
  TENON_ASSIGN_OR_RETURN(const bool on_cpu, buffer.IsOnCpu());
  if (!on_cpu) return tenon::Unimplemented("the host cannot read the memory of this buffer");
  TENON_RETURN_IF_ERROR(buffer.Await());
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, buffer.dims());
  // Without a layout the plugin has one only: dense and row-major.
  if (const Result<tenon::client::Layout> layout = buffer.GetLayout(); layout.ok()) {
    const tenon::client::Layout dense(tenon::client::TiledLayout::RowMajor(dims.size()));
    if (!(*layout == dense)) return tenon::Unimplemented("the buffer is not dense and row-major");
  }
  TENON_ASSIGN_OR_RETURN(tenon::client::ExternalReference reference, buffer.AcquireExternalReference());
  const void* const data = reference.data();
  return Held{data, std::move(reference)};
}

struct Exported {
  dlpack::ManagedTensor managed;
  std::vector<int64_t> dims, strides;
  tenon::client::ExternalReference reference;
};

template <class F>
tenon_status* WithBuffer(const char* function, const tenon_buffer* buffer, const void* out, F&& f) {
  return Guard(function, [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(buffer, out));
    return f(buffer->buffer);
  });
}

}  // namespace

//===--- From the host ---===//

tenon_status* tenon_buffer_from_host(const tenon_client* client, const tenon_device* device, const tenon_array* array,
                                     tenon_buffer** out) {
  return Guard("tenon_buffer_from_host", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(client, array, out));
    *out = nullptr;
    TENON_ASSIGN_OR_RETURN(const tenon::client::HostArray host, ToArray(*array));
    TENON_ASSIGN_OR_RETURN(const tenon::client::Device where, DeviceOr0(client, device));
    TENON_ASSIGN_OR_RETURN(Buffer buffer, client->client.ToDevice(host, where));
    *out = new tenon_buffer{std::move(buffer)};
    return OkStatus();
  });
}

tenon_status* tenon_buffer_from_host_view(const tenon_client* client, const tenon_device* device,
                                          const tenon_array* array, void (*release)(void*), void* context,
                                          tenon_buffer** out) {
  return Guard("tenon_buffer_from_host_view", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(client, array, out));
    *out = nullptr;
    TENON_ASSIGN_OR_RETURN(const tenon::client::HostArray host, ToArray(*array));
    auto handle = std::make_unique<tenon_buffer>();
    TENON_ASSIGN_OR_RETURN(handle->buffer, View(client, device, host, [release, context] {
                             if (release != nullptr) release(context);
                           }));
    *out = handle.release();
    return OkStatus();
  });
}

tenon_status* tenon_buffer_from_dlpack(const tenon_client* client, const tenon_device* device, void* managed_tensor,
                                       tenon_buffer** out) {
  return Guard("tenon_buffer_from_dlpack", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(client, managed_tensor, out));
    *out = nullptr;
    auto* const managed = static_cast<dlpack::ManagedTensor*>(managed_tensor);
    const dlpack::Tensor& tensor = managed->tensor;
    if (tensor.device.type != dlpack::kCpu) {
      return tenon::Unimplemented("the tensor must be in host memory (device type 1), got device type " +
                                  std::to_string(tensor.device.type));
    }
    if (tensor.rank < 0) return InvalidArgument("the tensor has the rank " + std::to_string(tensor.rank));
    TENON_ASSIGN_OR_RETURN(const tenon::DType dtype, dlpack::ToDType(tensor.dtype));
    const int64_t width = tenon::ByteWidth(dtype);
    std::vector<int64_t> byte_strides;
    for (int32_t i = 0; tensor.strides != nullptr && i < tensor.rank; ++i)
      byte_strides.push_back(tensor.strides[i] * width);
    const tenon_array array{
        tensor.data == nullptr ? nullptr : static_cast<const char*>(tensor.data) + tensor.byte_offset,
        static_cast<tenon_dtype>(dtype), static_cast<size_t>(tensor.rank), tensor.dims,
        tensor.strides == nullptr ? nullptr : byte_strides.data()};
    TENON_ASSIGN_OR_RETURN(tenon::client::HostArray host, ToArray(array));
    // Where strides say nothing new, plugins need not look at them.
    if (std::ranges::equal(host.byte_strides, tenon::RowMajorStridesElems(host.dims), {}, {},
                           [&](int64_t s) { return s * width; })) {
      host.byte_strides.clear();
    }
    auto handle = std::make_unique<tenon_buffer>();
    TENON_ASSIGN_OR_RETURN(handle->buffer, View(client, device, host, [managed] {
                             if (managed->deleter != nullptr) managed->deleter(managed);
                           }));
    *out = handle.release();
    return OkStatus();
  });
}

void tenon_buffer_free(tenon_buffer* buffer) { delete buffer; }

//===--- What a buffer is ---===//

tenon_status* tenon_buffer_dtype(const tenon_buffer* buffer, tenon_dtype* dtype) {
  return WithBuffer(__func__, buffer, dtype, [&](const Buffer& b) -> Status {
    *dtype = TENON_INVALID;
    TENON_ASSIGN_OR_RETURN(const tenon::DType type, b.dtype());
    *dtype = static_cast<tenon_dtype>(type);
    return OkStatus();
  });
}

tenon_status* tenon_buffer_dims(const tenon_buffer* buffer, int64_t* dims, size_t max_rank, size_t* rank) {
  return WithBuffer(__func__, buffer, rank, [&](const Buffer& b) -> Status {
    *rank = 0;
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> extents, b.dims());
    *rank = extents.size();
    if (dims != nullptr) std::copy_n(extents.begin(), std::min(max_rank, extents.size()), dims);
    return OkStatus();
  });
}

tenon_status* tenon_buffer_size(const tenon_buffer* buffer, size_t* bytes) {
  return WithBuffer(__func__, buffer, bytes, [&](const Buffer& b) -> Status {
    *bytes = 0;
    TENON_ASSIGN_OR_RETURN(const tenon::Shape shape, b.shape());
    *bytes = static_cast<size_t>(tenon::SizeBytes(shape));
    return OkStatus();
  });
}

tenon_status* tenon_buffer_device(const tenon_buffer* buffer, tenon_device** device) {
  return WithBuffer(__func__, buffer, device, [&](const Buffer& b) -> Status {
    *device = nullptr;
    TENON_ASSIGN_OR_RETURN(tenon::client::Device where, b.GetDevice());
    *device = new tenon_device{std::move(where)};
    return OkStatus();
  });
}

tenon_status* tenon_buffer_await(const tenon_buffer* buffer) {
  return WithBuffer(__func__, buffer, buffer, [&](const Buffer& b) { return b.Await(); });
}

tenon_status* tenon_buffer_ready_event(const tenon_buffer* buffer, tenon_event** event) {
  return WithBuffer(__func__, buffer, event, [&](const Buffer& b) -> Status {
    *event = nullptr;
    TENON_ASSIGN_OR_RETURN(tenon::client::Event ready, b.ReadyEvent());
    *event = new tenon_event{std::move(ready)};
    return OkStatus();
  });
}

tenon_status* tenon_buffer_is_deleted(const tenon_buffer* buffer, int* deleted) {
  return WithBuffer(__func__, buffer, deleted, [&](const Buffer& b) -> Status {
    *deleted = 0;
    TENON_ASSIGN_OR_RETURN(const bool is, b.IsDeleted());
    *deleted = is ? 1 : 0;
    return OkStatus();
  });
}

//===--- To the host ---===//

namespace {
Status CheckSize(const Buffer& buffer, const void* data, size_t size) {
  TENON_ASSIGN_OR_RETURN(const tenon::Shape shape, buffer.shape());
  const auto want = static_cast<size_t>(tenon::SizeBytes(shape));
  if (size != want)
    return InvalidArgument(ToString(shape) + " takes " + std::to_string(want) + " bytes, but there is room for " +
                           std::to_string(size));
  return size == 0 ? OkStatus() : NotNull(data);
}
}  // namespace

tenon_status* tenon_buffer_to_host(const tenon_buffer* buffer, void* data, size_t size) {
  return WithBuffer(__func__, buffer, buffer, [&](const Buffer& b) -> Status {
    TENON_RETURN_IF_ERROR(CheckSize(b, data, size));
    return b.CopyToHost(data, size);
  });
}

tenon_status* tenon_buffer_to_host_async(const tenon_buffer* buffer, void* data, size_t size, tenon_event** done) {
  return WithBuffer(__func__, buffer, done, [&](const Buffer& b) -> Status {
    *done = nullptr;
    TENON_RETURN_IF_ERROR(CheckSize(b, data, size));
    auto event = std::make_unique<tenon_event>();
    TENON_ASSIGN_OR_RETURN(event->event, b.CopyToHostAsync(data, size));
    *done = event.release();
    return OkStatus();
  });
}

tenon_status* tenon_buffer_hold(const tenon_buffer* buffer, const void** data, tenon_hold** hold) {
  return WithBuffer(__func__, buffer, hold, [&](const Buffer& b) -> Status {
    TENON_RETURN_IF_ERROR(NotNull(data));
    *data = nullptr;
    *hold = nullptr;
    TENON_ASSIGN_OR_RETURN(Held held, Hold(b));
    *hold = new tenon_hold{std::move(held.reference)};
    *data = held.data;
    return OkStatus();
  });
}
void tenon_hold_free(tenon_hold* hold) { delete hold; }

tenon_status* tenon_buffer_to_dlpack(const tenon_buffer* buffer, void** managed_tensor) {
  return WithBuffer(__func__, buffer, managed_tensor, [&](const Buffer& b) -> Status {
    *managed_tensor = nullptr;
    TENON_ASSIGN_OR_RETURN(const tenon::Shape shape, b.shape());
    TENON_ASSIGN_OR_RETURN(const dlpack::DataType dtype, dlpack::FromDType(shape.dtype));
    TENON_ASSIGN_OR_RETURN(Held held, Hold(b));
    const tenon::Dims strides = tenon::RowMajorStridesElems(shape.dims);
    auto exported = std::make_unique<Exported>(Exported{
        {}, {shape.dims.begin(), shape.dims.end()}, {strides.begin(), strides.end()}, std::move(held.reference)});
    dlpack::ManagedTensor& managed = exported->managed;
    managed.tensor = {const_cast<void*>(held.data),
                      {dlpack::kCpu, 0},
                      static_cast<int32_t>(shape.rank()),
                      dtype,
                      exported->dims.data(),
                      exported->strides.data(),
                      0};
    managed.deleter = [](dlpack::ManagedTensor* self) { delete static_cast<Exported*>(self->context); };
    managed.context = exported.get();
    *managed_tensor = &exported.release()->managed;
    return OkStatus();
  });
}

tenon_status* tenon_buffer_copy_to(const tenon_buffer* buffer, const tenon_device* device, tenon_buffer** copy) {
  return WithBuffer(__func__, buffer, copy, [&](const Buffer& b) -> Status {
    TENON_RETURN_IF_ERROR(NotNull(device));
    *copy = nullptr;
    auto handle = std::make_unique<tenon_buffer>();
    TENON_ASSIGN_OR_RETURN(handle->buffer, b.CopyTo(device->device));
    *copy = handle.release();
    return OkStatus();
  });
}

//===--- DLPack's types ---===//

namespace tenon::client_c::dlpack {
namespace {
struct Row {
  DType dtype;
  uint8_t code, bits;
};
// Codes: 0 signed, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool, from 7 the small floats by name.
constexpr Row kRows[] = {
    {DType::kS8, 0, 8},      {DType::kS16, 0, 16},          {DType::kS32, 0, 32},       {DType::kS64, 0, 64},
    {DType::kU8, 1, 8},      {DType::kU16, 1, 16},          {DType::kU32, 1, 32},       {DType::kU64, 1, 64},
    {DType::kF16, 2, 16},    {DType::kF32, 2, 32},          {DType::kF64, 2, 64},       {DType::kBF16, 4, 16},
    {DType::kC64, 5, 64},    {DType::kC128, 5, 128},        {DType::kPred, 6, 8},       {DType::kF8E3M4, 7, 8},
    {DType::kF8E4M3, 8, 8},  {DType::kF8E4M3B11FNUZ, 9, 8}, {DType::kF8E4M3FN, 10, 8},  {DType::kF8E4M3FNUZ, 11, 8},
    {DType::kF8E5M2, 12, 8}, {DType::kF8E5M2FNUZ, 13, 8},   {DType::kF8E8M0FNU, 14, 8},
};
}  // namespace

Result<DataType> FromDType(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return DataType{row.code, row.bits, 1};
  }
  return Unimplemented("DLPack has no type for arrays of " + std::string(DTypeName(dtype)) + ", one per byte");
}

Result<DType> ToDType(DataType type) {
  for (const Row& row : kRows) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  return Unimplemented("a tensor of DLPack's type code " + std::to_string(type.code) + " with " +
                       std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) + " lanes is not known");
}

}  // namespace tenon::client_c::dlpack
