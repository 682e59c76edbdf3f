#include <fmt/format.h>

#include "tenon/abi/tenon_output_memory.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/execute.h"

namespace tenon::plugin::bind {

TENON_BIND(PJRT_ExecuteContext_Create) {
  args.context = reinterpret_cast<PJRT_ExecuteContext*>(MakeRef<ExecuteContext>().release());
  return OkStatus();
}

TENON_BIND(PJRT_ExecuteContext_Destroy) {
  if (args.context != nullptr) FromC(args.context)->Release();
  return OkStatus();
}

namespace {

// Longer chains of extensions are circles: there are not so many types.
constexpr int kMaxExtensions = 1000;

// Reads the fields of the options that the caller's version has.
Status DecodeOptions(std::string_view fn, const PJRT_ExecuteOptions& o, const LoadedExecutable& executable,
                     size_t num_devices, ExecuteOptions& options) {
  constexpr size_t kOldest = OldestSize("PJRT_ExecuteOptions");
  if (o.struct_size < kOldest) {
    return InvalidArgument(
        fmt::format("Unexpected PJRT_ExecuteOptions size: expected at least {}, got {}", kOldest, o.struct_size));
  }
  if (o.num_send_ops != 0 || o.num_recv_ops != 0) {
    if (!executable.info().host_transfers) {
      return Unimplemented(fmt::format("{}: send and recv callbacks, and executable '{}' has no channels to the host",
                                       fn, executable.info().name));
    }
    const auto lists = [&](auto* const* per_device, size_t count, std::string_view field, auto& to) -> Status {
      if (count == 0) return OkStatus();
      for (size_t d = 0; d < num_devices; ++d) {
        if (per_device == nullptr || per_device[d] == nullptr) return NullArgument(fn, field);
      }
      to = {per_device, num_devices};
      return OkStatus();
    };
    TENON_RETURN_IF_ERROR(lists(o.send_callbacks, o.num_send_ops, "options->send_callbacks", options.sends));
    TENON_RETURN_IF_ERROR(lists(o.recv_callbacks, o.num_recv_ops, "options->recv_callbacks", options.recvs));
    options.num_sends = o.num_send_ops;
    options.num_recvs = o.num_recv_ops;
  }
  options.launch_id = o.launch_id;
  if (o.num_non_donatable_input_indices != 0) {
    if (o.non_donatable_input_indices == nullptr) return NullArgument(fn, "options->non_donatable_input_indices");
    options.non_donatable = {o.non_donatable_input_indices, o.num_non_donatable_input_indices};
  }
  if (TENON_HAS(o, context) && o.context != nullptr) options.context = FromC(o.context);
  if (TENON_HAS(o, call_location) && o.call_location != nullptr) options.call_location = o.call_location;
  if (TENON_HAS(o, num_hlo_output_callbacks) && o.num_hlo_output_callbacks != 0) {
    return Unimplemented(fmt::format("{}: HLO output callbacks are not supported", fn));
  }
  if (TENON_HAS(o, num_custom_options) && o.num_custom_options != 0) {
    TENON_ASSIGN_OR_RETURN(Options custom, DecodeNamedValues(o.custom_options, o.num_custom_options));
    TENON_RETURN_IF_ERROR(CheckOptions(std::move(custom), {}, "execute option").status());
  }
  return OkStatus();
}

}  // namespace

TENON_BIND(PJRT_LoadedExecutable_Execute) {
  TENON_REQUIRE(executable);
  LoadedExecutable& executable = *FromC(args.executable);
  ExecuteOptions options;
  if (args.options != nullptr)
    TENON_RETURN_IF_ERROR(DecodeOptions(fn, *args.options, executable, args.num_devices, options));
  int num_extensions = 0;
  for (const PJRT_Extension_Base* one = args.extension_start; one != nullptr; one = one->next) {
    if (++num_extensions > kMaxExtensions) {
      return InvalidArgument(
          fmt::format("{}: the chain of extensions of the arguments has no end, or more than {}", fn, kMaxExtensions));
    }
    if (static_cast<int>(one->type) != TENON_EXTENSION_TYPE_OUTPUT_MEMORY) continue;
    const auto* memory = reinterpret_cast<const Tenon_Output_Memory_Extension*>(one);
    if (memory->num_places != args.num_devices * executable.info().outputs.size()) {
      return InvalidArgument(fmt::format("{}: places for {} outputs of {} on {} devices", fn, memory->num_places,
                                         executable.info().outputs.size(), args.num_devices));
    }
    options.places = {memory->places, memory->num_places};
  }
  if (args.num_args != 0) TENON_REQUIRE_ARRAY(argument_lists, num_devices);  // Nothing to list: go-xla passes NULL.
  size_t num_outputs = executable.info().outputs.size();
  if (num_outputs != 0) TENON_REQUIRE_ARRAY(output_lists, num_devices);
  for (size_t d = 0; d < args.num_devices; ++d) {
    if (args.num_args != 0 && args.argument_lists[d] == nullptr) return NullArgument(fn, "argument_lists[i]");
    if (num_outputs != 0 && args.output_lists[d] == nullptr) return NullArgument(fn, "output_lists[i]");
  }

  ExecuteCall call(executable, options);
  TENON_RETURN_IF_ERROR(
      call.ChooseDevices(args.execute_device == nullptr ? nullptr : FromC(args.execute_device), args.num_devices));
  if (Status s = call.AddArguments(reinterpret_cast<Buffer* const* const*>(args.argument_lists), args.num_args);
      !s.ok()) {
    executable.Refused(s);
    return s;
  }
  TENON_RETURN_IF_ERROR(call.Run());
  for (size_t d = 0; d < args.num_devices; ++d) {
    DeviceExecution& device = call.devices()[d];
    for (size_t i = 0; i < num_outputs; ++i) args.output_lists[d][i] = ToC(std::move(device.outputs[i]));
    if (executable.has_effects()) device.done = device.device->CompletedInOrder(std::move(device.done));
    if (args.device_complete_events != nullptr) args.device_complete_events[d] = ToC(std::move(device.done));
  }
  return OkStatus();
}

}  // namespace tenon::plugin::bind
