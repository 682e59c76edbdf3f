#include "tenon/plugin/testing/extensions.h"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/buffer.h"
#include "tenon/plugin/transfers.h"

// --- What the handles are.

struct PJRT_PhaseCompiler {};
struct PJRT_RuntimeAbiVersion {
  std::string version;
};
struct PJRT_ExecutableAbiVersion {
  std::string version;
};

namespace tenon::plugin::bind {

namespace {

std::atomic<int64_t> live{0};

// The C struct has a table of functions of its own, which callers may ignore and which this one leaves empty.
struct RawBuffer : PJRT_RawBuffer {
  Ref<Buffer> buffer;  // private to the handle, over the same bytes
};
const PJRT_RawBuffer_FunctionTable kNoFunctions = {};
RawBuffer& FromC(PJRT_RawBuffer* raw) { return *static_cast<RawBuffer*>(raw); }

Status CheckRange(std::string_view fn, const Buffer& buffer, int64_t offset, int64_t size) {
  const auto total = static_cast<int64_t>(buffer.size_bytes());
  if (offset >= 0 && size >= 0 && offset <= total && size <= total - offset) return OkStatus();
  return InvalidArgument(fmt::format("{}: {} bytes at offset {} of a buffer of {} bytes", fn, size, offset, total));
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_CreateRawAliasOfBuffer) {
  TENON_REQUIRE(buffer);
  Buffer& buffer = *bind::FromC(args.buffer);
  TENON_ASSIGN_OR_RETURN(BufferUse use, buffer.Use());
  if (use.promise) {
    (void)buffer.Collect(false);
    return Unimplemented(fmt::format("{}: the buffer is an unfulfilled promise", fn));
  }
  auto* raw = new RawBuffer;
  raw->vtable = &kNoFunctions;
  raw->buffer =
      Buffer::Make(buffer.device(), buffer.memory(), buffer.spec(), std::move(use.storage), std::move(use.ready));
  ++live;
  args.raw_buffer = raw;
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_Destroy) {
  if (args.buffer == nullptr) return OkStatus();
  delete &FromC(args.buffer);
  --live;
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_GetOnDeviceSizeInBytes) {
  TENON_REQUIRE(buffer);
  args.on_device_size_in_bytes = FromC(args.buffer).buffer->size_bytes();
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_GetMemorySpace) {
  TENON_REQUIRE(buffer);
  args.memory_space = ToC(FromC(args.buffer).buffer->memory());
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_GetHostPointer) {
  TENON_REQUIRE(buffer);
  Buffer& buffer = *FromC(args.buffer).buffer;
  args.host_pointer = nullptr;
  if (!buffer.memory()->host_accessible()) return OkStatus();
  TENON_ASSIGN_OR_RETURN(args.host_pointer, buffer.DataPointer());
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_CopyRawDeviceToHost) {
  TENON_REQUIRE(buffer);
  Buffer& buffer = *FromC(args.buffer).buffer;
  TENON_RETURN_IF_ERROR(CheckRange(fn, buffer, args.offset, args.transfer_size));
  if (args.transfer_size != 0) TENON_REQUIRE(dst);
  args.event = ToC(DownloadRaw(buffer, args.offset, args.transfer_size, args.dst));
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_CopyRawHostToDevice) {
  TENON_REQUIRE(buffer);
  Buffer& buffer = *FromC(args.buffer).buffer;
  TENON_RETURN_IF_ERROR(CheckRange(fn, buffer, args.offset, args.transfer_size));
  if (args.transfer_size != 0) TENON_REQUIRE(src);
  TENON_ASSIGN_OR_RETURN(BufferUse use, buffer.Use());
  const auto size = static_cast<size_t>(args.transfer_size);
  const auto offset = static_cast<size_t>(args.offset);
  EventRef done = WhenUsable(buffer.client(), std::move(use), size,
                             [&memory = *buffer.memory(), src = args.src, offset, size](const BufferUse& u) {
                               EventRef written = memory.Write(*u.storage, offset, src, size);
                               if (written.get() != nullptr) written.OnReady([keep = u.storage](const Status&) {});
                               return written;
                             });
  args.event = ToC(std::move(done));
  return OkStatus();
}

// --- Host allocator

TENON_BIND_EXTENSION(PJRT_HostAllocator_GetPreferredAlignment) {
  TENON_REQUIRE(client);
  args.preferred_alignment = 128;
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_HostAllocator_Allocate) {
  TENON_REQUIRE(client);
  if (!std::has_single_bit(args.alignment))
    return InvalidArgument(fmt::format("{}: alignment {} is no power of two", fn, args.alignment));
  if (args.size > size_t{1} << 40) return ResourceExhausted(fmt::format("{}: no memory for {} bytes", fn, args.size));
  const size_t alignment = std::max(args.alignment, sizeof(void*));
  if (::posix_memalign(&args.ptr, alignment, std::max<size_t>(args.size, 1)) != 0)
    return ResourceExhausted(fmt::format("{}: no memory for {} bytes", fn, args.size));
  ++live;
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_HostAllocator_Free) {
  TENON_REQUIRE(client);
  if (args.ptr == nullptr) return OkStatus();
  std::free(args.ptr);
  --live;
  return OkStatus();
}

// --- Phases. A partial program has its bytes in field 1 and the phase that made it in field 3, both short.

constexpr const char* kPhases[] = {"parse", "lower"};
constexpr size_t kNumPhases = std::size(kPhases);
const PJRT_PhaseCompiler kCompiler;

// Texts in memory of their own, as one array each.
void GiveTexts(const std::vector<std::string>& texts, const char**& data, const size_t*& sizes, size_t& count) {
  auto** list = new const char*[texts.size() + 1];
  auto* lengths = new size_t[texts.size() + 1];
  for (size_t i = 0; i < texts.size(); ++i) {
    auto* copy = new char[texts[i].size() + 1];
    std::memcpy(copy, texts[i].c_str(), texts[i].size() + 1);
    list[i] = copy;
    lengths[i] = texts[i].size();
  }
  data = list;
  sizes = lengths;
  count = texts.size();
  ++live;
}

std::string Field(int number, std::string_view bytes) {
  return fmt::format("{}{}{}", static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size()), bytes);
}

Result<std::string> CodeOf(std::string_view fn, std::string_view program) {
  if (program.size() < 2 || program[0] != (1 << 3 | 2) || static_cast<size_t>(program[1]) > program.size() - 2)
    return InvalidArgument(fmt::format("{}: an input is no partial program", fn));
  return std::string(program.substr(2, static_cast<size_t>(program[1])));
}

TENON_BIND_EXTENSION(PJRT_PhaseCompile_Get_Compiler) {
  args.phase_compiler = &kCompiler;
  ++live;
  return OkStatus();
}
void DestroyCompiler(PJRT_PhaseCompile_Destroy_Compiler_Args* args) {
  if (args->phase_compiler != nullptr) --live;
}

TENON_BIND_EXTENSION(PJRT_PhaseCompile_Get_PhaseNames) {
  TENON_REQUIRE(phase_compiler);
  GiveTexts({kPhases, kPhases + kNumPhases}, args.phase_names, args.phase_names_sizes, args.num_phase_names);
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_PhaseCompile_Run_Phase) {
  TENON_REQUIRE(phase_compiler);
  TENON_REQUIRE(topology);
  TENON_REQUIRE_ARRAY(input_programs, num_input_programs);
  TENON_REQUIRE_ARRAY(phases_to_run, num_phases_to_run);
  if (args.num_phases_to_run == 0) return InvalidArgument(fmt::format("{}: no phase is named", fn));
  std::vector<std::string> outputs;
  for (size_t i = 0; i < args.num_input_programs; ++i) {
    TENON_ASSIGN_OR_RETURN(std::string code, CodeOf(fn, {args.input_programs[i], args.input_programs_sizes[i]}));
    std::string last;
    for (size_t p = 0; p < args.num_phases_to_run; ++p) {
      last.assign(args.phases_to_run[p], args.phases_to_run_sizes[p]);
      if (std::find(kPhases, kPhases + kNumPhases, last) == kPhases + kNumPhases)
        return InvalidArgument(fmt::format("{}: there is no phase '{}'", fn, last));
      code = fmt::format("{}({})", last, code);
    }
    outputs.push_back(Field(1, code) + Field(3, last));
  }
  GiveTexts(outputs, args.output_programs, args.output_programs_sizes, args.num_output_programs);
  return OkStatus();
}

void DestroyTexts(PJRT_PhaseCompile_C_Buffers_Destroy_Args* args) {
  if (args->char_buffers == nullptr) return;
  for (size_t i = 0; i < args->num_char_buffers; ++i) delete[] args->char_buffers[i];
  delete[] args->char_buffers;
  delete[] args->char_buffer_sizes;
  --live;
}

// --- ABI versions: a text.

template <class Version>
Version* NewVersion(std::string text) {
  ++live;
  return new Version{std::move(text)};
}
template <class Args>
Status DestroyVersion(Args& args) {
  if (args.abi_version != nullptr) --live;
  delete args.abi_version;
  return OkStatus();
}
template <class Args>
void GiveProto(Args& args) {
  ++live;
  args.serialized_proto_holder = NewHolder<PJRT_SerializedProto>("abi " + args.abi_version->version,
                                                                 &args.serialized_proto, &args.serialized_proto_size);
  args.serialized_proto_deleter = [](PJRT_SerializedProto* holder) {
    --live;
    DeleteHolder(holder);
  };
}
template <class Version, class Args>
Status ReadProto(std::string_view fn, Args& args) {
  TENON_REQUIRE(serialized_proto);
  const std::string_view bytes(args.serialized_proto, args.serialized_proto_size);
  if (!bytes.starts_with("abi ")) return InvalidArgument(fmt::format("{}: the bytes are no ABI version", fn));
  args.abi_version = NewVersion<Version>(std::string(bytes.substr(4)));
  return OkStatus();
}
Status Compare(std::string_view fn, const std::string& a, const std::string& b) {
  if (a == b) return OkStatus();
  return FailedPrecondition(fmt::format("{}: this runtime has version {}, the other one {}", fn, a, b));
}

TENON_BIND_EXTENSION(PJRT_Client_RuntimeAbiVersion) {
  TENON_REQUIRE(client);
  args.abi_version = NewVersion<PJRT_RuntimeAbiVersion>("1");
  return OkStatus();
}
TENON_BIND_EXTENSION(PJRT_Executable_GetAbiVersion) {
  TENON_REQUIRE(executable);
  args.abi_version = NewVersion<PJRT_ExecutableAbiVersion>("1");
  return OkStatus();
}
TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_Destroy) { return DestroyVersion(args); }
TENON_BIND_EXTENSION(PJRT_ExecutableAbiVersion_Destroy) { return DestroyVersion(args); }
TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime) {
  TENON_REQUIRE(abi_version);
  TENON_REQUIRE(other_abi_version);
  return Compare(fn, args.abi_version->version, args.other_abi_version->version);
}
TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable) {
  TENON_REQUIRE(abi_version);
  TENON_REQUIRE(executable_abi_version);
  return Compare(fn, args.abi_version->version, args.executable_abi_version->version);
}
TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_ToProto) {
  TENON_REQUIRE(abi_version);
  GiveProto(args);
  return OkStatus();
}
TENON_BIND_EXTENSION(PJRT_ExecutableAbiVersion_ToProto) {
  TENON_REQUIRE(abi_version);
  GiveProto(args);
  return OkStatus();
}
TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_PlatformId) {
  TENON_REQUIRE(abi_version);
  args.platform_id = 7;
  return OkStatus();
}
TENON_BIND_EXTENSION(PJRT_ExecutableAbiVersion_PlatformId) {
  TENON_REQUIRE(abi_version);
  args.platform_id = 7;
  return OkStatus();
}
TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_FromProto) { return ReadProto<PJRT_RuntimeAbiVersion>(fn, args); }
TENON_BIND_EXTENSION(PJRT_ExecutableAbiVersion_FromProto) { return ReadProto<PJRT_ExecutableAbiVersion>(fn, args); }

}  // namespace

namespace {

PJRT_RawBuffer_Extension raw_buffer = {
    .base = {.struct_size = PJRT_RawBuffer_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_RawBuffer,
             .next = nullptr},
    .PJRT_RawBuffer_CreateRawAliasOfBuffer = Bind_PJRT_RawBuffer_CreateRawAliasOfBuffer,
    .PJRT_RawBuffer_Destroy = Bind_PJRT_RawBuffer_Destroy,
    .PJRT_RawBuffer_GetOnDeviceSizeInBytes = Bind_PJRT_RawBuffer_GetOnDeviceSizeInBytes,
    .PJRT_RawBuffer_GetMemorySpace = Bind_PJRT_RawBuffer_GetMemorySpace,
    .PJRT_RawBuffer_CopyRawHostToDevice = Bind_PJRT_RawBuffer_CopyRawHostToDevice,
    .PJRT_RawBuffer_CopyRawDeviceToHost = Bind_PJRT_RawBuffer_CopyRawDeviceToHost,
    .PJRT_RawBuffer_GetHostPointer = Bind_PJRT_RawBuffer_GetHostPointer,
};
PJRT_HostAllocator_Extension host_allocator = {
    .base = {.struct_size = PJRT_HostAllocator_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_HostAllocator,
             .next = &raw_buffer.base},
    .get_preferred_alignment = Bind_PJRT_HostAllocator_GetPreferredAlignment,
    .allocate = Bind_PJRT_HostAllocator_Allocate,
    .free = Bind_PJRT_HostAllocator_Free,
};
PJRT_PhaseCompile_Extension phase_compile = {
    .base = {.struct_size = PJRT_PhaseCompile_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_PhaseCompile,
             .next = &host_allocator.base},
    .phase_compile_get_compiler = Bind_PJRT_PhaseCompile_Get_Compiler,
    .phase_compile_destroy_compiler = DestroyCompiler,
    .phase_compile_run_phases = Bind_PJRT_PhaseCompile_Run_Phase,
    .phase_compile_get_phase_names = Bind_PJRT_PhaseCompile_Get_PhaseNames,
    .phase_compile_c_buffers_destroy = DestroyTexts,
};
PJRT_AbiVersion_Extension abi_version = {
    .base = {.struct_size = PJRT_AbiVersion_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_AbiVersion,
             .next = &phase_compile.base},
    .client_runtime_abi_version = Bind_PJRT_Client_RuntimeAbiVersion,
    .executable_get_abi_version = Bind_PJRT_Executable_GetAbiVersion,
    .runtime_abi_version_destroy = Bind_PJRT_RuntimeAbiVersion_Destroy,
    .runtime_abi_version_is_compatible_with_runtime = Bind_PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime,
    .runtime_abi_version_is_compatible_with_executable = Bind_PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable,
    .runtime_abi_version_to_proto = Bind_PJRT_RuntimeAbiVersion_ToProto,
    .runtime_abi_version_platform_id = Bind_PJRT_RuntimeAbiVersion_PlatformId,
    .executable_abi_version_destroy = Bind_PJRT_ExecutableAbiVersion_Destroy,
    .executable_abi_version_to_proto = Bind_PJRT_ExecutableAbiVersion_ToProto,
    .executable_abi_version_platform_id = Bind_PJRT_ExecutableAbiVersion_PlatformId,
    .runtime_abi_version_from_proto = Bind_PJRT_RuntimeAbiVersion_FromProto,
    .executable_abi_version_from_proto = Bind_PJRT_ExecutableAbiVersion_FromProto,
};

}  // namespace

}  // namespace tenon::plugin::bind

namespace tenon::plugin::testing {

PJRT_Extension_Base* TestExtensions(PJRT_Extension_Base* next) {
  bind::raw_buffer.base.next = next;
  return &bind::abi_version.base;
}

int64_t LiveTestObjects() { return bind::live; }

}  // namespace tenon::plugin::testing
