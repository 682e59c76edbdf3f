#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/abi/pjrt.h"
#include "tenon/base/status.h"
#include "tenon/conformance/calls.h"
#include "tenon/conformance/profile.h"

namespace tenon::conformance {

/// What happened to a test, before the profile judges it.
enum class Observed { kPass, kFail, kUnimplemented, kNoDevice, kCrash, kTimeout };
std::string_view ObservedName(Observed observed);

/// Thrown by Env to end a test; never leaves the worker.
struct Stop {
  Observed observed;
  std::string message;
};

/// A PJRT object that the test owns.
template <class T>
class Handle;

class Env;
void DestroyObject(Env& env, PJRT_Buffer* object);
void DestroyObject(Env& env, PJRT_Event* object);
void DestroyObject(Env& env, PJRT_LoadedExecutable* object);
void DestroyObject(Env& env, PJRT_Executable* object);
void DestroyObject(Env& env, PJRT_Client* object);
void DestroyObject(Env& env, PJRT_TopologyDescription* object);
void DestroyObject(Env& env, PJRT_AsyncHostToDeviceTransferManager* object);
void DestroyObject(Env& env, PJRT_ExecuteContext* object);

template <class T>
class Handle {
 public:
  Handle() = default;
  Handle(Env& env, T* object) : env_(&env), object_(object) {}
  Handle(Handle&& other) noexcept : env_(other.env_), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      Reset();
      env_ = other.env_;
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  ~Handle() { Reset(); }
  T* get() const { return object_; }
  operator T*() const { return object_; }  // NOLINT(google-explicit-constructor): it stands for the pointer in args.
  T* Release() { return std::exchange(object_, nullptr); }
  void Reset() {
    if (object_ != nullptr) DestroyObject(*env_, std::exchange(object_, nullptr));
  }

 private:
  Env* env_ = nullptr;
  T* object_ = nullptr;
};
using Buffer = Handle<PJRT_Buffer>;
using Event = Handle<PJRT_Event>;
using Loaded = Handle<PJRT_LoadedExecutable>;
using Executable = Handle<PJRT_Executable>;
using Client = Handle<PJRT_Client>;
using Topology = Handle<PJRT_TopologyDescription>;
using Manager = Handle<PJRT_AsyncHostToDeviceTransferManager>;

using Dims = std::vector<int64_t>;
using Bytes = std::vector<char>;

/// The PJRT type of a C++ type.
template <class T>
PJRT_Buffer_Type TypeOf();
template <>
inline PJRT_Buffer_Type TypeOf<float>() {
  return PJRT_Buffer_Type_F32;
}
template <>
inline PJRT_Buffer_Type TypeOf<double>() {
  return PJRT_Buffer_Type_F64;
}
template <>
inline PJRT_Buffer_Type TypeOf<int32_t>() {
  return PJRT_Buffer_Type_S32;
}
template <>
inline PJRT_Buffer_Type TypeOf<int64_t>() {
  return PJRT_Buffer_Type_S64;
}
template <>
inline PJRT_Buffer_Type TypeOf<uint8_t>() {
  return PJRT_Buffer_Type_U8;
}

struct UploadOptions {
  std::vector<int64_t> byte_strides = {};
  PJRT_HostBufferSemantics semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  PJRT_Device* device = nullptr;  // the first one when there is no memory either
  PJRT_Memory* memory = nullptr;
  PJRT_Buffer_MemoryLayout* layout = nullptr;
  PJRT_Client* client = nullptr;
};

// Programs over f32[4] that many tests use.
extern const char kAddProgram[];       // (a, b) -> a + b
extern const char kAddOneProgram[];    // (a) -> a + 1
extern const char kIdentityProgram[];  // (a) -> a
extern const char kPairProgram[];      // (a, b) -> a + b, a * b
extern const char kConstantProgram[];  // () -> {1, 2, 3, 4}
extern const char kDonateProgram[];    // (a) -> a + a, a aliases the result

struct Run {
  std::vector<std::vector<Buffer>> outputs;  // [device][output]
  std::vector<Event> done;                   // [device]
};

/// What tests run in: the plugin's table, a client shared by the tests of one process, and calls that end the test when
/// they do not do what they should. Used from the test's thread unless a function says otherwise.
class Env {
 public:
  Env(const PJRT_Api* api, void* library, std::string path, const Profile* profile)
      : api_(api), library_(library), path_(std::move(path)), profile_(profile) {}

  const PJRT_Api* api() const { return api_; }
  void* library() const { return library_; }
  const std::string& path() const { return path_; }
  const Profile& profile() const { return *profile_; }
  int minor() const { return api_->pjrt_api_version.minor_version; }

  // --- Ending the test.
  [[noreturn]] void Fail(std::string message) const;
  [[noreturn]] void Unsupported(std::string message) const;
  /// Fails unless `condition`.
  void Expect(bool condition, std::string_view message) const {
    if (!condition) Fail(std::string(message));
  }
  template <class A, class B>
  void Equal(const A& got, const B& want, std::string_view what) const {
    if (!(got == static_cast<A>(want))) Unequal(std::to_string(got), std::to_string(want), what);
  }
  [[noreturn]] void Unequal(std::string_view got, std::string_view want, std::string_view what) const;

  /// What reports say of the test if it passes: a figure.
  void Note(std::string text) { note_ = std::move(text); }
  std::string TakeNote() { return std::exchange(note_, {}); }

  // --- Calls. Thread-safe.
  /// The error as a status; frees it. Checks that its code and text are those of an error.
  Status Take(PJRT_Error* error) const;
  template <class Args>
  bool Supports() const {
    return Has<Args>(api_);
  }
  /// Calls the function; ends the test as unsupported when the table does not have it.
  template <class Args>
  PJRT_Error* Raw(Args& args) const {
    if (!Has<Args>(api_)) Missing(Fn<Args>::kName);
    return Fn<Args>::Slot(api_)(&args);
  }
  template <class Args>
  Status Try(Args& args) const {
    return Take(Raw(args));
  }
  /// Must succeed. UNIMPLEMENTED ends the test as unsupported.
  template <class Args>
  void Ok(Args& args) const {
    CheckOk(Try(args), Fn<Args>::kName);
  }
  /// Must fail with one of `codes`, or with any code when there are none, and with a text, which is returned.
  template <class Args>
  std::string Fails(Args& args, std::initializer_list<Code> codes, std::string_view why) const {
    Status status = Try(args);
    CheckFailure(status, codes, Fn<Args>::kName, why);
    return std::string(status.message());
  }
  /// Ends the test as unsupported because the table does not have `function`.
  [[noreturn]] void Missing(std::string_view function) const;
  /// What Ok and Fails say of the outcome of `what`.
  void CheckOk(const Status& status, std::string_view what) const;
  void CheckFailure(const Status& status, std::initializer_list<Code> codes, std::string_view what,
                    std::string_view why) const;

  // --- The shared client.
  PJRT_Client* client();
  /// OK once there is a client; the error of PJRT_Client_Create otherwise.
  Status ClientStatus();
  const std::vector<PJRT_Device*>& devices();
  PJRT_Device* device(size_t i = 0) { return devices().at(i); }
  PJRT_Memory* DefaultMemory(PJRT_Device* device);
  std::vector<PJRT_Memory*> Memories(PJRT_Device* device);
  std::string MemoryKind(PJRT_Memory* memory);
  PJRT_DeviceDescription* Description(PJRT_Device* device);
  int DeviceId(PJRT_Device* device);
  /// A client of the test's own, with the profile's options.
  Client NewClient();
  std::string PlatformName();
  std::string PlatformVersion();
  /// The client's topology, or one made from the profile's name; `owned` keeps the latter.
  PJRT_TopologyDescription* AnyTopology(Topology* owned);

  // --- Events.
  /// Waits and returns the event's outcome.
  Status Await(PJRT_Event* event) const;
  bool IsReady(PJRT_Event* event) const;

  // --- Buffers.
  Buffer Upload(PJRT_Buffer_Type type, const void* data, const Dims& dims, const UploadOptions& options = {});
  Result<Buffer> TryUpload(PJRT_Buffer_Type type, const void* data, const Dims& dims, const UploadOptions& options = {},
                           Event* done = nullptr);
  template <class T>
  Buffer Upload(const std::vector<T>& values, const Dims& dims, const UploadOptions& options = {}) {
    return Upload(TypeOf<T>(), values.data(), dims, options);
  }
  /// f32[4] = {first, first + 1, ...}.
  Buffer Four(float first = 1) { return Upload<float>({first, first + 1, first + 2, first + 3}, {4}); }
  /// Dense row-major bytes.
  Bytes Download(PJRT_Buffer* buffer);
  Result<Bytes> TryDownload(PJRT_Buffer* buffer);
  template <class T>
  std::vector<T> Download(PJRT_Buffer* buffer) {
    Bytes bytes = Download(buffer);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  void ExpectValues(PJRT_Buffer* buffer, const std::vector<float>& want, std::string_view what = "the buffer");
  Dims BufferDims(PJRT_Buffer* buffer);
  PJRT_Buffer_Type BufferType(PJRT_Buffer* buffer);
  bool IsDeleted(PJRT_Buffer* buffer);
  void Delete(PJRT_Buffer* buffer);
  /// The outcome of the ready event.
  Status Ready(PJRT_Buffer* buffer);
  /// A copy of `buffer` in `memory`.
  Buffer CopyToMemory(PJRT_Buffer* buffer, PJRT_Memory* memory);

  // --- Programs.
  Loaded Compile(std::string_view code, std::string_view options = kOneDevice, PJRT_Client* client = nullptr);
  Result<Loaded> TryCompile(std::string_view code, std::string_view options = kOneDevice,
                            std::string_view format = "mlir", PJRT_Client* client = nullptr);
  /// Compiles for a topology; `client` may be null.
  Executable CompileAhead(PJRT_TopologyDescription* topology, std::string_view code = kAddProgram,
                          PJRT_Client* client = nullptr);
  Executable GetExecutable(PJRT_LoadedExecutable* loaded);
  size_t NumOutputs(PJRT_LoadedExecutable* loaded);
  /// Runs on `arguments.size()` devices.
  Result<Run> TryExecute(PJRT_LoadedExecutable* loaded, const std::vector<std::vector<PJRT_Buffer*>>& arguments,
                         PJRT_ExecuteOptions* options = nullptr, PJRT_Device* execute_device = nullptr);
  /// The same, and must succeed; what fails later shows in the events.
  Run Start(PJRT_LoadedExecutable* loaded, const std::vector<std::vector<PJRT_Buffer*>>& arguments,
            PJRT_ExecuteOptions* options = nullptr, PJRT_Device* execute_device = nullptr);
  /// Runs on one device and waits.
  std::vector<Buffer> Execute(PJRT_LoadedExecutable* loaded, const std::vector<PJRT_Buffer*>& arguments,
                              PJRT_ExecuteOptions* options = nullptr);

  /// CompileOptionsProto: one replica, one partition.
  static constexpr std::string_view kOneDevice{"\x1a\x04\x20\x01\x28\x01", 6};
  static std::string CompileOptions(int replicas, int partitions);

  /// Called after each test by the worker.
  void EndTest() { owned_topology_.Reset(); }
  /// Destroys the shared client.
  void Close();

 private:
  const PJRT_Api* api_;
  void* library_;
  std::string path_;
  const Profile* profile_;
  PJRT_Client* client_ = nullptr;
  bool tried_client_ = false;
  Status client_status_;
  std::vector<PJRT_Device*> devices_;
  Topology owned_topology_;
  std::string note_;
};

/// Dense row-major layout of `rank` dimensions; `order` is the storage that it points to.
PJRT_Buffer_MemoryLayout RowMajor(size_t rank, std::vector<int64_t>* order);
/// The layout whose fastest dimension is the first.
PJRT_Buffer_MemoryLayout ColumnMajor(size_t rank, std::vector<int64_t>* order);
PJRT_ExecuteOptions NewExecuteOptions();
/// Points to both texts.
PJRT_Program NewProgram(std::string_view code, std::string_view format = "mlir");

/// Waits for what another thread does, at most `limit_ms`.
template <class Condition>
bool Eventually(Condition condition, int limit_ms = 10000) {
  for (int i = 0; i < limit_ms; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

}  // namespace tenon::conformance
