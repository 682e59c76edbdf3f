// Arrays between the processes of a job, by keys. The interface with descriptors is there to say that it is not served.

#include <fmt/format.h>

#include <vector>

#include "tenon/abi/pjrt_cross_host_transfers.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/host_copy.h"

namespace tenon::plugin::bind {

namespace {

// The arrays of these fields grew in the extension's version 8; what they say is not needed.
constexpr size_t kOldestSend = offsetof(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args, num_tasks);
constexpr size_t kOldestReceive = offsetof(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args, num_tasks);

template <class Args>
Status CheckTasks(std::string_view fn, const Args& args) {
  if (!TENON_HAS(args, incarnation_ids) || args.num_tasks == 0) return OkStatus();
  if (args.task_ids == nullptr) return NullArgument(fn, "task_ids");
  return args.incarnation_ids == nullptr ? NullArgument(fn, "incarnation_ids") : OkStatus();
}

Status Send(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args& args, std::string_view fn) {
  TENON_REQUIRE(client);
  TENON_REQUIRE_ARRAY(buffers, num_buffers);
  TENON_REQUIRE_ARRAY(dst_global_device_ids, num_buffers);
  TENON_REQUIRE_ARRAY(transfer_keys, num_buffers);
  TENON_REQUIRE_ARRAY(send_events, num_buffers);
  TENON_RETURN_IF_ERROR(CheckTasks(fn, args));
  for (size_t i = 0; i < args.num_buffers; ++i) {
    if (args.buffers[i] == nullptr) return InvalidArgument(fmt::format("{}: buffers[{}] is NULL", fn, i));
  }
  // Nothing fails from here on but through an event: what was begun cannot be taken back.
  for (size_t i = 0; i < args.num_buffers; ++i) {
    args.send_events[i] = ToC(
        FromC(args.client)
            ->SendToProcess(Ref<Buffer>(FromC(args.buffers[i])), args.dst_global_device_ids[i], args.transfer_keys[i]));
  }
  return OkStatus();
}

Status Receive(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args& args, std::string_view fn) {
  TENON_REQUIRE(client);
  TENON_REQUIRE(device);
  TENON_REQUIRE_ARRAY(shape_num_dims, num_shapes);
  TENON_REQUIRE_ARRAY(num_dims, num_shapes);
  TENON_REQUIRE_ARRAY(element_types, num_shapes);
  TENON_REQUIRE_ARRAY(src_global_device_ids, num_shapes);
  TENON_REQUIRE_ARRAY(transfer_keys, num_shapes);
  TENON_REQUIRE_ARRAY(buffers, num_shapes);
  TENON_RETURN_IF_ERROR(CheckTasks(fn, args));
  TENON_ASSIGN_OR_RETURN(const Placement to, ResolvePlacement(fn, *FromC(args.client), args.device, nullptr));
  std::vector<ArraySpec> specs;
  for (size_t i = 0; i < args.num_shapes; ++i) {
    TENON_ASSIGN_OR_RETURN(ArraySpec spec,
                           MakeSpec(fn, CallerValue(args.element_types[i]), args.num_dims[i], args.shape_num_dims[i],
                                    args.layouts == nullptr ? nullptr : args.layouts[i]));
    specs.push_back(std::move(spec));
  }
  std::vector<Ref<Buffer>> buffers;
  for (size_t i = 0; i < args.num_shapes; ++i) {
    TENON_ASSIGN_OR_RETURN(
        Ref<Buffer> buffer,
        FromC(args.client)
            ->ReceiveFromProcess(std::move(specs[i]), to.device, args.src_global_device_ids[i], args.transfer_keys[i]));
    // The other process may have sent the bytes of one that has such, and nobody says so.
    if (NeedsNormalizing(buffer->shape().dtype)) buffer->NoteForeignBytes();
    buffers.push_back(std::move(buffer));
  }
  for (size_t i = 0; i < args.num_shapes; ++i) args.buffers[i] = ToC(std::move(buffers[i]));
  return OkStatus();
}

PJRT_Error* SendBuffers(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args* args) {
  return Guard<Send>("PJRT_Transfers_PJRT_Client_CrossHostSendBuffers", kOldestSend, args);
}

PJRT_Error* ReceiveBuffers(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args* args) {
  return Guard<Receive>("PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers", kOldestReceive, args);
}

Status NoDescriptors() {
  return Unimplemented(
      "transfers between processes by descriptors: CrossHostSendBuffers and CrossHostReceiveBuffers do");
}

PJRT_Error* MakeReceiveBuffers(PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args*) {
  return ToCError(NoDescriptors());
}

// What it is given is its own, whatever comes of it.
void CopyToRemoteDevice(PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args* args) {
  if (args == nullptr) return;
  const auto event = Ref<Event>::Adopt(args->event == nullptr ? nullptr : FromC(args->event));
  if (args->on_done.on_done != nullptr) args->on_done.on_done(ToCError(NoDescriptors()), false, args->on_done.user_arg);
  if (args->descriptor_destructor != nullptr)
    args->descriptor_destructor(args->serialized_descriptor, args->serialized_descriptor_size);
}

}  // namespace

PJRT_Extension_Base* CrossHostTransfersExtension(PJRT_Extension_Base* next) {
  if (!ThePlugin().has_cross_host_transfers()) return next;
  static PJRT_CrossHostTransfers_Extension extension = {
      .base = {.struct_size = PJRT_CrossHostTransfers_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_CrossHostTransfers,
               .next = next},
      .PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers = MakeReceiveBuffers,
      .PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice = CopyToRemoteDevice,
      .PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers = ReceiveBuffers,
      .PJRT_Transfers_PJRT_Client_CrossHostSendBuffers = SendBuffers,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
