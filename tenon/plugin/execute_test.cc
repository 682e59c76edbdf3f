#include <memory>

#include "tenon/abi/pjrt_ffi.h"
#include "tenon/plugin/testing/harness.h"

namespace tenon::plugin::testing {
namespace {

using Floats = std::vector<float>;

class ExecuteTest : public PluginTest {
 protected:
  PJRT_LoadedExecutable* Compiled(std::string_view program, std::string_view options = kOneDevice) {
    Result<PJRT_LoadedExecutable*> executable = Compile(program, options);
    EXPECT_TRUE(executable.ok()) << executable.status().ToString();
    return executable.ok() ? *executable : nullptr;
  }
  void Destroy(Outcome& outcome) {
    for (PJRT_Buffer* b : outcome.outputs) PluginTest::Destroy(b);
    outcome.outputs.clear();
  }
  using PluginTest::Destroy;
  uintptr_t Pointer(PJRT_Buffer* buffer) {
    ARGS(PJRT_Buffer_UnsafePointer, args);
    args.buffer = buffer;
    EXPECT_CALL_OK(PJRT_Buffer_UnsafePointer, args);
    return args.buffer_pointer;
  }
};

TEST_F(ExecuteTest, RunsInlineWithReadyEvents) {
  PJRT_LoadedExecutable* add = Compiled("add");
  PJRT_Buffer *a = Four(1), *b = Four(10);
  int64_t events = LiveObjects(ObjectKind::kEvent);
  Result<Outcome> out = Execute(add, {a, b});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(LiveObjects(ObjectKind::kEvent), events) << "an inline execution needs no event";
  EXPECT_TRUE(IsReady(out->done));
  EXPECT_EQ(*Download(out->outputs[0]), (Floats{11, 13, 15, 17}));
  EXPECT_TRUE(Finish(out->done).ok());
  Destroy(*out);
  Destroy(a);
  Destroy(b);
  Destroy(add);
}

TEST_F(ExecuteTest, ChainsOfExtensionsMustEnd) {
  PJRT_LoadedExecutable* add = Compiled("add");
  PJRT_Extension_Base circle = {sizeof(circle), PJRT_Extension_Type_Example, &circle};
  ARGS(PJRT_LoadedExecutable_Execute, args);
  args.executable = add;
  args.extension_start = &circle;
  const Status status = CALL(PJRT_LoadedExecutable_Execute, args);
  EXPECT_CODE(status, kInvalidArgument);
  EXPECT_NE(status.message().find("no end"), status.message().npos) << status.ToString();
  Destroy(add);
}

TEST_F(ExecuteTest, RunsLater) {
  PJRT_LoadedExecutable* add = Compiled("later add");
  PJRT_LoadedExecutable* increment = Compiled("increment");
  PJRT_Buffer *a = Four(1), *b = Four(10);
  Result<Outcome> sum = Execute(add, {a, b});
  ASSERT_TRUE(sum.ok());
  Result<Outcome> next = Execute(increment, {sum->outputs[0]});  // Not ready, and donated.
  ASSERT_TRUE(next.ok());
  EXPECT_TRUE(IsDeleted(sum->outputs[0]));
  EXPECT_FALSE(IsReady(next->done));
  Destroy(a);  // Everything may go while the work is pending.
  Destroy(b);
  Destroy(*sum);
  DestroyEvent(sum->done);
  Destroy(add);
  Destroy(increment);
  EXPECT_EQ(*Download(next->outputs[0]), (Floats{12, 14, 16, 18}));
  EXPECT_TRUE(Finish(next->done).ok());
  Destroy(*next);
}

TEST_F(ExecuteTest, DonationReusesTheBytes) {
  PJRT_LoadedExecutable* increment = Compiled("increment");
  PJRT_Buffer* a = Four(1);
  uintptr_t bytes = Pointer(a);
  Result<Outcome> out = Execute(increment, {a});
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(IsDeleted(a));
  EXPECT_EQ(Pointer(out->outputs[0]), bytes);
  EXPECT_EQ(*Download(out->outputs[0]), (Floats{2, 3, 4, 5}));
  EXPECT_CODE(Execute(increment, {a}).status(), kInvalidArgument);
  EXPECT_CODE(Download(a).status(), kInvalidArgument);
  DestroyEvent(out->done);
  Destroy(*out);
  Destroy(a);
  Destroy(increment);
}

TEST_F(ExecuteTest, DonationCopiesWhatOthersSee) {
  PJRT_LoadedExecutable* increment = Compiled("increment");
  // Externally referenced.
  PJRT_Buffer* a = Four(1);
  ARGS(PJRT_Buffer_IncreaseExternalReferenceCount, increase);
  increase.buffer = a;
  ASSERT_CALL(PJRT_Buffer_IncreaseExternalReferenceCount, increase);
  const float* seen = reinterpret_cast<const float*>(Pointer(a));
  Result<Outcome> out = Execute(increment, {a});
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(IsDeleted(a));
  EXPECT_EQ(seen[0], 1.0f);
  EXPECT_EQ(*Download(out->outputs[0]), (Floats{2, 3, 4, 5}));
  ARGS(PJRT_Buffer_DecreaseExternalReferenceCount, decrease);
  decrease.buffer = a;
  ASSERT_CALL(PJRT_Buffer_DecreaseExternalReferenceCount, decrease);
  DestroyEvent(out->done);
  Destroy(*out);
  Destroy(a);

  // A caller's immutable array.
  std::vector<float> data(4096, 1.0f);
  int64_t dims[] = {4};
  ARGS(PJRT_Client_BufferFromHostBuffer, from);
  from.client = client_;
  from.data = data.data();
  from.type = PJRT_Buffer_Type_F32;
  from.dims = dims;
  from.num_dims = 1;
  from.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  from.device = device(0);
  ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, from);
  out = Execute(increment, {from.buffer});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(data[0], 1.0f);
  EXPECT_TRUE(Finish(from.done_with_host_buffer).ok());
  Destroy(from.buffer);
  DestroyEvent(out->done);
  Destroy(*out);
  Destroy(increment);
}

TEST_F(ExecuteTest, NonDonatableIndicesAreHonoured) {
  PJRT_LoadedExecutable* increment = Compiled("increment");
  PJRT_Buffer* a = Four(1);
  int64_t zero = 0;
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  options.non_donatable_input_indices = &zero;
  options.num_non_donatable_input_indices = 1;
  Result<Outcome> out = Execute(increment, {a}, &options);
  ASSERT_TRUE(out.ok());
  EXPECT_FALSE(IsDeleted(a));
  EXPECT_EQ(*Download(a), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(*Download(out->outputs[0]), (Floats{2, 3, 4, 5}));
  DestroyEvent(out->done);
  Destroy(*out);
  Destroy(a);
  Destroy(increment);
}

TEST_F(ExecuteTest, ARefusedExecutionGivesDonatedArgumentsBack) {
  PJRT_LoadedExecutable* refuse = Compiled("refuse");
  PJRT_Buffer* a = Four(1);
  Result<Outcome> out = Execute(refuse, {a});
  EXPECT_CODE(out.status(), kInternal);
  EXPECT_FALSE(IsDeleted(a));
  EXPECT_EQ(*Download(a), (Floats{1, 2, 3, 4}));
  Destroy(a);
  Destroy(refuse);
}

TEST_F(ExecuteTest, ChecksArguments) {
  PJRT_LoadedExecutable* add = Compiled("add");
  PJRT_Buffer *a = Four(1), *b = Upload({1, 2}, {2}), *c = Upload({1, 2, 3, 4}, {4}, device(1)), *d = Four(1);
  Status count = Execute(add, {}).status();
  EXPECT_CODE(count, kInvalidArgument);
  EXPECT_EQ(count.message(), "Execution supplied 0 buffers but compiled program expected 2 buffers");
  Status shape = Execute(add, {a, b}).status();
  EXPECT_CODE(shape, kInvalidArgument);
  EXPECT_EQ(shape.message(), "Argument 1 of executable 'add': got f32[2], wanted f32[4]");
  EXPECT_CODE(Execute(add, {a, c}).status(), kInvalidArgument);
  EXPECT_CODE(Execute(add, {a, nullptr}).status(), kInvalidArgument);
  ARGS(PJRT_Buffer_Delete, del);
  del.buffer = d;
  ASSERT_CALL(PJRT_Buffer_Delete, del);
  EXPECT_CODE(Execute(add, {a, d}).status(), kInvalidArgument);
  for (PJRT_Buffer* x : {a, b, c, d}) Destroy(x);
  Destroy(add);
}

TEST_F(ExecuteTest, ErrorsPoisonOutputs) {
  PJRT_LoadedExecutable *fail = Compiled("fail"), *echo = Compiled("echo"), *later = Compiled("later echo");
  PJRT_Buffer* a = Four(1);
  Result<Outcome> failed = Execute(fail, {a});
  ASSERT_TRUE(failed.ok());
  Result<Outcome> waits = Execute(echo, {failed->outputs[0]});  // Begun before the failure is known.
  ASSERT_TRUE(waits.ok());
  EXPECT_CODE(Finish(failed->done), kAborted);
  EXPECT_CODE(Finish(waits->done), kAborted);
  EXPECT_CODE(Ready(waits->outputs[0]), kAborted);
  EXPECT_CODE(Download(failed->outputs[0]).status(), kAborted);
  Result<Outcome> after = Execute(later, {failed->outputs[0]});  // Begun afterwards.
  ASSERT_TRUE(after.ok());
  EXPECT_CODE(Finish(after->done), kAborted);
  Status status = Ready(after->outputs[0]);
  EXPECT_CODE(status, kAborted);
  EXPECT_EQ(status.message(), "failed on purpose");
  for (Outcome* o : {&*failed, &*waits, &*after}) Destroy(*o);
  Destroy(a);
  for (PJRT_LoadedExecutable* e : {fail, echo, later}) Destroy(e);
}

TEST_F(ExecuteTest, ExceptionsStayInside) {
  PJRT_LoadedExecutable* thrower = Compiled("throw");
  Status status = Execute(thrower, {}).status();
  EXPECT_CODE(status, kInternal);
  EXPECT_EQ(status.message(), "PJRT_LoadedExecutable_Execute: thrown on purpose");
  Destroy(thrower);
}

TEST_F(ExecuteTest, ArgumentsGetTheLayoutThatTheProgramWants) {
  PJRT_LoadedExecutable* column = Compiled("column");
  PJRT_Buffer* a = Upload({0, 1, 2, 3, 4, 5}, {2, 3});
  Result<Outcome> out = Execute(column, {a});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(*Download(out->outputs[0]), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(*Download(a), (Floats{0, 1, 2, 3, 4, 5}));
  DestroyEvent(out->done);
  Destroy(*out);
  Destroy(a);
  Destroy(column);
}

TEST_F(ExecuteTest, OutputsInOtherMemoriesAndTokens) {
  PJRT_LoadedExecutable *pair = Compiled("pair"), *token = Compiled("token");
  Result<Outcome> out = Execute(pair, {});
  ASSERT_TRUE(out.ok());
  ARGS(PJRT_Buffer_Memory, in);
  in.buffer = out->outputs[1];
  ASSERT_CALL(PJRT_Buffer_Memory, in);
  EXPECT_EQ(in.memory, memory(0, "pinned_host"));
  int32_t seven = 0;
  ARGS(PJRT_Buffer_ToHostBuffer, to_host);
  to_host.src = out->outputs[1];
  to_host.dst = &seven;
  to_host.dst_size = 4;
  ASSERT_CALL(PJRT_Buffer_ToHostBuffer, to_host);
  EXPECT_TRUE(Finish(to_host.event).ok());
  EXPECT_EQ(seven, 7);
  DestroyEvent(out->done);
  Destroy(*out);
  PJRT_Buffer* any = Upload({}, {0});  // What stands for a token has no data.
  out = Execute(token, {any});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  DestroyEvent(out->done);
  Destroy(*out);
  Destroy(any);
  Destroy(pair);
  Destroy(token);
}

TEST_F(ExecuteTest, PromisedArguments) {
  PJRT_LoadedExecutable *increment = Compiled("increment"), *echo = Compiled("echo");
  for (bool fails : {false, true}) {
    int64_t dims[] = {4};
    ARGS(PJRT_Client_CreateAliasBuffer, alias);
    alias.client = client_;
    alias.memory = memory(0, "device");
    alias.shape_dims = dims;
    alias.shape_num_dims = 1;
    alias.shape_element_type = PJRT_Buffer_Type_F32;
    ASSERT_CALL(PJRT_Client_CreateAliasBuffer, alias);
    Result<Outcome> echoed = Execute(echo, {alias.alias_buffer});
    Result<Outcome> next = Execute(increment, {alias.alias_buffer});
    ASSERT_TRUE(echoed.ok() && next.ok()) << next.status().ToString();
    EXPECT_TRUE(IsDeleted(alias.alias_buffer));
    EXPECT_FALSE(IsReady(next->done));
    PJRT_Buffer* real = Four(5);
    ARGS(PJRT_Client_FulfillAliasBuffer, fulfill);
    fulfill.client = client_;
    fulfill.buffer = real;
    fulfill.status_code = fails ? PJRT_Error_Code_UNAVAILABLE : PJRT_Error_Code_OK;
    fulfill.fulfill_alias_buffer_cb = alias.fulfill_alias_buffer_cb;
    ASSERT_CALL(PJRT_Client_FulfillAliasBuffer, fulfill);
    Destroy(real);
    if (fails) {
      EXPECT_CODE(Ready(echoed->outputs[0]), kUnavailable);
      EXPECT_CODE(Finish(echoed->done), kUnavailable);
      EXPECT_CODE(Finish(next->done), kUnavailable);
    } else {
      EXPECT_EQ(*Download(echoed->outputs[0]), (Floats{5, 6, 7, 8}));
      EXPECT_EQ(*Download(next->outputs[0]), (Floats{6, 7, 8, 9}));
      EXPECT_TRUE(Finish(echoed->done).ok());
      EXPECT_TRUE(Finish(next->done).ok());
    }
    Destroy(*echoed);
    Destroy(*next);
    Destroy(alias.alias_buffer);
  }
  Destroy(increment);
  Destroy(echo);
}

// A promise that gets a buffer of another shape, or none: the call fails, and so does the promise.
TEST_F(ExecuteTest, WrongFulfilments) {
  int64_t dims[] = {4};
  for (bool null : {false, true}) {
    ARGS(PJRT_Client_CreateAliasBuffer, alias);
    alias.client = client_;
    alias.memory = memory(0, "device");
    alias.shape_dims = dims;
    alias.shape_num_dims = 1;
    alias.shape_element_type = PJRT_Buffer_Type_F32;
    ASSERT_CALL(PJRT_Client_CreateAliasBuffer, alias);
    PJRT_Buffer* two = Upload({1, 2}, {2});
    ARGS(PJRT_Client_FulfillAliasBuffer, fulfill);
    fulfill.client = client_;
    fulfill.buffer = null ? nullptr : two;
    fulfill.fulfill_alias_buffer_cb = alias.fulfill_alias_buffer_cb;
    EXPECT_CODE(CALL(PJRT_Client_FulfillAliasBuffer, fulfill), kInvalidArgument);
    EXPECT_CODE(Ready(alias.alias_buffer), kInvalidArgument);
    Destroy(two);
    Destroy(alias.alias_buffer);
  }
}

// Every size of PJRT_ExecuteOptions that callers send, each in memory of exactly that size.
TEST_F(ExecuteTest, OptionsOfEverySize) {
  PJRT_LoadedExecutable* add = Compiled("add");
  PJRT_Buffer *a = Four(1), *b = Four(10);
  int sizes = 0;
#define PJRT_SIZE(type, since, size)                                                                        \
  if (std::string_view(#type) == "PJRT_ExecuteOptions") {                                                   \
    std::unique_ptr<char[]> memory_block(new char[size]());                                                 \
    size_t struct_size = size;                                                                              \
    std::memcpy(memory_block.get(), &struct_size, 8);                                                       \
    Result<Outcome> out = Execute(add, {a, b}, reinterpret_cast<PJRT_ExecuteOptions*>(memory_block.get())); \
    EXPECT_TRUE(out.ok()) << size << ": " << out.status().ToString();                                       \
    if (out.ok()) {                                                                                         \
      DestroyEvent(out->done);                                                                              \
      Destroy(*out);                                                                                        \
    }                                                                                                       \
    ++sizes;                                                                                                \
  }
#include "tenon/abi/struct_sizes.def"
#undef PJRT_SIZE
  EXPECT_GE(sizes, 7);
  // A newer caller, whose tail nobody knows.
  PJRT_ExecuteOptions newer[2];
  std::memset(newer, 0xff, sizeof(newer));
  std::memset(newer, 0, sizeof(newer[0]));
  newer[0].struct_size = sizeof(newer);
  Result<Outcome> out = Execute(add, {a, b}, newer);
  ASSERT_TRUE(out.ok());
  DestroyEvent(out->done);
  Destroy(*out);
  PJRT_ExecuteOptions small{};
  small.struct_size = 40;
  EXPECT_CODE(Execute(add, {a, b}, &small).status(), kInvalidArgument);
  Destroy(a);
  Destroy(b);
  Destroy(add);
}

TEST_F(ExecuteTest, CallbacksAreRefused) {
  PJRT_LoadedExecutable* pair = Compiled("pair");
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  options.num_send_ops = 1;
  EXPECT_CODE(Execute(pair, {}, &options).status(), kUnimplemented);
  options.num_send_ops = 0;
  options.num_hlo_output_callbacks = 1;
  EXPECT_CODE(Execute(pair, {}, &options).status(), kUnimplemented);
  options.num_hlo_output_callbacks = 0;
  PJRT_NamedValue custom{};
  custom.name = "x";
  custom.name_size = 1;
  custom.type = PJRT_NamedValue_kBool;
  custom.value_size = 1;
  options.custom_options = &custom;
  options.num_custom_options = 1;
  Status status = Execute(pair, {}, &options).status();
  EXPECT_CODE(status, kInvalidArgument);
  EXPECT_EQ(status.message(), "No such execute option: 'x'");
  Destroy(pair);
}

TEST_F(ExecuteTest, SeveralDevices) {
  // Two replicas on devices 1 and 0, in this order.
  PJRT_LoadedExecutable* echo = Compiled(
      "echo", std::string_view("\x1a\x10\x20\x02\x28\x01\x4a\x0a\x08\x02\x10\x01\x1a\x04\x0a\x02\x01\x00", 18));
  ASSERT_NE(echo, nullptr);
  ARGS(PJRT_LoadedExecutable_AddressableDevices, devices);
  devices.executable = echo;
  ASSERT_CALL(PJRT_LoadedExecutable_AddressableDevices, devices);
  ASSERT_EQ(devices.num_addressable_devices, 2u);
  EXPECT_EQ(devices.addressable_devices[0], device(1));
  ARGS(PJRT_LoadedExecutable_AddressableDeviceLogicalIds, ids);
  ids.executable = echo;
  ASSERT_CALL(PJRT_LoadedExecutable_AddressableDeviceLogicalIds, ids);
  EXPECT_EQ(ids.addressable_device_logical_ids[1].replica, 1);
  ARGS(PJRT_LoadedExecutable_GetDeviceAssignment, assignment);
  assignment.executable = echo;
  ASSERT_CALL(PJRT_LoadedExecutable_GetDeviceAssignment, assignment);
  EXPECT_EQ(std::string_view(assignment.serialized_bytes, assignment.serialized_bytes_size),
            std::string_view("\x08\x02\x10\x01\x1a\x04\x0a\x02\x01\x00", 10));
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);

  PJRT_Buffer *on1 = Upload({1, 1, 1, 1}, {4}, device(1)), *on0 = Upload({2, 2, 2, 2}, {4}, device(0));
  PJRT_Buffer *in0[] = {on1}, *in1[] = {on0}, *out0[1] = {}, *out1[1] = {};
  PJRT_Buffer* const* inputs[] = {in0, in1};
  PJRT_Buffer** outputs[] = {out0, out1};
  PJRT_Event* events[2] = {};
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  ARGS(PJRT_LoadedExecutable_Execute, args);
  args.executable = echo;
  args.options = &options;
  args.argument_lists = inputs;
  args.num_devices = 2;
  args.num_args = 1;
  args.output_lists = outputs;
  args.device_complete_events = events;
  ASSERT_CALL(PJRT_LoadedExecutable_Execute, args);
  EXPECT_EQ(*Download(out0[0]), (Floats{1, 1, 1, 1}));
  EXPECT_EQ(*Download(out1[0]), (Floats{2, 2, 2, 2}));
  for (PJRT_Event* e : events) EXPECT_TRUE(Finish(e).ok());
  Destroy(out0[0]);
  Destroy(out1[0]);

  args.num_devices = 1;
  args.device_complete_events = nullptr;
  EXPECT_CODE(CALL(PJRT_LoadedExecutable_Execute, args), kInvalidArgument);
  args.execute_device = device(1);  // One of the two.
  ASSERT_CALL(PJRT_LoadedExecutable_Execute, args);
  Destroy(out0[0]);
  Destroy(on1);
  Destroy(on0);
  Destroy(echo);
}

TEST_F(ExecuteTest, PortableExecutablesRunWhereTold) {
  // What Go sends: portable, no device, one replica, one partition.
  PJRT_LoadedExecutable* echo = Compiled(
      "echo", std::string_view("\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x20\x01", 19));
  ASSERT_NE(echo, nullptr);
  ARGS(PJRT_LoadedExecutable_GetDeviceAssignment, assignment);
  assignment.executable = echo;
  ASSERT_CALL(PJRT_LoadedExecutable_GetDeviceAssignment, assignment);
  EXPECT_EQ(assignment.serialized_bytes_size, 0u);
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  for (size_t d : {0, 1}) {
    PJRT_Buffer* in = Upload({1, 2, 3, 4}, {4}, device(d));
    PJRT_Buffer *ins[] = {in}, *outs[1] = {};
    PJRT_Buffer* const* inputs = ins;
    PJRT_Buffer** outputs = outs;
    PJRT_ExecuteOptions options{};
    options.struct_size = 80;
    ARGS(PJRT_LoadedExecutable_Execute, args);
    args.executable = echo;
    args.options = &options;
    args.argument_lists = &inputs;
    args.num_devices = 1;
    args.num_args = 1;
    args.output_lists = &outputs;
    args.execute_device = device(d);
    ASSERT_CALL(PJRT_LoadedExecutable_Execute, args);
    ARGS(PJRT_Buffer_Device, on);
    on.buffer = outs[0];
    ASSERT_CALL(PJRT_Buffer_Device, on);
    EXPECT_EQ(on.device, device(d));
    Destroy(outs[0]);
    args.execute_device = device(1 - d);
    EXPECT_CODE(CALL(PJRT_LoadedExecutable_Execute, args), kInvalidArgument);
    args.execute_device = nullptr;  // Then where the argument is.
    ASSERT_CALL(PJRT_LoadedExecutable_Execute, args);
    Destroy(outs[0]);
    Destroy(in);
  }
  Destroy(echo);
}

TEST_F(ExecuteTest, ContextsCarryUserData) {
  const auto* ffi = FindExtension<PJRT_FFI_Extension>(PJRT_Extension_Type_FFI);
  ASSERT_NE(ffi, nullptr);
  static int deleted = 0;
  PJRT_FFI_Type_Info info{.deleter = [](void*) { ++deleted; }, .serialize = nullptr, .deserialize = nullptr};
  ARGS(PJRT_FFI_Type_Register, type);
  type.type_name = "test.type";
  type.type_name_size = 9;
  type.type_info = &info;
  ASSERT_TRUE(TakeStatus(ffi->type_register(&type)).ok());
  EXPECT_NE(type.type_id, 0);
  int64_t id = type.type_id;
  ASSERT_TRUE(TakeStatus(ffi->type_register(&type)).ok());  // The same name and id again.
  type.type_id = id + 12345;
  EXPECT_CODE(TakeStatus(ffi->type_register(&type)), kInvalidArgument);

  ARGS(PJRT_ExecuteContext_Create, context);
  ASSERT_CALL(PJRT_ExecuteContext_Create, context);
  int data = 0;
  ARGS(PJRT_FFI_UserData_Add, add);
  add.context = context.context;
  add.user_data = {.type_id = id, .data = &data};
  ASSERT_TRUE(TakeStatus(ffi->user_data_add(&add)).ok());
  EXPECT_CODE(TakeStatus(ffi->user_data_add(&add)), kAlreadyExists);
  int untyped = 0;  // Types that nobody registered are taken without a deleter.
  add.user_data = {.type_id = 7357244197867843242, .data = &untyped};
  ASSERT_TRUE(TakeStatus(ffi->user_data_add(&add)).ok());

  FakePlugin::Get().ffi_type = id;
  PJRT_LoadedExecutable* pair = Compiled("later pair");
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  options.context = context.context;
  Result<Outcome> out = Execute(pair, {}, &options);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(FakePlugin::Get().last_user_data.load(), &data);
  ARGS(PJRT_ExecuteContext_Destroy, destroy);
  destroy.context = context.context;
  ASSERT_CALL(PJRT_ExecuteContext_Destroy, destroy);
  EXPECT_TRUE(Finish(out->done).ok());
  EXPECT_EQ(deleted, 1);
  Destroy(*out);
  Destroy(pair);

  ARGS(PJRT_FFI_Register_Handler, handler);
  handler.target_name = "my_target";
  handler.target_name_size = 9;
  handler.handler = &data;
  handler.platform_name = "Host";
  handler.platform_name_size = 4;
  ASSERT_TRUE(TakeStatus(ffi->register_handler(&handler)).ok());
  EXPECT_EQ(FakePlugin::Get().ffi_targets.back(), "my_target");
}

TEST_F(ExecuteTest, DeletedExecutables) {
  PJRT_LoadedExecutable* pair = Compiled("pair");
  ARGS(PJRT_LoadedExecutable_IsDeleted, is_deleted);
  is_deleted.executable = pair;
  ASSERT_CALL(PJRT_LoadedExecutable_IsDeleted, is_deleted);
  EXPECT_FALSE(is_deleted.is_deleted);
  ARGS(PJRT_LoadedExecutable_Delete, del);
  del.executable = pair;
  ASSERT_CALL(PJRT_LoadedExecutable_Delete, del);
  ASSERT_CALL(PJRT_LoadedExecutable_IsDeleted, is_deleted);
  EXPECT_TRUE(is_deleted.is_deleted);
  EXPECT_CODE(Execute(pair, {}).status(), kInvalidArgument);
  Destroy(pair);
}

}  // namespace
}  // namespace tenon::plugin::testing
