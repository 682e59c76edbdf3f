#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenon/ffi_host/call_site.h"
#include "tenon/ffi_host/registry.h"

namespace tenon::ffi_host {
namespace {

// Handlers as a library built against the C header would write them.
bool AnswerMetadata(XLA_FFI_CallFrame* frame, int minor) {
  if (frame->extension_start == nullptr || frame->extension_start->type != XLA_FFI_Extension_Metadata) return false;
  auto* m = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
  m->api_version.major_version = 0;
  m->api_version.minor_version = minor;
  m->traits = 0;
  return true;
}

XLA_FFI_Error* MakeError(XLA_FFI_CallFrame* frame, const char* message, XLA_FFI_Error_Code code) {
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message, code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

// out[i] = in[i] * scale; attributes must arrive sorted: a, scale.
XLA_FFI_Error* Scale(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata(frame, 5)) return nullptr;
  if (frame->struct_size != XLA_FFI_CallFrame_STRUCT_SIZE)
    return MakeError(frame, "frame size", XLA_FFI_Error_Code_INTERNAL);
  if (frame->args.size != 2 || frame->rets.size != 1 || frame->attrs.size != 2)
    return MakeError(frame, "arity", XLA_FFI_Error_Code_INVALID_ARGUMENT);
  const auto name = [&](int i) { return std::string(frame->attrs.names[i]->ptr, frame->attrs.names[i]->len); };
  if (name(0) != "a" || name(1) != "scale") return MakeError(frame, "order", XLA_FFI_Error_Code_INVALID_ARGUMENT);
  const auto* scalar = static_cast<XLA_FFI_Scalar*>(frame->attrs.attrs[1]);
  if (frame->attrs.types[1] != XLA_FFI_AttrType_SCALAR || scalar->dtype != XLA_FFI_DataType_F32)
    return MakeError(frame, "type", XLA_FFI_Error_Code_INVALID_ARGUMENT);
  const float scale = *static_cast<float*>(scalar->value);
  const auto* in = static_cast<XLA_FFI_Buffer*>(frame->args.args[0]);
  const auto* out = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  if (static_cast<XLA_FFI_Buffer*>(frame->args.args[1])->dtype != XLA_FFI_DataType_TOKEN)
    return MakeError(frame, "token", XLA_FFI_Error_Code_INVALID_ARGUMENT);
  if (in->rank != 1 || in->dtype != XLA_FFI_DataType_F32)
    return MakeError(frame, "buffer", XLA_FFI_Error_Code_INVALID_ARGUMENT);
  for (int64_t i = 0; i < in->dims[0]; ++i)
    static_cast<float*>(out->data)[i] = static_cast<float*>(in->data)[i] * scale;
  return nullptr;
}

// Ends on another thread, with the user data of type 77 as the result.
XLA_FFI_Error* Later(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata(frame, 0)) return nullptr;
  XLA_FFI_TypeId id{77};
  XLA_FFI_InvokeContext_Get_Args get = {XLA_FFI_InvokeContext_Get_Args_STRUCT_SIZE, nullptr, frame->ctx, &id, nullptr};
  if (XLA_FFI_Error* error = frame->api->XLA_FFI_InvokeContext_Get(&get)) return error;
  XLA_FFI_Future_Create_Args create = {XLA_FFI_Future_Create_Args_STRUCT_SIZE, nullptr, nullptr};
  frame->api->XLA_FFI_Future_Create(&create);
  frame->future = create.future;
  auto* out = static_cast<float*>(static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0])->data);
  std::thread([api = frame->api, future = create.future, out, value = *static_cast<float*>(get.data)] {
    *out = value;
    XLA_FFI_Future_SetAvailable_Args set = {XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE, nullptr, future};
    api->XLA_FFI_Future_SetAvailable(&set);
  }).detach();
  return nullptr;
}

XLA_FFI_Error* FromTheFuture(XLA_FFI_CallFrame* frame) {
  AnswerMetadata(frame, 9);
  return nullptr;
}

// Bytes of packed s4 as they should come, and others as the result.
XLA_FFI_Error* Nibbles(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata(frame, 5)) return nullptr;
  const auto* in = static_cast<const uint8_t*>(static_cast<XLA_FFI_Buffer*>(frame->args.args[0])->data);
  auto* out = static_cast<uint8_t*>(static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0])->data);
  if (in[0] != 0xe1 || in[1] != 0xc3 || in[2] != 0x05)
    return MakeError(frame, "packing", XLA_FFI_Error_Code_INVALID_ARGUMENT);
  out[0] = 0x8f;
  out[1] = 0x21;
  out[2] = 0x07;
  return nullptr;
}

// Waits for two tasks that it schedules.
XLA_FFI_Error* Parallel(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata(frame, 5)) return nullptr;
  std::atomic<int> done{0};
  for (int i = 0; i < 2; ++i) {
    XLA_FFI_ThreadPool_Schedule_Args args = {XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE, nullptr, frame->ctx,
                                             [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &done};
    if (XLA_FFI_Error* error = frame->api->XLA_FFI_ThreadPool_Schedule(&args)) return error;
  }
  while (done.load() != 2) std::this_thread::yield();
  return nullptr;
}

XLA_FFI_Error* SetState(XLA_FFI_CallFrame* frame, XLA_FFI_ExecutionStage stage, void* state) {
  XLA_FFI_TypeId id{4};
  XLA_FFI_State_Set_Args args = {XLA_FFI_State_Set_Args_STRUCT_SIZE, nullptr, frame->ctx, stage, &id, state};
  return frame->api->XLA_FFI_State_Set(&args);
}

// Adds ten to the power of the stage to the state of the stage before, and keeps the sum.
template <XLA_FFI_ExecutionStage kStage>
XLA_FFI_Error* Staged(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata(frame, 5)) return nullptr;
  if (frame->stage != kStage) return MakeError(frame, "stage", XLA_FFI_Error_Code_INVALID_ARGUMENT);
  int sum = 1;
  if (kStage != XLA_FFI_ExecutionStage_INSTANTIATE) {
    XLA_FFI_TypeId id{4};
    XLA_FFI_State_Get_Args get = {XLA_FFI_State_Get_Args_STRUCT_SIZE,
                                  nullptr,
                                  frame->ctx,
                                  static_cast<XLA_FFI_ExecutionStage>(kStage - 1),
                                  &id,
                                  nullptr};
    if (XLA_FFI_Error* error = frame->api->XLA_FFI_State_Get(&get)) return error;
    if (get.state == nullptr) return MakeError(frame, "no state", XLA_FFI_Error_Code_NOT_FOUND);
    sum = *static_cast<int*>(get.state);
    for (int i = 0, power = 1; i <= kStage; ++i, power *= 10) {
      if (i == kStage) sum += power;
    }
  }
  if (kStage == XLA_FFI_ExecutionStage_EXECUTE) {
    *static_cast<float*>(static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0])->data) = static_cast<float>(sum);
    return nullptr;
  }
  static int state = 0;  // Of a type that nobody has registered, so nobody deletes it.
  state = sum;
  if (XLA_FFI_Error* error = SetState(frame, kStage, &state)) return error;
  int unused = 0;
  XLA_FFI_Error* again = SetState(frame, kStage, &unused);
  if (again == nullptr) return MakeError(frame, "two states", XLA_FFI_Error_Code_INTERNAL);
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, again};
  frame->api->XLA_FFI_Error_Destroy(&destroy);
  return nullptr;
}

XLA_FFI_Error* Throws(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata(frame, 5)) return nullptr;
  throw std::runtime_error("no more");
}

XLA_FFI_Error* ThrowsInATask(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata(frame, 5)) return nullptr;
  XLA_FFI_ThreadPool_Schedule_Args args = {XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE, nullptr, frame->ctx,
                                           [](void*) { throw std::runtime_error("in a task"); }, nullptr};
  return frame->api->XLA_FFI_ThreadPool_Schedule(&args);
}

// Fails at once, while a thread still writes to the result and then completes the future.
XLA_FFI_Error* FailsBeforeItsFuture(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata(frame, 5)) return nullptr;
  XLA_FFI_Future_Create_Args create = {XLA_FFI_Future_Create_Args_STRUCT_SIZE, nullptr, nullptr};
  frame->api->XLA_FFI_Future_Create(&create);
  frame->future = create.future;
  auto* out = static_cast<float*>(static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0])->data);
  std::thread([api = frame->api, future = create.future, out] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *out = 7;
    XLA_FFI_Future_SetAvailable_Args set = {XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE, nullptr, future};
    api->XLA_FFI_Future_SetAvailable(&set);
  }).detach();
  return MakeError(frame, "at once", XLA_FFI_Error_Code_ABORTED);
}

plan::CustomCallStep Call(std::string target) {
  plan::CustomCallStep step;
  step.target = std::move(target);
  step.api_version = 4;
  return step;
}

plan::Attribute FloatAttribute(std::string name, float value) {
  std::string bytes(sizeof(float), '\0');
  std::memcpy(bytes.data(), &value, sizeof(float));
  return {std::move(name), plan::Attribute::Kind::kScalar, DType::kF32, bytes, {}};
}

const plan::Slot kVector{plan::SlotKind::kTemp, 0, 0, DType::kF32, {3}, {1}};

TEST(FfiHost, CallsAHandlerWithBuffersAndSortedAttributes) {
  ASSERT_TRUE(RegisterHandler("scale", {nullptr, nullptr, nullptr, Scale, nullptr}, 0).ok());
  plan::CustomCallStep step = Call("scale");
  step.attributes = {FloatAttribute("scale", 2.5f), {"a", plan::Attribute::Kind::kString, DType::kInvalid, "x", {}}};
  auto site = CallSite::Create(step);
  ASSERT_TRUE(site.ok()) << site.status().ToString();
  float in[] = {1, 2, 3}, out[3] = {};
  const runtime::View operands[] = {{in, &kVector}, {}};  // A token after it.
  const runtime::View results[] = {{out, &kVector}};
  const Status s = (*site)->Call(operands, results, {});
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(out[2], 7.5f);
}

TEST(FfiHost, ElementsSmallerThanAByteArePacked) {
  ASSERT_TRUE(RegisterHandler("nibbles", {nullptr, nullptr, nullptr, Nibbles, nullptr}, 0).ok());
  auto site = CallSite::Create(Call("nibbles"));
  ASSERT_TRUE(site.ok());
  plan::Slot slot = kVector;
  slot.dtype = DType::kS4;
  slot.dims = {5};
  int8_t in[] = {1, -2, 3, -4, 5}, out[] = {0, 0, 0, 0, 0, 99};
  const runtime::View operands[] = {{in, &slot}}, results[] = {{out, &slot}};
  const Status s = (*site)->Call(operands, results, {});
  ASSERT_TRUE(s.ok()) << s.ToString();
  const int8_t want[] = {-1, -8, 1, 2, 7, 99};
  EXPECT_EQ(std::memcmp(out, want, sizeof want), 0);
}

TEST(FfiHost, ErrorsOfHandlersKeepCodeAndText) {
  ASSERT_TRUE(RegisterHandler("scale", {nullptr, nullptr, nullptr, Scale, nullptr}, 0).ok());
  auto site = CallSite::Create(Call("scale"));
  ASSERT_TRUE(site.ok());
  const Status s = (*site)->Call({}, {}, {});
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_EQ(s.message(), "custom call to scale: arity");
}

TEST(FfiHost, WaitsForFuturesAndFindsUserData) {
  ASSERT_TRUE(RegisterHandler("later", {nullptr, nullptr, nullptr, Later, nullptr}, 0).ok());
  auto site = CallSite::Create(Call("later"));
  ASSERT_TRUE(site.ok());
  float out[3] = {}, user = 42;
  const runtime::View results[] = {{out, &kVector}};
  Invocation invocation;
  EXPECT_EQ((*site)->Call({}, results, invocation).code(), Code::kNotFound);
  invocation.find_user_data = [&](int64_t id) -> void* { return id == 77 ? &user : nullptr; };
  ASSERT_TRUE((*site)->Call({}, results, invocation).ok());
  EXPECT_EQ(out[0], 42);
}

TEST(FfiHost, TasksOfHandlersRunWithAndWithoutThreads) {
  ASSERT_TRUE(RegisterHandler("parallel", {nullptr, nullptr, nullptr, Parallel, nullptr}, 0).ok());
  auto site = CallSite::Create(Call("parallel"));
  ASSERT_TRUE(site.ok());
  EXPECT_TRUE((*site)->Call({}, {}, {}).ok());
  std::vector<std::thread> threads;
  Invocation invocation;
  invocation.schedule = [&](std::function<void()> task) { threads.emplace_back(std::move(task)); };
  EXPECT_TRUE((*site)->Call({}, {}, invocation).ok());
  EXPECT_EQ(threads.size(), 2u);
  for (std::thread& t : threads) t.join();
}

TEST(FfiHost, WhatHandlersAndTheirTasksThrowIsAStatus) {
  ASSERT_TRUE(RegisterHandler("throws", {nullptr, nullptr, nullptr, Throws, nullptr}, 0).ok());
  ASSERT_TRUE(RegisterHandler("throws_task", {nullptr, nullptr, nullptr, ThrowsInATask, nullptr}, 0).ok());
  const Status thrown = (*CallSite::Create(Call("throws")))->Call({}, {}, {});
  EXPECT_EQ(thrown.code(), Code::kInternal);
  EXPECT_EQ(thrown.message(), "custom call to throws: the handler threw: no more");
  const Status in_task = (*CallSite::Create(Call("throws_task")))->Call({}, {}, {});
  EXPECT_EQ(in_task.code(), Code::kInternal);
  EXPECT_NE(in_task.message().find("in a task"), std::string_view::npos) << in_task.message();
}

TEST(FfiHost, AFutureIsWaitedForAfterAnError) {
  ASSERT_TRUE(RegisterHandler("fails", {nullptr, nullptr, nullptr, FailsBeforeItsFuture, nullptr}, 0).ok());
  auto site = CallSite::Create(Call("fails"));
  ASSERT_TRUE(site.ok());
  auto out = std::make_unique<float[]>(3);
  const runtime::View results[] = {{out.get(), &kVector}};
  const Status s = (*site)->Call({}, results, {});
  EXPECT_EQ(s.code(), Code::kAborted) << s.ToString();
  EXPECT_EQ(out[0], 7);  // Written before the call returned.
}

TEST(FfiHost, RefusesWhatItCannotServe) {
  EXPECT_EQ(CallSite::Create(Call("nobody")).status().code(), Code::kNotFound);
  const Status s = RegisterHandler("future", {nullptr, nullptr, nullptr, FromTheFuture, nullptr}, 0);
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_NE(s.message().find("0.9"), std::string_view::npos) << s.message();
  EXPECT_EQ(RegisterHandler("", {nullptr, nullptr, nullptr, Scale, nullptr}, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(RegisterHandler("none", {}, 0).code(), Code::kInvalidArgument);
  ASSERT_TRUE(RegisterHandler("twice", {nullptr, nullptr, nullptr, Scale, nullptr}, 0).ok());
  EXPECT_TRUE(RegisterHandler("twice", {nullptr, nullptr, nullptr, Scale, nullptr}, 0).ok());
  EXPECT_EQ(RegisterHandler("twice", {nullptr, nullptr, nullptr, Later, nullptr}, 0).code(), Code::kAlreadyExists);
}

TEST(FfiHost, StandInsGiveWayWhereTheBuiltInOneIsAsFast) {
  InstallBuiltIns(
      [](std::string_view name) { return name == "unknown" ? BuiltIn() : BuiltIn{.handler = Later, .longest = 5}; });
  ASSERT_TRUE(RegisterHandler("library's", {nullptr, nullptr, nullptr, Scale, nullptr}, kStandInTrait).ok());
  ASSERT_TRUE(RegisterHandler("user's", {nullptr, nullptr, nullptr, Scale, nullptr}, 0).ok());
  ASSERT_TRUE(RegisterHandler("unknown", {nullptr, nullptr, nullptr, Scale, nullptr}, kStandInTrait).ok());
  const auto found = [](std::string_view name, int64_t longest) {
    return (*FindHandler(name, longest))->bundle.execute;
  };
  EXPECT_EQ(found("library's", 5), Later);
  EXPECT_EQ(found("library's", 6), Scale);
  EXPECT_EQ((*FindHandler("library's"))->bundle.execute, Scale);
  EXPECT_EQ(found("user's", 5), Scale);
  EXPECT_EQ(found("unknown", 5), Scale);
  EXPECT_EQ(found("nobody's", 9), Later);
  // Rows and columns are the last two dims of arrays.
  const std::vector<plan::Slot> slots = {{.dims = {9, 5, 4}}, {.dims = {9, 6}}};
  plan::CustomCallStep step = Call("library's");
  step.operands = {0, plan::kNoSlot};
  EXPECT_EQ((*CallSite::Create(step, slots))->handler().bundle.execute, Later);
  step.results = {1};
  EXPECT_EQ((*CallSite::Create(step, slots))->handler().bundle.execute, Scale);
  InstallBuiltIns(nullptr);
}

TEST(FfiHost, TypesLiveInTheEmbeddersRegistry) {
  EXPECT_EQ(RegisterType("t", 0, nullptr).status().code(), Code::kUnimplemented);
  InstallTypeRegistry(
      {[](std::string_view name, int64_t id, void (*)(void*)) -> Result<int64_t> {
         return id == 0 ? static_cast<int64_t>(name.size()) : Result<int64_t>(InvalidArgument("taken"));
       },
       [](int64_t id) -> void (*)(void*) { return id == 4 ? +[](void* p) { *static_cast<int*>(p) = 1; } : nullptr; }});
  EXPECT_EQ(*RegisterType("four", 0, nullptr), 4);
  EXPECT_EQ(RegisterType("four", 9, nullptr).status().code(), Code::kInvalidArgument);
  int deleted = 0;
  DeleteObject(5, &deleted);
  EXPECT_EQ(deleted, 0);
  DeleteObject(4, &deleted);
  EXPECT_EQ(deleted, 1);
}

// After the registry is there: see above.
TEST(FfiHost, EveryStageRunsAndKeepsItsState) {
  ASSERT_TRUE(
      RegisterHandler("staged",
                      {Staged<XLA_FFI_ExecutionStage_INSTANTIATE>, Staged<XLA_FFI_ExecutionStage_PREPARE>,
                       Staged<XLA_FFI_ExecutionStage_INITIALIZE>, Staged<XLA_FFI_ExecutionStage_EXECUTE>, nullptr},
                      kLeafTrait)
          .ok());
  auto site = CallSite::Create(Call("staged"));
  ASSERT_TRUE(site.ok()) << site.status().ToString();
  EXPECT_TRUE((*site)->has_begin());
  EXPECT_NE((*site)->handler().traits & kLeafTrait, 0u);
  float out[3] = {};
  const runtime::View results[] = {{out, &kVector}};
  EXPECT_EQ((*site)->Call({}, results, {}).code(), Code::kNotFound);  // Nothing was begun.
  for (int execution = 0; execution < 2; ++execution) {
    StageStates states;
    for (const runtime::CallStage stage : {runtime::CallStage::kPrepare, runtime::CallStage::kInitialize}) {
      const Status s = (*site)->Begin(stage, {}, results, {}, states);
      ASSERT_TRUE(s.ok()) << s.ToString();
    }
    for (int call = 0; call < 2; ++call) {  // As in a loop.
      out[0] = 0;
      const Status s = (*site)->Call({}, results, {}, &states);
      ASSERT_TRUE(s.ok()) << s.ToString();
      EXPECT_EQ(out[0], 1111);
    }
  }
}

}  // namespace
}  // namespace tenon::ffi_host
