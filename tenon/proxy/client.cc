#include "tenon/proxy/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <optional>
#include <thread>

#include "tenon/base/contain.h"
#include "tenon/proxy/convert.h"
#include "tenon/proxy/policy.h"
#include "tenon/proxy/program.h"
#include "tenon/proxy/remote_memory.h"

namespace tenon::proxy {

using plugin::Ref;

namespace {

// Larger numbers of devices and memories are none that a plugin gives where several are one client's.
constexpr int kMaxId = 1 << 20;

class ProxyDevice final : public plugin::Device {
 public:
  ProxyDevice(std::shared_ptr<const plugin::DeviceDescription> description, int local_hardware_id, bool addressable,
              std::shared_ptr<Core> core)
      : Device(std::move(description), local_hardware_id, addressable), core_(std::move(core)) {}
  const std::shared_ptr<Core>& core() const { return core_; }

  Result<plugin::MemoryStats> GetMemoryStats() const override {
    TENON_ASSIGN_OR_RETURN(const std::string body, Ask(wire::Question::kMemoryStats, 0, {}));
    wire::Decoder decoder(body);
    std::vector<int64_t> n;
    decoder("statistics", n);
    TENON_RETURN_IF_ERROR(decoder.status());
    plugin::MemoryStats stats;
    std::optional<int64_t>* const figures[] = {&stats.peak_bytes_in_use,
                                               &stats.num_allocs,
                                               &stats.largest_alloc_size,
                                               &stats.bytes_limit,
                                               &stats.bytes_reserved,
                                               &stats.peak_bytes_reserved,
                                               &stats.bytes_reservable_limit,
                                               &stats.largest_free_block_bytes,
                                               &stats.pool_bytes,
                                               &stats.peak_pool_bytes,
                                               &stats.peak_allocated_bytes};
    if (n.size() != 1 + 2 * std::size(figures)) return DataLoss("statistics of another length");
    stats.bytes_in_use = n[0];
    for (size_t i = 0; i < std::size(figures); ++i) {
      if (n[1 + 2 * i] != 0) *figures[i] = n[2 + 2 * i];
    }
    // What the plugin counts are copies of its own; the arrays themselves are here, or before it at the server.
    const auto arrays = static_cast<int64_t>(core_->array_bytes());
    stats.bytes_in_use += arrays;
    if (stats.peak_bytes_in_use) stats.peak_bytes_in_use = std::max(*stats.peak_bytes_in_use, stats.bytes_in_use);
    return stats;
  }
  Status ClearMemoryStats() override { return Ask(wire::Question::kClearMemoryStats, 0, {}).status(); }
  Result<bool> PoisonExecution(int32_t launch_id, const Status& error) override {
    TENON_ASSIGN_OR_RETURN(const std::string body, Ask(wire::Question::kPoison, launch_id, error));
    return body == std::string_view("\1", 1);
  }

 private:
  // Of the process that there is: none is started for a question.
  Result<std::string> Ask(wire::Question what, int32_t launch_id, const Status& error) const {
    const std::shared_ptr<Session> session = core_->Last();
    if (session == nullptr) return Unavailable("there is no device process");
    return session->Call(
        wire::AskDevice{id() - core_->base().device, static_cast<uint8_t>(what), launch_id, wire::FromStatus(error)});
  }
  const std::shared_ptr<Core> core_;
};

class ProxyMemory final : public plugin::Memory {
 public:
  ProxyMemory(int id, plugin::MemoryKind kind, std::shared_ptr<Core> core)
      : Memory(id, std::move(kind)), core_(std::move(core)) {}

  bool takes_host_arrays() const override { return false; }
  Result<Ref<plugin::Storage>> Allocate(plugin::Device*, size_t size_bytes) override {
    TENON_ASSIGN_OR_RETURN(Ref<ArrayStorage> storage, ArrayStorage::Make(core_, size_bytes));
    return Ref<plugin::Storage>(std::move(storage));
  }
  // Wrap is the default: a caller's block stays where it is for the host, and every execution takes a copy of what is
  // in it then.

 private:
  const std::shared_ptr<Core> core_;
};

// An error, and more than one server: which of them it is of.
template <class T>
Result<T> Labelled(const Core& core, Result<T> result) {
  if (result.ok()) return result;
  return core.Labelled(result.status());
}

}  // namespace

const std::shared_ptr<Core>& CoreOf(const plugin::Device& device) {
  return static_cast<const ProxyDevice&>(device).core();
}

// One thread for copies that are large or must wait, so that no thread of a session has to.
class ProxyClient::Worker : public std::enable_shared_from_this<Worker> {
 public:
  void Add(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_one();
    if (running_) return;
    try {
      std::thread([self = shared_from_this()] { self->Run(); }).detach();
    } catch (...) {  // The caller tells of it; the next one tries again.
      queue_.pop_back();
      throw;
    }
    running_ = true;
  }
  void Stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      (void)Contain("a copy", work);
      work = nullptr;  // What it holds may want the lock.
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool running_ = false, stopped_ = false;
};

ProxyClient::ProxyClient(Info info, Cores cores)
    : Client(std::move(info)), cores_(std::move(cores)), worker_(std::make_shared<Worker>()) {}

ProxyClient::~ProxyClient() { worker_->Stop(); }

void ProxyClient::Schedule(std::function<void()> work) { worker_->Add(std::move(work)); }
size_t ProxyClient::inline_copy_limit() const { return policy::kInlineCopyBytes; }

Result<Ref<plugin::Client>> ProxyClient::Create(Cores cores) {
  std::vector<wire::ClientText> texts;
  for (const std::shared_ptr<Core>& core : cores) {
    TENON_ASSIGN_OR_RETURN(wire::ClientText text, Labelled(*core, core->Open()));
    texts.push_back(std::move(text));
  }
  const wire::ClientText& first = texts[0];
  Info info{.platform_name = first.platform_name,
            .platform_version = first.platform_version,
            .process_index = first.process_index};
  for (size_t i = 1; i < texts.size(); ++i) {
    if (texts[i].platform_name != first.platform_name) {
      return FailedPrecondition(fmt::format("the devices at {} are of platform '{}', those at {} of '{}'",
                                            cores[0]->options().label, first.platform_name, cores[i]->options().label,
                                            texts[i].platform_name));
    }
    if (info.platform_version.find(texts[i].platform_version) == info.platform_version.npos)
      info.platform_version += "; " + texts[i].platform_version;
  }
  auto client = Ref<ProxyClient>::Adopt(new ProxyClient(std::move(info), std::move(cores)));
  TENON_RETURN_IF_ERROR(client->Fill(texts));
  return Ref<plugin::Client>(std::move(client));
}

Status ProxyClient::Fill(const std::vector<wire::ClientText>& texts) {
  Core::Base next;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Core::Base base = next;
    cores_[i]->set_base(base);
    wire::ClientText text = texts[i];
    // Numbers and names are those of one plugin among several.
    const auto renumber = [](int32_t& id, int first, int& beyond) {
      if (id < 0 || id > kMaxId) return false;
      id += first;
      beyond = std::max(beyond, id + 1);
      return true;
    };
    bool good = true;
    const auto rename = [&](wire::DeviceText& device) {
      good = renumber(device.id, base.device, next.device) && good;
      if (cores_[i]->options().label.empty()) return;
      device.to_string += " at " + cores_[i]->options().label;
      device.debug_string += " at " + cores_[i]->options().label;
    };
    if (texts.size() > 1) {
      for (wire::Device& device : text.devices) {
        rename(device.text);
        if (device.local_hardware_id >= 0) device.local_hardware_id += base.device;
      }
      for (wire::Memory& memory : text.memories) {
        good = renumber(memory.id, base.memory, next.memory) && good;
        for (auto* list : {&memory.devices, &memory.default_of}) {
          for (int32_t& id : *list) good = renumber(id, base.device, next.device) && good;
        }
      }
      if (!good)
        return DataLoss(
            fmt::format("a device or memory with a number that cannot be, at {}", cores_[i]->options().label));
    }
    TENON_RETURN_IF_ERROR(cores_[i]->Labelled(Fill(cores_[i], text)));
  }
  for (const plugin::Device* device : addressable_devices()) {
    if (device->default_memory() == nullptr) return DataLoss(fmt::format("device {} without a memory", device->id()));
  }
  // A topology is what one plugin compiles for; that of several servers says what devices there are and no more.
  Ref<plugin::Topology> topology;
  if (texts.size() == 1 && !texts[0].topology.platform_name.empty()) {
    TENON_ASSIGN_OR_RETURN(topology, ProxyTopology::Make(cores_[0], wire::MakeTopology{}, texts[0].topology,
                                                         cores_[0]->Last()->generation()));
  }
  Ready(std::move(topology));
  return OkStatus();
}

Status ProxyClient::Fill(const std::shared_ptr<Core>& core, const wire::ClientText& text) {
  std::map<int, plugin::Device*> devices;
  for (const wire::Device& device : text.devices) {
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<const plugin::DeviceDescription> description, ToDescription(device.text));
    devices[device.text.id] = AddDevice(
        std::make_unique<ProxyDevice>(std::move(description), device.local_hardware_id, device.addressable, core));
  }
  if (devices.size() != text.devices.size()) return DataLoss("two devices with one id");
  for (const wire::Memory& memory : text.memories) {
    std::vector<plugin::Device*> reach, default_of;
    for (const int id : memory.devices) {
      if (!devices.contains(id)) return DataLoss("a memory of a device that is not there");
      reach.push_back(devices[id]);
    }
    // AddMemory makes it the default of all that reach it, or of none.
    bool is_default = !reach.empty();
    for (const int id : memory.devices)
      is_default =
          is_default && std::find(memory.default_of.begin(), memory.default_of.end(), id) != memory.default_of.end();
    plugin::MemoryKind kind{memory.kind.name, memory.kind.id};
    std::unique_ptr<plugin::Memory> made;
    if (core->is_remote()) {
      made = std::make_unique<RemoteMemory>(memory.id, std::move(kind), core);
    } else {
      made = std::make_unique<ProxyMemory>(memory.id, std::move(kind), core);
    }
    AddMemory(std::move(made), reach, is_default);
  }
  return OkStatus();
}

Result<std::shared_ptr<Core>> ProxyClient::CoreOf(const plugin::DeviceAssignment& assignment) const {
  if (cores_.size() == 1 || assignment.empty()) return cores_[0];
  std::shared_ptr<Core> core;
  for (const int id : assignment.ids) {
    const plugin::Device* const device = FindDevice(id);
    if (device == nullptr) return InvalidArgument(fmt::format("there is no device {}", id));
    const std::shared_ptr<Core>& of = proxy::CoreOf(*device);
    if (core != nullptr && of != core) {
      return Unimplemented(fmt::format("a program over devices of several servers: device {} is at {}, device {} at {}",
                                       assignment.ids[0], core->options().label, id, of->options().label));
    }
    core = of;
  }
  return core;
}

Result<Ref<plugin::LoadedExecutable>> ProxyClient::Compile(const plugin::Program& program,
                                                           const plugin::CompileOptions& options,
                                                           const plugin::DeviceAssignment& assignment) {
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Core> core, CoreOf(assignment));
  RemoteProgram::Source source;
  source.format = program.format;
  source.code = program.code;
  source.options = AtHome(*core, options, assignment);
  wire::Executable record;
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<RemoteProgram> made, RemoteProgram::Make(core, std::move(source), &record));
  if (cores_.size() > 1) record.compile_options = options.serialized;
  return ProxyLoadedExecutable::Make(Ref<plugin::Client>(this), std::move(made), record);
}

// As the server with these devices knows them.
std::string ProxyClient::AtHome(const Core& core, const plugin::CompileOptions& options,
                                plugin::DeviceAssignment assignment) const {
  if (cores_.size() == 1 || assignment.empty()) return options.serialized;
  for (int& id : assignment.ids) id -= core.base().device;
  return plugin::WithDeviceAssignment(options.serialized, assignment);
}

Result<Ref<plugin::LoadedExecutable>> ProxyClient::DeserializeAt(const std::shared_ptr<Core>& core,
                                                                 std::string_view bytes,
                                                                 const plugin::CompileOptions* options,
                                                                 const plugin::DeviceAssignment& assignment) {
  RemoteProgram::Source source;
  source.kind = RemoteProgram::Source::kSerialized;
  source.code = bytes;
  source.has_options = options != nullptr;
  if (options != nullptr) source.options = AtHome(*core, *options, assignment);
  wire::Executable record;
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<RemoteProgram> made, RemoteProgram::Make(core, std::move(source), &record));
  if (cores_.size() > 1 && options != nullptr) record.compile_options = options->serialized;
  return ProxyLoadedExecutable::Make(Ref<plugin::Client>(this), std::move(made), record);
}

// Bytes name devices as the server does that made them, which is not known here: without options they are the first
// one's.
Result<Ref<plugin::LoadedExecutable>> ProxyClient::Deserialize(std::string_view bytes,
                                                               const plugin::CompileOptions* options) {
  plugin::DeviceAssignment assignment;
  if (options != nullptr && cores_.size() > 1) {
    TENON_ASSIGN_OR_RETURN(assignment, ResolveAssignment(*options));
  }
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Core> core, CoreOf(assignment));
  return DeserializeAt(core, bytes, options, assignment);
}

// By way of its bytes: what was compiled ahead of time may lie in another device process.
Result<Ref<plugin::LoadedExecutable>> ProxyClient::Load(Ref<plugin::Executable> executable,
                                                        const plugin::CompileOptions* options) {
  TENON_ASSIGN_OR_RETURN(const std::string bytes, executable->Serialize());
  const auto* ours = dynamic_cast<const ProxyExecutable*>(executable.get());
  const bool here = ours != nullptr && std::find(cores_.begin(), cores_.end(), ours->program()->core()) != cores_.end();
  if (here && options == nullptr) return DeserializeAt(ours->program()->core(), bytes, nullptr, {});
  return Deserialize(bytes, options);
}

}  // namespace tenon::proxy
