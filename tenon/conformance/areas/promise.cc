// Promised buffers, which exist before their contents do, and buffers that are born failed.
#include <string>
#include <vector>

#include "tenon/conformance/areas/extension_calls.h"
#include "tenon/conformance/areas/more.h"
#include "tenon/conformance/env.h"

namespace tenon::conformance {

namespace {

Buffer ErrorBuffer(Env& env) {
  static const int64_t dims[] = {4};
  auto args = New<PJRT_Client_CreateErrorBuffer_Args>();
  args.client = env.client();
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = "lost on purpose";
  args.error_message_size = 15;
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = env.DefaultMemory(env.device());
  env.Ok(args);
  return {env, args.buffer};
}

struct Alias {
  Buffer buffer;
  PJRT_FulfillAliasBufferCallback* handle = nullptr;
};

Alias NewAlias(Env& env) {
  static const int64_t dims[] = {4};
  auto args = New<PJRT_Client_CreateAliasBuffer_Args>();
  args.client = env.client();
  args.memory = env.DefaultMemory(env.device());
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  env.Ok(args);
  Alias alias{Buffer(env, args.alias_buffer), args.fulfill_alias_buffer_cb};
  env.Expect(args.alias_buffer != nullptr && alias.handle != nullptr, "no buffer or no handle");
  return alias;
}

Status Fulfill(Env& env, const Alias& alias, PJRT_Buffer* buffer, PJRT_Error_Code code = PJRT_Error_Code_OK) {
  auto args = New<PJRT_Client_FulfillAliasBuffer_Args>();
  args.client = env.client();
  args.buffer = buffer;
  args.status_code = code;
  args.error_message = "failed on purpose";
  args.error_message_size = 17;
  args.fulfill_alias_buffer_cb = alias.handle;
  return env.Try(args);
}

Result<Buffer> TryCopy(Env& env, PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_CopyToMemory_Args>();
  args.buffer = buffer;
  args.dst_memory = env.DefaultMemory(env.device());
  Status status = env.Try(args);
  if (!status.ok()) return status;
  return Buffer(env, args.dst_buffer);
}

// The outcome of a buffer that must not wait for ever.
Status ReadySoon(Env& env, PJRT_Buffer* buffer, std::string_view what) {
  auto args = New<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  env.Ok(args);
  Event ready(env, args.event);
  env.Expect(Eventually([&] { return env.IsReady(ready); }, 3000), std::string(what) + " is never ready");
  return env.Await(ready);
}

// Two promises, each with what a program makes of it; the second is kept with what comes of the first.
struct Chain {
  explicit Chain(Env& env) : first(NewAlias(env)), second(NewAlias(env)) {
    Loaded loaded = env.Compile(kAddOneProgram);
    Result<Run> run_first = env.TryExecute(loaded, {{first.buffer}});
    Result<Run> run_second = env.TryExecute(loaded, {{second.buffer}});
    env.Expect(run_first.ok() && run_second.ok(), "executing failed");
    of_first = std::move(run_first->outputs[0][0]);
    of_second = std::move(run_second->outputs[0][0]);
    Status status = Fulfill(env, second, of_first);
    env.Expect(status.ok(), status.ToString());
  }
  Alias first, second;
  Buffer of_first, of_second;
};

// What waits for itself can only fail: at the call or later, but it must not wait for ever.
void ExpectCycleFails(Env& env, const Alias& alias, PJRT_Buffer* derived) {
  Status fulfilled = Fulfill(env, alias, derived);
  Status ready = ReadySoon(env, alias.buffer, "a promise that waits for itself");
  env.Expect(!ready.ok(), "a promise that waits for itself is ready");
  if (!fulfilled.ok())
    env.CheckFailure(fulfilled, {Code::kInvalidArgument}, "FulfillAliasBuffer", "it waits for itself");
  env.Expect(!ReadySoon(env, derived, "what was derived from it").ok(), "what was derived from it is ready");
}

void AddErrorBuffers(Suite& suite) {
  suite.Add("buffers.error_buffer", Needs::kClient,
            "An error buffer has its shape, and its ready event gives its error", kHeader, [](Env& env) {
              Buffer buffer = ErrorBuffer(env);
              env.Expect(env.BufferDims(buffer) == Dims{4}, "other extents");
              Status status = env.Ready(buffer);
              env.Expect(status.code() == Code::kDataLoss, "got " + status.ToString());
              env.Expect(status.message().find("lost on purpose") != std::string_view::npos,
                         "got " + status.ToString());
            });
  suite.Add("buffers.error_buffer_to_host", Needs::kClient, "Reading an error buffer fails with its error", kHeader,
            [](Env& env) {
              Buffer buffer = ErrorBuffer(env);
              Status status = env.TryDownload(buffer).status();
              env.Expect(status.code() == Code::kDataLoss, "got " + status.ToString());
            });
  suite.Add("buffers.error_buffer_execute", Needs::kClient, "An execution over an error buffer fails with its error",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer buffer = ErrorBuffer(env);
              Result<Run> run = env.TryExecute(loaded, {{buffer}});
              Status status = run.ok() ? env.Ready(run->outputs[0][0]) : run.status();
              env.Expect(status.code() == Code::kDataLoss, "got " + status.ToString());
            });
  suite.Add("buffers.error_buffer_ok", Needs::kClient, "An error buffer without an error is refused", kRobust,
            [](Env& env) {
              static const int64_t dims[] = {4};
              auto args = New<PJRT_Client_CreateErrorBuffer_Args>();
              args.client = env.client();
              args.error_code = PJRT_Error_Code_OK;
              args.error_message = "";
              args.shape_dims = dims;
              args.shape_num_dims = 1;
              args.shape_element_type = PJRT_Buffer_Type_F32;
              args.memory = env.DefaultMemory(env.device());
              env.Fails(args, {Code::kInvalidArgument}, "there is no error");
            });
  suite.Add("buffers.error_buffer_copy", Needs::kClient, "A copy of an error buffer has its error", kHeader,
            [](Env& env) {
              Buffer buffer = ErrorBuffer(env);
              Result<Buffer> copy = TryCopy(env, buffer);
              Status status = copy.ok() ? ReadySoon(env, *copy, "the copy") : copy.status();
              env.Expect(status.code() == Code::kDataLoss, "got " + status.ToString());
            });
  suite.Add("buffers.error_buffer_fulfils", Needs::kClient, "A promise kept with an error buffer has its error",
            kHeader, [](Env& env) {
              Alias alias = NewAlias(env);
              Buffer buffer = ErrorBuffer(env);
              (void)Fulfill(env, alias, buffer);
              Status status = ReadySoon(env, alias.buffer, "the promise");
              env.Expect(status.code() == Code::kDataLoss, "got " + status.ToString());
            });
}

void AddAliases(Suite& suite) {
  suite.Add("buffers.alias_fulfilled", Needs::kClient, "A promised buffer has the values of the one that fulfils it",
            kHeader, [](Env& env) {
              Alias alias = NewAlias(env);
              env.Expect(env.BufferDims(alias.buffer) == Dims{4}, "other extents");
              Buffer real = env.Four(3);
              Status status = Fulfill(env, alias, real);
              env.Expect(status.ok(), status.ToString());
              env.Expect(env.Ready(alias.buffer).ok(), "the alias failed");
              env.ExpectValues(alias.buffer, {3, 4, 5, 6});
            });
  suite.Add("buffers.alias_not_ready", Needs::kClient, "A promised buffer is not ready before it is fulfilled", kHeader,
            [](Env& env) {
              Alias alias = NewAlias(env);
              auto args = New<PJRT_Buffer_ReadyEvent_Args>();
              args.buffer = alias.buffer;
              env.Ok(args);
              Event event(env, args.event);
              bool early = env.IsReady(event);
              Buffer real = env.Four(3);
              env.Expect(Fulfill(env, alias, real).ok(), "fulfilling failed");
              env.Expect(!early, "it was ready");
              env.Expect(env.Await(event).ok(), "the event failed");
            });
  suite.Add("buffers.alias_execute", Needs::kClient, "A program may be enqueued over a promised buffer", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Alias alias = NewAlias(env);
              Result<Run> run = env.TryExecute(loaded, {{alias.buffer}});
              Buffer real = env.Four(3);
              Status fulfilled = Fulfill(env, alias, real);
              env.Expect(run.ok(), run.status().ToString());
              env.Expect(fulfilled.ok(), fulfilled.ToString());
              env.Expect(env.Await(run->done[0]).ok(), "the execution failed");
              env.ExpectValues(run->outputs[0][0], {4, 5, 6, 7});
            });
  suite.Add("buffers.alias_failed", Needs::kClient, "A promise that is broken fails the buffer with that error",
            kHeader, [](Env& env) {
              Alias alias = NewAlias(env);
              Status status = Fulfill(env, alias, nullptr, PJRT_Error_Code_ABORTED);
              env.Expect(status.ok(), status.ToString());
              Status ready = env.Ready(alias.buffer);
              env.Expect(ready.code() == Code::kAborted, "got " + ready.ToString());
            });
  suite.Add("buffers.alias_null", Needs::kClient, "Fulfilling with success and no buffer gives INVALID_ARGUMENT",
            kReference, [](Env& env) {
              Alias alias = NewAlias(env);
              env.CheckFailure(Fulfill(env, alias, nullptr), {Code::kInvalidArgument}, "PJRT_Client_FulfillAliasBuffer",
                               "there is no buffer");
            });
  suite.Add("buffers.alias_source_goes", Needs::kClient, "A kept promise needs neither buffer nor handle that kept it",
            kReference, [](Env& env) {
              Alias alias = NewAlias(env);
              Buffer real = env.Four(3);
              env.Expect(Fulfill(env, alias, real).ok(), "fulfilling failed");
              real.Reset();
              Buffer other = env.Four(100);  // would take the place of freed bytes
              env.ExpectValues(alias.buffer, {3, 4, 5, 6});
            });
  suite.Add("buffers.alias_read_before", Needs::kClient, "A promise may be read before it is kept", kHeader,
            [](Env& env) {
              Alias alias = NewAlias(env);
              float values[4] = {};
              auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
              args.src = alias.buffer;
              args.dst = values;
              args.dst_size = sizeof(values);
              env.Ok(args);
              Event done(env, args.event);
              bool early = env.IsReady(done);
              Buffer real = env.Four(3);
              env.Expect(Fulfill(env, alias, real).ok(), "fulfilling failed");
              env.Expect(!early, "the copy was done before");
              Status status = env.Await(done);
              env.Expect(status.ok(), status.ToString());
              env.Expect(values[0] == 3 && values[3] == 6, "other values");
            });
  suite.Add("buffers.alias_destroyed_first", Needs::kClient, "A promise whose buffer was destroyed can still be kept",
            kHeader, [](Env& env) {
              Alias alias = NewAlias(env);
              alias.buffer.Reset();
              Buffer real = env.Four(3);
              Status status = Fulfill(env, alias, real);
              if (!status.ok()) env.CheckFailure(status, {}, "FulfillAliasBuffer", "the promise was destroyed");
              Buffer other = env.Four();
              env.ExpectValues(other, {1, 2, 3, 4});
            });
  suite.Add("buffers.alias_deleted_source", Needs::kClient, "A deleted buffer keeps no promise, which then fails",
            kRobust, [](Env& env) {
              Alias alias = NewAlias(env);
              Buffer real = env.Four(3);
              env.Delete(real);
              Status status = Fulfill(env, alias, real);
              if (!status.ok()) env.CheckFailure(status, {}, "FulfillAliasBuffer", "the buffer is deleted");
              env.Expect(!ReadySoon(env, alias.buffer, "the promise").ok(), "the promise is ready");
            });
  suite.Add("buffers.alias_other_shape", Needs::kClient, "A buffer of another shape does not keep the promise", kRobust,
            [](Env& env) {
              Alias alias = NewAlias(env);
              Buffer real = env.Upload<float>({1, 2}, {2});
              env.CheckFailure(Fulfill(env, alias, real), {Code::kInvalidArgument}, "FulfillAliasBuffer",
                               "four numbers were promised");
              env.Expect(!ReadySoon(env, alias.buffer, "the promise").ok(), "the promise is ready");
            });
  suite.Add("buffers.alias_self", Needs::kClient, "A promise cannot be kept with itself", kRobust, [](Env& env) {
    Alias alias = NewAlias(env);
    env.CheckFailure(Fulfill(env, alias, alias.buffer), {Code::kInvalidArgument}, "FulfillAliasBuffer",
                     "it is the promise itself");
    env.Expect(!ReadySoon(env, alias.buffer, "the promise").ok(), "the promise is ready");
  });
  suite.Add("buffers.alias_of_copy", Needs::kClient, "A promise kept with a copy of itself fails instead of waiting",
            kRobust, [](Env& env) {
              Alias alias = NewAlias(env);
              Result<Buffer> copy = TryCopy(env, alias.buffer);
              if (!copy.ok()) {
                (void)Fulfill(env, alias, nullptr, PJRT_Error_Code_ABORTED);
                env.Unsupported("promises cannot be copied: " + copy.status().ToString());
              }
              ExpectCycleFails(env, alias, *copy);
            });
  suite.Add("buffers.alias_of_output", Needs::kClient,
            "A promise kept with what a program makes of it fails instead of waiting", kRobust, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Alias alias = NewAlias(env);
              Run run = env.Start(loaded, {{alias.buffer}});
              ExpectCycleFails(env, alias, run.outputs[0][0]);
            });
  suite.Add("buffers.alias_ring", Needs::kClient, "Two promises that wait for each other fail instead of waiting",
            kRobust, [](Env& env) {
              Chain chain(env);
              ExpectCycleFails(env, chain.first, chain.of_second);
              env.Expect(!ReadySoon(env, chain.second.buffer, "the other promise").ok(), "the other promise is ready");
            });
  suite.Add("buffers.alias_pending_source", Needs::kClient,
            "A promise kept with a buffer that is not ready waits for it", kHeader, [](Env& env) {
              Chain chain(env);
              Buffer real = env.Four(3);
              Status status = Fulfill(env, chain.first, real);
              env.Expect(status.ok(), status.ToString());
              env.ExpectValues(chain.second.buffer, {4, 5, 6, 7});
              env.ExpectValues(chain.of_second, {5, 6, 7, 8});
            });
}

}  // namespace

void AddPromiseTests(Suite& suite) {
  AddErrorBuffers(suite);
  AddAliases(suite);
}

}  // namespace tenon::conformance
