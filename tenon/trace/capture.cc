#include "tenon/trace/capture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/strided_copy.h"
#include "tenon/trace/objects.h"

namespace tenon::trace {
namespace {

struct State {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::string folder;
  int fd = -1;
  uint64_t left = 0;  // bytes of contents that may still be written
  int files = 0;
  std::set<uint32_t> buffers;  // those that a line has told of
};

// Never freed: threads may call until the process has gone.
State& GetState() {
  static State& state = *new State;
  return state;
}

class Lock {
 public:
  Lock() { pthread_mutex_lock(&GetState().mutex); }
  ~Lock() { pthread_mutex_unlock(&GetState().mutex); }
};

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// A new file beside calls.jsonl: its name, or empty.
std::string NewFile(State& state, const char* kind, std::string_view bytes) {
  const std::string name = std::string(kind) + "-" + std::to_string(state.files++);
  const int fd = open((state.folder + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return {};
  const bool written = WriteAll(fd, bytes);
  close(fd);
  return written ? name : std::string();
}

// A capture that cannot be written is no capture: it ends.
void Line(State& state, std::string line) {
  line += '\n';
  if (WriteAll(state.fd, line)) return;
  close(state.fd);
  state.fd = -1;
}

std::string List(const int64_t* values, size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::to_string(values[i]);
  return text + "]";
}

void Buffer(State& state, uint32_t serial, uint32_t type, const int64_t* dims, size_t rank, const std::string& data) {
  state.buffers.insert(serial);
  Line(state, R"({"op":"buffer","buffer":)" + std::to_string(serial) + R"(,"type":")" +
                  std::string(DTypeName(static_cast<DType>(std::min<uint32_t>(type, kNumDTypes)))) + R"(","dims":)" +
                  List(dims, rank) + (data.empty() ? "" : R"(,"data":")" + data + "\"") + "}");
}

// The contents of a host array, row-major without gaps; nothing where they are too many.
std::string Contents(State& state, const PJRT_Client_BufferFromHostBuffer_Args& args) {
  const int width = ByteWidth(static_cast<DType>(args.type));
  int64_t bytes = width;
  for (size_t i = 0; i < args.num_dims; ++i) {
    if (__builtin_mul_overflow(bytes, args.dims[i], &bytes)) return {};
  }
  if (args.data == nullptr || bytes <= 0 || static_cast<uint64_t>(bytes) > state.left) return {};
  state.left -= static_cast<uint64_t>(bytes);
  if (args.byte_strides == nullptr)
    return NewFile(state, "data", {static_cast<const char*>(args.data), static_cast<size_t>(bytes)});
  std::string dense(static_cast<size_t>(bytes), '\0');
  std::vector<int64_t> strides(args.num_dims);
  int64_t stride = width;
  for (size_t i = args.num_dims; i-- > 0; stride *= args.dims[i]) strides[i] = stride;
  StridedCopy(dense.data(), strides, args.data, {args.byte_strides, args.num_dims}, {args.dims, args.num_dims}, width);
  return NewFile(state, "data", dense);
}

uint32_t SerialOf(void* handle, HandleKind kind) { return Handles::Get().Find(handle, kind).serial; }

// An argument that no line told of: made on the device, by a view, by a transfer. Type and extents are asked for.
void TellUnknown(State& state, const Session& session, PJRT_Buffer* buffer, uint32_t serial) {
  if (serial == 0 || state.buffers.contains(serial)) return;
  PJRT_Buffer_ElementType_Args type{};
  type.struct_size = PJRT_Buffer_ElementType_Args_STRUCT_SIZE;
  type.buffer = buffer;
  PJRT_Buffer_Dimensions_Args dims{};
  dims.struct_size = PJRT_Buffer_Dimensions_Args_STRUCT_SIZE;
  dims.buffer = buffer;
  PJRT_Error* error = session.inner->PJRT_Buffer_ElementType(&type);
  if (error == nullptr) error = session.inner->PJRT_Buffer_Dimensions(&dims);
  if (error != nullptr) {
    PJRT_Error_Destroy_Args destroy{};
    destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
    destroy.error = error;
    session.inner->PJRT_Error_Destroy(&destroy);
    return;
  }
  Buffer(state, serial, static_cast<uint32_t>(type.type), dims.dims, dims.num_dims, {});
}

void Compile(State& state, const PJRT_Client_Compile_Args& args, uint64_t duration_ns) {
  if (args.program == nullptr || args.program->code == nullptr) return;
  const std::string program = NewFile(state, "program", {args.program->code, args.program->code_size});
  const std::string options = NewFile(
      state, "options", {args.compile_options, args.compile_options == nullptr ? 0 : args.compile_options_size});
  // Formats are names of a few letters.
  std::string format(args.program->format, args.program->format_size);
  for (char& c : format) c = c == '"' || c == '\\' || c < ' ' ? '?' : c;
  Line(state, R"({"op":"compile","executable":)" +
                  std::to_string(SerialOf(args.executable, HandleKind::kLoadedExecutable)) + R"(,"program":")" +
                  program + R"(","format":")" + format + R"(","options":")" + options + R"(","ns":)" +
                  std::to_string(duration_ns) + "}");
}

void Execute(State& state, const Session& session, const PJRT_LoadedExecutable_Execute_Args& args,
             uint64_t duration_ns) {
  const uint32_t executable = SerialOf(args.executable, HandleKind::kLoadedExecutable);
  const auto lists = [&](auto* const* buffers, size_t count) {
    std::string text = "[";
    for (size_t d = 0; d < args.num_devices; ++d) {
      text += d == 0 ? "[" : ",[";
      for (size_t i = 0; i < count && buffers != nullptr && buffers[d] != nullptr; ++i)
        text += (i == 0 ? "" : ",") + std::to_string(SerialOf(buffers[d][i], HandleKind::kBuffer));
      text += "]";
    }
    return text + "]";
  };
  for (size_t d = 0; d < args.num_devices; ++d) {
    for (size_t i = 0; i < args.num_args; ++i)
      TellUnknown(state, session, args.argument_lists[d][i], SerialOf(args.argument_lists[d][i], HandleKind::kBuffer));
  }
  const int outputs = std::max(NumOutputs(session, args.executable, executable), 0);
  for (size_t d = 0; d < args.num_devices && args.output_lists != nullptr; ++d) {
    for (int i = 0; i < outputs && args.output_lists[d] != nullptr; ++i)
      state.buffers.insert(SerialOf(args.output_lists[d][i], HandleKind::kBuffer));
  }
  Line(state, R"({"op":"execute","executable":)" + std::to_string(executable) + R"(,"arguments":)" +
                  lists(args.argument_lists, args.num_args) + R"(,"outputs":)" +
                  lists(args.output_lists, static_cast<size_t>(outputs)) + R"(,"ns":)" + std::to_string(duration_ns) +
                  "}");
}

void Copy(State& state, void* source, void* made) {
  const uint32_t serial = SerialOf(made, HandleKind::kBuffer);
  state.buffers.insert(serial);
  Line(state, R"({"op":"copy","of":)" + std::to_string(SerialOf(source, HandleKind::kBuffer)) + R"(,"buffer":)" +
                  std::to_string(serial) + "}");
}

template <class Args>
const Args* As(const void* args, size_t valid, size_t needed) {
  return valid >= needed ? static_cast<const Args*>(args) : nullptr;
}

}  // namespace

bool StartCapture(const std::string& folder, uint64_t limit_bytes) {
  const Lock lock;
  State& state = GetState();
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return false;
  state.folder = folder;
  state.left = limit_bytes;
  state.files = 0;
  state.buffers.clear();
  state.fd = open((folder + "/calls.jsonl").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  return state.fd >= 0;
}

void AbandonCapture() {
  State& state = GetState();
  pthread_mutex_init(&state.mutex, nullptr);
  if (state.fd >= 0) close(state.fd);
  state.fd = -1;
}

void StopCapture() {
  const Lock lock;
  State& state = GetState();
  if (state.fd >= 0) close(state.fd);
  state.fd = -1;
}

void Capture(const Session& session, int id, const void* args, size_t valid, const HandleInfo& first,
             uint64_t duration_ns) {
  const Lock lock;
  State& state = GetState();
  if (state.fd < 0) return;
  switch (id) {
    case k_PJRT_Client_Compile:
      if (const auto* a = As<PJRT_Client_Compile_Args>(args, valid, PJRT_Client_Compile_Args_STRUCT_SIZE))
        Compile(state, *a, duration_ns);
      return;
    case k_PJRT_Client_BufferFromHostBuffer:
      if (const auto* a = As<PJRT_Client_BufferFromHostBuffer_Args>(
              args, valid, PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE)) {
        Buffer(state, SerialOf(a->buffer, HandleKind::kBuffer), static_cast<uint32_t>(a->type), a->dims, a->num_dims,
               Contents(state, *a));
      }
      return;
    case k_PJRT_LoadedExecutable_Execute:
      if (const auto* a = As<PJRT_LoadedExecutable_Execute_Args>(
              args, valid, offsetof(PJRT_LoadedExecutable_Execute_Args, execute_device)))
        Execute(state, session, *a, duration_ns);
      return;
    case k_PJRT_Buffer_CopyToDevice:
      if (const auto* a = As<PJRT_Buffer_CopyToDevice_Args>(args, valid, PJRT_Buffer_CopyToDevice_Args_STRUCT_SIZE))
        Copy(state, a->buffer, a->dst_buffer);
      return;
    case k_PJRT_Buffer_CopyToMemory:
      if (const auto* a = As<PJRT_Buffer_CopyToMemory_Args>(args, valid, PJRT_Buffer_CopyToMemory_Args_STRUCT_SIZE))
        Copy(state, a->buffer, a->dst_buffer);
      return;
    case k_PJRT_Buffer_Destroy:
      if (state.buffers.erase(first.serial) > 0)
        Line(state, R"({"op":"destroy","buffer":)" + std::to_string(first.serial) + "}");
      return;
    default:
      return;
  }
}

}  // namespace tenon::trace
