#include "tenon/collectives/load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "tenon/base/code_file.h"
#include "tenon/collectives/engine_library.h"

namespace tenon::collectives {
namespace {

Status StatusOf(int code, const char* error) { return Status(static_cast<Code>(code), error); }

std::vector<TenonEnginePart> PartsOf(std::span<const SendPart> parts) {
  std::vector<TenonEnginePart> out;
  for (const SendPart& p : parts) out.push_back({p.peer, const_cast<std::byte*>(p.data), p.bytes});
  return out;
}
std::vector<TenonEnginePart> PartsOf(std::span<const ReceivePart> parts) {
  std::vector<TenonEnginePart> out;
  for (const ReceivePart& p : parts) out.push_back({p.peer, p.data, p.bytes});
  return out;
}

class LibraryChannel final : public Channel {
 public:
  LibraryChannel(const TenonEngineTable& table, TenonEngineChannel* channel) : table_(table), channel_(channel) {}
  ~LibraryChannel() override { table_.destroy(channel_); }

  Status Exchange(std::span<const SendPart> sends, std::span<const ReceivePart> receives,
                  Milliseconds timeout) override {
    const std::vector<TenonEnginePart> out = PartsOf(sends), in = PartsOf(receives);
    char error[TENON_ENGINE_ERROR_BYTES] = {};
    const int code = table_.exchange(channel_, out.data(), out.size(), in.data(), in.size(), timeout.count(), error);
    return code == 0 ? OkStatus() : StatusOf(code, error);
  }
  void Abort() override { table_.abort(channel_); }

 private:
  const TenonEngineTable& table_;
  TenonEngineChannel* channel_;
};

int PutFor(void* self, const char* key, const char* value, size_t bytes) {
  return static_cast<int>(static_cast<Store*>(self)->Put(key, std::string_view(value, bytes)).code());
}

int GetFor(void* self, const char* key, int64_t timeout_ms, char** value, size_t* bytes) {
  const Result<std::string> got = static_cast<Store*>(self)->Get(key, Milliseconds(timeout_ms));
  if (!got.ok()) return static_cast<int>(got.status().code());
  *value = static_cast<char*>(std::malloc(got->size() + 1));
  if (*value == nullptr) return static_cast<int>(Code::kResourceExhausted);
  std::memcpy(*value, got->data(), got->size());
  *bytes = got->size();
  return 0;
}

class LibraryEngine final : public Engine {
 public:
  explicit LibraryEngine(const TenonEngineTable& table) : table_(table) {}
  std::string_view name() const override { return table_.name; }

  Result<std::unique_ptr<Channel>> Connect(const Meeting& meeting) override {
    TenonEngineMeeting m = {};
    m.self = meeting.self;
    m.size = static_cast<int32_t>(meeting.nodes.size());
    m.key = meeting.key.c_str();
    m.address = meeting.address.c_str();
    m.timeout_ms = meeting.timeout.count();
    m.store = {meeting.store, &PutFor, &GetFor};
    TenonEngineChannel* channel = nullptr;
    char error[TENON_ENGINE_ERROR_BYTES] = {};
    if (const int code = table_.connect(&m, &channel, error); code != 0) return StatusOf(code, error);
    return std::unique_ptr<Channel>(std::make_unique<LibraryChannel>(table_, channel));
  }

 private:
  const TenonEngineTable& table_;
};

}  // namespace

Result<std::unique_ptr<Engine>> LoadEngine(std::string_view name) {
  const std::string file = fmt::format("libtenon_{}.so", name);
  std::string why;
  void* library = nullptr;
  for (const std::string& path : {FileBeside(reinterpret_cast<const void*>(&LoadEngine), file), file}) {
    if (library != nullptr || path.empty()) continue;
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) why += fmt::format("{}{}", why.empty() ? "" : "; ", dlerror());
  }
  if (library == nullptr) {
    return NotFound(
        fmt::format("no engine '{}' for exchanging data between processes: {}. It is built where its library is "
                    "installed (Debian: libgloo-dev, libopenmpi-dev, libmpich-dev) and lies beside the plugin",
                    name, why));
  }
  auto* create = reinterpret_cast<TenonEngineCreate*>(dlsym(library, TENON_ENGINE_SYMBOL));
  const TenonEngineTable* table = create == nullptr ? nullptr : create(TENON_ENGINE_VERSION);
  if (table == nullptr || table->version != TENON_ENGINE_VERSION)
    return FailedPrecondition(fmt::format("{} is no engine of version {}", file, TENON_ENGINE_VERSION));
  return std::unique_ptr<Engine>(std::make_unique<LibraryEngine>(*table));
}

Result<std::string_view> MpiOfThisProcess() {
  struct Mpi {
    std::string_view engine;
    std::vector<const char*> libraries, variables;
  };
  // What launchers set: Open MPI's own; Hydra (MPICH, Intel MPI).
  static const std::vector<Mpi>& known = *new std::vector<Mpi>{
      {"openmpi", {"libmpi.so.40"}, {"OMPI_COMM_WORLD_SIZE"}},
      {"mpich", {"libmpich.so.12", "libmpi.so.12"}, {"PMI_SIZE", "PMI_RANK"}},
  };
  for (const Mpi& mpi : known) {
    for (const char* library : mpi.libraries) {
      if (void* loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); loaded != nullptr) {
        dlclose(loaded);
        return mpi.engine;
      }
    }
  }
  for (const Mpi& mpi : known) {
    for (const char* variable : mpi.variables) {
      if (std::getenv(variable) != nullptr) return mpi.engine;
    }
  }
  return FailedPrecondition(
      "data are to go by MPI, but no mpirun started this process (neither OMPI_COMM_WORLD_SIZE nor PMI_SIZE is set), "
      "and no MPI is loaded");
}

}  // namespace tenon::collectives
