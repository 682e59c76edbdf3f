// What plugins call back for: the store that joins the processes of a job, and the channels through which programs talk
// to the host.
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenon/conformance/areas/extension_calls.h"
#include "tenon/conformance/areas/more.h"
#include "tenon/conformance/env.h"

namespace tenon::conformance {

namespace {

// A key-value store that checks what it is called with. Plugins may call it from any thread.
class Store {
 public:
  // Points the arguments at this store.
  void Offer(PJRT_Client_Create_Args& args) {
    args.kv_get_callback = [](PJRT_KeyValueGetCallback_Args* a) {
      return static_cast<Store*>(a->user_arg)->Answer(a, a->timeout_in_ms >= 0);
    };
    args.kv_try_get_callback = [](PJRT_KeyValueTryGetCallback_Args* a) {
      return static_cast<Store*>(a->user_arg)->Answer(a, true);
    };
    args.kv_put_callback = [](PJRT_KeyValuePutCallback_Args* a) -> PJRT_Error* {
      return static_cast<Store*>(a->user_arg)->Put(a);
    };
    args.kv_get_user_arg = args.kv_try_get_user_arg = args.kv_put_user_arg = this;
  }
  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  // What was wrong with the calls; empty when nothing was.
  std::string Complaint() {
    std::lock_guard lock(mutex_);
    return complaint_;
  }

 private:
  void Note(bool right, const char* what) {
    if (!right && complaint_.empty()) complaint_ = what;
  }
  template <class Args>
  void CheckKey(const Args* a) {
    Note(!closed_, "the store was called after the client was destroyed");
    Note(a->key != nullptr && a->key_size != 0, "a key is empty");
    Note(a->callback_error != nullptr, "there is no callback_error");
  }
  template <class Args>
  PJRT_Error* Answer(Args* a, bool sane_timeout) {
    std::lock_guard lock(mutex_);
    CheckKey(a);
    Note(sane_timeout, "a timeout is negative");
    if (a->callback_error == nullptr || a->key == nullptr) return nullptr;
    auto found = values_.find(std::string(a->key, a->key_size));
    if (found == values_.end()) return (*a->callback_error)(PJRT_Error_Code_NOT_FOUND, "there is no such key", 20);
    a->value = new char[found->second.size() + 1];
    std::memcpy(a->value, found->second.c_str(), found->second.size() + 1);
    a->value_size = found->second.size();
    a->value_deleter_callback = [](char* value) { delete[] value; };
    return nullptr;
  }
  PJRT_Error* Put(PJRT_KeyValuePutCallback_Args* a) {
    std::lock_guard lock(mutex_);
    CheckKey(a);
    Note(a->value != nullptr || a->value_size == 0, "a value is NULL");
    if (a->key != nullptr && a->value != nullptr)
      values_[std::string(a->key, a->key_size)] = std::string(a->value, a->value_size);
    return nullptr;
  }

  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::string complaint_;
  bool closed_ = false;
};

void AddKeyValues(Suite& suite) {
  suite.Add("client.key_value_store", Needs::kClient,
            "A client with a key-value store runs programs, and calls the store as it should or not at all", kHeader,
            [](Env& env) {
              static Store store;  // must outlive what a plugin may leave running
              auto args = New<PJRT_Client_Create_Args>();
              store.Offer(args);
              env.Ok(args);
              {
                Client client(env, args.client);
                auto devices = New<PJRT_Client_AddressableDevices_Args>();
                devices.client = client;
                env.Ok(devices);
                env.Expect(devices.num_addressable_devices > 0, "there are no devices");
                Buffer buffer = env.Upload<float>({1, 2, 3, 4}, {4},
                                                  {.device = devices.addressable_devices[0], .client = client.get()});
                Loaded loaded = env.Compile(kAddOneProgram, Env::kOneDevice, client);
                env.ExpectValues(env.Execute(loaded, {buffer})[0], {2, 3, 4, 5});
              }
              store.Close();
              env.Expect(store.Complaint().empty(), store.Complaint());
            });
  suite.Add("client.key_value_store_incomplete", Needs::kClient,
            "A store of which a callback is missing is not used, or refused with a reason", kReference, [](Env& env) {
              static Store store;
              auto args = New<PJRT_Client_Create_Args>();
              store.Offer(args);
              args.kv_put_callback = nullptr;
              Status status = env.Try(args);
              if (status.ok()) {
                Client client(env, args.client);
              } else {
                env.CheckFailure(status, {Code::kInvalidArgument, Code::kFailedPrecondition}, "PJRT_Client_Create",
                                 "there is no put callback");
              }
              store.Close();
              env.Expect(store.Complaint().empty(), store.Complaint());
            });
}

// --- Channels

const char kSendProgram[] = R"(module @send { func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %t0 = stablehlo.create_token : !stablehlo.token
  %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
  %t1 = "stablehlo.send"(%0, %t0) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true, mhlo.frontend_attributes = {_xla_host_transfer_rendezvous = "out"}} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return %0 : tensor<4xf32> } })";

const char kRecvProgram[] = R"(module @recv { func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %t0 = stablehlo.create_token : !stablehlo.token
  %r:2 = "stablehlo.recv"(%t0) {channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true, mhlo.frontend_attributes = {_xla_host_transfer_rendezvous = "in"}} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %0 = stablehlo.add %arg0, %r#0 : tensor<4xf32>
  return %0 : tensor<4xf32> } })";

Loaded CompileOrSkip(Env& env, const char* program) {
  Result<Loaded> loaded = env.TryCompile(program);
  if (!loaded.ok() && loaded.status().code() == Code::kUnimplemented) env.Unsupported(loaded.status().ToString());
  env.Expect(loaded.ok(), "compiling failed: " + loaded.status().ToString());
  return std::move(loaded).value();
}

Run ExecuteOrSkip(Env& env, const Loaded& loaded, PJRT_Buffer* argument, PJRT_ExecuteOptions* options) {
  Result<Run> run = env.TryExecute(loaded, {{argument}}, options);
  if (!run.ok() && run.status().code() == Code::kUnimplemented) env.Unsupported(run.status().ToString());
  env.Expect(run.ok(), "executing failed: " + run.status().ToString());
  return std::move(run).value();
}

// What a program sent on channel 5. Must live as long as the execution.
struct Received {
  std::mutex mutex;
  std::vector<char> bytes;
  size_t total = 0;
  int ends = 0;
  bool fail = false;
  PJRT_SendCallbackInfo info{5, this, Take};
  PJRT_SendCallbackInfo* per_device = &info;

  // Options of an execution on one device.
  PJRT_ExecuteOptions Options() {
    PJRT_ExecuteOptions options = NewExecuteOptions();
    options.send_callbacks = &per_device;
    options.num_send_ops = 1;
    return options;
  }

  static PJRT_Error* Take(PJRT_Chunk* chunk, PJRT_CallbackError* error, size_t total, bool done, void* user_arg) {
    auto& self = *static_cast<Received*>(user_arg);
    std::lock_guard lock(self.mutex);
    const auto* data = static_cast<const char*>(chunk->data);
    self.bytes.insert(self.bytes.end(), data, data + chunk->size);
    self.total = total;
    self.ends += done ? 1 : 0;
    if (chunk->deleter != nullptr) chunk->deleter(chunk->data, chunk->deleter_arg);
    return self.fail ? (*error)(PJRT_Error_Code_ABORTED, "failed on purpose", 17) : nullptr;
  }
};

void AddChannels(Suite& suite) {
  suite.Add("execute.send", Needs::kClient, "What a program sends on a channel reaches its callback", kHeader,
            [](Env& env) {
              Loaded loaded = CompileOrSkip(env, kSendProgram);
              static Received received;
              PJRT_ExecuteOptions options = received.Options();
              Buffer argument = env.Four();
              Run run = ExecuteOrSkip(env, loaded, argument, &options);
              env.Expect(env.Await(run.done[0]).ok(), "the execution failed");
              env.ExpectValues(run.outputs[0][0], {2, 4, 6, 8});
              std::lock_guard lock(received.mutex);
              env.Equal(received.ends, 1, "last chunks");
              env.Equal(received.total, 16, "total size");
              std::vector<float> got(received.bytes.size() / sizeof(float));
              std::memcpy(got.data(), received.bytes.data(), got.size() * sizeof(float));
              env.Expect(got == std::vector<float>{2, 4, 6, 8}, "other values were sent");
            });
  suite.Add("execute.send_error", Needs::kClient, "An error of a send callback fails the execution", kHeader,
            [](Env& env) {
              Loaded loaded = CompileOrSkip(env, kSendProgram);
              static Received received;
              received.fail = true;
              PJRT_ExecuteOptions options = received.Options();
              Buffer argument = env.Four();
              Run run = ExecuteOrSkip(env, loaded, argument, &options);
              env.CheckFailure(env.Await(run.done[0]), {}, "the execution", "its send callback failed");
            });
  suite.Add("execute.recv", Needs::kClient, "What a callback streams to the device reaches the program", kHeader,
            [](Env& env) {
              Loaded loaded = CompileOrSkip(env, kRecvProgram);
              static const PJRT_Api* api;
              api = env.api();
              PJRT_RecvCallbackInfo info{6, nullptr, [](PJRT_CopyToDeviceStream* stream, void*) {
                                           static float values[] = {10, 20, 30, 40};
                                           PJRT_Chunk chunk{values, sizeof(values), [](void*, void*) {}, nullptr};
                                           auto add = New<PJRT_CopyToDeviceStream_AddChunk_Args>();
                                           add.stream = stream;
                                           add.chunk = &chunk;
                                           (void)api->PJRT_CopyToDeviceStream_AddChunk(&add);
                                           auto destroy = New<PJRT_CopyToDeviceStream_Destroy_Args>();
                                           destroy.stream = stream;
                                           (void)api->PJRT_CopyToDeviceStream_Destroy(&destroy);
                                         }};
              PJRT_RecvCallbackInfo* per_device = &info;
              PJRT_ExecuteOptions options = NewExecuteOptions();
              options.recv_callbacks = &per_device;
              options.num_recv_ops = 1;
              Buffer argument = env.Four();
              Run run = ExecuteOrSkip(env, loaded, argument, &options);
              env.Expect(env.Await(run.done[0]).ok(), "the execution failed");
              env.ExpectValues(run.outputs[0][0], {11, 22, 33, 44});
            });
  suite.Add("execute.poison_running", Needs::kClient,
            "Poisoning an execution that runs says so, and its outputs fail with that error", kHeader, [](Env& env) {
              if (!env.Supports<PJRT_Device_PoisonExecution_Args>()) env.Unsupported("not in the table");
              Loaded loaded = CompileOrSkip(env, kRecvProgram);
              // The program waits for what it receives until the stream is closed.
              static std::atomic<PJRT_CopyToDeviceStream*> held{nullptr};
              PJRT_RecvCallbackInfo info{6, nullptr, [](PJRT_CopyToDeviceStream* stream, void*) { held = stream; }};
              PJRT_RecvCallbackInfo* per_device = &info;
              PJRT_ExecuteOptions options = NewExecuteOptions();
              options.recv_callbacks = &per_device;
              options.num_recv_ops = 1;
              options.launch_id = 4321;
              Buffer argument = env.Four();
              Run run = ExecuteOrSkip(env, loaded, argument, &options);
              for (int wait = 0; wait < 1000 && held == nullptr; ++wait)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
              env.Expect(held != nullptr, "the recv callback was not called");
              auto poison = New<PJRT_Device_PoisonExecution_Args>();
              poison.device = env.device();
              poison.launch_id = options.launch_id;
              poison.error_code = PJRT_Error_Code_ABORTED;
              poison.error_message = "on purpose";
              poison.error_message_size = 10;
              const Status status = env.Try(poison);
              auto destroy = New<PJRT_CopyToDeviceStream_Destroy_Args>();
              destroy.stream = held;
              env.Ok(destroy);
              if (status.code() == Code::kUnimplemented) env.Unsupported(status.ToString());
              env.Expect(status.ok(), "poisoning failed: " + status.ToString());
              env.Expect(poison.poisoned, "it says that there was no such execution");
              env.CheckFailure(env.Ready(run.outputs[0][0]), {Code::kAborted}, "the output", "it was poisoned");
            });
  suite.Add("execute.callbacks_of_no_channel", Needs::kClient,
            "Callbacks for channels that a program lacks are refused with a reason, or never called", kRobust,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              static Received received;
              PJRT_ExecuteOptions options = received.Options();
              Buffer argument = env.Four();
              Result<Run> run = env.TryExecute(loaded, {{argument}}, &options);
              if (!run.ok()) {
                env.CheckFailure(run.status(), {Code::kUnimplemented, Code::kInvalidArgument}, "Execute",
                                 "the program has no channels");
                env.ExpectValues(argument, {1, 2, 3, 4});
                return;
              }
              // A plugin that knows its programs from afar may refuse later.
              const Status outcome = env.Await(run->done[0]);
              if (outcome.ok()) {
                env.ExpectValues(run->outputs[0][0], {2, 3, 4, 5});
              } else {
                env.CheckFailure(outcome, {Code::kUnimplemented, Code::kInvalidArgument}, "the execution",
                                 "the program has no channels");
              }
              std::lock_guard lock(received.mutex);
              env.Expect(received.bytes.empty() && received.ends == 0, "the callback was called");
            });
}

}  // namespace

void AddCallbackTests(Suite& suite) {
  AddKeyValues(suite);
  AddChannels(suite);
}

}  // namespace tenon::conformance
