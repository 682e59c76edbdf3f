// The transfer manager, and events.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

Manager NewManager(Env& env, const std::vector<Dims>& shapes) {
  std::vector<PJRT_ShapeSpec> specs(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::memset(static_cast<void*>(&specs[i]), 0, sizeof(specs[i]));
    specs[i].struct_size = PJRT_ShapeSpec_STRUCT_SIZE;
    specs[i].dims = shapes[i].data();
    specs[i].num_dims = shapes[i].size();
    specs[i].element_type = PJRT_Buffer_Type_F32;
  }
  auto args = New<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  args.client = env.client();
  args.shape_specs = specs.data();
  args.num_shape_specs = specs.size();
  args.memory = env.DefaultMemory(env.device());
  env.Ok(args);
  env.Expect(args.transfer_manager != nullptr, "no transfer manager");
  return {env, args.transfer_manager};
}

Buffer Retrieve(Env& env, PJRT_AsyncHostToDeviceTransferManager* manager, int index) {
  auto args = New<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
  args.transfer_manager = manager;
  args.buffer_index = index;
  env.Ok(args);
  return {env, args.buffer_out};
}

// The status of the call, or of its event.
Status Transfer(Env& env, PJRT_AsyncHostToDeviceTransferManager* manager, int index, const void* data, int64_t offset,
                int64_t size, bool last) {
  auto args = New<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
  args.transfer_manager = manager;
  args.buffer_index = index;
  args.data = data;
  args.offset = offset;
  args.transfer_size = size;
  args.is_last_transfer = last;
  TENON_RETURN_IF_ERROR(env.Try(args));
  Event event(env, args.done_with_h2d_transfer);
  return env.Await(event);
}

struct Called {
  std::atomic<int> times{0};
  std::atomic<int> code{-1};
  std::thread::id thread;
};

PJRT_Event_OnReady_Args OnReady(const Env& env, PJRT_Event* event, Called& called) {
  static const Env* the_env;
  the_env = &env;
  auto args = New<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = &called;
  args.callback = [](PJRT_Error* error, void* user) {
    auto* seen = static_cast<Called*>(user);
    seen->thread = std::this_thread::get_id();
    int code = 0;
    if (error != nullptr) {
      auto get = New<PJRT_Error_GetCode_Args>();
      get.error = error;
      (void)the_env->api()->PJRT_Error_GetCode(&get);
      code = static_cast<int>(get.code);
      auto destroy = New<PJRT_Error_Destroy_Args>();
      destroy.error = error;
      the_env->api()->PJRT_Error_Destroy(&destroy);
    }
    seen->code = code;
    ++seen->times;
  };
  return args;
}

Event UnsetEvent(Env& env) {
  auto args = New<PJRT_Event_Create_Args>();
  env.Ok(args);
  env.Expect(args.event != nullptr, "no event");
  return {env, args.event};
}

Status Set(Env& env, PJRT_Event* event, PJRT_Error_Code code = PJRT_Error_Code_OK, std::string_view message = {}) {
  auto args = New<PJRT_Event_Set_Args>();
  args.event = event;
  args.error_code = code;
  args.error_message = message.data();
  args.error_message_size = message.size();
  return env.Try(args);
}

Event ReadyEvent(Env& env, PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  env.Ok(args);
  env.Expect(args.event != nullptr, "no event");
  return {env, args.event};
}

}  // namespace

void AddAsyncTests(Suite& suite) {
  suite.Add("async.whole", Needs::kClient, "One last transfer fills a buffer and makes it ready", kHeader,
            [](Env& env) {
              Manager manager = NewManager(env, {{4}});
              Buffer buffer = Retrieve(env, manager, 0);
              const float values[] = {1, 2, 3, 4};
              Status status = Transfer(env, manager, 0, values, 0, 16, true);
              env.Expect(status.ok(), status.ToString());
              env.Expect(env.Ready(buffer).ok(), "the buffer failed");
              env.ExpectValues(buffer, {1, 2, 3, 4});
            });
  suite.Add("async.pieces", Needs::kClient, "Pieces in any order fill a buffer", kHeader, [](Env& env) {
    Manager manager = NewManager(env, {{4}});
    Buffer buffer = Retrieve(env, manager, 0);
    const float values[] = {1, 2, 3, 4};
    env.Expect(Transfer(env, manager, 0, values + 2, 8, 8, false).ok(), "the first piece failed");
    env.Expect(Transfer(env, manager, 0, values, 0, 8, true).ok(), "the second piece failed");
    env.ExpectValues(buffer, {1, 2, 3, 4});
  });
  suite.Add("async.not_ready_before_last", Needs::kClient, "A buffer is not ready before its last transfer", kHeader,
            [](Env& env) {
              Manager manager = NewManager(env, {{4}});
              Buffer buffer = Retrieve(env, manager, 0);
              Event ready = ReadyEvent(env, buffer);
              const float values[] = {1, 2, 3, 4};
              env.Expect(Transfer(env, manager, 0, values, 0, 8, false).ok(), "the first piece failed");
              env.Expect(!env.IsReady(ready), "it is ready");
              env.Expect(Transfer(env, manager, 0, values + 2, 8, 8, true).ok(), "the second piece failed");
              env.Expect(env.Await(ready).ok(), "it failed");
            });
  suite.Add("async.several", Needs::kClient, "Each index is a buffer of its own shape", kHeader, [](Env& env) {
    Manager manager = NewManager(env, {{4}, {2, 2}, {}});
    auto count = New<PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args>();
    count.transfer_manager = manager;
    env.Ok(count);
    env.Equal(count.buffer_count, 3, "buffers");
    const float values[] = {1, 2, 3, 4};
    std::vector<Buffer> buffers;
    for (int i = 0; i < 3; ++i) buffers.push_back(Retrieve(env, manager, i));
    for (int i = 2; i >= 0; --i)
      env.Expect(Transfer(env, manager, i, values, 0, i == 2 ? 4 : 16, true).ok(), "a transfer failed");
    env.Expect(env.BufferDims(buffers[1]) == Dims{2, 2}, "other extents");
    env.ExpectValues(buffers[0], {1, 2, 3, 4});
    env.ExpectValues(buffers[1], {1, 2, 3, 4});
    env.ExpectValues(buffers[2], {1});
  });
  suite.Add("async.retrieve_after", Needs::kClient,
            "A buffer may be retrieved after its transfers, and outlives the manager", kHeader, [](Env& env) {
              Manager manager = NewManager(env, {{4}});
              const float values[] = {1, 2, 3, 4};
              env.Expect(Transfer(env, manager, 0, values, 0, 16, true).ok(), "the transfer failed");
              Buffer buffer = Retrieve(env, manager, 0);
              manager.Reset();
              env.ExpectValues(buffer, {1, 2, 3, 4});
            });
  suite.Add("async.retrieve_twice", Needs::kClient, "A buffer is handed out once", kHeader, [](Env& env) {
    Manager manager = NewManager(env, {{4}});
    Buffer buffer = Retrieve(env, manager, 0);
    auto args = New<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    args.transfer_manager = manager;
    env.Fails(args, {Code::kInvalidArgument, Code::kFailedPrecondition, Code::kInternal}, "the buffer was handed out");
  });
  suite.Add("async.literal", Needs::kClient, "TransferLiteral fills a buffer from an array in a host layout", kHeader,
            [](Env& env) {
              Manager manager = NewManager(env, {{2, 3}});
              Buffer buffer = Retrieve(env, manager, 0);
              const float values[] = {0, 3, 1, 4, 2, 5};
              const int64_t dims[] = {2, 3};
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = ColumnMajor(2, &order);
              auto args = New<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>();
              args.transfer_manager = manager;
              args.data = values;
              args.shape_dims = dims;
              args.shape_num_dims = 2;
              args.shape_element_type = PJRT_Buffer_Type_F32;
              args.shape_layout = &layout;
              env.Ok(args);
              Event event(env, args.done_with_h2d_transfer);
              env.Expect(env.Await(event).ok(), "the transfer failed");
              env.ExpectValues(buffer, {0, 1, 2, 3, 4, 5});
            });
  suite.Add("async.literal_other_shape", Needs::kClient, "TransferLiteral of another shape gives INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              Manager manager = NewManager(env, {{2, 3}});
              const float values[6] = {};
              const int64_t dims[] = {3, 2};
              auto args = New<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>();
              args.transfer_manager = manager;
              args.data = values;
              args.shape_dims = dims;
              args.shape_num_dims = 2;
              args.shape_element_type = PJRT_Buffer_Type_F32;
              env.Fails(args, {Code::kInvalidArgument}, "the buffer is 2 by 3");
            });
  suite.Add("async.set_error", Needs::kClient, "SetBufferError fails the buffer with that error", kHeader,
            [](Env& env) {
              Manager manager = NewManager(env, {{4}});
              Buffer buffer = Retrieve(env, manager, 0);
              auto args = New<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
              args.transfer_manager = manager;
              args.error_code = PJRT_Error_Code_ABORTED;
              args.error_message = "on purpose";
              args.error_message_size = 10;
              env.Ok(args);
              Status status = env.Ready(buffer);
              env.Expect(status.code() == Code::kAborted, "got " + status.ToString());
            });
  suite.Add("async.execute_before_data", Needs::kClient, "A program enqueued before the data arrives runs when it has",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Manager manager = NewManager(env, {{4}});
              Buffer buffer = Retrieve(env, manager, 0);
              Result<Run> run = env.TryExecute(loaded, {{buffer}});
              const float values[] = {1, 2, 3, 4};
              Status sent = Transfer(env, manager, 0, values, 0, 16, true);
              env.Expect(run.ok(), run.status().ToString());
              env.Expect(sent.ok(), sent.ToString());
              env.Expect(env.Await(run->done[0]).ok(), "the execution failed");
              env.ExpectValues(run->outputs[0][0], {2, 3, 4, 5});
            });
  suite.Add("async.bad_index", Needs::kClient, "An index that is not there gives INVALID_ARGUMENT", kRobust,
            [](Env& env) {
              Manager manager = NewManager(env, {{4}});
              for (int index : {-1, 1, 1000}) {
                auto args = New<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
                args.transfer_manager = manager;
                args.buffer_index = index;
                env.Fails(args, {Code::kInvalidArgument, Code::kOutOfRange}, "there is one buffer");
              }
            });
  suite.Add("async.transfer_out_of_range", Needs::kClient, "A transfer beyond the buffer fails", kRobust, [](Env& env) {
    Manager manager = NewManager(env, {{4}});
    std::vector<float> values(1024);
    env.CheckFailure(Transfer(env, manager, 0, values.data(), 8, 4096, true),
                     {Code::kInvalidArgument, Code::kOutOfRange}, "TransferData", "the buffer ends before");
  });
  suite.Add(
      "async.transfer_after_last", Needs::kClient, "A transfer after the last one is refused", kRobust, [](Env& env) {
        Manager manager = NewManager(env, {{4}});
        const float values[] = {1, 2, 3, 4};
        env.Expect(Transfer(env, manager, 0, values, 0, 16, true).ok(), "the transfer failed");
        env.CheckFailure(Transfer(env, manager, 0, values, 0, 16, true),
                         {Code::kInvalidArgument, Code::kFailedPrecondition}, "TransferData", "the index was ended");
      });
  suite.Add("async.open_destroy", Needs::kClient,
            "Destroying a manager with open indexes fails their buffers or leaves them waiting, and does not crash",
            kRobust, [](Env& env) {
              Manager manager = NewManager(env, {{4}});
              Buffer buffer = Retrieve(env, manager, 0);
              manager.Reset();
              Event ready = ReadyEvent(env, buffer);
              if (env.IsReady(ready)) env.CheckFailure(env.Await(ready), {}, "the buffer", "it never got its data");
            });
  suite.Add("async.facts", Needs::kClient, "A manager knows its device, and the number and sizes of its buffers",
            kHeader, [](Env& env) {
              Manager manager = NewManager(env, {{4}, {2, 3}, {}});
              auto count = New<PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args>();
              count.transfer_manager = manager;
              env.Ok(count);
              env.Equal(count.buffer_count, 3, "buffers");
              const size_t sizes[] = {16, 24, 4};
              for (int i = 0; i < 3; ++i) {
                auto size = New<PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args>();
                size.transfer_manager = manager;
                size.buffer_index = i;
                env.Ok(size);
                env.Expect(size.buffer_size >= sizes[i], "a buffer is too small");
              }
              auto device = New<PJRT_AsyncHostToDeviceTransferManager_Device_Args>();
              device.transfer_manager = manager;
              env.Ok(device);
              env.Expect(device.device_out == env.device(), "another device");
            });
  suite.Add("async.metadata", Needs::kClient, "AddMetadata takes strings", kHeader, [](Env& env) {
    Manager manager = NewManager(env, {{4}});
    PJRT_NamedValue value;
    std::memset(static_cast<void*>(&value), 0, sizeof(value));
    value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    value.name = "key";
    value.name_size = 3;
    value.type = PJRT_NamedValue_kString;
    value.string_value = "value";
    value.value_size = 5;
    auto args = New<PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args>();
    args.transfer_manager = manager;
    args.transfer_metadata = &value;
    args.num_metadata = 1;
    env.Ok(args);
  });
}

void AddEventTests(Suite& suite) {
  suite.Add("events.ready_agrees_with_await", Needs::kClient, "After Await an event is ready", kHeader, [](Env& env) {
    Buffer buffer = env.Four();
    Event event = ReadyEvent(env, buffer);
    env.Expect(env.Await(event).ok(), "it failed");
    env.Expect(env.IsReady(event), "it is not ready");
  });
  suite.Add("events.await_twice", Needs::kClient, "An event may be waited for again", kHeader, [](Env& env) {
    Buffer buffer = env.Four();
    Event event = ReadyEvent(env, buffer);
    for (int i = 0; i < 3; ++i) env.Expect(env.Await(event).ok(), "it failed");
  });
  suite.Add("events.error_of_success", Needs::kClient, "PJRT_Event_Error of an event that went well is NULL", kHeader,
            [](Env& env) {
              Buffer buffer = env.Four();
              Event event = ReadyEvent(env, buffer);
              env.Expect(env.Await(event).ok(), "it failed");
              auto args = New<PJRT_Event_Error_Args>();
              args.event = event;
              Status status = env.Try(args);
              env.Expect(status.ok(), status.ToString());
            });
  suite.Add("events.on_ready_after", Needs::kClient, "OnReady of a ready event calls back once, inside the call",
            kReference, [](Env& env) {
              Buffer buffer = env.Four();
              Event event = ReadyEvent(env, buffer);
              env.Expect(env.Await(event).ok(), "it failed");
              Called called;
              auto args = OnReady(env, event, called);
              env.Ok(args);
              env.Equal(called.times.load(), 1, "calls");
              env.Equal(called.code.load(), 0, "code");
              env.Expect(called.thread == std::this_thread::get_id(), "it was called on another thread");
            });
  suite.Add("events.on_ready_execute", Needs::kClient, "OnReady of an execution calls back once", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer buffer = env.Four();
              Run run = env.Start(loaded, {{buffer}});
              Called called;
              auto args = OnReady(env, run.done[0], called);
              env.Ok(args);
              env.Expect(Eventually([&] { return called.times >= 1; }), "it was never called");
              env.Equal(called.code.load(), 0, "code");
            });
  suite.Add("events.on_ready_many", Needs::kClient, "Every registered callback runs, each once", kHeader, [](Env& env) {
    Event event = UnsetEvent(env);
    std::vector<Called> called(20);
    for (Called& one : called) {
      auto args = OnReady(env, event, one);
      env.Ok(args);
      env.Equal(one.times.load(), 0, "calls before the event was set");
    }
    env.Expect(Set(env, event).ok(), "setting failed");
    for (Called& one : called) {
      env.Expect(Eventually([&] { return one.times >= 1; }), "a callback was never called");
      env.Equal(one.times.load(), 1, "calls");
    }
  });
  suite.Add("events.destroy_after_on_ready", Needs::kClient,
            "Callbacks run although the event was destroyed after registering", kReference, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer buffer = env.Four();
              Called called;
              {
                Run run = env.Start(loaded, {{buffer}});
                auto args = OnReady(env, run.done[0], called);
                env.Ok(args);
              }
              env.Expect(Eventually([&] { return called.times >= 1; }), "it was never called");
            });
  suite.Add("events.create_set", Needs::kTable, "An event made by Create becomes ready with Set", kHeader,
            [](Env& env) {
              Event event = UnsetEvent(env);
              env.Expect(!env.IsReady(event), "it is ready from the start");
              Status status = Set(env, event);
              env.Expect(status.ok(), status.ToString());
              env.Expect(env.IsReady(event), "it is not ready");
              env.Expect(env.Await(event).ok(), "it failed");
            });
  suite.Add("events.set_error", Needs::kTable, "Set with an error gives that code and text to everybody who asks",
            kHeader, [](Env& env) {
              Event event = UnsetEvent(env);
              env.Expect(Set(env, event, PJRT_Error_Code_ABORTED, "on purpose").ok(), "setting failed");
              for (int i = 0; i < 2; ++i) {
                Status status = env.Await(event);
                env.Expect(status.code() == Code::kAborted && status.message() == "on purpose",
                           "Await gave " + status.ToString());
              }
              auto error = New<PJRT_Event_Error_Args>();
              error.event = event;
              Status status = env.Try(error);
              env.Expect(status.code() == Code::kAborted && status.message() == "on purpose",
                         "Error gave " + status.ToString());
              Called called;
              auto args = OnReady(env, event, called);
              env.Ok(args);
              env.Expect(Eventually([&] { return called.times >= 1; }), "OnReady never called");
              env.Equal(called.code.load(), static_cast<int>(Code::kAborted), "code that OnReady gave");
            });
  suite.Add("events.set_copies_message", Needs::kTable, "Set copies the message", kHeader, [](Env& env) {
    Event event = UnsetEvent(env);
    std::string message = "a text of some length that does not fit into a small string";
    std::string copy = message;
    env.Expect(Set(env, event, PJRT_Error_Code_INTERNAL, copy).ok(), "setting failed");
    copy.assign(copy.size(), 'x');
    env.Expect(env.Await(event).message() == message, "the text changed");
  });
  suite.Add("events.set_twice", Needs::kTable, "A second Set is refused", kRobust, [](Env& env) {
    Event event = UnsetEvent(env);
    env.Expect(Set(env, event).ok(), "setting failed");
    env.CheckFailure(Set(env, event), {Code::kInvalidArgument, Code::kFailedPrecondition}, "PJRT_Event_Set",
                     "the event was set");
  });
  suite.Add("events.set_foreign", Needs::kClient, "Set of an event that Create did not make is refused", kRobust,
            [](Env& env) {
              if (!env.Supports<PJRT_Event_Set_Args>()) env.Unsupported("PJRT_Event_Set is not in the table");
              Buffer buffer = env.Four();
              Event event = ReadyEvent(env, buffer);
              env.CheckFailure(Set(env, event), {Code::kInvalidArgument, Code::kFailedPrecondition}, "PJRT_Event_Set",
                               "the plugin made the event");
            });
  suite.Add("events.error_not_ready", Needs::kTable,
            "PJRT_Event_Error of an event that is not ready does not end the process", kRobust, [](Env& env) {
              Event event = UnsetEvent(env);
              auto args = New<PJRT_Event_Error_Args>();
              args.event = event;
              Status status = env.Try(args);
              env.Expect(Set(env, event).ok(), "setting failed");
              env.CheckFailure(status, {Code::kInvalidArgument, Code::kFailedPrecondition, Code::kUnavailable},
                               "PJRT_Event_Error", "the event is not ready");
            });
  suite.Add("events.await_on_another_thread", Needs::kTable, "Await blocks until another thread sets the event",
            kHeader, [](Env& env) {
              Event event = UnsetEvent(env);
              std::atomic<bool> returned{false};
              Status outcome;
              std::thread waiter([&] {
                outcome = env.Await(event);
                returned = true;
              });
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
              bool early = returned;
              Status set = Set(env, event);
              waiter.join();
              env.Expect(!early, "Await returned before the event was set");
              env.Expect(set.ok() && outcome.ok(), "setting or waiting failed");
            });
  suite.Add("events.destroy_unset", Needs::kTable, "An event that was never set may be destroyed", kRobust,
            [](Env& env) { Event event = UnsetEvent(env); });
}

}  // namespace tenon::conformance
