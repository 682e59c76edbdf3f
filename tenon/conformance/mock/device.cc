#include "tenon/conformance/mock/device.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tenon/conformance/mock/program.h"

namespace tenon::conformance::mock {

namespace {

using plugin::CompileOptions;
using plugin::DeviceAssignment;
using plugin::Ref;

std::vector<double> Load(DType type, const void* data, size_t count) {
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    if (type == DType::kF32) numbers[i] = static_cast<double>(static_cast<const float*>(data)[i]);
    if (type == DType::kS32) numbers[i] = static_cast<const int32_t*>(data)[i];
    if (type == DType::kU32) numbers[i] = static_cast<const uint32_t*>(data)[i];
  }
  return numbers;
}

void Store(DType type, const std::vector<double>& numbers, void* data) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (type == DType::kF32) static_cast<float*>(data)[i] = static_cast<float>(numbers[i]);
    if (type == DType::kS32) static_cast<int32_t*>(data)[i] = static_cast<int32_t>(numbers[i]);
    if (type == DType::kU32) static_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(numbers[i]);
  }
}

// Counts what its buffers hold.
struct Counter {
  std::atomic<int64_t> bytes{0};
};

class CountedStorage final : public plugin::Storage {
 public:
  CountedStorage(Ref<plugin::Storage> real, std::shared_ptr<Counter> counter)
      : Storage(real->data(), real->size_bytes()), real_(std::move(real)), counter_(std::move(counter)) {
    counter_->bytes += static_cast<int64_t>(size_bytes());
  }
  ~CountedStorage() override { counter_->bytes -= static_cast<int64_t>(size_bytes()); }

 private:
  Ref<plugin::Storage> real_;
  std::shared_ptr<Counter> counter_;
};

class MockMemory final : public plugin::Memory {
 public:
  MockMemory(int id, plugin::MemoryKind kind, std::shared_ptr<Counter> counter)
      : Memory(id, std::move(kind)), counter_(std::move(counter)) {}
  Result<Ref<plugin::Storage>> Allocate(plugin::Device*, size_t size_bytes) override {
    TENON_ASSIGN_OR_RETURN(Ref<plugin::Storage> real, plugin::AllocateHostStorage(size_bytes));
    return Ref<plugin::Storage>(plugin::MakeRef<CountedStorage>(std::move(real), counter_));
  }

 private:
  std::shared_ptr<Counter> counter_;
};

class MockDevice final : public plugin::Device {
 public:
  MockDevice(std::shared_ptr<const plugin::DeviceDescription> description, int local_hardware_id,
             std::shared_ptr<Counter> counter)
      : Device(std::move(description), local_hardware_id), counter_(std::move(counter)) {}
  Result<plugin::MemoryStats> GetMemoryStats() const override {
    plugin::MemoryStats stats;
    stats.bytes_in_use = counter_->bytes;
    return stats;
  }
  Result<bool> PoisonExecution(int32_t, const Status&) override { return false; }

 private:
  std::shared_ptr<Counter> counter_;
};

class MockExecutable final : public plugin::Executable {
 public:
  MockExecutable(plugin::ExecutableInfo info, std::string text, MockProgram program)
      : Executable(std::move(info)), text_(std::move(text)), program_(std::move(program)) {}
  const MockProgram& program() const { return program_; }
  Result<std::string> Serialize() const override { return fmt::format("mock{:08}{}", text_.size(), text_); }
  Result<ProgramText> OptimizedProgram() const override { return ProgramText{.code = text_, .format = "mlir"}; }

 private:
  std::string text_;
  MockProgram program_;
};

Result<Ref<MockExecutable>> CompileText(std::string_view text, const CompileOptions& options) {
  TENON_ASSIGN_OR_RETURN(MockProgram program, ParseProgram(text));
  plugin::ExecutableInfo info;
  info.name = program.name;
  info.num_replicas = options.num_replicas;
  info.num_partitions = options.num_partitions;
  info.fingerprint = text;
  info.cost = {{"flops", 4.0f}};
  info.compile_options = options.serialized;
  plugin::CompiledMemoryStats stats;
  for (const auto& parameter : program.parameters) {
    info.parameters.push_back({.array = {.shape = parameter.shape}, .donated = parameter.donated});
    stats.arguments += SizeBytes(parameter.shape);
  }
  for (const Shape& shape : program.results) {
    info.outputs.push_back({.array = {.shape = shape}});
    stats.outputs += SizeBytes(shape);
  }
  info.memory_stats = stats;
  return plugin::MakeRef<MockExecutable>(std::move(info), std::string(text), std::move(program));
}

class MockLoaded final : public plugin::LoadedExecutable {
 public:
  MockLoaded(Ref<plugin::Client> client, Ref<MockExecutable> executable, DeviceAssignment assignment)
      : LoadedExecutable(std::move(client), executable, std::move(assignment)), mock_(executable) {}

  Status Execute(plugin::ExecuteRequest& request) override {
    for (plugin::DeviceExecution& device : request.devices) TENON_RETURN_IF_ERROR(ExecuteOn(device));
    return OkStatus();
  }

 private:
  struct Work {
    Ref<MockExecutable> executable;
    std::vector<plugin::Argument> arguments;
    std::vector<Ref<plugin::Storage>> outputs;
    Ref<plugin::Event> done = plugin::Event::Make();
    int replica = 0;
  };

  Status ExecuteOn(plugin::DeviceExecution& device) {
    auto work = std::make_shared<Work>();
    work->executable = mock_;
    work->replica = device.replica;
    for (plugin::Argument& argument : device.arguments) work->arguments.push_back(std::move(argument));
    for (size_t i = 0; i < info().outputs.size(); ++i) {
      const plugin::ValueSpec& spec = info().outputs[i];
      plugin::Memory* memory = device.device->default_memory();
      TENON_ASSIGN_OR_RETURN(Ref<plugin::Storage> storage,
                             memory->Allocate(device.device, static_cast<size_t>(SizeBytes(spec.array.shape))));
      device.outputs[i] =
          plugin::Buffer::Make(device.device, memory, spec.array, storage, plugin::EventRef(work->done));
      work->outputs.push_back(std::move(storage));
    }
    device.done = plugin::EventRef(work->done);
    std::vector<plugin::EventRef> ready;
    for (const plugin::Argument& argument : work->arguments) ready.push_back(argument.ready);
    plugin::WhenAll(ready).OnReady([work](const Status& status) {
      if (status.ok()) Compute(*work);
      work->arguments.clear();
      work->done->Set(status);
    });
    return OkStatus();
  }

  static void Compute(Work& work) {
    const plugin::ExecutableInfo& info = work.executable->info();
    std::vector<std::vector<double>> arguments;
    for (size_t i = 0; i < work.arguments.size(); ++i) {
      const Shape& shape = info.parameters[i].array.shape;
      arguments.push_back(Load(shape.dtype, work.arguments[i].storage->data(),
                               static_cast<size_t>(NumElements({shape.dims.data(), shape.dims.size()}))));
    }
    std::vector<std::vector<double>> results = work.executable->program().Run(arguments, work.replica);
    for (size_t i = 0; i < results.size(); ++i)
      Store(info.outputs[i].array.shape.dtype, results[i], work.outputs[i]->data());
  }

  Ref<MockExecutable> mock_;
};

class MockClient final : public plugin::Client {
 public:
  explicit MockClient(int num_devices)
      : Client({.platform_name = "mock", .platform_version = "Tenon's mock for the conformance suite"}) {
    for (int i = 0; i < num_devices; ++i) {
      plugin::DeviceDescription::Info info;
      info.id = i;
      info.kind = "mock";
      info.attributes = {{"color", std::string("blue")}};
      info.memory_kinds = {plugin::MakeMemoryKind(plugin::kDeviceMemoryKind),
                           plugin::MakeMemoryKind(plugin::kPinnedHostMemoryKind)};
      info.default_memory_kind = 0;
      auto counter = std::make_shared<Counter>();
      auto description = std::make_shared<plugin::DeviceDescription>(info);
      plugin::Device* device = AddDevice(std::make_unique<MockDevice>(description, i, counter));
      for (size_t k = 0; k < 2; ++k) {
        AddMemory(std::make_unique<MockMemory>(2 * i + static_cast<int>(k), info.memory_kinds[k], counter),
                  {&device, 1}, k == 0);
      }
    }
    Ready();
  }

  Result<Ref<plugin::LoadedExecutable>> Compile(const plugin::Program& program, const CompileOptions& options,
                                                const DeviceAssignment& assignment) override {
    TENON_ASSIGN_OR_RETURN(Ref<MockExecutable> executable, CompileText(program.code, options));
    return Ref<plugin::LoadedExecutable>(
        plugin::MakeRef<MockLoaded>(Ref<plugin::Client>(this), std::move(executable), assignment));
  }
  bool AcceptsFormat(std::string_view format) const override { return format == "mlir"; }
  Result<Ref<plugin::LoadedExecutable>> Load(Ref<plugin::Executable> executable,
                                             const CompileOptions* options) override {
    auto* mine = dynamic_cast<MockExecutable*>(executable.get());
    if (mine == nullptr) return InvalidArgument("not an executable of the mock");
    TENON_ASSIGN_OR_RETURN(DeviceAssignment assignment,
                           ResolveAssignment(options == nullptr ? CompileOptions() : *options));
    return Ref<plugin::LoadedExecutable>(
        plugin::MakeRef<MockLoaded>(Ref<plugin::Client>(this), Ref<MockExecutable>(mine), std::move(assignment)));
  }
  Result<Ref<plugin::LoadedExecutable>> Deserialize(std::string_view bytes, const CompileOptions* options) override {
    if (bytes.size() < 12 || bytes.substr(0, 4) != "mock" ||
        std::to_string(100000000 + bytes.size() - 12).substr(1) != bytes.substr(4, 8)) {
      return InvalidArgument("not a serialized executable of the mock");
    }
    CompileOptions defaults;
    TENON_ASSIGN_OR_RETURN(Ref<MockExecutable> executable,
                           CompileText(bytes.substr(12), options == nullptr ? defaults : *options));
    return Load(std::move(executable), options);
  }
};

class MockPlugin final : public plugin::Plugin {
 public:
  bool has_abi_versions() const override { return true; }
  std::span<const plugin::OptionSpec> client_option_specs() const override {
    static const plugin::OptionSpec specs[] = {{"num_devices", plugin::ValueType::kInt64}};
    return specs;
  }
  Result<Ref<plugin::Client>> CreateClient(plugin::ClientOptions options) override {
    return Ref<plugin::Client>(plugin::MakeRef<MockClient>(static_cast<int>(options.GetInt("num_devices", 2))));
  }
  Result<Ref<plugin::Executable>> CompileForTopology(const plugin::Program& program, const CompileOptions& options,
                                                     plugin::Topology&, plugin::Client*) override {
    TENON_ASSIGN_OR_RETURN(Ref<MockExecutable> executable, CompileText(program.code, options));
    return Ref<plugin::Executable>(std::move(executable));
  }
};

}  // namespace

plugin::Plugin& MockDevicePlugin() {
  static MockPlugin& the_plugin = *new MockPlugin;  // Objects may outlive the library's destructors.
  return the_plugin;
}

}  // namespace tenon::conformance::mock
