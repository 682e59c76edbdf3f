// The part of LoadedExecutable that runs programs. One execution of a small program takes a few hundred nanoseconds in
// the plugin, so what happens here allocates nothing but the caller's results.
#include <fmt/format.h>

#include <array>

#include "tenon/abi/tenon_output_memory.h"
#include "tenon/client/executable.h"
#include "tenon/client/ffi.h"
#include "tenon/client/internal/callbacks.h"
#include "tenon/client/internal/client_state.h"

namespace tenon::client {
namespace {

constexpr size_t kInline = 16;

constexpr std::array<int64_t, 64> kCounting = [] {
  std::array<int64_t, 64> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  return numbers;
}();

// The arguments that an execution must leave alone.
class NonDonatable {
 public:
  NonDonatable(const Donate& donate, size_t num_arguments) {
    if (donate.all()) return;
    if (donate.only().empty() && num_arguments <= kCounting.size()) {
      indices_ = std::span(kCounting.data(), num_arguments);
      return;
    }
    std::vector<bool> donatable(num_arguments, false);
    for (int64_t i : donate.only()) donatable[static_cast<size_t>(i)] = true;
    for (size_t i = 0; i < num_arguments; ++i) {
      if (!donatable[i]) own_.push_back(static_cast<int64_t>(i));
    }
    indices_ = own_;
  }
  std::span<const int64_t> indices() const { return indices_; }

 private:
  std::span<const int64_t> indices_;
  std::vector<int64_t> own_;
};

Status CheckArguments(std::span<const Buffer* const> arguments, const internal::ClientState* client,
                      SmallVector<PJRT_Buffer*, kInline>& raw) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Buffer* const argument = arguments[i];
    if (argument == nullptr || argument->empty()) [[unlikely]] {
      return FailedPrecondition(fmt::format(
          "argument {} is {}", i,
          argument == nullptr ? "a null pointer" : "an empty Buffer: it was moved from, or never held anything"));
    }
    if (argument->client_state().get() != client) [[unlikely]] {
      return internal::CheckSameClient(client, argument->client_state().get(), fmt::format("argument {}", i).c_str());
    }
    raw.push_back(argument->get());
  }
  return OkStatus();
}

Status CheckOptions(const ExecuteOptions& options, size_t num_arguments, size_t num_devices,
                    const internal::ClientState* client) {
  for (int64_t i : options.donate.only()) {
    if (i < 0 || static_cast<size_t>(i) >= num_arguments) {
      return InvalidArgument(fmt::format("argument {} is to be donated; there are {}", i, num_arguments));
    }
  }
  if (options.device.has_value()) {
    TENON_RETURN_IF_ERROR(
        internal::CheckSameClient(client, options.device->client_state().get(), "the device to run on"));
  }
  for (const size_t lists : {options.send.size(), options.recv.size()}) {
    if (lists != 0 && lists != num_devices) {
      return InvalidArgument(fmt::format("{} lists of callbacks for {} devices", lists, num_devices));
    }
  }
  for (const auto& list : options.send) {
    if (list.size() != options.send.front().size())
      return InvalidArgument("devices have different numbers of send callbacks");
  }
  for (const auto& list : options.recv) {
    if (list.size() != options.recv.front().size())
      return InvalidArgument("devices have different numbers of recv callbacks");
  }
  return OkStatus();
}

// `events` may be null; with callbacks it must not be.
Status Run(const Api& api, PJRT_LoadedExecutable* loaded, const ExecuteOptions& options, size_t num_devices,
           size_t num_arguments, PJRT_Buffer* const* const* arguments, PJRT_Buffer** const* outputs,
           PJRT_Event** events, internal::TransferCallbacks* callbacks) {
  const NonDonatable keep(options.donate, num_arguments);
  PJRT_ExecuteOptions c{};
  c.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  c.launch_id = options.launch_id;
  c.non_donatable_input_indices = keep.indices().data();
  c.num_non_donatable_input_indices = keep.indices().size();
  c.use_major_to_minor_data_layout_for_callbacks = true;
  if (options.context != nullptr) c.context = options.context->get();
  if (!options.call_location.empty()) c.call_location = options.call_location.c_str();
  std::vector<PJRT_NamedValue> custom;
  if (!options.custom.values().empty()) {
    custom = ToC(options.custom.values());
    c.custom_options = custom.data();
    c.num_custom_options = custom.size();
  }
  if (callbacks != nullptr) callbacks->FillIn(c);
  auto args = MakeArgs<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = loaded;
  args.options = &c;
  args.argument_lists = arguments;
  args.num_devices = num_devices;
  args.num_args = num_arguments;
  args.output_lists = outputs;
  args.device_complete_events = events;
  if (options.device.has_value()) args.execute_device = options.device->get();
  Tenon_Output_Memory_Extension memory{
      .base = {.struct_size = Tenon_Output_Memory_Extension_STRUCT_SIZE,
               .type = static_cast<PJRT_Extension_Type>(TENON_EXTENSION_TYPE_OUTPUT_MEMORY),
               .next = nullptr},
      .places = options.output_memory.data(),
      .num_places = options.output_memory.size()};
  if (!options.output_memory.empty()) args.extension_start = &memory.base;
  return api.Call(args);
}

bool HasCallbacks(const ExecuteOptions& options) { return !options.send.empty() || !options.recv.empty(); }

}  // namespace

Status LoadedExecutable::ExecuteInto(std::span<const Buffer* const> arguments, std::span<Buffer> outputs,
                                     const ExecuteOptions& options, Event* done) const {
  TENON_RETURN_IF_ERROR(Check());
  if (devices_.size() != 1 && !options.device.has_value()) {
    return FailedPrecondition(
        fmt::format("the program runs on {} devices of this process; use ExecuteOnDevices", devices_.size()));
  }
  if (outputs.size() != num_outputs_) {
    return InvalidArgument(fmt::format("room for {} outputs of a program that has {}", outputs.size(), num_outputs_));
  }
  TENON_RETURN_IF_ERROR(CheckOptions(options, arguments.size(), 1, client_.get()));
  SmallVector<PJRT_Buffer*, kInline> raw;
  TENON_RETURN_IF_ERROR(CheckArguments(arguments, client_.get(), raw));
  SmallVector<PJRT_Buffer*, kInline> results(num_outputs_, nullptr);
  PJRT_Buffer* const* const argument_list = raw.data();
  PJRT_Buffer** const output_list = results.data();
  PJRT_Event* event = nullptr;
  std::shared_ptr<internal::TransferCallbacks> callbacks;
  if (HasCallbacks(options)) callbacks = std::make_shared<internal::TransferCallbacks>(client_->api, options);
  const bool want_event = done != nullptr || callbacks != nullptr;
  TENON_RETURN_IF_ERROR(Run(*client_->api, loaded_, options, 1, arguments.size(), &argument_list, &output_list,
                            want_event ? &event : nullptr, callbacks.get()));
  for (size_t i = 0; i < num_outputs_; ++i) outputs[i] = Buffer(client_, results[i]);
  if (want_event) {
    Event completion(client_->api, event);
    if (callbacks != nullptr) completion.Keep(std::move(callbacks));
    if (done != nullptr) *done = std::move(completion);
  }
  return OkStatus();
}

Result<std::vector<Buffer>> LoadedExecutable::Execute(std::span<const Buffer* const> arguments,
                                                      const ExecuteOptions& options) const {
  std::vector<Buffer> outputs(num_outputs_);
  TENON_RETURN_IF_ERROR(ExecuteInto(arguments, outputs, options));
  return outputs;
}

Result<Execution> LoadedExecutable::ExecuteOnDevices(std::span<const std::vector<const Buffer*>> arguments,
                                                     const ExecuteOptions& options) const {
  TENON_RETURN_IF_ERROR(Check());
  const size_t num_devices = options.device.has_value() ? 1 : devices_.size();
  if (arguments.size() != num_devices) {
    return InvalidArgument(
        fmt::format("arguments for {} devices; the program runs on {}", arguments.size(), num_devices));
  }
  const size_t num_arguments = arguments.empty() ? 0 : arguments.front().size();
  for (size_t d = 0; d < num_devices; ++d) {
    if (arguments[d].size() != num_arguments) {
      return InvalidArgument(
          fmt::format("{} arguments for device {} and {} for device 0", arguments[d].size(), d, num_arguments));
    }
  }
  TENON_RETURN_IF_ERROR(CheckOptions(options, num_arguments, num_devices, client_.get()));
  std::vector<SmallVector<PJRT_Buffer*, kInline>> raw(num_devices);
  std::vector<PJRT_Buffer* const*> argument_lists;
  std::vector<std::vector<PJRT_Buffer*>> results(num_devices, std::vector<PJRT_Buffer*>(num_outputs_));
  std::vector<PJRT_Buffer**> output_lists;
  for (size_t d = 0; d < num_devices; ++d) {
    const Status status = CheckArguments(arguments[d], client_.get(), raw[d]);
    if (!status.ok()) return status.WithContext(fmt::format("device {}", d));
    argument_lists.push_back(raw[d].data());
    output_lists.push_back(results[d].data());
  }
  std::shared_ptr<internal::TransferCallbacks> callbacks;
  if (HasCallbacks(options)) callbacks = std::make_shared<internal::TransferCallbacks>(client_->api, options);
  std::vector<PJRT_Event*> events(options.want_done_events || callbacks != nullptr ? num_devices : 0, nullptr);
  TENON_RETURN_IF_ERROR(Run(*client_->api, loaded_, options, num_devices, num_arguments, argument_lists.data(),
                            output_lists.data(), events.empty() ? nullptr : events.data(), callbacks.get()));
  Execution execution;
  for (size_t d = 0; d < num_devices; ++d) {
    auto& outputs = execution.outputs.emplace_back();
    for (PJRT_Buffer* buffer : results[d]) outputs.emplace_back(client_, buffer);
  }
  for (PJRT_Event* event : events) execution.done.emplace_back(client_->api, event);
  if (callbacks != nullptr) {
    for (const Event& event : execution.done) event.Keep(callbacks);
  }
  if (!options.want_done_events) execution.done.clear();
  return execution;
}

}  // namespace tenon::client
