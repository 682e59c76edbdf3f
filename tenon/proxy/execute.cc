// Executions: outputs are made at once, the request is sent without waiting, and the outcome sets the events.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/proxy/callbacks.h"
#include "tenon/proxy/program.h"

namespace tenon::proxy {

using plugin::Argument;
using plugin::Buffer;
using plugin::DeviceExecution;
using plugin::Event;
using plugin::EventRef;
using plugin::ExecuteRequest;
using plugin::Memory;
using plugin::Ref;

namespace {

struct OneDevice {
  SmallVector<Ref<ArrayStorage>, 4> arguments;
  SmallVector<Ref<ArrayStorage>, 2> outputs;
  Ref<Event> done;
  std::shared_ptr<DeviceCallbacks> callbacks;  // null: there are none
  wire::DeviceRun message;
  bool complete = false;

  // The execution is over here.
  void Finish(const Status& outcome) {
    complete = true;
    if (callbacks != nullptr)
      callbacks->Finish(outcome);
    else
      done->Set(outcome);
  }
};

// An execution from the call to its outcome; keeps what it reads and writes.
class Execution final : public session::PendingExecution {
 public:
  Execution(Ref<plugin::LoadedExecutable> executable, std::shared_ptr<RemoteProgram> program,
            const ExecuteRequest& request)
      : executable_(std::move(executable)),
        program_(std::move(program)),
        context_(request.context),
        launch_id_(request.launch_id) {}

  SmallVector<OneDevice, 1>& devices() { return devices_; }
  wire::Execute& message() { return message_; }

  // Sends the request. From here on the outcome comes through the events.
  static void Send(std::shared_ptr<Execution> self, const std::shared_ptr<Session>& session) {
    const uint64_t home = session->home();
    SmallVector<Ref<ArrayStorage>, 4> outputs;
    for (OneDevice& device : self->devices_) {
      for (const Ref<ArrayStorage>& storage : device.arguments) {
        if (storage->block().piece != nullptr) session->Announce(storage->block().piece);
        storage->NoteKnownTo(home);
      }
      for (const Ref<ArrayStorage>& storage : device.outputs) {
        if (storage->block().piece != nullptr) session->Announce(storage->block().piece);
        outputs.push_back(storage);
      }
      self->message_.devices.push_back(std::move(device.message));
    }
    self->message_.executable = self->program_->number();
    self->message_.launch_id = self->launch_id_;
    thread_local std::string bytes;
    wire::EncodeTo(self->message_, bytes);
    self->message_.devices.clear();
    wire::Callbacks callbacks;
    for (const OneDevice& device : self->devices_) {
      if (device.callbacks != nullptr) callbacks.devices.push_back(device.callbacks->channels());
    }
    const uint64_t number = session->Register(std::move(self));
    if (number == 0) return;
    if (!callbacks.devices.empty()) [[unlikely]]
      session->Post(wire::Verb::kCallbacks, number, wire::Encode(callbacks));
    session->Post(wire::Verb::kExecute, number, bytes);
    // Not before: where an execution had to wait for its arguments, another thread may already have one that reads its
    // outputs, whose request must not overtake this one.
    for (const Ref<ArrayStorage>& storage : outputs) storage->NoteKnownTo(home);
  }

  Status Complete(const wire::Executed& message) override {
    if (message.device >= devices_.size() || devices_[message.device].complete)
      return DataLoss(fmt::format("an outcome for device {} of an execution", message.device));
    OneDevice& device = devices_[message.device];
    if (message.error.code == 0 && message.places.size() != device.outputs.size())
      return DataLoss("an outcome with another number of outputs");
    if (message.error.code == 0) ShareMemory(device, message.places);
    for (size_t i = 0; i < device.outputs.size() && i < message.values.size(); ++i) {
      if (message.values[i].size() == device.outputs[i]->size_bytes()) device.outputs[i]->KeepValue(message.values[i]);
    }
    device.arguments.clear();
    device.outputs.clear();
    device.Finish(program_->core()->Labelled(wire::ToStatus(message.error)));
    return OkStatus();
  }

  Status Transfer(const std::shared_ptr<Session>& session, uint64_t number, wire::Transfer message) override {
    if (message.device >= devices_.size() || devices_[message.device].callbacks == nullptr)
      return DataLoss(fmt::format("a transfer of device {} of an execution", message.device));
    return devices_[message.device].callbacks->Run(session, number, std::move(message));
  }

  // The arrays go with this object: a handler may still be at work on them.
  void Fail(const Status& death) override {
    for (OneDevice& device : devices_) {
      if (!device.complete) device.Finish(death);
    }
  }

  bool complete() const override {
    for (const OneDevice& device : devices_) {
      if (!device.complete) return false;
    }
    return true;
  }
  std::string Name() const override { return fmt::format("'{}' (launch {})", executable_->info().name, launch_id_); }
  void Blame() override { program_->Blame(); }
  void* UserData(int64_t type_id) const override { return context_ == nullptr ? nullptr : context_->Find(type_id); }

 private:
  // Outputs that the device process has in the memory of others keep those.
  static void ShareMemory(OneDevice& device, const wire::Places& places) {
    for (size_t i = 0; i < places.size(); ++i) {
      ArrayStorage& output = *device.outputs[i];
      if (places[i] == output.place() || output.core()->is_remote()) continue;
      Ref<ArrayStorage> holder = ArrayStorage::HolderOf({device.arguments.data(), device.arguments.size()}, places[i]);
      for (const Ref<ArrayStorage>& other : device.outputs) {
        // One that keeps nothing itself: none keeps itself by others.
        if (!holder && other.get() != &output && !other->shares() && other->has(places[i])) holder = other;
      }
      if (holder) {
        output.Share(std::move(holder));
      } else {
        // It is known to an argument whose own outcome has not been told yet.
        for (const Ref<ArrayStorage>& argument : device.arguments) output.Share(argument);
      }
    }
  }

  const Ref<plugin::LoadedExecutable> executable_;
  const std::shared_ptr<RemoteProgram> program_;
  const Ref<plugin::ExecuteContext> context_;
  const int launch_id_;
  SmallVector<OneDevice, 1> devices_;
  wire::Execute message_;
};

// The argument's storage in shared memory or at the server, copied there if it is elsewhere.
Result<Ref<ArrayStorage>> Shared(const std::shared_ptr<Core>& core, Argument& argument) {
  if (auto* storage = dynamic_cast<ArrayStorage*>(argument.storage.get())) return Ref<ArrayStorage>(storage);
  if (core->is_remote() || !argument.ready.succeeded())
    return Internal("an argument outside shared memory is not there");
  TENON_ASSIGN_OR_RETURN(Ref<ArrayStorage> copy, ArrayStorage::Make(core, argument.storage->size_bytes()));
  std::memcpy(copy->data(), argument.storage->data(), argument.storage->size_bytes());
  return copy;
}

}  // namespace

Status ProxyLoadedExecutable::Execute(ExecuteRequest& request) {
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<RemoteProgram> program, ProgramFor(request));
  const std::shared_ptr<Core>& core = program->core();
  Result<std::shared_ptr<Session>> ready = program->Ready();
  if (!ready.ok()) return core->Labelled(ready.status());
  const std::shared_ptr<Session> session = std::move(*ready);
  auto execution = std::make_shared<Execution>(Ref<plugin::LoadedExecutable>(this), program, request);
  execution->message().call_location = request.call_location;
  std::vector<EventRef> waits;
  const std::vector<plugin::ValueSpec>& specs = info().outputs;
  execution->devices().resize(request.devices.size());
  const std::shared_ptr<plugin::WaitHelper> helper = core->HelperOf(session);
  for (size_t d = 0; d < request.devices.size(); ++d) {
    DeviceExecution& device = request.devices[d];
    OneDevice& run = execution->devices()[d];
    if (device.transfers && session->welcome().protocol < wire::kHasCallbacks) [[unlikely]] {
      return Unimplemented(
          fmt::format("send and recv callbacks: the device process speaks protocol {}, which has none before {}",
                      session->welcome().protocol, wire::kHasCallbacks));
    }
    run.message.device = device.device->id() - core->base().device;
    for (Argument& argument : device.arguments) {
      TENON_ASSIGN_OR_RETURN(Ref<ArrayStorage> storage, Shared(core, argument));
      // What the device process defines itself it can be told to use; for anything else the host has to wait.
      // An argument may have failed since the caller looked: then this fails as well, and its bytes are not looked at.
      const bool defined = argument.ready.succeeded();
      const bool known = storage->known_to(session->home());
      if (core->is_remote() && defined && !known && storage->size_bytes() != 0) {
        // What was there before the last session began is not there any more; what nobody wrote is made there.
        if (storage->home() != 0 && storage->home() != session->home())
          return Unavailable(
              fmt::format("argument {} was lost with the session with its server", run.arguments.size()));
        if (storage->home() == 0) {
          session->Post(wire::Verb::kUpload, 0,
                        wire::Encode(wire::Upload{storage->number(), storage->size_bytes(), 0, 0, {}}));
        }
        storage->NoteKnownTo(session->home());
      }
      if (!defined && !known) waits.push_back(argument.ready);
      run.message.arguments.push_back(
          {storage->number(), storage->place(), argument.memory->id() - core->base().memory, argument.exclusive});
      run.arguments.push_back(std::move(storage));
    }
    run.done = Event::Make();
    run.done->set_helper(helper);
    if (device.transfers) [[unlikely]]
      run.callbacks = std::make_shared<DeviceCallbacks>(device.transfers, run.done);
    for (size_t i = 0; i < specs.size(); ++i) {
      const auto size = static_cast<size_t>(SizeBytes(specs[i].array.shape));
      TENON_ASSIGN_OR_RETURN(Ref<ArrayStorage> storage, ArrayStorage::Make(core, size));
      run.message.outputs.push_back({storage->number(), storage->place(), size});
      device.outputs[i] = Buffer::Make(device.device, OutputMemory(*device.device, i), specs[i].array,
                                       Ref<plugin::Storage>(storage), EventRef(run.done));
      run.outputs.push_back(std::move(storage));
    }
    device.done = EventRef(run.done);
  }
  // From here on nothing is refused: donated arguments stay with the execution.
  for (DeviceExecution& device : request.devices) {
    for (Argument& argument : device.arguments) {
      if (argument.donated) argument.storage = nullptr;
    }
  }
  if (waits.empty()) [[likely]] {
    Execution::Send(std::move(execution), session);
    return OkStatus();
  }
  plugin::WhenAll(waits).OnReady([execution = std::move(execution), session](const Status& status) {
    // The process may have died meanwhile. Nothing is started again from here, which may be its own thread, and another
    // process that somebody started does not have the program.
    if (const Status state = status.ok() ? session->state() : status; !state.ok()) {
      execution->Fail(state);
    } else {
      Execution::Send(execution, session);
    }
  });
  return OkStatus();
}

}  // namespace tenon::proxy
