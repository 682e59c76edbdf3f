#include "tenon/plugin/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tenon/base/contain.h"
#include "tenon/plugin/client.h"
#include "tenon/plugin/host_copy.h"

namespace tenon::plugin {

namespace {

bool IsAligned(const Storage& storage, DType type) {
  DType real = IsComplex(type) ? RealPartOf(type) : type;
  return reinterpret_cast<uintptr_t>(storage.data()) % static_cast<uintptr_t>(std::max(ByteWidth(real), 1)) == 0;
}

}  // namespace

Status ExecuteCall::ChooseDevices(Device* only, size_t num_devices) {
  if (executable_.is_deleted())
    return InvalidArgument(fmt::format("executable '{}' has been deleted", executable_.info().name));
  std::span<Device* const> all = executable_.addressable_devices();
  if (only != nullptr || executable_.portable()) {
    if (num_devices != 1) {
      return InvalidArgument(fmt::format("Execute on one device got arguments for {} devices, wanted 1", num_devices));
    }
    DeviceExecution execution;
    execution.device = only;
    if (!executable_.portable()) {
      auto it = std::find(all.begin(), all.end(), only);
      if (it == all.end()) {
        return InvalidArgument(
            fmt::format("executable '{}' is not loaded on device {}", executable_.info().name, only->to_string()));
      }
      const PJRT_LogicalDeviceIds& ids = executable_.logical_ids()[it - all.begin()];
      execution.replica = ids.replica;
      execution.partition = ids.partition;
    } else if (only != nullptr && (!executable_.client().Owns(only) || !only->is_addressable())) {
      return InvalidArgument(
          fmt::format("device {} is not an addressable device of the executable's client", only->to_string()));
    }
    devices_.push_back(std::move(execution));
    return OkStatus();
  }
  if (num_devices != all.size()) {
    return InvalidArgument(fmt::format("Execute got arguments for {} devices; executable '{}' is loaded on {}",
                                       num_devices, executable_.info().name, all.size()));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    DeviceExecution execution;
    execution.device = all[i];
    execution.replica = executable_.logical_ids()[i].replica;
    execution.partition = executable_.logical_ids()[i].partition;
    devices_.push_back(std::move(execution));
  }
  return OkStatus();
}

Status ExecuteCall::CheckArgument(const Device* device, const Buffer& buffer, size_t index) const {
  const ValueSpec& parameter = executable_.info().parameters[index];
  if (buffer.device() != device) [[unlikely]] {
    return InvalidArgument(
        fmt::format("Buffer passed to Execute() as argument {} is on device {}, but the executable runs on device {}",
                    index, buffer.device()->to_string(), device->to_string()));
  }
  // A token carries no data: whatever buffer stands for it will do.
  if (parameter.array.shape.dtype == DType::kToken) return OkStatus();
  if (buffer.shape() != parameter.array.shape) [[unlikely]] {
    return InvalidArgument(fmt::format("Argument {} of executable '{}': got {}, wanted {}", index,
                                       executable_.info().name, ToString(buffer.shape()),
                                       ToString(parameter.array.shape)));
  }
  return OkStatus();
}

Status ExecuteCall::AddArguments(Buffer* const* const* lists, size_t num_args) {
  // Of a program that runs on devices of other processes alone nothing is here, and callers give nothing.
  if (devices_.empty() && num_args == 0) return OkStatus();
  const std::vector<ValueSpec>& parameters = executable_.info().parameters;
  if (num_args != parameters.size()) {
    return InvalidArgument(fmt::format("Execution supplied {} buffers but compiled program expected {} buffers",
                                       num_args, parameters.size()));
  }
  num_args_ = num_args;
  size_t total = devices_.size() * num_args;
  for (size_t d = 0; d < devices_.size(); ++d) {
    // A portable executable whose device nobody named runs where its arguments are.
    if (devices_[d].device == nullptr && num_args != 0 && lists[d][0] != nullptr)
      devices_[d].device = lists[d][0]->device();
    if (devices_[d].device == nullptr) devices_[d].device = executable_.client().addressable_devices().front();
    for (size_t i = 0; i < num_args; ++i) {
      Buffer* buffer = lists[d][i];
      if (buffer == nullptr) return InvalidArgument(fmt::format("Execute: argument {} is NULL", i));
      TENON_RETURN_IF_ERROR(CheckArgument(devices_[d].device, *buffer, i));
      sources_.push_back(buffer);
      donates_ = donates_ || parameters[i].donated;
    }
  }
  arguments_.resize(total);
  // Readers first, so that a buffer that is also donated by this call is seen to be shared.
  for (size_t k = 0; k < total; ++k) {
    size_t i = k % std::max<size_t>(num_args, 1);
    if (parameters[i].donated && std::find(options_.non_donatable.begin(), options_.non_donatable.end(),
                                           static_cast<int64_t>(i)) == options_.non_donatable.end()) {
      arguments_[k].donated = true;
      continue;
    }
    Result<BufferUse> use = sources_[k]->Use();
    if (!use.ok()) [[unlikely]]
      return use.status().WithContext(fmt::format("Argument {}", i));
    arguments_[k].storage = std::move(use->storage);
    arguments_[k].ready = std::move(use->ready);
    arguments_[k].memory = sources_[k]->memory();
    if (use->promise) [[unlikely]] {
      promises_.resize(total);
      promises_[k] = std::move(use->promise);
    }
  }
  if (donates_) TENON_RETURN_IF_ERROR(Donate());
  for (size_t k = 0; k < total; ++k) {
    TENON_RETURN_IF_ERROR(ToExpectedForm(k, sources_[k]->spec()));
  }
  return OkStatus();
}

Status ExecuteCall::Donate() {
  for (size_t k = 0; k < arguments_.size(); ++k) {
    Argument& argument = arguments_[k];
    if (!argument.donated) continue;
    argument.donated = false;  // Until it is: the destructor gives back what was taken.
    Result<BufferUse> use = sources_[k]->Donate();
    if (!use.ok()) return use.status().WithContext(fmt::format("Donated argument {}", k % num_args_));
    argument.donated = true;
    argument.storage = std::move(use->storage);
    argument.ready = std::move(use->ready);
    argument.exclusive = use->exclusive;
    argument.memory = sources_[k]->memory();
    if (use->promise) {
      promises_.resize(arguments_.size());
      promises_[k] = std::move(use->promise);
    }
  }
  return OkStatus();
}

// Backends may rely on the alignment of an element, on the layout that they asked for, and on the form of elements
// narrower than a byte.
Status ExecuteCall::ToExpectedForm(size_t k, const ArraySpec& have) {
  Argument& argument = arguments_[k];
  size_t index = k % num_args_;
  const ArraySpec& wanted = executable_.info().parameters[index].array;
  if (wanted.shape.dtype == DType::kToken) return OkStatus();
  const bool same_layout = have.minor_to_major == wanted.minor_to_major || LieAlike(have, wanted);
  if (argument.storage == nullptr) {
    // A failed argument needs no form; a promise gets it once it is fulfilled.
    if (!argument.ready.failed()) defer_ = true;
    return OkStatus();
  }
  // What names memory that the host cannot address need not be an address.
  const bool addressable = argument.memory->host_accessible();
  const bool foreign = argument.storage->foreign_bytes() && NeedsNormalizing(wanted.shape.dtype);
  if (same_layout && !foreign && (!addressable || IsAligned(*argument.storage, wanted.shape.dtype))) [[likely]]
    return OkStatus();
  if (!argument.ready.succeeded()) {
    // One that failed is no reason to wait: Run looks for those first.
    defer_ = true;
    return OkStatus();
  }
  const auto size = static_cast<size_t>(SizeBytes(have.shape));
  TENON_ASSIGN_OR_RETURN(Ref<Storage> copy, argument.memory->Allocate(nullptr, size));
  const auto reorder = [to = DenseByteStrides(wanted), from = DenseByteStrides(have), shape = have.shape](
                           const Storage& dst, const Storage& src) {
    CopyStrided(dst.data(), {to.data(), to.size()}, src.data(), {from.data(), from.size()},
                {shape.dims.data(), shape.rank()}, ByteWidth(shape.dtype));
    NormalizeSubByte(shape.dtype, dst.data(), NumElements({shape.dims.data(), shape.rank()}));
  };
  if (addressable) {
    reorder(*copy, *argument.storage);
  } else {
    // Through the host. Nobody waits: this may be the thread that answers for the device.
    TENON_ASSIGN_OR_RETURN(Ref<Storage> in, AllocateHostStorage(size));
    TENON_ASSIGN_OR_RETURN(Ref<Storage> out, AllocateHostStorage(size));
    Ref<Event> done = Event::Make();
    argument.memory->Read(*argument.storage, 0, in->data(), size)
        .OnReady([reorder, in, out, copy, size, done, source = argument.storage,
                  memory = argument.memory](const Status& status) {
          if (!status.ok()) {
            done->Set(status);
            return;
          }
          reorder(*out, *in);
          memory->Write(*copy, 0, out->data(), size).OnReady([out, copy, done](const Status& s) { done->Set(s); });
        });
    argument.ready = EventRef(std::move(done));
  }
  argument.storage = std::move(copy);
  argument.exclusive = argument.donated;
  sources_[k] = nullptr;
  return OkStatus();
}

void ExecuteCall::Poison(const Status& error) {
  for (DeviceExecution& device : devices_) executable_.Fail(device, error);
}

// An execution that cannot even be handed to the backend before all its arguments are ready: its outputs are promises.
class ExecuteCall::Deferred {
 public:
  static void Start(ExecuteCall& call) {
    auto self = std::make_shared<Deferred>();
    self->executable_ = Ref<LoadedExecutable>(&call.executable_);
    self->context_ = Ref<ExecuteContext>(call.options_.context);
    self->launch_id_ = call.options_.launch_id;
    self->num_args_ = call.num_args_;
    const std::vector<ValueSpec>& specs = call.executable_.info().outputs;
    std::vector<EventRef> ready;
    for (DeviceExecution& device : call.devices_) {
      DeviceExecution later;
      later.device = device.device;
      later.replica = device.replica;
      later.partition = device.partition;
      later.transfers = std::move(device.transfers);
      self->devices_.push_back(std::move(later));
      self->done_.push_back(Event::Make());
      device.done = EventRef(self->done_.back());
      for (size_t i = 0; i < specs.size(); ++i) {
        device.outputs[i] =
            Buffer::MakePromise(device.device, call.executable_.OutputMemory(*device.device, i), specs[i].array);
        for (const Argument& argument : call.arguments_) device.outputs[i]->NoteWaitsFor(argument.ready);
        self->promised_.push_back(device.outputs[i]);
      }
    }
    for (size_t k = 0; k < call.arguments_.size(); ++k) {
      ready.push_back(call.arguments_[k].ready);
      self->arguments_.push_back(std::move(call.arguments_[k]));
      bool reformed = call.sources_[k] == nullptr;
      self->specs_.push_back(reformed ? call.executable_.info().parameters[k % call.num_args_].array
                                      : call.sources_[k]->spec());
      self->promises_.push_back(call.promises_.empty() ? Ref<Buffer>() : std::move(call.promises_[k]));
    }
    WhenAll(ready).OnReady([self](const Status& status) {
      Status scheduled =
          Contain("execute", [&] { self->executable_->client().Schedule([self, status] { self->Finish(status); }); });
      if (!scheduled.ok()) self->Fail(scheduled);
    });
  }

 private:
  void Finish(Status status) {
    status = Contain("execute", [&] { return Collect(status); });
    if (!status.ok()) Fail(status);
  }

  void Fail(const Status& status) {
    for (const Ref<Buffer>& output : promised_) (void)output->Fulfill(status);
    for (const Ref<Event>& done : done_) done->Set(status);
  }

  // Takes the arguments, whose promises are kept now, and starts the execution.
  Status Collect(Status status) {
    for (size_t k = 0; k < arguments_.size(); ++k) {
      if (promises_[k] == nullptr) continue;
      Result<BufferUse> use = promises_[k]->Collect(arguments_[k].donated);
      if (!use.ok()) {
        if (status.ok()) status = use.status();
        continue;
      }
      arguments_[k].storage = std::move(use->storage);
      arguments_[k].exclusive = use->exclusive;
    }
    return status.ok() ? Run() : status;
  }

  Status Run() {
    ExecuteCall call(
        *executable_,
        ExecuteOptions{.launch_id = launch_id_, .non_donatable = {}, .context = context_.get(), .call_location = {}});
    call.num_args_ = num_args_;
    for (DeviceExecution& device : devices_) call.devices_.push_back(std::move(device));
    for (size_t k = 0; k < arguments_.size(); ++k) {
      arguments_[k].ready = nullptr;
      call.arguments_.push_back(std::move(arguments_[k]));
      call.sources_.push_back(nullptr);
      TENON_RETURN_IF_ERROR(call.ToExpectedForm(k, specs_[k]));
    }
    TENON_RETURN_IF_ERROR(call.Run());
    for (size_t k = 0; k < promised_.size(); ++k) (void)promised_[k]->Fulfill(call.outputs_[k]->Use());
    for (size_t d = 0; d < done_.size(); ++d) {
      call.devices_[d].done.OnReady([done = done_[d]](const Status& s) { done->Set(s); });
    }
    return OkStatus();
  }

  Ref<LoadedExecutable> executable_;
  Ref<ExecuteContext> context_;
  int launch_id_ = 0;
  size_t num_args_ = 0;
  std::vector<DeviceExecution> devices_;
  std::vector<Argument> arguments_;
  std::vector<ArraySpec> specs_;
  std::vector<Ref<Buffer>> promises_;  // [device][argument]
  std::vector<Ref<Buffer>> promised_;  // [device][output]
  std::vector<Ref<Event>> done_;       // [device]
};

Status ExecuteCall::Run() {
  size_t num_outputs = executable_.info().outputs.size();
  outputs_.resize(devices_.size() * num_outputs);
  if (!options_.sends.empty() || !options_.recvs.empty()) [[unlikely]] {
    for (size_t d = 0; d < devices_.size(); ++d) {
      devices_[d].transfers =
          MakeRef<HostTransfers>(std::span<const PJRT_SendCallbackInfo>(
                                     options_.sends.empty() ? nullptr : options_.sends[d], options_.num_sends),
                                 std::span<const PJRT_RecvCallbackInfo>(
                                     options_.recvs.empty() ? nullptr : options_.recvs[d], options_.num_recvs));
    }
  }
  for (size_t d = 0; d < devices_.size(); ++d) {
    devices_[d].arguments = {arguments_.data() + d * num_args_, num_args_};
    devices_[d].outputs = {outputs_.data() + d * num_outputs, num_outputs};
    if (options_.places.size() == outputs_.size())
      devices_[d].places = options_.places.subspan(d * num_outputs, num_outputs);
  }
  std::vector<EventRef> pending;
  for (const Argument& argument : arguments_) {
    if (argument.ready.failed()) [[unlikely]] {
      started_ = true;
      Poison(argument.ready.status());
      return OkStatus();
    }
    if (argument.ready.waits_for_promises()) [[unlikely]]
      pending.push_back(argument.ready);
  }
  if (defer_) [[unlikely]] {
    started_ = true;
    Deferred::Start(*this);
    return OkStatus();
  }
  ExecuteRequest request{.devices = devices(),
                         .context = Ref<ExecuteContext>(options_.context),
                         .launch_id = options_.launch_id,
                         .call_location = options_.call_location};
  TENON_RETURN_IF_ERROR(executable_.Execute(request));
  started_ = true;
  for (const Ref<Buffer>& output : outputs_) {
    if (output == nullptr) [[unlikely]]
      return Internal(fmt::format("executable '{}' did not make all its outputs", executable_.info().name));
    for (const EventRef& event : pending) output->NoteWaitsFor(event);
  }
  return OkStatus();
}

ExecuteCall::~ExecuteCall() {
  if (started_) [[likely]]
    return;
  for (size_t k = 0; k < arguments_.size() && k < sources_.size(); ++k) {
    Argument& argument = arguments_[k];
    if (!argument.donated || sources_[k] == nullptr) continue;
    bool promise = !promises_.empty() && promises_[k] != nullptr;
    if (argument.storage == nullptr && !promise) continue;  // The backend kept it, or it had failed.
    BufferUse use;
    use.storage = std::move(argument.storage);
    if (promise) use.promise = std::move(promises_[k]);
    sources_[k]->UndoDonate(std::move(use));
  }
}

}  // namespace tenon::plugin
