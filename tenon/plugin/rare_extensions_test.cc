// Extensions that every plugin has from the SDK and few callers use: raw buffers, host allocators, compiler phases, ABI
// versions.
#include <gtest/gtest.h>

#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/abi/pjrt_host_memory_allocator.h"
#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/plugin/testing/harness.h"

namespace tenon::plugin::testing {
namespace {

class RareExtensionsTest : public PluginTest {
 protected:
  void TearDown() override {
    PluginTest::TearDown();
    EXPECT_EQ(LiveExtensionObjects(), 0);
  }
  template <class Extension>
  static const Extension& Find(PJRT_Extension_Type type) {
    PJRT_Extension_Base* e = api()->extension_start;
    while (e != nullptr && e->type != type) e = e->next;
    EXPECT_NE(e, nullptr) << "no extension " << static_cast<int>(type);
    return *reinterpret_cast<const Extension*>(e);
  }
  static const PJRT_RawBuffer_Extension& Raw() { return Find<PJRT_RawBuffer_Extension>(PJRT_Extension_Type_RawBuffer); }

  static Result<PJRT_RawBuffer*> Alias(PJRT_Buffer* buffer) {
    ARGS(PJRT_RawBuffer_CreateRawAliasOfBuffer, args);
    args.buffer = buffer;
    TENON_RETURN_IF_ERROR(TakeStatus(Raw().PJRT_RawBuffer_CreateRawAliasOfBuffer(&args)));
    return args.raw_buffer;
  }
  static void DestroyRaw(PJRT_RawBuffer* raw) {
    ARGS(PJRT_RawBuffer_Destroy, args);
    args.buffer = raw;
    EXPECT_TRUE(TakeStatus(Raw().PJRT_RawBuffer_Destroy(&args)).ok());
  }
  static Status Write(PJRT_RawBuffer* raw, float value) {
    ARGS(PJRT_RawBuffer_CopyRawHostToDevice, args);
    args.buffer = raw;
    args.src = &value;
    args.transfer_size = sizeof(value);
    TENON_RETURN_IF_ERROR(TakeStatus(Raw().PJRT_RawBuffer_CopyRawHostToDevice(&args)));
    return Finish(args.event);
  }
  static void* HostPointer(PJRT_RawBuffer* raw) {
    ARGS(PJRT_RawBuffer_GetHostPointer, args);
    args.buffer = raw;
    EXPECT_TRUE(TakeStatus(Raw().PJRT_RawBuffer_GetHostPointer(&args)).ok());
    return args.host_pointer;
  }
};

TEST_F(RareExtensionsTest, RawBuffersAnswerThroughTheirTableAsWell) {
  PJRT_Buffer* buffer = Four(1);
  PJRT_RawBuffer* raw = Alias(buffer).value();
  const PJRT_RawBuffer_FunctionTable& table = *raw->vtable;
  ASSERT_GE(table.struct_size, offsetof(PJRT_RawBuffer_FunctionTable, get_host_pointer) + sizeof(void*));
  EXPECT_EQ(table.get_on_device_size_in_bytes(raw), 16u);
  EXPECT_EQ(table.get_memory_space(raw), memory(0, "device"));
  EXPECT_EQ(table.get_host_pointer(raw), HostPointer(raw));
  EXPECT_EQ(static_cast<const float*>(table.get_host_pointer(raw))[3], 4.0f);
  // A second reference outlives Destroy.
  table.inc_ref(raw);
  DestroyRaw(raw);
  EXPECT_EQ(LiveObjects(ObjectKind::kRawBuffer), 1);
  EXPECT_EQ(table.get_on_device_size_in_bytes(raw), 16u);
  table.dec_ref(raw);
  EXPECT_EQ(LiveObjects(ObjectKind::kRawBuffer), 0);
  Destroy(buffer);
}

TEST_F(RareExtensionsTest, RawBuffersOfPromisesFollowThem) {
  static const int64_t dims[] = {4};
  ARGS(PJRT_Client_CreateAliasBuffer, promise);
  promise.client = client_;
  promise.memory = memory(0, "device");
  promise.shape_dims = dims;
  promise.shape_num_dims = 1;
  promise.shape_element_type = PJRT_Buffer_Type_F32;
  ASSERT_CALL(PJRT_Client_CreateAliasBuffer, promise);
  PJRT_RawBuffer* raw = Alias(promise.alias_buffer).value();
  EXPECT_EQ(HostPointer(raw), nullptr);
  float values[4] = {};
  ARGS(PJRT_RawBuffer_CopyRawDeviceToHost, read);
  read.buffer = raw;
  read.dst = values;
  read.transfer_size = sizeof(values);
  ASSERT_TRUE(TakeStatus(Raw().PJRT_RawBuffer_CopyRawDeviceToHost(&read)).ok());
  EXPECT_FALSE(IsReady(read.event));

  PJRT_Buffer* source = Four(5);
  ARGS(PJRT_Client_FulfillAliasBuffer, keep);
  keep.client = client_;
  keep.buffer = source;
  keep.fulfill_alias_buffer_cb = promise.fulfill_alias_buffer_cb;
  ASSERT_CALL(PJRT_Client_FulfillAliasBuffer, keep);
  EXPECT_TRUE(Finish(read.event).ok());
  EXPECT_EQ(values[0], 5.0f);
  EXPECT_EQ(values[3], 8.0f);
  EXPECT_TRUE(Write(raw, 9).ok());
  EXPECT_EQ((*Download(source))[0], 9.0f);
  DestroyRaw(raw);
  Destroy(source);
  Destroy(promise.alias_buffer);
}

TEST_F(RareExtensionsTest, RawBuffersLeaveACallersArrayAlone) {
  alignas(64) static float values[4096];
  values[0] = 3;
  static const int64_t dims[] = {4096};
  ARGS(PJRT_Client_BufferFromHostBuffer, upload);
  upload.client = client_;
  upload.data = values;
  upload.type = PJRT_Buffer_Type_F32;
  upload.dims = dims;
  upload.num_dims = 1;
  upload.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  upload.device = device(0);
  ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, upload);
  PJRT_RawBuffer* raw = Alias(upload.buffer).value();
  ASSERT_EQ(HostPointer(raw), values) << "the SDK copied: the test needs an alias";
  const Status status = Write(raw, 4);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
  EXPECT_EQ(values[0], 3.0f);
  DestroyRaw(raw);
  Destroy(upload.buffer);
  DestroyEvent(upload.done_with_host_buffer);
}

TEST_F(RareExtensionsTest, HostMemoryOutlivesTheClientsHandle) {
  const auto& older = Find<PJRT_HostAllocator_Extension>(PJRT_Extension_Type_HostAllocator);
  const auto& younger = Find<PJRT_HostMemoryAllocator_Extension>(PJRT_Extension_Type_HostMemoryAllocator);
  ARGS(PJRT_HostAllocator_GetPreferredAlignment, preferred);
  preferred.client = client_;
  ASSERT_TRUE(TakeStatus(older.get_preferred_alignment(&preferred)).ok());
  EXPECT_EQ(preferred.preferred_alignment, 128u);
  ARGS(PJRT_HostAllocator_Allocate, odd);
  odd.client = client_;
  odd.size = 8;
  odd.alignment = 48;
  const Status refused = TakeStatus(older.allocate(&odd));
  EXPECT_EQ(refused.code(), Code::kInvalidArgument) << refused.ToString();

  ARGS(PJRT_HostMemoryAllocator_Allocate, block);
  block.client = client_;
  block.size = 100;
  block.numa_node = -1;
  ASSERT_TRUE(TakeStatus(younger.allocate(&block)).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.ptr) % 128, 0u);
  EXPECT_EQ(LiveObjects(ObjectKind::kHostMemory), 1);
  const int64_t clients = LiveObjects(ObjectKind::kClient);
  ARGS(PJRT_Client_Create, second);
  ASSERT_CALL(PJRT_Client_Create, second);
  ARGS(PJRT_HostMemoryAllocator_Allocate, of_second);
  of_second.client = second.client;
  of_second.size = 100;
  ASSERT_TRUE(TakeStatus(younger.allocate(&of_second)).ok());
  ARGS(PJRT_Client_Destroy, destroy);
  destroy.client = second.client;
  EXPECT_CALL_OK(PJRT_Client_Destroy, destroy);
  std::memset(of_second.ptr, 1, of_second.size);
  of_second.deleter(of_second.ptr, of_second.deleter_arg);
  EXPECT_EQ(LiveObjects(ObjectKind::kClient), clients);
  block.deleter(block.ptr, block.deleter_arg);
}

// What plugins without phases of their own have.
TEST_F(RareExtensionsTest, TheOnePhaseCompiles) {
  FakePlugin& plugin = FakePlugin::Get();
  EXPECT_EQ(plugin.Plugin::phase_names(), std::vector<std::string>{"compile"});
  const Ref<Topology> topology = plugin.CreateTopology("fake:2", {}).value();
  const PartialProgram program{.code = "add", .format = {}, .made_by = {}, .name = {}};
  const Result<PartialProgram> made = plugin.Plugin::RunPhase("compile", program, {}, *topology);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(made->code, "fake:add");
  EXPECT_EQ(made->format, "executable");
  EXPECT_EQ(made->name, "add");
}

TEST(AbiVersion, RuntimesOfferWhatExecutablesNeed) {
  const AbiVersion runtime{"p", {"1", "2"}}, one{"p", {"1"}}, three{"p", {"3"}}, other{"q", {"1"}};
  EXPECT_TRUE(runtime.CheckOffers(one).ok());
  EXPECT_TRUE(runtime.CheckOffers(runtime).ok());
  EXPECT_EQ(one.CheckOffers(runtime).message(), "needs version '2', this runtime offers '1'");
  EXPECT_EQ(runtime.CheckOffers(three).message(), "needs version '3', this runtime offers '1', '2'");
  EXPECT_EQ(runtime.CheckOffers(other).message(), "made for the platform 'q', this runtime is 'p'");
  EXPECT_NE(runtime.PlatformId(), other.PlatformId());
  EXPECT_EQ(AbiVersion::Parse(runtime.Serialize()).value(), runtime);
  for (const std::string_view bytes : {"\xff", "\x08\x07", ""}) EXPECT_FALSE(AbiVersion::Parse(bytes).ok());
  std::string changed = runtime.Serialize();
  changed.back() = 'q';  // the name no longer is the number's
  EXPECT_FALSE(AbiVersion::Parse(changed).ok());
}

TEST_F(RareExtensionsTest, ExecutablesNameWhatTheyWereCompiledWith) {
  PJRT_LoadedExecutable* loaded = Compile("add").value();
  ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded;
  ASSERT_CALL(PJRT_LoadedExecutable_GetExecutable, get);
  EXPECT_EQ(reinterpret_cast<Executable*>(get.executable)->abi_version(), (AbiVersion{"fake", {"fake 1"}}));
  ARGS(PJRT_Executable_Destroy, destroy);
  destroy.executable = get.executable;
  EXPECT_CALL_OK(PJRT_Executable_Destroy, destroy);
  Destroy(loaded);
}

}  // namespace
}  // namespace tenon::plugin::testing
