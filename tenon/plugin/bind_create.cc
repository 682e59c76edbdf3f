#include <fmt/format.h>

#include "tenon/plugin/bind.h"
#include "tenon/plugin/host_copy.h"
#include "tenon/plugin/transfers.h"

namespace tenon::plugin::bind {

Result<Placement> ResolvePlacement(std::string_view function, Client& client, PJRT_Device* c_device,
                                   PJRT_Memory* c_memory) {
  Device* device = c_device == nullptr ? nullptr : FromC(c_device);
  Memory* memory = c_memory == nullptr ? nullptr : FromC(c_memory);
  if (device == nullptr && memory == nullptr) {
    return InvalidArgument(fmt::format("{}: neither memory nor device is given", function));
  }
  if ((device != nullptr && !client.Owns(device)) || (memory != nullptr && !client.Owns(memory))) {
    return InvalidArgument(fmt::format("{}: the device or memory belongs to another client", function));
  }
  if (memory == nullptr) memory = device->default_memory();
  if (memory == nullptr || memory->devices().empty()) {
    return InvalidArgument(fmt::format("{}: device {} is not addressable", function,
                                       device == nullptr ? "of the memory" : device->to_string()));
  }
  if (device == nullptr) return Placement{memory->devices().front(), memory};
  for (Device* d : memory->devices()) {
    if (d == device) return Placement{device, memory};
  }
  return InvalidArgument(
      fmt::format("{}: device {} cannot reach {}", function, device->to_string(), memory->debug_string()));
}

Result<Dims> DecodeLayout(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape) {
  ArraySpec spec{.shape = shape};
  if (layout == nullptr) return Dims();
  const int type = CallerValue(layout->type);
  if (type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    return InvalidArgument("PJRT_Buffer_MemoryLayout_Type_Strides is not supported to be converted to a layout");
  }
  if (type != PJRT_Buffer_MemoryLayout_Type_Tiled) {
    return InvalidArgument(fmt::format("unknown memory layout type {}", type));
  }
  const PJRT_Buffer_MemoryLayout_Tiled& tiled = layout->tiled;
  if (tiled.num_tiles != 0)
    return InvalidArgument(fmt::format("tiled layouts are not supported, got {} tiles", tiled.num_tiles));
  if (tiled.minor_to_major_size != shape.rank() || (shape.rank() != 0 && tiled.minor_to_major == nullptr)) {
    return InvalidArgument(fmt::format("minor_to_major names {} dimensions, {} has {}", tiled.minor_to_major_size,
                                       ToString(shape), shape.rank()));
  }
  spec.minor_to_major = Dims(tiled.minor_to_major, tiled.minor_to_major + shape.rank());
  TENON_RETURN_IF_ERROR(NormalizeLayout(spec));
  return spec.minor_to_major;
}

Result<ArraySpec> MakeSpec(std::string_view fn, int type, const int64_t* dims, size_t num_dims,
                           const PJRT_Buffer_MemoryLayout* layout) {
  Result<Shape> shape = MakeShape(type, dims, num_dims);
  if (!shape.ok()) return shape.status().WithContext(fn);
  Result<Dims> order = DecodeLayout(layout, *shape);
  if (!order.ok()) return order.status().WithContext(fn);
  return ArraySpec{.shape = std::move(*shape), .minor_to_major = std::move(*order)};
}

namespace {

// Whether a caller can have an array of so many bytes. Without a copy nobody reads it before somebody asks.
Status CheckAddressable(std::string_view fn, int64_t size_bytes) {
  constexpr int64_t kAddresses = int64_t{1} << 47;  // That a process has on the hosts of today.
  if (size_bytes < kAddresses) return OkStatus();
  return InvalidArgument(fmt::format("{}: {} bytes are more than there are addresses", fn, size_bytes));
}

}  // namespace

TENON_BIND(PJRT_Client_BufferFromHostBuffer) {
  TENON_REQUIRE(client);
  TENON_ASSIGN_OR_RETURN(ArraySpec spec,
                         MakeSpec(fn, CallerValue(args.type), args.dims, args.num_dims, args.device_layout));
  HostArray array{.data = args.data, .shape = spec.shape, .byte_strides = {}};
  if (args.num_byte_strides != 0) {
    TENON_REQUIRE(byte_strides);
    if (args.num_byte_strides != args.num_dims) {
      return InvalidArgument(
          fmt::format("{}: got {} byte strides for {} dimensions", fn, args.num_byte_strides, args.num_dims));
    }
    array.byte_strides = {args.byte_strides, args.num_byte_strides};
  }
  if (SizeBytes(spec.shape) != 0) TENON_REQUIRE(data);
  TENON_RETURN_IF_ERROR(CheckAddressable(fn, SizeBytes(spec.shape)));
  const int semantics = CallerValue(args.host_buffer_semantics);
  if (static_cast<unsigned>(semantics) > PJRT_HostBufferSemantics_kMutableZeroCopy) {
    return InvalidArgument(fmt::format("{}: unknown host_buffer_semantics {}", fn, semantics));
  }
  TENON_ASSIGN_OR_RETURN(Placement to, ResolvePlacement(fn, *FromC(args.client), args.device, args.memory));
  TENON_ASSIGN_OR_RETURN(Upload upload, UploadArray(to.device, to.memory, array, std::move(spec.minor_to_major),
                                                    static_cast<HostSemantics>(semantics)));
  args.done_with_host_buffer = ToC(std::move(upload.done));
  args.buffer = ToC(std::move(upload.buffer));
  return OkStatus();
}

TENON_BIND(PJRT_Client_CreateUninitializedBuffer) {
  TENON_REQUIRE(client);
  TENON_ASSIGN_OR_RETURN(ArraySpec spec, MakeSpec(fn, CallerValue(args.shape_element_type), args.shape_dims,
                                                  args.shape_num_dims, args.shape_layout));
  TENON_ASSIGN_OR_RETURN(Placement to, ResolvePlacement(fn, *FromC(args.client), args.device, args.memory));
  TENON_ASSIGN_OR_RETURN(Ref<Storage> storage,
                         to.memory->Allocate(to.device, static_cast<size_t>(SizeBytes(spec.shape))));
  args.buffer = ToC(Buffer::Make(to.device, to.memory, std::move(spec), std::move(storage)));
  return OkStatus();
}

TENON_BIND(PJRT_Client_CreateErrorBuffer) {
  TENON_REQUIRE(client);
  PJRT_Buffer_MemoryLayout* layout = args.shape_layout;
  if (TENON_HAS(args, device_layout) && args.device_layout != nullptr) layout = args.device_layout;
  TENON_ASSIGN_OR_RETURN(
      ArraySpec spec, MakeSpec(fn, CallerValue(args.shape_element_type), args.shape_dims, args.shape_num_dims, layout));
  Status error;
  TENON_RETURN_IF_ERROR(TakeFailure(fn, args, error));
  TENON_ASSIGN_OR_RETURN(Placement to, ResolvePlacement(fn, *FromC(args.client), nullptr, args.memory));
  args.buffer = ToC(Buffer::MakeError(to.device, to.memory, std::move(spec), std::move(error)));
  return OkStatus();
}

// A PJRT_FulfillAliasBufferCallback is a reference to the promised buffer.
TENON_BIND(PJRT_Client_CreateAliasBuffer) {
  TENON_REQUIRE(client);
  TENON_ASSIGN_OR_RETURN(ArraySpec spec, MakeSpec(fn, CallerValue(args.shape_element_type), args.shape_dims,
                                                  args.shape_num_dims, args.shape_layout));
  TENON_ASSIGN_OR_RETURN(Placement to, ResolvePlacement(fn, *FromC(args.client), nullptr, args.memory));
  Ref<Buffer> promise = Buffer::MakePromise(to.device, to.memory, std::move(spec));
  args.fulfill_alias_buffer_cb = reinterpret_cast<PJRT_FulfillAliasBufferCallback*>(Ref<Buffer>(promise).release());
  args.alias_buffer = ToC(std::move(promise));
  return OkStatus();
}

TENON_BIND(PJRT_Client_FulfillAliasBuffer) {
  TENON_REQUIRE(client);
  TENON_REQUIRE(fulfill_alias_buffer_cb);
  // Consumed whatever happens; every way out must complete the promise.
  Ref<Buffer> promise = Ref<Buffer>::Adopt(reinterpret_cast<Buffer*>(args.fulfill_alias_buffer_cb));
  Status status = StatusFromC(CallerValue(args.status_code), args.error_message, args.error_message_size);
  if (!status.ok()) {
    (void)promise->Fulfill(status);
    return OkStatus();
  }
  const auto refuse = [&promise](const Status& error) {
    (void)promise->Fulfill(error);
    return error;
  };
  if (args.buffer == nullptr) return refuse(NullArgument(fn, "buffer"));
  Buffer& buffer = *FromC(args.buffer);
  if (&buffer == promise.get()) {
    return refuse(InvalidArgument(fmt::format("{}: a promise cannot be kept with itself", fn)));
  }
  if (buffer.spec() != promise->spec()) {
    return refuse(InvalidArgument(fmt::format("{}: the buffer is {}, {} was promised", fn, ToString(buffer.shape()),
                                              ToString(promise->shape()))));
  }
  Result<BufferUse> contents = buffer.Use();
  if (!contents.ok()) return refuse(contents.status());
  return promise->Fulfill(std::move(contents)).WithContext(fn);
}

TENON_BIND(PJRT_Client_CreateViewOfDeviceBuffer) {
  TENON_REQUIRE(client);
  TENON_ASSIGN_OR_RETURN(ArraySpec spec,
                         MakeSpec(fn, CallerValue(args.element_type), args.dims, args.num_dims, args.layout));
  size_t size = static_cast<size_t>(SizeBytes(spec.shape));
  if (size != 0) TENON_REQUIRE(device_buffer_ptr);
  TENON_RETURN_IF_ERROR(CheckAddressable(fn, SizeBytes(spec.shape)));
  if (args.stream != 0) return Unimplemented(fmt::format("{}: streams are not supported", fn));
  PJRT_Memory* memory = TENON_HAS(args, memory) ? args.memory : nullptr;
  // The memory wins when both are given.
  TENON_ASSIGN_OR_RETURN(Placement to,
                         ResolvePlacement(fn, *FromC(args.client), memory == nullptr ? args.device : nullptr, memory));
  std::function<void()> on_delete;
  if (args.on_delete_callback != nullptr) {
    on_delete = [callback = args.on_delete_callback, data = args.device_buffer_ptr, arg = args.on_delete_callback_arg] {
      callback(data, arg);
    };
  }
  TENON_ASSIGN_OR_RETURN(Ref<Storage> view, to.memory->Wrap(args.device_buffer_ptr, size, std::move(on_delete)));
  // The caller's bytes stay as they are, and may change.
  if (NeedsNormalizing(spec.shape.dtype)) view->NoteForeignBytes();
  args.buffer = ToC(Buffer::Make(to.device, to.memory, std::move(spec), std::move(view)));
  return OkStatus();
}

}  // namespace tenon::plugin::bind
