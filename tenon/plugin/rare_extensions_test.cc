// Extensions that every plugin has from the SDK and few callers use: raw buffers, host allocators, compiler phases, ABI
// versions.
#include <gtest/gtest.h>

#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/abi/pjrt_callback.h"
#include "tenon/abi/pjrt_cross_host_transfers.h"
#include "tenon/abi/pjrt_custom_partitioner.h"
#include "tenon/abi/pjrt_executable_metadata.h"
#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/abi/pjrt_host_memory_allocator.h"
#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/plugin/caller_value.h"
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
    while (e != nullptr && CallerValue(e->type) != type) e = e->next;
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

TEST_F(RareExtensionsTest, ExecutablesSayWhatTheyAre) {
  const auto& extension = Find<PJRT_ExecutableMetadata_Extension>(PJRT_Extension_Type_ExecutableMetadata);
  PJRT_LoadedExecutable* loaded = Compile("add").value();
  ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded;
  ASSERT_CALL(PJRT_LoadedExecutable_GetExecutable, get);
  PJRT_ExecutableMetadata_GetExecutableMetadata_Args args{.executable = get.executable, .metadata = nullptr};
  ASSERT_TRUE(TakeStatus(extension.get_executable_metadata(&args)).ok());
  // They outlive the executable.
  ARGS(PJRT_Executable_Destroy, destroy);
  destroy.executable = get.executable;
  EXPECT_CALL_OK(PJRT_Executable_Destroy, destroy);
  Destroy(loaded);
  EXPECT_EQ(std::string_view(args.metadata->serialized_metadata, args.metadata->serialized_metadata_size), "about add");
  PJRT_ExecutableMetadata_DestroySerializedMetadata_Args give_back{.metadata = args.metadata};
  extension.destroy_serialized_metadata(&give_back);
  give_back.metadata = nullptr;
  extension.destroy_serialized_metadata(&give_back);
  args.executable = nullptr;
  EXPECT_CODE(TakeStatus(extension.get_executable_metadata(&args)), kInvalidArgument);
}

TEST_F(RareExtensionsTest, ArraysGoToOtherProcessesByKey) {
  const auto& extension = Find<PJRT_CrossHostTransfers_Extension>(PJRT_Extension_Type_CrossHostTransfers);
  PJRT_Buffer* buffers[] = {Four(1), Four(5), Four(9)};
  const int32_t devices[] = {1000, 2000, 7};
  const int64_t keys[] = {4, int64_t{1} << 40, 6};
  PJRT_Event* events[3] = {};
  ARGS(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers, send);
  send.client = client_;
  send.num_buffers = 3;
  send.buffers = buffers;
  send.dst_global_device_ids = devices;
  send.transfer_keys = keys;
  send.send_events = events;
  send.num_tasks = 1;  // Without the lists.
  EXPECT_CODE(TakeStatus(extension.PJRT_Transfers_PJRT_Client_CrossHostSendBuffers(&send)), kInvalidArgument);
  send.struct_size = offsetof(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args, num_tasks);  // Before version 8.
  ASSERT_TRUE(TakeStatus(extension.PJRT_Transfers_PJRT_Client_CrossHostSendBuffers(&send)).ok());
  EXPECT_TRUE(Finish(events[0]).ok());
  EXPECT_TRUE(Finish(events[1]).ok());
  EXPECT_CODE(Finish(events[2]), kInvalidArgument);
  for (PJRT_Buffer* buffer : buffers) Destroy(buffer);

  size_t ranks[] = {1, 1};
  const int64_t four = 4;
  const int64_t* dims[] = {&four, &four};
  PJRT_Buffer_Type types[] = {PJRT_Buffer_Type_F32, PJRT_Buffer_Type_F32};
  const int64_t wanted[] = {int64_t{1} << 40, 4};
  PJRT_Buffer* received[2] = {};
  ARGS(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers, receive);
  receive.client = client_;
  receive.num_shapes = 2;
  receive.shape_num_dims = ranks;
  receive.num_dims = dims;
  receive.element_types = types;
  receive.device = device(0);
  receive.src_global_device_ids = devices;
  receive.transfer_keys = wanted;
  receive.buffers = received;
  ASSERT_TRUE(TakeStatus(extension.PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers(&receive)).ok());
  EXPECT_EQ(Download(received[0])->at(0), 5.0f);
  EXPECT_EQ(Download(received[1])->at(0), 1.0f);
  for (PJRT_Buffer* buffer : received) Destroy(buffer);
  EXPECT_CODE(TakeStatus(extension.PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers(&receive)), kNotFound);
  receive.device = nullptr;
  EXPECT_CODE(TakeStatus(extension.PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers(&receive)), kInvalidArgument);

  // The interface with descriptors says that it is not served, and keeps nothing.
  ARGS(PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers, make);
  EXPECT_CODE(TakeStatus(extension.PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers(&make)), kUnimplemented);
  struct Heard {
    Status status;
    int freed = 0;
  };
  static Heard heard;
  ARGS(PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice, copy);
  ARGS(PJRT_Event_Create, create);
  ASSERT_CALL(PJRT_Event_Create, create);
  copy.event = create.event;
  copy.on_done = {nullptr, [](PJRT_Error* error, bool enqueued, void*) {
                    EXPECT_FALSE(enqueued);
                    heard.status = TakeStatus(error);
                  }};
  copy.descriptor_destructor = [](char**, size_t*) { ++heard.freed; };
  extension.PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice(&copy);
  EXPECT_CODE(heard.status, kUnimplemented);
  EXPECT_EQ(heard.freed, 1);
}

TEST_F(RareExtensionsTest, CallbacksAreToldOfTheirTypeAlone) {
  const auto& extension = Find<PJRT_Callback_Extension>(PJRT_Extension_Type_Callback);
  struct Heard {
    std::vector<std::string> texts;
    int slices = 0;
  } heard;
  ARGS(PJRT_Callback_RegisterCallback, add);
  add.client = client_;
  add.type = PJRT_Callback_Type_Prefatal;
  add.user_arg = &heard;
  add.callback = [](void* args, void* user) {
    const auto& error = *static_cast<PJRT_Callback_PrefatalArgs*>(args);
    static_cast<Heard*>(user)->texts.emplace_back(error.error_message, error.error_message_size);
  };
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(TakeStatus(extension.register_callback(&add)).ok());
  add.type = PJRT_Callback_Type_Tpu_SliceBuilder;
  add.callback = [](void*, void* user) { ++static_cast<Heard*>(user)->slices; };
  ASSERT_TRUE(TakeStatus(extension.register_callback(&add)).ok());

  reinterpret_cast<Client*>(client_)->TellPrefatal(Internal("the end"));
  EXPECT_EQ(heard.texts, (std::vector<std::string>{"the end", "the end"}));
  EXPECT_EQ(heard.slices, 0);
  PJRT_Callback_Tpu_SliceBuilderArgs slice{.struct_size = PJRT_Callback_Tpu_SliceBuilderArgs_STRUCT_SIZE,
                                           .failure_type = PJRT_Callback_Tpu_SliceFailureType::SLICE_FAILURE_UNKNOWN};
  ARGS(PJRT_Callback_InvokeCallback, invoke);
  invoke.client = client_;
  invoke.type = PJRT_Callback_Type_Tpu_SliceBuilder;
  invoke.args = &slice;
  ASSERT_TRUE(TakeStatus(extension.invoke_callback(&invoke)).ok());
  EXPECT_EQ(heard.slices, 1);
  EXPECT_EQ(heard.texts.size(), 2u);

  add.callback = nullptr;
  EXPECT_CODE(TakeStatus(extension.register_callback(&add)), kInvalidArgument);
  for (const int unknown : {0, 3, 77}) {
    std::memcpy(&invoke.type, &unknown, sizeof(unknown));
    EXPECT_CODE(TakeStatus(extension.invoke_callback(&invoke)), kInvalidArgument);
  }
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

// A caller's partitioner, and what became of its memory.
struct CallersPartitioner {
  JAX_CustomCallPartitioner_Callbacks callbacks{};
  std::string refuses;
  std::string seen;
  std::string answer;
  std::vector<JAX_CustomCallPartitioner_string> shardings;
  int cleaned = 0;
  int ended = 0;

  CallersPartitioner() {
    callbacks.version = 7;
    callbacks.private_data = this;
    callbacks.dtor = [](JAX_CustomCallPartitioner_Callbacks* c) { ++Of(c).ended; };
    callbacks.partition = [](JAX_CustomCallPartitioner_Callbacks* c, JAX_CustomCallPartitioner_Partition_Args* args) {
      CallersPartitioner& self = Of(c);
      self.seen = Text(args->backend_config);
      for (size_t i = 0; i < args->num_args; ++i) self.See(args->op_args[i]);
      self.See(args->op_result);
      if (self.Begin(args->header)) return;
      self.answer = "module {}";
      args->mlir_module = {self.answer.data(), self.answer.size()};
      self.shardings.assign(args->num_args, {"cut", 3});
      args->args_sharding = self.shardings.data();
      args->result_sharding = {"whole", 5};
    };
    callbacks.infer_sharding = [](JAX_CustomCallPartitioner_Callbacks* c,
                                  JAX_CustomCallPartitioner_InferShardingFromOperands_Args* args) {
      if (Of(c).Begin(args->header)) return;
      args->has_result_sharding = args->num_args != 0;
      if (args->num_args != 0) args->result_sharding = args->op_args[0].sharding;
    };
    callbacks.propagate_user_sharding = [](JAX_CustomCallPartitioner_Callbacks* c,
                                           JAX_CustomCallPartitioner_PropagateUserSharding_Args* args) {
      CallersPartitioner& self = Of(c);
      if (self.Begin(args->header)) return;
      self.answer = Text(args->result_sharding) + "!";
      args->result_sharding = {self.answer.data(), self.answer.size()};
    };
  }

  static CallersPartitioner& Of(JAX_CustomCallPartitioner_Callbacks* c) {
    return *static_cast<CallersPartitioner*>(c->private_data);
  }
  static std::string Text(const JAX_CustomCallPartitioner_string& s) { return {s.data, s.size}; }
  void See(const JAX_CustomCallPartitioner_aval& array) {
    seen += " " + std::to_string(array.shape.size) + (array.has_sharding ? ":" + Text(array.sharding) : "");
  }
  // Whether there is an error to tell.
  bool Begin(JAX_CustomCallPartitioner_version_and_error& header) {
    EXPECT_EQ(header.api_version, 7);
    header.data = this;
    header.cleanup_fn = [](void* self) { ++static_cast<CallersPartitioner*>(self)->cleaned; };
    header.has_error = !refuses.empty();
    header.code = PJRT_Error_Code_FAILED_PRECONDITION;
    header.error_msg = {refuses.data(), refuses.size()};
    return header.has_error;
  }
};

TEST_F(RareExtensionsTest, CustomPartitionersAreTheCallers) {
  const auto& extension = Find<PJRT_Custom_Partitioner_Extension>(PJRT_Extension_Type_Custom_Partitioner);
  CallersPartitioner first, second;
  ARGS(PJRT_Register_Custom_Partitioner, args);
  args.name = "own";
  args.name_size = 3;
  EXPECT_EQ(TakeStatus(extension.register_custom_partitioner(&args)).code(), Code::kInvalidArgument);
  args.callbacks = &first.callbacks;
  first.callbacks.partition = nullptr;
  EXPECT_EQ(TakeStatus(extension.register_custom_partitioner(&args)).code(), Code::kInvalidArgument);
  EXPECT_EQ(first.ended, 0);
  first.callbacks.partition = second.callbacks.partition;
  ASSERT_TRUE(TakeStatus(extension.register_custom_partitioner(&args)).ok());

  auto& registered = FakePlugin::Get().partitioners;
  const std::shared_ptr<const CustomPartitioner> partitioner = registered.at("own");
  const PartitionedArray operands[] = {{{DType::kF32, {4, 2}}, "rows"}, {{DType::kS8, {}}, ""}};
  const PartitionedArray results[] = {{{DType::kF32, {4}}, "rows"}};
  Result<PartitionedCall> call = partitioner->Partition(operands, results, "config");
  ASSERT_TRUE(call.ok()) << call.status().ToString();
  // Shapes: 2 bytes of type, 4 of dims, 4 of dynamic dims and 6 of layout for the first; 2 and 2 for the scalar.
  EXPECT_EQ(first.seen, "config 16:rows 4 13:rows");
  EXPECT_EQ(call->program, "module {}");
  EXPECT_EQ(call->operand_shardings, (std::vector<std::string>{"cut", "cut"}));
  EXPECT_EQ(call->result_sharding, "whole");
  EXPECT_EQ(partitioner->InferSharding(operands, results, "").value(), "rows");
  EXPECT_EQ(partitioner->InferSharding({}, results, "").value(), std::nullopt);
  EXPECT_EQ(partitioner->PropagateUserSharding(results, "", "wanted").value(), "wanted!");
  EXPECT_EQ(first.cleaned, 4);
  first.refuses = "no such mesh";
  const Status refused = partitioner->Partition(operands, results, "").status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.message(), "no such mesh");
  EXPECT_EQ(first.cleaned, 5);

  // Of two with one name the later holds; the earlier ends when nobody uses it.
  args.callbacks = &second.callbacks;
  ASSERT_TRUE(TakeStatus(extension.register_custom_partitioner(&args)).ok());
  EXPECT_NE(registered.at("own"), partitioner);
  EXPECT_EQ(first.ended, 0);
  registered.clear();
  EXPECT_EQ(second.ended, 1);

  ARGS(PJRT_Register_Batch_Partitionable, batch);
  batch.name = "own";
  batch.name_size = 3;
  EXPECT_TRUE(TakeStatus(extension.register_batch_partitionable(&batch)).ok());
}

}  // namespace
}  // namespace tenon::plugin::testing
