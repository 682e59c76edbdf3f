#include "tenon/client/layouts.h"

#include "tenon/client/client.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/extension.h"
#include "tenon/client/internal/layouts.h"

#define TENON_CALL_LAYOUTS(api, Function, args) \
  TENON_CALL_EXTENSION((api), PJRT_Extension_Type_Layouts, PJRT_Layouts_Extension, Function, (args))

namespace tenon::client {

Result<std::string> internal::LayoutText(const Api& api, PJRT_Layouts_MemoryLayout* layout) {
  PJRT_Layouts_MemoryLayout_Serialize_Args args{};
  args.struct_size = PJRT_Layouts_MemoryLayout_Serialize_Args_STRUCT_SIZE;
  args.layout = layout;
  TENON_RETURN_IF_ERROR(TENON_CALL_LAYOUTS(api, PJRT_Layouts_MemoryLayout_Serialize, args));
  std::string text = Text(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_layout_deleter != nullptr) args.serialized_layout_deleter(args.serialized_layout);
  return text;
}

namespace {
// The text of a layout that is ours to free.
Result<std::string> TakeLayout(const Api& api, PJRT_Layouts_MemoryLayout* layout) {
  Result<std::string> text = internal::LayoutText(api, layout);
  PJRT_Layouts_MemoryLayout_Destroy_Args args{};
  args.struct_size = PJRT_Layouts_MemoryLayout_Destroy_Args_STRUCT_SIZE;
  args.layout = layout;
  TENON_RETURN_IF_ERROR(TENON_CALL_LAYOUTS(api, PJRT_Layouts_MemoryLayout_Destroy, args));
  return text;
}
}  // namespace

Result<std::string> BufferLayout(const Buffer& buffer) {
  if (buffer.empty()) return FailedPrecondition("BufferLayout: the Buffer is empty");
  const Api& api = *buffer.client_state()->api;
  PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args args{};
  args.struct_size = PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args_STRUCT_SIZE;
  args.buffer = buffer.get();
  TENON_RETURN_IF_ERROR(TENON_CALL_LAYOUTS(api, PJRT_Layouts_PJRT_Buffer_MemoryLayout, args));
  return TakeLayout(api, args.layout);
}

namespace {
// `args` name whose default is asked, `call` is the entry that knows it.
template <class Args, class Call>
Result<std::string> AskDefault(const Api& api, Args args, const Shape& shape, Call call) {
  TENON_RETURN_IF_ERROR(internal::CheckShape(api, shape.dtype, shape.dims.data(), shape.dims.size()));
  args.type = static_cast<PJRT_Buffer_Type>(shape.dtype);
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  TENON_RETURN_IF_ERROR(call(args));
  return TakeLayout(api, args.layout);
}
}  // namespace

Result<std::string> DefaultLayout(const Client& client, const Shape& shape) {
  TENON_RETURN_IF_ERROR(internal::CheckOpen(client.state()));
  PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args args{};
  args.struct_size = PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args_STRUCT_SIZE;
  args.client = client.get();
  return AskDefault(client.api(), args, shape, [&](auto& a) {
    return TENON_CALL_LAYOUTS(client.api(), PJRT_Layouts_PJRT_Client_GetDefaultLayout, a);
  });
}

Result<std::string> DefaultLayout(const Topology& topology, const Shape& shape) {
  PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args args{};
  args.struct_size = PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args_STRUCT_SIZE;
  args.topology_description = topology.get();
  return AskDefault(topology.api(), args, shape, [&](auto& a) {
    return TENON_CALL_LAYOUTS(topology.api(), PJRT_Layouts_PJRT_Topology_GetDefaultLayout, a);
  });
}

}  // namespace tenon::client
