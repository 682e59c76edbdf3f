// Extensions that few plugins have: raw buffers, the host allocators, single phases of the compiler, ABI versions. A
// plugin needs none of them; those that it has must work.
#include <bit>
#include <set>
#include <string>
#include <vector>

#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/abi/pjrt_host_memory_allocator.h"
#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/conformance/areas/extension_calls.h"
#include "tenon/conformance/areas/more.h"
#include "tenon/conformance/env.h"

namespace tenon::conformance {

namespace {

// Calls a slot of an extension: CALL(env, kind, Slot, args) must succeed, TRY gives the status.
#define TRY(env, kind, slot, args) \
  (env).Take(Get((env), kind(env), &std::remove_cvref_t<decltype(kind(env))>::slot, #slot)(&(args)))
#define CALL(env, kind, slot, args) \
  Check((env), Get((env), kind(env), &std::remove_cvref_t<decltype(kind(env))>::slot, #slot)(&(args)), #slot)
#define ARGS(type, name) auto name = NewArgs<type>(type##_STRUCT_SIZE)

// --- Raw buffers

const PJRT_RawBuffer_Extension& RawBuffers(Env& env) {
  return Find<PJRT_RawBuffer_Extension>(env, PJRT_Extension_Type_RawBuffer, "raw buffer");
}

// A raw handle; destroyed by hand, since a test that fails ends its process.
PJRT_RawBuffer* Alias(Env& env, PJRT_Buffer* buffer) {
  ARGS(PJRT_RawBuffer_CreateRawAliasOfBuffer_Args, args);
  args.buffer = buffer;
  CALL(env, RawBuffers, PJRT_RawBuffer_CreateRawAliasOfBuffer, args);
  env.Expect(args.raw_buffer != nullptr, "there is no raw buffer");
  return args.raw_buffer;
}

void DestroyRaw(Env& env, PJRT_RawBuffer* raw) {
  ARGS(PJRT_RawBuffer_Destroy_Args, args);
  args.buffer = raw;
  CALL(env, RawBuffers, PJRT_RawBuffer_Destroy, args);
}

// The status of the call, or of its event.
Status TryRead(Env& env, PJRT_RawBuffer* raw, void* dst, int64_t offset, int64_t size) {
  ARGS(PJRT_RawBuffer_CopyRawDeviceToHost_Args, args);
  args.buffer = raw;
  args.dst = dst;
  args.offset = offset;
  args.transfer_size = size;
  TENON_RETURN_IF_ERROR(TRY(env, RawBuffers, PJRT_RawBuffer_CopyRawDeviceToHost, args));
  Event event(env, args.event);
  return env.Await(event);
}

Status TryWrite(Env& env, PJRT_RawBuffer* raw, const void* src, int64_t offset, int64_t size) {
  ARGS(PJRT_RawBuffer_CopyRawHostToDevice_Args, args);
  args.buffer = raw;
  args.src = src;
  args.offset = offset;
  args.transfer_size = size;
  TENON_RETURN_IF_ERROR(TRY(env, RawBuffers, PJRT_RawBuffer_CopyRawHostToDevice, args));
  Event event(env, args.event);
  return env.Await(event);
}

void ExpectRaw(Env& env, PJRT_RawBuffer* raw, int64_t first, const std::vector<float>& want) {
  std::vector<float> got(want.size());
  Status status = TryRead(env, raw, got.data(), first * 4, static_cast<int64_t>(want.size() * 4));
  env.Expect(status.ok(), "reading failed: " + status.ToString());
  for (size_t i = 0; i < want.size(); ++i) env.Equal(got[i], want[i], "element " + std::to_string(i));
}

void AddRawBuffers(Suite& suite) {
  suite.Add("extensions.raw_size", Needs::kClient, "A raw alias has the size that the buffer has on the device",
            kHeader, [](Env& env) {
              Buffer buffer = env.Four();
              PJRT_RawBuffer* raw = Alias(env, buffer);
              ARGS(PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args, args);
              args.buffer = raw;
              CALL(env, RawBuffers, PJRT_RawBuffer_GetOnDeviceSizeInBytes, args);
              auto size = New<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
              size.buffer = buffer;
              env.Ok(size);
              env.Equal(args.on_device_size_in_bytes, size.on_device_size_in_bytes, "bytes");
              DestroyRaw(env, raw);
            });
  suite.Add("extensions.raw_memory", Needs::kClient, "A raw alias lies in the memory of its buffer", kHeader,
            [](Env& env) {
              Buffer buffer = env.Four();
              PJRT_RawBuffer* raw = Alias(env, buffer);
              ARGS(PJRT_RawBuffer_GetMemorySpace_Args, args);
              args.buffer = raw;
              CALL(env, RawBuffers, PJRT_RawBuffer_GetMemorySpace, args);
              auto memory = New<PJRT_Buffer_Memory_Args>();
              memory.buffer = buffer;
              env.Ok(memory);
              env.Expect(args.memory_space == memory.memory, "it is another memory");
              DestroyRaw(env, raw);
            });
  suite.Add("extensions.raw_read", Needs::kClient, "Raw bytes are those of the buffer, from any offset", kHeader,
            [](Env& env) {
              Buffer buffer = env.Four();
              PJRT_RawBuffer* raw = Alias(env, buffer);
              ExpectRaw(env, raw, 0, {1, 2, 3, 4});
              ExpectRaw(env, raw, 1, {2, 3});
              ExpectRaw(env, raw, 4, {});
              DestroyRaw(env, raw);
            });
  suite.Add("extensions.raw_write", Needs::kClient, "Bytes written through a raw alias are the buffer's", kHeader,
            [](Env& env) {
              Buffer buffer = env.Four();
              PJRT_RawBuffer* raw = Alias(env, buffer);
              const float values[] = {8, 9};
              Status status = TryWrite(env, raw, values, 4, 8);
              if (status.code() == Code::kUnimplemented) env.Unsupported(status.ToString());
              env.Expect(status.ok(), "writing failed: " + status.ToString());
              env.ExpectValues(buffer, {1, 8, 9, 4});
              DestroyRaw(env, raw);
            });
  suite.Add("extensions.raw_host_pointer", Needs::kClient, "The host pointer is NULL or where the bytes lie", kHeader,
            [](Env& env) {
              Buffer buffer = env.Four();
              env.Expect(env.Ready(buffer).ok(), "the buffer failed");
              PJRT_RawBuffer* raw = Alias(env, buffer);
              ARGS(PJRT_RawBuffer_GetHostPointer_Args, args);
              args.buffer = raw;
              CALL(env, RawBuffers, PJRT_RawBuffer_GetHostPointer, args);
              const auto* values = static_cast<const float*>(args.host_pointer);
              if (values != nullptr) env.Expect(values[0] == 1 && values[3] == 4, "there is something else");
              DestroyRaw(env, raw);
            });
  suite.Add("extensions.raw_out_of_range", Needs::kClient, "Raw copies beyond the buffer fail", kRobust, [](Env& env) {
    Buffer buffer = env.Four();
    PJRT_RawBuffer* raw = Alias(env, buffer);
    std::vector<float> values(1024);
    for (const auto& [offset, size] : {std::pair<int64_t, int64_t>{8, 4096}, {16, 4}, {-4, 8}}) {
      env.CheckFailure(TryRead(env, raw, values.data(), offset, size), {Code::kInvalidArgument, Code::kOutOfRange},
                       "CopyRawDeviceToHost", "the bytes are not the buffer's");
      env.CheckFailure(TryWrite(env, raw, values.data(), offset, size), {Code::kInvalidArgument, Code::kOutOfRange},
                       "CopyRawHostToDevice", "the bytes are not the buffer's");
    }
    DestroyRaw(env, raw);
  });
  suite.Add("extensions.raw_outlives_buffer", Needs::kClient,
            "A raw alias keeps the bytes when the buffer is destroyed", kReference, [](Env& env) {
              Buffer buffer = env.Four();
              PJRT_RawBuffer* raw = Alias(env, buffer);
              buffer.Reset();
              Buffer other = env.Four(100);  // would take the place of freed bytes
              ExpectRaw(env, raw, 0, {1, 2, 3, 4});
              DestroyRaw(env, raw);
            });
  suite.Add("extensions.raw_deleted", Needs::kClient, "A deleted buffer has no raw alias", kRobust, [](Env& env) {
    Buffer buffer = env.Four();
    env.Delete(buffer);
    ARGS(PJRT_RawBuffer_CreateRawAliasOfBuffer_Args, args);
    args.buffer = buffer;
    env.CheckFailure(TRY(env, RawBuffers, PJRT_RawBuffer_CreateRawAliasOfBuffer, args),
                     {Code::kInvalidArgument, Code::kFailedPrecondition, Code::kNotFound}, "CreateRawAliasOfBuffer",
                     "the buffer is deleted");
  });
}

// --- Host allocator

const PJRT_HostAllocator_Extension& HostAllocator(Env& env) {
  return Find<PJRT_HostAllocator_Extension>(env, PJRT_Extension_Type_HostAllocator, "host allocator");
}

void AddHostAllocator(Suite& suite) {
  suite.Add("extensions.host_allocator_alignment", Needs::kClient, "The preferred alignment is a power of two", kHeader,
            [](Env& env) {
              ARGS(PJRT_HostAllocator_GetPreferredAlignment_Args, args);
              args.client = env.client();
              CALL(env, HostAllocator, get_preferred_alignment, args);
              env.Expect(std::has_single_bit(args.preferred_alignment),
                         "it is " + std::to_string(args.preferred_alignment));
            });
  suite.Add("extensions.host_allocator_allocate", Needs::kClient, "Host memory is aligned as asked, and one's own",
            kHeader, [](Env& env) {
              std::vector<void*> blocks;
              for (size_t alignment : {size_t{8}, size_t{64}, size_t{4096}}) {
                ARGS(PJRT_HostAllocator_Allocate_Args, args);
                args.client = env.client();
                args.size = 1000;
                args.alignment = alignment;
                CALL(env, HostAllocator, allocate, args);
                env.Expect(args.ptr != nullptr, "there is none");
                env.Equal(reinterpret_cast<uintptr_t>(args.ptr) % alignment, 0, "remainder of the address");
                std::memset(args.ptr, static_cast<int>(blocks.size()), args.size);
                blocks.push_back(args.ptr);
              }
              for (size_t i = 0; i < blocks.size(); ++i) {
                const auto* bytes = static_cast<const unsigned char*>(blocks[i]);
                env.Expect(bytes[0] == i && bytes[999] == i, "two blocks overlap");
                ARGS(PJRT_HostAllocator_Free_Args, args);
                args.client = env.client();
                args.ptr = blocks[i];
                CALL(env, HostAllocator, free, args);
              }
            });
  suite.Add("extensions.host_allocator_too_much", Needs::kClient, "More host memory than there is is an error", kRobust,
            [](Env& env) {
              ARGS(PJRT_HostAllocator_Allocate_Args, args);
              args.client = env.client();
              args.size = size_t{1} << 60;
              args.alignment = 64;
              env.CheckFailure(TRY(env, HostAllocator, allocate, args), {}, "allocate", "nobody has that much");
            });
}

// --- Host memory, block by block

const PJRT_HostMemoryAllocator_Extension& HostMemory(Env& env) {
  return Find<PJRT_HostMemoryAllocator_Extension>(env, PJRT_Extension_Type_HostMemoryAllocator,
                                                  "host memory allocator");
}

void AddHostMemory(Suite& suite) {
  suite.Add("extensions.host_memory_blocks", Needs::kClient,
            "Blocks of host memory are one's own until their deleters run", kHeader, [](Env& env) {
              std::vector<PJRT_HostMemoryAllocator_Allocate_Args> blocks;
              for (int i = 0; i < 3; ++i) {
                ARGS(PJRT_HostMemoryAllocator_Allocate_Args, args);
                args.client = env.client();
                args.size = 1000;
                args.numa_node = -1;
                CALL(env, HostMemory, allocate, args);
                env.Expect(args.ptr != nullptr && args.deleter != nullptr, "there is no block, or no deleter");
                std::memset(args.ptr, i, args.size);
                blocks.push_back(args);
              }
              for (size_t i = 0; i < blocks.size(); ++i) {
                env.Expect(blocks[i].ptr[0] == i && blocks[i].ptr[999] == i, "two blocks overlap");
                blocks[i].deleter(blocks[i].ptr, blocks[i].deleter_arg);
              }
            });
  suite.Add("extensions.host_memory_too_much", Needs::kClient, "More host memory than there is is an error", kRobust,
            [](Env& env) {
              ARGS(PJRT_HostMemoryAllocator_Allocate_Args, args);
              args.client = env.client();
              args.size = size_t{1} << 60;
              args.numa_node = -1;
              env.CheckFailure(TRY(env, HostMemory, allocate, args), {}, "allocate", "nobody has that much");
            });
}

// --- Phases

const PJRT_PhaseCompile_Extension& PhaseCompile(Env& env) {
  return Find<PJRT_PhaseCompile_Extension>(env, PJRT_Extension_Type_PhaseCompile, "phase compile");
}

class Phases {
 public:
  explicit Phases(Env& env) : env_(env) {
    ARGS(PJRT_PhaseCompile_Get_Compiler_Args, args);
    CALL(env, PhaseCompile, phase_compile_get_compiler, args);
    env.Expect(args.phase_compiler != nullptr, "there is no compiler");
    compiler_ = args.phase_compiler;
  }
  ~Phases() {
    ARGS(PJRT_PhaseCompile_Destroy_Compiler_Args, args);
    args.phase_compiler = compiler_;
    PhaseCompile(env_).phase_compile_destroy_compiler(&args);
  }
  Phases(const Phases&) = delete;
  Phases& operator=(const Phases&) = delete;

  std::vector<std::string> Names() {
    ARGS(PJRT_PhaseCompile_Get_PhaseNames_Args, args);
    args.phase_compiler = compiler_;
    CALL(env_, PhaseCompile, phase_compile_get_phase_names, args);
    std::vector<std::string> names;
    for (size_t i = 0; i < args.num_phase_names; ++i)
      names.emplace_back(args.phase_names[i], args.phase_names_sizes[i]);
    Free(args.phase_names, args.phase_names_sizes, args.num_phase_names);
    return names;
  }
  /// What the last run gave.
  const std::vector<std::string>& outputs() const { return outputs_; }
  Status TryRun(const std::vector<std::string>& programs, const std::vector<std::string>& phases) {
    std::vector<const char*> program_data, phase_data;
    std::vector<size_t> program_sizes, phase_sizes;
    for (const std::string& p : programs) program_data.push_back(p.data()), program_sizes.push_back(p.size());
    for (const std::string& p : phases) phase_data.push_back(p.data()), phase_sizes.push_back(p.size());
    Topology owned;
    ARGS(PJRT_PhaseCompile_Run_Phase_Args, args);
    args.phase_compiler = compiler_;
    args.input_programs = program_data.data();
    args.input_programs_sizes = program_sizes.data();
    args.num_input_programs = programs.size();
    args.phases_to_run = phase_data.data();
    args.phases_to_run_sizes = phase_sizes.data();
    args.num_phases_to_run = phases.size();
    args.compile_options = Env::kOneDevice.data();
    args.compile_options_size = Env::kOneDevice.size();
    args.topology = env_.AnyTopology(&owned);
    TENON_RETURN_IF_ERROR(TRY(env_, PhaseCompile, phase_compile_run_phases, args));
    outputs_.clear();
    for (size_t i = 0; i < args.num_output_programs; ++i)
      outputs_.emplace_back(args.output_programs[i], args.output_programs_sizes[i]);
    Free(args.output_programs, args.output_programs_sizes, args.num_output_programs);
    return OkStatus();
  }

 private:
  void Free(const char** texts, const size_t* sizes, size_t count) {
    ARGS(PJRT_PhaseCompile_C_Buffers_Destroy_Args, args);
    args.char_buffers = texts;
    args.char_buffer_sizes = sizes;
    args.num_char_buffers = count;
    Get(env_, PhaseCompile(env_), &PJRT_PhaseCompile_Extension::phase_compile_c_buffers_destroy,
        "c_buffers_destroy")(&args);
  }
  Env& env_;
  const PJRT_PhaseCompiler* compiler_;
  std::vector<std::string> outputs_;
};

// A program that has seen no phase, as PjRtPartialProgramProto: its first field is the code.
std::string PartialProgram(std::string_view code) {
  std::string bytes = "\x0a";
  size_t size = code.size();
  for (; size >= 0x80; size >>= 7) bytes += static_cast<char>(size | 0x80);
  bytes += static_cast<char>(size);
  return bytes += code;
}

void AddPhases(Suite& suite) {
  suite.Add("extensions.phase_names", Needs::kTable, "The compiler's phases have different names, the same each time",
            kHeader, [](Env& env) {
              Phases phases(env);
              std::vector<std::string> names = phases.Names();
              env.Expect(!names.empty(), "there are none");
              std::set<std::string> unique(names.begin(), names.end());
              env.Expect(unique.size() == names.size() && !unique.contains(""), "a name is empty or appears twice");
              env.Expect(phases.Names() == names, "they changed");
            });
  suite.Add("extensions.phase_two_compilers", Needs::kTable, "Two handles of the compiler live side by side", kHeader,
            [](Env& env) {
              Phases second(env);
              {
                Phases first(env);
              }
              env.Expect(!second.Names().empty(), "there are no phases");
            });
  suite.Add("extensions.phase_run", Needs::kTopology, "All phases in their order make one program of one", kHeader,
            [](Env& env) {
              Phases phases(env);
              const std::string program = PartialProgram(kAddProgram);
              env.CheckOk(phases.TryRun({program}, phases.Names()), "run_phases");
              env.Equal(phases.outputs().size(), 1, "programs");
              env.Expect(phases.outputs()[0].size() > 2 && phases.outputs()[0] != program, "nothing was done");
            });
  suite.Add(
      "extensions.phase_unknown", Needs::kTopology, "A phase that is not there gives an error", kRobust, [](Env& env) {
        Phases phases(env);
        env.CheckFailure(phases.TryRun({"\x0a\x01x"}, {"no such phase"}), {}, "run_phases", "there is no such phase");
      });
  suite.Add("extensions.phase_garbage", Needs::kTopology, "Bytes that are no program give an error", kRobust,
            [](Env& env) {
              Phases phases(env);
              env.CheckFailure(phases.TryRun({"\xff\xff\xff"}, {phases.Names().front()}), {}, "run_phases",
                               "the input is no program");
            });
}

// --- ABI versions

const PJRT_AbiVersion_Extension& AbiVersion(Env& env) {
  return Find<PJRT_AbiVersion_Extension>(env, PJRT_Extension_Type_AbiVersion, "ABI version");
}

template <class Args>
std::string TakeProto(Env& env, const Args& args) {
  env.Expect(args.serialized_proto != nullptr && args.serialized_proto_size != 0, "the proto is empty");
  std::string bytes(args.serialized_proto, args.serialized_proto_size);
  env.Expect(args.serialized_proto_deleter != nullptr, "no deleter");
  args.serialized_proto_deleter(args.serialized_proto_holder);
  return bytes;
}

class Runtime {
 public:
  explicit Runtime(Env& env) : env_(env) {
    ARGS(PJRT_Client_RuntimeAbiVersion_Args, args);
    args.client = env.client();
    CALL(env, AbiVersion, client_runtime_abi_version, args);
    version_ = args.abi_version;
  }
  Runtime(Env& env, const std::string& proto) : env_(env) {
    ARGS(PJRT_RuntimeAbiVersion_FromProto_Args, args);
    args.serialized_proto = proto.data();
    args.serialized_proto_size = proto.size();
    CALL(env, AbiVersion, runtime_abi_version_from_proto, args);
    version_ = args.abi_version;
  }
  ~Runtime() {
    ARGS(PJRT_RuntimeAbiVersion_Destroy_Args, args);
    args.abi_version = version_;
    (void)env_.Take(AbiVersion(env_).runtime_abi_version_destroy(&args));
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  const PJRT_RuntimeAbiVersion* get() const { return version_; }

  std::string ToProto() {
    ARGS(PJRT_RuntimeAbiVersion_ToProto_Args, args);
    args.abi_version = version_;
    CALL(env_, AbiVersion, runtime_abi_version_to_proto, args);
    return TakeProto(env_, args);
  }
  uint64_t PlatformId() {
    ARGS(PJRT_RuntimeAbiVersion_PlatformId_Args, args);
    args.abi_version = version_;
    CALL(env_, AbiVersion, runtime_abi_version_platform_id, args);
    return args.platform_id;
  }
  Status Runs(const PJRT_ExecutableAbiVersion* executable) {
    ARGS(PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args, args);
    args.abi_version = version_;
    args.executable_abi_version = executable;
    return TRY(env_, AbiVersion, runtime_abi_version_is_compatible_with_executable, args);
  }
  Status Replaces(const Runtime& other) {
    ARGS(PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args, args);
    args.abi_version = version_;
    args.other_abi_version = other.version_;
    return TRY(env_, AbiVersion, runtime_abi_version_is_compatible_with_runtime, args);
  }

 private:
  Env& env_;
  PJRT_RuntimeAbiVersion* version_;
};

class Compiled {
 public:
  Compiled(Env& env, PJRT_Executable* executable) : env_(env) {
    ARGS(PJRT_Executable_GetAbiVersion_Args, args);
    args.executable = executable;
    CALL(env, AbiVersion, executable_get_abi_version, args);
    version_ = args.abi_version;
  }
  Compiled(Env& env, const std::string& proto) : env_(env) {
    ARGS(PJRT_ExecutableAbiVersion_FromProto_Args, args);
    args.serialized_proto = proto.data();
    args.serialized_proto_size = proto.size();
    CALL(env, AbiVersion, executable_abi_version_from_proto, args);
    version_ = args.abi_version;
  }
  ~Compiled() {
    ARGS(PJRT_ExecutableAbiVersion_Destroy_Args, args);
    args.abi_version = version_;
    (void)env_.Take(AbiVersion(env_).executable_abi_version_destroy(&args));
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  const PJRT_ExecutableAbiVersion* get() const { return version_; }

  std::string ToProto() {
    ARGS(PJRT_ExecutableAbiVersion_ToProto_Args, args);
    args.abi_version = version_;
    CALL(env_, AbiVersion, executable_abi_version_to_proto, args);
    return TakeProto(env_, args);
  }
  uint64_t PlatformId() {
    ARGS(PJRT_ExecutableAbiVersion_PlatformId_Args, args);
    args.abi_version = version_;
    CALL(env_, AbiVersion, executable_abi_version_platform_id, args);
    return args.platform_id;
  }

 private:
  Env& env_;
  PJRT_ExecutableAbiVersion* version_;
};

void AddAbiVersions(Suite& suite) {
  suite.Add("extensions.abi_runtime", Needs::kClient, "A runtime can take its own place, also when read back", kHeader,
            [](Env& env) {
              Runtime runtime(env);
              Runtime again(env, runtime.ToProto());
              env.Expect(runtime.Replaces(runtime).ok() && runtime.Replaces(again).ok() && again.Replaces(runtime).ok(),
                         "it is not compatible with itself");
              env.Equal(again.PlatformId(), runtime.PlatformId(), "platform id");
              env.Expect(again.ToProto() == runtime.ToProto(), "the bytes changed");
            });
  suite.Add("extensions.abi_executable", Needs::kClient, "A client runs what it compiled, and its version says so",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              Executable executable = env.GetExecutable(loaded);
              Runtime runtime(env);
              Compiled compiled(env, executable.get());
              Status status = runtime.Runs(compiled.get());
              env.Expect(status.ok(), "not compatible: " + status.ToString());
              env.Equal(compiled.PlatformId(), runtime.PlatformId(), "platform id");
            });
  suite.Add("extensions.abi_executable_proto", Needs::kTopology,
            "The version of an executable goes through its proto and back", kHeader, [](Env& env) {
              (void)AbiVersion(env);
              Topology owned;
              Executable executable = env.CompileAhead(env.AnyTopology(&owned));
              Compiled compiled(env, executable.get());
              std::string bytes = compiled.ToProto();
              Compiled again(env, bytes);
              env.Expect(again.ToProto() == bytes, "the bytes changed");
              env.Equal(again.PlatformId(), compiled.PlatformId(), "platform id");
            });
  suite.Add("extensions.abi_garbage", Needs::kTable, "Bytes that are no version give an error", kRobust, [](Env& env) {
    const std::string garbage = "\xff\xff\xff";
    ARGS(PJRT_RuntimeAbiVersion_FromProto_Args, runtime);
    runtime.serialized_proto = garbage.data();
    runtime.serialized_proto_size = garbage.size();
    env.CheckFailure(TRY(env, AbiVersion, runtime_abi_version_from_proto, runtime), {}, "RuntimeAbiVersion_FromProto",
                     "the bytes are no proto");
    ARGS(PJRT_ExecutableAbiVersion_FromProto_Args, executable);
    executable.serialized_proto = garbage.data();
    executable.serialized_proto_size = garbage.size();
    env.CheckFailure(TRY(env, AbiVersion, executable_abi_version_from_proto, executable), {},
                     "ExecutableAbiVersion_FromProto", "the bytes are no proto");
  });
}

}  // namespace

void AddRareExtensionTests(Suite& suite) {
  AddRawBuffers(suite);
  AddHostAllocator(suite);
  AddHostMemory(suite);
  AddPhases(suite);
  AddAbiVersions(suite);
}

}  // namespace tenon::conformance
