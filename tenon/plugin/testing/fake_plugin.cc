#include "tenon/plugin/testing/fake_plugin.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

namespace tenon::plugin::testing {

namespace {

struct Queue {
  std::mutex mutex;
  std::deque<std::function<void()>> work;
  bool scheduling = false;
};
Queue& TheQueue() {
  static Queue queue;
  return queue;
}
void Later(std::function<void()> work) {
  std::lock_guard lock(TheQueue().mutex);
  TheQueue().work.push_back(std::move(work));
}

// Pretends that the host cannot address its bytes; reads and writes are done by RunPending.
class RemoteMemory final : public Memory {
 public:
  using Memory::Memory;
  bool host_accessible() const override { return false; }
  Result<Ref<Storage>> Allocate(Device*, size_t size_bytes) override { return AllocateHostStorage(size_bytes); }
  EventRef Write(Storage& dst, size_t offset, const void* src, size_t size_bytes) override {
    return Copy(static_cast<char*>(dst.data()) + offset, src, size_bytes);
  }
  EventRef Read(const Storage& src, size_t offset, void* dst, size_t size_bytes) override {
    return Copy(dst, static_cast<const char*>(src.data()) + offset, size_bytes);
  }

 private:
  EventRef Copy(void* dst, const void* src, size_t size_bytes) {
    Ref<Event> done = Event::Make();
    Later([=] {
      if (size_bytes != 0) std::memcpy(dst, src, size_bytes);
      done->Set();
    });
    return EventRef(done);
  }
};

class FakeDevice final : public Device {
 public:
  using Device::Device;
  Result<MemoryStats> GetMemoryStats() const override {
    MemoryStats stats;
    stats.bytes_in_use = 123;
    stats.bytes_limit = 456;
    stats.peak_allocated_bytes = 789;
    return stats;
  }
  Result<bool> PoisonExecution(int32_t launch_id, const Status& error) override { return launch_id == 5; }
};

std::shared_ptr<const DeviceDescription> Describe(int id) {
  DeviceDescription::Info info;
  info.id = id;
  info.kind = "fake";
  info.attributes = {{"color", std::string("blue")}, {"coords", std::vector<int64_t>{id, 0}}, {"dropped", true}};
  info.memory_kinds = {MakeMemoryKind(kDeviceMemoryKind), MakeMemoryKind(kPinnedHostMemoryKind)};
  info.default_memory_kind = 0;
  return std::make_shared<DeviceDescription>(std::move(info));
}

class FakeExecutable final : public Executable {
 public:
  FakeExecutable(ExecutableInfo info, std::string program)
      : Executable(std::move(info)), program_(std::move(program)) {}
  const std::string& program() const { return program_; }
  Result<std::string> Serialize() const override { return "fake:" + program_; }
  Result<std::string> Metadata() const override { return "about " + program_; }
  Result<ProgramText> OptimizedProgram() const override { return ProgramText{.code = program_, .format = "fake"}; }

 private:
  std::string program_;
};

bool TakePrefix(std::string& text, std::string_view prefix) {
  if (text.rfind(prefix, 0) != 0) return false;
  text.erase(0, prefix.size());
  return true;
}

Result<Ref<FakeExecutable>> CompileFake(std::string program, const CompileOptions& options) {
  std::string op = program;
  TakePrefix(op, "everywhere ");
  TakePrefix(op, "later ");
  const ValueSpec four{.array = {.shape = {DType::kF32, {4}}}};
  ExecutableInfo info;
  info.name = op;
  info.num_replicas = options.num_replicas;
  info.num_partitions = options.num_partitions;
  info.fingerprint = "fingerprint of " + program;
  info.cost = {{"flops", 4.0f}};
  info.memory_stats = CompiledMemoryStats{
      .generated_code = 1, .arguments = 2, .outputs = 3, .aliased = 4, .temporaries = 5, .peak = 6, .total = 7};
  info.compile_options = options.serialized;
  info.output_shardings = {};
  info.outputs = {four};
  if (op == "add") {
    info.parameters = {four, four};
    info.parameter_shardings = {"p0", "p1"};
    info.output_shardings = {"o0"};
  } else if (op == "increment") {
    info.parameters = {four};
    info.parameters[0].donated = true;
  } else if (op == "echo" || op == "fail" || op == "refuse" || op == "crash" || op == "hang" || op == "exit" ||
             op == "mute" || op == "reads") {
    info.parameters = {four};
    info.parameters[0].donated = op == "refuse";
  } else if (op == "column") {
    info.parameters = {ValueSpec{.array = {.shape = {DType::kF32, {2, 3}}, .minor_to_major = {0, 1}}}};
    info.outputs[0].array.shape.dims = {6};
  } else if (op == "nibbles") {
    info.parameters = {ValueSpec{.array = {.shape = {DType::kS4, {4}}}}};
    info.outputs = {ValueSpec{.array = {.shape = {DType::kU8, {4}}}}};
  } else if (op == "pair") {
    info.outputs.push_back(
        ValueSpec{.array = {.shape = {DType::kS32, {}}}, .memory_kind = std::string(kPinnedHostMemoryKind)});
  } else if (op == "channels" || op == "blocking") {
    info.parameters = {four};
    info.host_transfers = true;
  } else if (op == "token") {
    info.parameters = {ValueSpec{.array = {.shape = {DType::kToken, {}}}}};
  } else if (op != "throw") {
    return InvalidArgument("unknown program '" + program + "'");
  }
  return MakeRef<FakeExecutable>(std::move(info), std::move(program));
}

class FakeLoaded final : public LoadedExecutable {
 public:
  FakeLoaded(Ref<Client> client, Ref<FakeExecutable> executable, DeviceAssignment assignment)
      : LoadedExecutable(std::move(client), executable, std::move(assignment)), op_(executable->program()) {
    TakePrefix(op_, "everywhere ");
    later_ = TakePrefix(op_, "later ");
  }

  Status Execute(ExecuteRequest& request) override {
    if (op_ == "throw") throw std::runtime_error("thrown on purpose");
    if (op_ == "refuse") return Internal("refused on purpose");
    if (op_ == "crash") {
      std::fputs("crashing on purpose\n", stderr);
      std::signal(SIGSEGV, SIG_DFL);  // Not a sanitizer's, which would make an exit of it.
      std::raise(SIGSEGV);
    }
    if (op_ == "exit") ::_exit(3);
    while (op_ == "hang") ::pause();
    if (op_ == "mute") {
      const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      for (const int output : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, output);
      ::close(nowhere);
    }
    if (op_ == "reads") {
      const int file = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
      if (file < 0) return PermissionDenied(std::string("/etc/passwd: ") + std::strerror(errno));
      ::close(file);
    }
    FakePlugin& plugin = FakePlugin::Get();
    plugin.last_user_data = request.context == nullptr ? nullptr : request.context->Find(plugin.ffi_type);
    for (DeviceExecution& device : request.devices) TENON_RETURN_IF_ERROR(ExecuteOn(device));
    return OkStatus();
  }

 private:
  struct Run {
    Ref<LoadedExecutable> keep;
    std::vector<Argument> arguments;
    std::vector<Ref<Storage>> outputs;
    Ref<Event> done;
  };

  Status ExecuteOn(DeviceExecution& device) {
    auto run = std::make_shared<Run>();
    run->keep = Ref<LoadedExecutable>(this);
    for (Argument& a : device.arguments) run->arguments.push_back(std::move(a));
    bool later = later_ || op_ == "fail";
    for (const Argument& a : run->arguments) later = later || !a.ready.succeeded();
    if (later) run->done = Event::Make();
    for (size_t i = 0; i < info().outputs.size(); ++i) {
      const ValueSpec& spec = info().outputs[i];
      Memory* memory = client().FindMemory(*device.device, spec.memory_kind);
      bool in_place = op_ == "increment" && run->arguments[0].exclusive;
      if (in_place) {
        run->outputs.push_back(run->arguments[0].storage);
      } else {
        const auto size_bytes = static_cast<size_t>(SizeBytes(spec.array.shape));
        void* const place = device.places.empty() || !memory->host_accessible() ? nullptr : device.places[i];
        TENON_ASSIGN_OR_RETURN(Ref<Storage> storage, place == nullptr ? memory->Allocate(device.device, size_bytes)
                                                                      : memory->Wrap(place, size_bytes, {}));
        run->outputs.push_back(std::move(storage));
      }
      device.outputs[i] = Buffer::Make(device.device, memory, spec.array, run->outputs.back(), EventRef(run->done));
    }
    if (op_ == "channels") {
      // Adds what channel 6 gives to the argument and sends the sum to channel 5.
      if (!device.transfers) return InvalidArgument("'channels' wants callbacks");
      run->done = Event::Make();
      device.done = EventRef(run->done);
      device.outputs[0] = Buffer::Make(device.device, client().FindMemory(*device.device, kDeviceMemoryKind),
                                       info().outputs[0].array, run->outputs[0], EventRef(run->done));
      auto* out = static_cast<float*>(run->outputs[0]->data());
      device.transfers->Receive(6, out, 16).OnReady([run, out, transfers = device.transfers](const Status& status) {
        const auto* in = static_cast<const float*>(run->arguments[0].storage->data());
        for (int i = 0; i < 4 && status.ok(); ++i) out[i] += in[i];
        run->done->Set(status.ok() ? transfers->Send(5, out, 16, 16, true) : status);
      });
      return OkStatus();
    }
    if (op_ == "blocking") {
      // Sends its argument to channel 5 from another thread, and returns when that was taken.
      if (!device.transfers) return InvalidArgument("'blocking' wants callbacks");
      Status taken;
      std::thread([&] { taken = device.transfers->Send(5, run->arguments[0].storage->data(), 16, 16, true); }).join();
      run->done = Event::Make();
      run->done->Set(taken);
      device.done = EventRef(run->done);
      device.outputs[0] = Buffer::Make(device.device, client().FindMemory(*device.device, kDeviceMemoryKind),
                                       info().outputs[0].array, run->outputs[0], EventRef(run->done));
      return OkStatus();
    }
    if (!later) {
      Compute(*run);
      return OkStatus();
    }
    device.done = EventRef(run->done);
    Later([this, run] {
      std::vector<EventRef> ready;
      for (const Argument& a : run->arguments) ready.push_back(a.ready);
      WhenAll(ready).OnReady([this, run](const Status& status) {
        if (status.ok()) Compute(*run);
        run->done->Set(status.ok() && op_ == "fail" ? Aborted("failed on purpose") : status);
      });
    });
    return OkStatus();
  }

  void Compute(Run& run) {
    auto in = [&](size_t i) { return static_cast<const float*>(run.arguments[i].storage->data()); };
    float* out = static_cast<float*>(run.outputs[0]->data());
    if (op_ == "add") {
      for (int i = 0; i < 4; ++i) out[i] = in(0)[i] + in(1)[i];
    } else if (op_ == "increment") {
      for (int i = 0; i < 4; ++i) out[i] = in(0)[i] + 1;
    } else if (op_ == "echo" || op_ == "mute") {
      std::memcpy(out, in(0), 16);
    } else if (op_ == "column") {
      std::memcpy(out, in(0), 24);
    } else if (op_ == "nibbles") {
      std::memcpy(out, in(0), 4);
    } else {
      for (int i = 0; i < 4; ++i) out[i] = 1;
      if (op_ == "pair") *static_cast<int32_t*>(run.outputs[1]->data()) = 7;
    }
  }

  std::string op_;
  bool later_ = false;
};

class FakeClient final : public Client {
 public:
  FakeClient(int num_devices, bool remote) : Client({.platform_name = "fake", .platform_version = "fake 1"}) {
    for (int i = 0; i < num_devices; ++i) {
      Device* device = AddDevice(std::make_unique<FakeDevice>(Describe(i), i));
      MemoryKind kind = MakeMemoryKind(kDeviceMemoryKind);
      std::unique_ptr<Memory> memory;
      if (remote) {
        memory = std::make_unique<RemoteMemory>(2 * i, kind);
      } else {
        memory = std::make_unique<Memory>(2 * i, kind);
      }
      AddMemory(std::move(memory), {&device, 1}, /*is_default=*/true);
      AddMemory(std::make_unique<Memory>(2 * i + 1, MakeMemoryKind(kPinnedHostMemoryKind)), {&device, 1},
                /*is_default=*/false);
    }
    Ready();
  }

  EventRef SendToProcess(Ref<Buffer> buffer, int device_id, int64_t key) override {
    if (device_id == 7) return EventRef::Of(InvalidArgument("no device has the id 7"));
    sent_[key] = *buffer->Use();
    return nullptr;
  }
  Result<Ref<Buffer>> ReceiveFromProcess(ArraySpec spec, Device* device, int, int64_t key) override {
    const auto found = sent_.find(key);
    if (found == sent_.end()) return NotFound("nothing was sent");
    BufferUse use = std::move(found->second);
    sent_.erase(found);
    return Buffer::Make(device, device->default_memory(), std::move(spec), std::move(use.storage));
  }

  Result<Ref<LoadedExecutable>> Compile(const Program& program, const CompileOptions& options,
                                        const DeviceAssignment& assignment) override {
    TENON_ASSIGN_OR_RETURN(Ref<FakeExecutable> executable, CompileFake(std::string(program.code), options));
    return Ref<LoadedExecutable>(MakeRef<FakeLoaded>(Ref<Client>(this), std::move(executable), assignment));
  }
  Result<Ref<LoadedExecutable>> Load(Ref<Executable> executable, const CompileOptions* options) override {
    auto* fake = dynamic_cast<FakeExecutable*>(executable.get());
    if (fake == nullptr) return InvalidArgument("not a fake executable");
    TENON_ASSIGN_OR_RETURN(DeviceAssignment assignment,
                           ResolveAssignment(options == nullptr ? CompileOptions() : *options));
    return Ref<LoadedExecutable>(
        MakeRef<FakeLoaded>(Ref<Client>(this), Ref<FakeExecutable>(fake), std::move(assignment)));
  }
  Result<Ref<LoadedExecutable>> Deserialize(std::string_view bytes, const CompileOptions* options) override {
    std::string program(bytes);
    if (!TakePrefix(program, "fake:")) return InvalidArgument("not a serialized fake executable");
    CompileOptions defaults;
    if (options == nullptr) options = &defaults;
    TENON_ASSIGN_OR_RETURN(Ref<FakeExecutable> executable, CompileFake(program, *options));
    return Load(std::move(executable), options);
  }
  void Schedule(std::function<void()> work) override {
    if (TheQueue().scheduling) {
      Later(std::move(work));
    } else {
      work();
    }
  }
  size_t host_memory_alignment() const override { return 128; }
  size_t inline_copy_limit() const override { return TheQueue().scheduling ? 0 : SIZE_MAX; }

 private:
  std::map<int64_t, BufferUse> sent_;
};

}  // namespace

FakePlugin& FakePlugin::Get() {
  static FakePlugin plugin;
  return plugin;
}

std::vector<NamedValue> FakePlugin::Attributes() const {
  return {{"flavor", std::string("plain")}, {"xla_version", int64_t{99}}};
}

std::span<const OptionSpec> FakePlugin::client_option_specs() const {
  static const OptionSpec specs[] = {{"num_devices", ValueType::kInt64},
                                     {"fast", ValueType::kBool},
                                     {"ratio", ValueType::kFloat},
                                     {"sizes", ValueType::kInt64List},
                                     {"label", ValueType::kString}};
  return specs;
}

std::span<const OptionSpec> FakePlugin::compile_option_specs() const {
  static const OptionSpec specs[] = {{"fake_level", ValueType::kInt64}, {"fake_fast", ValueType::kBool}};
  return specs;
}

Result<Ref<Client>> FakePlugin::CreateClient(ClientOptions options) {
  int64_t num_devices = options.GetInt("num_devices", 2);
  if (num_devices < 1 || num_devices > 64) return InvalidArgument("num_devices must be 1 to 64");
  last_client_options = std::move(options);
  return Ref<Client>(MakeRef<FakeClient>(static_cast<int>(num_devices), remote_memory));
}

Result<Ref<Topology>> FakePlugin::CreateTopology(std::string_view name, const Options& options) {
  if (name != "fake:2") return InvalidArgument("no such topology");
  return MakeRef<Topology>(
      Topology::Info{.platform_name = "fake",
                     .platform_version = "fake 1",
                     .devices = {Describe(0), Describe(1)},
                     .attributes = {{"rack", int64_t{3}}, {"name", std::string("t")}, {"f", 1.5f}, {"b", true}}});
}

Result<Ref<Executable>> FakePlugin::CompileForTopology(const Program& program, const CompileOptions& options,
                                                       Topology& topology, Client* client) {
  TENON_ASSIGN_OR_RETURN(Ref<FakeExecutable> executable, CompileFake(std::string(program.code), options));
  return Ref<Executable>(std::move(executable));
}

Result<PartialProgram> FakePlugin::RunPhase(std::string_view phase, const PartialProgram& program,
                                            const CompileOptions& options, Topology& topology) {
  return PartialProgram{.code = std::string(phase) + "(" + program.code + ")", .format = {}, .made_by = {}, .name = {}};
}

Status FakePlugin::RegisterFfiHandler(const FfiHandlerRegistration& registration) {
  ffi_targets.emplace_back(registration.target_name);
  return OkStatus();
}

Status FakePlugin::RegisterCustomPartitioner(std::string_view name,
                                             std::shared_ptr<const CustomPartitioner> partitioner) {
  partitioners[std::string(name)] = std::move(partitioner);
  return OkStatus();
}

int64_t LiveExtensionObjects() {
  return LiveObjects(ObjectKind::kRawBuffer) + LiveObjects(ObjectKind::kHostMemory) +
         LiveObjects(ObjectKind::kPhaseCompile) + LiveObjects(ObjectKind::kAbiVersion);
}

void RunPending() {
  for (;;) {
    std::function<void()> work;
    {
      std::lock_guard lock(TheQueue().mutex);
      if (TheQueue().work.empty()) return;
      work = std::move(TheQueue().work.front());
      TheQueue().work.pop_front();
    }
    work();
  }
}

void SetScheduling(bool on) { TheQueue().scheduling = on; }

}  // namespace tenon::plugin::testing
