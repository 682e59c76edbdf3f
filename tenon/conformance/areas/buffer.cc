// Buffers: what they say of themselves, transfers, life after Delete, references, copies and views.
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

constexpr PJRT_HostBufferSemantics kDuringCall = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
constexpr PJRT_HostBufferSemantics kZeroCopy = PJRT_HostBufferSemantics_kImmutableZeroCopy;
constexpr PJRT_HostBufferSemantics kMutable = PJRT_HostBufferSemantics_kMutableZeroCopy;

void* Pointer(Env& env, PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  args.buffer = buffer;
  env.Ok(args);
  return args.device_memory_ptr;
}

bool IsOnCpu(Env& env, PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_IsOnCpu_Args>();
  args.buffer = buffer;
  env.Ok(args);
  return args.is_on_cpu;
}

void Hold(Env& env, PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  args.buffer = buffer;
  env.Ok(args);
}

void Drop(Env& env, PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  args.buffer = buffer;
  env.Ok(args);
}

Result<Buffer> CopyToDevice(Env& env, PJRT_Buffer* buffer, PJRT_Device* device) {
  auto args = New<PJRT_Buffer_CopyToDevice_Args>();
  args.buffer = buffer;
  args.dst_device = device;
  Status status = env.Try(args);
  if (!status.ok()) return status;
  return Buffer(env, args.dst_buffer);
}

struct View {
  alignas(64) float values[16] = {1, 2, 3, 4};
  std::atomic<int> released{0};
};

Buffer NewView(Env& env, View& view) {
  static const int64_t dims[] = {4};
  auto args = New<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = env.client();
  args.device_buffer_ptr = view.values;
  args.dims = dims;
  args.num_dims = 1;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = env.device();
  args.memory = env.DefaultMemory(env.device());
  args.on_delete_callback = [](void*, void* user) { ++static_cast<View*>(user)->released; };
  args.on_delete_callback_arg = &view;
  env.Ok(args);
  return {env, args.buffer};
}

// A call about a deleted buffer must fail, at once or through its event.
void ExpectRefused(Env& env, const Status& status, std::string_view what) {
  env.CheckFailure(status, {Code::kInvalidArgument, Code::kFailedPrecondition, Code::kNotFound}, what,
                   "the buffer is deleted");
}

void AddQueries(Suite& suite) {
  suite.Add("buffers.dims", Needs::kClient, "Dimensions gives the extents", kHeader, [](Env& env) {
    std::vector<float> values(24);
    Buffer buffer = env.Upload<float>(values, {2, 3, 4});
    env.Expect(env.BufferDims(buffer) == Dims{2, 3, 4}, "other extents");
    env.Equal(env.BufferType(buffer), PJRT_Buffer_Type_F32, "type");
  });
  suite.Add("buffers.unpadded_dims", Needs::kClient, "UnpaddedDimensions of a static shape are its extents", kHeader,
            [](Env& env) {
              std::vector<float> values(6);
              Buffer buffer = env.Upload<float>(values, {2, 3});
              auto args = New<PJRT_Buffer_UnpaddedDimensions_Args>();
              args.buffer = buffer;
              env.Ok(args);
              env.Expect(Dims(args.unpadded_dims, args.unpadded_dims + args.num_dims) == Dims{2, 3}, "other extents");
            });
  suite.Add("buffers.scalar", Needs::kClient, "A scalar is uploaded without extents and read back", kHeader,
            [](Env& env) {
              Buffer buffer = env.Upload<float>({42}, {});
              env.Expect(env.BufferDims(buffer).empty(), "it has extents");
              env.ExpectValues(buffer, {42});
            });
  suite.Add("buffers.empty", Needs::kClient, "An array without elements is uploaded with data NULL and read back",
            kReference, [](Env& env) {
              Buffer buffer = env.Upload(PJRT_Buffer_Type_F32, nullptr, {0});
              env.Expect(env.BufferDims(buffer) == Dims{0}, "other extents");
              env.Equal(env.Download(buffer).size(), 0, "bytes");
            });
  suite.Add("buffers.empty_inner", Needs::kClient, "An extent of 0 beside others is kept", kReference, [](Env& env) {
    Buffer buffer = env.Upload(PJRT_Buffer_Type_S32, nullptr, {3, 0, 2});
    env.Expect(env.BufferDims(buffer) == Dims{3, 0, 2}, "other extents");
  });
  suite.Add("buffers.rank_8", Needs::kClient, "Arrays of eight dimensions work", kHeader, [](Env& env) {
    std::vector<float> values(256);
    std::iota(values.begin(), values.end(), 0.0f);
    Buffer buffer = env.Upload<float>(values, {2, 2, 2, 2, 2, 2, 2, 2});
    env.ExpectValues(buffer, values);
  });
  suite.Add("buffers.large", Needs::kClient, "Sixteen million bytes arrive and come back", kHeader, [](Env& env) {
    std::vector<float> values(4 << 20);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000003);
    Buffer buffer = env.Upload<float>(values, {4 << 20});
    env.ExpectValues(buffer, values);
  });
  suite.Add("buffers.device", Needs::kClient, "A buffer is on the device that was asked for, the same pointer", kHeader,
            [](Env& env) {
              for (PJRT_Device* device : env.devices()) {
                Buffer buffer = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = device});
                auto args = New<PJRT_Buffer_Device_Args>();
                args.buffer = buffer;
                env.Ok(args);
                env.Expect(args.device == device, "another device");
                env.ExpectValues(buffer, {1, 2, 3, 4});
              }
            });
  suite.Add("buffers.memory_alone", Needs::kClient, "An upload may name a memory and no device", kClients,
            [](Env& env) {
              Buffer buffer = env.Upload<float>({1, 2, 3, 4}, {4}, {.memory = env.DefaultMemory(env.device())});
              auto args = New<PJRT_Buffer_Device_Args>();
              args.buffer = buffer;
              env.Ok(args);
              env.Expect(args.device == env.device(), "another device");
            });
  suite.Add("buffers.device_size", Needs::kClient, "OnDeviceSizeInBytes covers the elements, also after Delete",
            kReference, [](Env& env) {
              Buffer buffer = env.Four();
              for (int i = 0; i < 2; ++i) {
                auto args = New<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
                args.buffer = buffer;
                env.Ok(args);
                env.Expect(args.on_device_size_in_bytes >= 16 && args.on_device_size_in_bytes < 1 << 16,
                           std::to_string(args.on_device_size_in_bytes) + " bytes");
                env.Delete(buffer);
              }
            });
  suite.Add("buffers.ready_event", Needs::kClient, "An uploaded buffer becomes ready without error", kHeader,
            [](Env& env) {
              Buffer buffer = env.Four();
              Status status = env.Ready(buffer);
              env.Expect(status.ok(), status.ToString());
            });
  suite.Add("buffers.ready_events_fresh", Needs::kClient, "Each ReadyEvent is an event of its own", kHeader,
            [](Env& env) {
              Buffer buffer = env.Four();
              auto first = New<PJRT_Buffer_ReadyEvent_Args>();
              auto second = first;
              first.buffer = second.buffer = buffer;
              env.Ok(first);
              env.Ok(second);
              Event one(env, first.event);
              Event two(env, second.event);
              one.Reset();
              env.Expect(env.Await(two).ok(), "the second went with the first");
            });
}

void AddTransfers(Suite& suite) {
  suite.Add("buffers.semantics_during_call", Needs::kClient,
            "With kImmutableOnlyDuringCall the data may change as soon as the call returns", kHeader, [](Env& env) {
              std::vector<float> values(1 << 18, 1.0f);
              Event done;
              Result<Buffer> buffer =
                  env.TryUpload(PJRT_Buffer_Type_F32, values.data(), {1 << 18}, {.semantics = kDuringCall}, &done);
              std::fill(values.begin(), values.end(), 2.0f);
              env.Expect(buffer.ok(), buffer.status().ToString());
              env.ExpectValues(*buffer, std::vector<float>(1 << 18, 1.0f));
            });
  suite.Add("buffers.semantics_during_call_event", Needs::kClient,
            "With kImmutableOnlyDuringCall the event becomes ready without the buffer going", kHeader, [](Env& env) {
              std::vector<float> values{1, 2, 3, 4};
              Event done;
              Result<Buffer> buffer =
                  env.TryUpload(PJRT_Buffer_Type_F32, values.data(), {4}, {.semantics = kDuringCall}, &done);
              env.Expect(buffer.ok(), buffer.status().ToString());
              env.Expect(env.Await(done).ok(), "the event failed");
            });
  suite.Add("buffers.semantics_until_complete", Needs::kClient, "After done_with_host_buffer the data may change",
            "upstream's BufferTransfer test", [](Env& env) {
              std::vector<float> values(1 << 18, 1.0f);
              Event done;
              Result<Buffer> buffer =
                  env.TryUpload(PJRT_Buffer_Type_F32, values.data(), {1 << 18},
                                {.semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes}, &done);
              env.Expect(buffer.ok(), buffer.status().ToString());
              env.Expect(env.Await(done).ok(), "the event failed");
              std::fill(values.begin(), values.end(), 2.0f);
              env.ExpectValues(*buffer, std::vector<float>(1 << 18, 1.0f));
            });
  for (PJRT_HostBufferSemantics semantics : {kZeroCopy, kMutable}) {
    std::string name = semantics == kZeroCopy ? "zero_copy" : "mutable_zero_copy";
    suite.Add("buffers.semantics_" + name, Needs::kClient,
              "A " + name + " upload has the values, and its event fires once the buffer is gone", kHeader,
              [semantics](Env& env) {
                alignas(64) static float values[1024];
                for (int i = 0; i < 1024; ++i) values[i] = static_cast<float>(i);
                Event done;
                Result<Buffer> buffer =
                    env.TryUpload(PJRT_Buffer_Type_F32, values, {1024}, {.semantics = semantics}, &done);
                env.Expect(buffer.ok(), buffer.status().ToString());
                env.ExpectValues(*buffer, std::vector<float>(values, values + 1024));
                (*buffer).Reset();
                env.Expect(env.Await(done).ok(), "the event failed");
              });
  }
  suite.Add("buffers.zero_copy_unaligned", Needs::kClient, "A zero-copy upload of unaligned data has the values",
            kClients, [](Env& env) {
              alignas(64) static char bytes[4100];
              std::vector<float> values(1000);
              std::iota(values.begin(), values.end(), 0.0f);
              std::memcpy(bytes + 4, values.data(), 4000);
              Event done;
              Result<Buffer> buffer =
                  env.TryUpload(PJRT_Buffer_Type_F32, bytes + 4, {1000}, {.semantics = kZeroCopy}, &done);
              env.Expect(buffer.ok(), buffer.status().ToString());
              env.ExpectValues(*buffer, values);
              (*buffer).Reset();
              env.Expect(env.Await(done).ok(), "the event failed");
            });
  suite.Add("buffers.to_host_size", Needs::kClient, "ToHostBuffer without dst gives the size and no event", kHeader,
            [](Env& env) {
              std::vector<float> values(6);
              Buffer buffer = env.Upload<float>(values, {2, 3});
              auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
              args.src = buffer;
              env.Ok(args);
              env.Equal(args.dst_size, 24, "bytes");
              env.Expect(args.event == nullptr, "there is an event");
            });
  suite.Add("buffers.to_host_no_layout", Needs::kClient, "ToHostBuffer without a layout copies all elements",
            "upstream's ToHostBufferNoHostLayout test", [](Env& env) {
              Buffer buffer = env.Four(3);
              float out[4] = {};
              auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
              args.src = buffer;
              args.dst = out;
              args.dst_size = sizeof(out);
              env.Ok(args);
              Event event(env, args.event);
              env.Expect(env.Await(event).ok(), "the copy failed");
              for (int i = 0; i < 4; ++i) env.Equal(out[i], 3.0f + static_cast<float>(i), "element");
            });
  suite.Add("buffers.to_host_larger", Needs::kClient, "ToHostBuffer into more room than needed leaves the rest alone",
            kHeader, [](Env& env) {
              Buffer buffer = env.Four(3);
              std::vector<float> out(8, -1);
              auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
              args.src = buffer;
              args.dst = out.data();
              args.dst_size = 32;
              env.Ok(args);
              Event event(env, args.event);
              env.Expect(env.Await(event).ok(), "the copy failed");
              for (size_t i = 4; i < 8; ++i) env.Equal(out[i], -1.0f, "element behind the array");
            });
  suite.Add("buffers.to_host_too_small", Needs::kClient,
            "ToHostBuffer into too little room gives INVALID_ARGUMENT and writes nothing", kReference, [](Env& env) {
              Buffer buffer = env.Four(3);
              float out[4] = {-1, -1, -1, -1};
              auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
              args.src = buffer;
              args.dst = out;
              args.dst_size = 15;
              env.Fails(args, {Code::kInvalidArgument}, "there is room for 15 of 16 bytes");
              env.Equal(out[0], -1.0f, "first element");
            });
  suite.Add("buffers.to_host_event_early_destroy", Needs::kClient,
            "Destroying the event of a copy does not cancel the copy", kHeader, [](Env& env) {
              std::vector<float> values(1 << 20, 7.0f);
              // Nothing says when the copy ends: its target stays, and is read while it is written.
              static std::vector<float>& out = *new std::vector<float>(values.size());
              Buffer buffer = env.Upload<float>(values, {1 << 20});
              auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
              args.src = buffer;
              args.dst = out.data();
              args.dst_size = out.size() * 4;
              env.Ok(args);
              Event(env, args.event).Reset();
              auto last = []() __attribute__((no_sanitize("thread"))) {
                return *const_cast<volatile float*>(out.data() + out.size() - 1) == 7.0f;
              };
              env.Expect(Eventually(last), "the data never came");
            });
}

void AddLife(Suite& suite) {
  suite.Add("buffers.delete", Needs::kClient, "IsDeleted turns true with Delete", "upstream's IsDeleted test",
            [](Env& env) {
              Buffer buffer = env.Four();
              env.Expect(!env.IsDeleted(buffer), "it is deleted from the start");
              env.Delete(buffer);
              env.Expect(env.IsDeleted(buffer), "it is not deleted");
            });
  suite.Add("buffers.delete_twice", Needs::kClient, "Delete may be called again", kReference, [](Env& env) {
    Buffer buffer = env.Four();
    env.Delete(buffer);
    env.Delete(buffer);
    env.Expect(env.IsDeleted(buffer), "it is not deleted");
  });
  suite.Add("buffers.deleted_dims", Needs::kClient, "Type and extents are answered after Delete", kReference,
            [](Env& env) {
              Buffer buffer = env.Four();
              env.Delete(buffer);
              env.Expect(env.BufferDims(buffer) == Dims{4}, "other extents");
              env.Equal(env.BufferType(buffer), PJRT_Buffer_Type_F32, "type");
            });
  suite.Add("buffers.deleted_to_host", Needs::kClient, "ToHostBuffer of a deleted buffer fails", kReference,
            [](Env& env) {
              Buffer buffer = env.Four();
              env.Delete(buffer);
              ExpectRefused(env, env.TryDownload(buffer).status(), "ToHostBuffer");
            });
  suite.Add("buffers.deleted_ready_event", Needs::kClient, "A ReadyEvent asked for after Delete fails", kHeader,
            [](Env& env) {
              Buffer buffer = env.Four();
              env.Delete(buffer);
              ExpectRefused(env, env.Ready(buffer), "ReadyEvent");
            });
  suite.Add("buffers.ready_event_before_delete", Needs::kClient, "A ReadyEvent from before Delete keeps its outcome",
            kHeader, [](Env& env) {
              Buffer buffer = env.Four();
              auto args = New<PJRT_Buffer_ReadyEvent_Args>();
              args.buffer = buffer;
              env.Ok(args);
              Event event(env, args.event);
              env.Delete(buffer);
              env.Expect(env.Await(event).ok(), "the event failed");
            });
  suite.Add("buffers.deleted_execute", Needs::kClient, "Executing with a deleted argument gives INVALID_ARGUMENT",
            kReference, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer buffer = env.Four();
              env.Delete(buffer);
              Result<Run> run = env.TryExecute(loaded, {{buffer}});
              ExpectRefused(env, run.status(), "Execute");
            });
  suite.Add("buffers.deleted_copy", Needs::kClient, "Copying a deleted buffer fails", kReference, [](Env& env) {
    Buffer buffer = env.Four();
    env.Delete(buffer);
    Result<Buffer> copy = CopyToDevice(env, buffer, env.devices().back());
    ExpectRefused(env, copy.ok() ? env.Ready(*copy) : copy.status(), "CopyToDevice");
  });
  suite.Add("buffers.deleted_pointer", Needs::kClient, "The address of a deleted buffer is refused", kReference,
            [](Env& env) {
              Buffer buffer = env.Four();
              env.Delete(buffer);
              auto args = New<PJRT_Buffer_UnsafePointer_Args>();
              args.buffer = buffer;
              env.Fails(args, {Code::kInvalidArgument, Code::kFailedPrecondition}, "the buffer is deleted");
            });
  suite.Add("buffers.delete_during_copy", Needs::kClient, "Delete waits for a copy to the host that is under way",
            kHeader, [](Env& env) {
              std::vector<float> values(1 << 20, 7.0f), out(1 << 20);
              Buffer buffer = env.Upload<float>(values, {1 << 20});
              auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
              args.src = buffer;
              args.dst = out.data();
              args.dst_size = out.size() * 4;
              env.Ok(args);
              Event event(env, args.event);
              env.Delete(buffer);
              buffer.Reset();
              env.Expect(env.Await(event).ok(), "the copy failed");
              for (float value : out) env.Equal(value, 7.0f, "element");
            });
}

void AddReferences(Suite& suite) {
  suite.Add("buffers.references_unbalanced", Needs::kClient,
            "Decreasing a reference count of zero gives INVALID_ARGUMENT",
            "upstream's DecreaseReferenceCountReturnsError test", [](Env& env) {
              Buffer buffer = env.Four();
              auto args = New<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
              args.buffer = buffer;
              env.Fails(args, {Code::kInvalidArgument}, "nothing holds the buffer");
            });
  suite.Add("buffers.references_nest", Needs::kClient, "Reference counts nest", kHeader, [](Env& env) {
    Buffer buffer = env.Four();
    for (int i = 0; i < 3; ++i) Hold(env, buffer);
    for (int i = 0; i < 3; ++i) Drop(env, buffer);
    auto args = New<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
    args.buffer = buffer;
    env.Fails(args, {Code::kInvalidArgument}, "nothing holds the buffer any more");
  });
  suite.Add("buffers.references_outlive_delete", Needs::kClient, "Data that is held stays readable after Delete",
            kClients, [](Env& env) {
              Buffer buffer = env.Four(3);
              if (!IsOnCpu(env, buffer)) env.Unsupported("the host cannot read device memory");
              env.Expect(env.Ready(buffer).ok(), "not ready");
              Hold(env, buffer);
              const auto* data = static_cast<const float*>(Pointer(env, buffer));
              env.Delete(buffer);
              Buffer other = env.Four(100);  // Would take the place of freed memory.
              env.Expect(env.Ready(other).ok(), "not ready");
              for (int i = 0; i < 4; ++i) env.Equal(data[i], 3.0f + static_cast<float>(i), "element");
              Drop(env, buffer);
            });
  suite.Add("buffers.pointers_agree", Needs::kClient,
            "UnsafePointer and OpaqueDeviceMemoryDataPointer give the same address", kHeader, [](Env& env) {
              Buffer buffer = env.Four();
              env.Expect(env.Ready(buffer).ok(), "not ready");
              auto args = New<PJRT_Buffer_UnsafePointer_Args>();
              args.buffer = buffer;
              env.Ok(args);
              env.Expect(reinterpret_cast<void*>(args.buffer_pointer) == Pointer(env, buffer), "another address");
            });
  suite.Add("buffers.pointer_readable", Needs::kClient,
            "Where IsOnCpu holds the host reads the data through the pointer", kClients, [](Env& env) {
              Buffer buffer = env.Four(3);
              if (!IsOnCpu(env, buffer)) env.Unsupported("the host cannot read device memory");
              env.Expect(env.Ready(buffer).ok(), "not ready");
              const auto* data = static_cast<const float*>(Pointer(env, buffer));
              for (int i = 0; i < 4; ++i) env.Equal(data[i], 3.0f + static_cast<float>(i), "element");
            });
}

void AddCopies(Suite& suite) {
  suite.Add("buffers.copy_to_device", Needs::kDevices2,
            "CopyToDevice gives a buffer with the same values on the other device", kHeader, [](Env& env) {
              Buffer buffer = env.Four(3);
              Result<Buffer> copy = CopyToDevice(env, buffer, env.device(1));
              env.Expect(copy.ok(), copy.status().ToString());
              auto args = New<PJRT_Buffer_Device_Args>();
              args.buffer = *copy;
              env.Ok(args);
              env.Expect(args.device == env.device(1), "it is on another device");
              env.ExpectValues(*copy, {3, 4, 5, 6});
              env.ExpectValues(buffer, {3, 4, 5, 6}, "the source");
            });
  suite.Add("buffers.copy_independent", Needs::kDevices2, "A copy outlives its source", kHeader, [](Env& env) {
    Buffer buffer = env.Four(3);
    Result<Buffer> copy = CopyToDevice(env, buffer, env.device(1));
    env.Expect(copy.ok(), copy.status().ToString());
    buffer.Reset();
    Buffer other = env.Four(50);
    env.ExpectValues(*copy, {3, 4, 5, 6});
  });
  suite.Add("buffers.copy_to_memory_of_device", Needs::kDevices2, "CopyToMemory copies to another device's memory",
            kHeader, [](Env& env) {
              Buffer buffer = env.Four(3);
              Buffer copy = env.CopyToMemory(buffer, env.DefaultMemory(env.device(1)));
              env.ExpectValues(copy, {3, 4, 5, 6});
            });
  suite.Add("buffers.copy_raw", Needs::kClient, "CopyRawToHost copies a part of the bytes", kHeader, [](Env& env) {
    Buffer buffer = env.Four(3);
    float out[4] = {-1, -1, -1, -1};
    auto args = New<PJRT_Buffer_CopyRawToHost_Args>();
    args.buffer = buffer;
    args.dst = out;
    args.offset = 4;
    args.transfer_size = 8;
    env.Ok(args);
    Event event(env, args.event);
    env.Expect(env.Await(event).ok(), "the copy failed");
    env.Equal(out[0], 4.0f, "element");
    env.Equal(out[1], 5.0f, "element");
    env.Equal(out[2], -1.0f, "element behind the copy");
  });
  suite.Add("buffers.copy_raw_out_of_range", Needs::kClient, "CopyRawToHost beyond the buffer fails", kReference,
            [](Env& env) {
              Buffer buffer = env.Four(3);
              std::vector<char> out(64);
              auto args = New<PJRT_Buffer_CopyRawToHost_Args>();
              args.buffer = buffer;
              args.dst = out.data();
              args.offset = 8;
              args.transfer_size = 1 << 20;
              Status status = env.Try(args);
              if (status.ok()) {
                Event event(env, args.event);
                status = env.Await(event);
              }
              env.CheckFailure(status, {Code::kInvalidArgument, Code::kOutOfRange}, "CopyRawToHost",
                               "the range ends behind the buffer");
            });
  suite.Add("buffers.copy_raw_negative", Needs::kClient, "CopyRawToHost from a negative offset fails", kRobust,
            [](Env& env) {
              Buffer buffer = env.Four(3);
              float out[4] = {};
              auto args = New<PJRT_Buffer_CopyRawToHost_Args>();
              args.buffer = buffer;
              args.dst = out;
              args.offset = -4;
              args.transfer_size = 8;
              Status status = env.Try(args);
              if (status.ok()) {
                Event event(env, args.event);
                status = env.Await(event);
              }
              env.CheckFailure(status, {Code::kInvalidArgument, Code::kOutOfRange}, "CopyRawToHost",
                               "the offset is negative");
            });
  for (bool good : {true, false}) {
    suite.Add(good ? "buffers.copy_raw_future" : "buffers.copy_raw_future_error", Needs::kClient,
              good ? "CopyRawToHostFuture copies once the destination is named"
                   : "CopyRawToHostFuture fails with the error that the caller names",
              kHeader, [good](Env& env) {
                Buffer buffer = env.Four(3);
                float out[4] = {};
                auto args = New<PJRT_Buffer_CopyRawToHostFuture_Args>();
                args.buffer = buffer;
                args.transfer_size = 16;
                env.Ok(args);
                Event event(env, args.event);
                env.Expect(args.future_ready_callback != nullptr, "no callback");
                PJRT_Buffer_CopyRawToHostFuture_Callback_Args answer = {};
                answer.struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE;
                answer.callback_data = args.callback_data;
                answer.error_code = good ? PJRT_Error_Code_OK : PJRT_Error_Code_ABORTED;
                answer.error_message = "given up on purpose";
                answer.error_message_size = good ? 0 : 19;
                answer.dst = good ? out : nullptr;
                args.future_ready_callback(&answer);
                Status status = env.Await(event);
                if (good) {
                  env.Expect(status.ok(), status.ToString());
                  env.Equal(out[3], 6.0f, "element");
                } else {
                  env.Expect(status.code() == Code::kAborted, "got " + status.ToString());
                }
              });
  }
  suite.Add("buffers.bitcast", Needs::kClient, "Bitcast gives the same bytes as another type and shape", kHeader,
            [](Env& env) {
              Buffer buffer = env.Upload<float>({1, 2, 3, 4}, {4});
              const int64_t dims[] = {2, 2};
              auto args = New<PJRT_Buffer_Bitcast_Args>();
              args.buffer = buffer;
              args.element_type = PJRT_Buffer_Type_S32;
              args.dims = dims;
              args.num_dims = 2;
              env.Ok(args);
              Buffer out(env, args.out_buffer);
              env.Expect(env.BufferDims(out) == Dims{2, 2}, "other extents");
              env.Equal(env.BufferType(out), PJRT_Buffer_Type_S32, "type");
              env.Equal(env.Download<int32_t>(out)[0], 0x3f800000, "bits of 1.0f");
            });
  suite.Add("buffers.bitcast_size", Needs::kClient, "Bitcast to another number of bytes is refused", kHeader,
            [](Env& env) {
              Buffer buffer = env.Upload<float>({1, 2, 3, 4}, {4});
              const int64_t dims[] = {5};
              auto args = New<PJRT_Buffer_Bitcast_Args>();
              args.buffer = buffer;
              args.element_type = PJRT_Buffer_Type_S32;
              args.dims = dims;
              args.num_dims = 1;
              env.Fails(args, {Code::kInvalidArgument}, "the sizes differ");
            });
  suite.Add("buffers.uninitialized", Needs::kClient, "CreateUninitializedBuffer gives a ready buffer of the shape",
            kHeader, [](Env& env) {
              const int64_t dims[] = {2, 3};
              auto args = New<PJRT_Client_CreateUninitializedBuffer_Args>();
              args.client = env.client();
              args.shape_dims = dims;
              args.shape_num_dims = 2;
              args.shape_element_type = PJRT_Buffer_Type_S32;
              args.device = env.device();
              env.Ok(args);
              Buffer buffer(env, args.buffer);
              env.Expect(env.BufferDims(buffer) == Dims{2, 3}, "other extents");
              env.Equal(env.Download(buffer).size(), 24, "bytes");
            });
}

void AddViews(Suite& suite) {
  suite.Add("buffers.view", Needs::kClient, "A view shows foreign memory, and its callback runs once when it goes",
            kHeader, [](Env& env) {
              View view;
              Buffer buffer = NewView(env, view);
              env.ExpectValues(buffer, {1, 2, 3, 4});
              env.Equal(view.released.load(), 0, "callbacks while the view lives");
              buffer.Reset();
              env.Expect(Eventually([&] { return view.released.load() > 0; }), "the callback never ran");
              env.Equal(view.released.load(), 1, "callbacks");
            });
  suite.Add("buffers.view_is_no_copy", Needs::kClient, "A view sees what the owner writes", kHeader, [](Env& env) {
    View view;
    Buffer buffer = NewView(env, view);
    view.values[0] = 9;
    env.ExpectValues(buffer, {9, 2, 3, 4});
  });
  suite.Add("buffers.view_execute", Needs::kClient, "A view is an argument like any other", kHeader, [](Env& env) {
    View view;
    Buffer buffer = NewView(env, view);
    Loaded loaded = env.Compile(kAddOneProgram);
    env.ExpectValues(env.Execute(loaded, {buffer})[0], {2, 3, 4, 5});
    buffer.Reset();
    env.Expect(Eventually([&] { return view.released.load() == 1; }), "the callback never ran");
  });
  suite.Add("buffers.view_nowhere", Needs::kClient, "A view without device and memory gives INVALID_ARGUMENT",
            kReference, [](Env& env) {
              static const int64_t dims[] = {4};
              alignas(64) static float values[16];
              auto args = New<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
              args.client = env.client();
              args.device_buffer_ptr = values;
              args.dims = dims;
              args.num_dims = 1;
              args.element_type = PJRT_Buffer_Type_F32;
              env.Fails(args, {Code::kInvalidArgument}, "neither device nor memory is named");
            });
}

void AddBadInput(Suite& suite) {
  suite.Add("bad_input.upload_no_target", Needs::kClient, "An upload to neither device nor memory gives an error",
            kRobust, [](Env& env) {
              float values[4] = {};
              const int64_t dims[] = {4};
              auto args = New<PJRT_Client_BufferFromHostBuffer_Args>();
              args.client = env.client();
              args.data = values;
              args.type = PJRT_Buffer_Type_F32;
              args.dims = dims;
              args.num_dims = 1;
              env.Fails(args, {Code::kInvalidArgument}, "there is no target");
            });
  suite.Add("bad_input.upload_null_data", Needs::kClient, "An upload of four elements from NULL gives an error",
            kRobust, [](Env& env) {
              Result<Buffer> buffer = env.TryUpload(PJRT_Buffer_Type_F32, nullptr, {4});
              env.CheckFailure(buffer.ok() ? env.Ready(*buffer) : buffer.status(), {Code::kInvalidArgument},
                               "the upload", "data is NULL");
            });
  suite.Add("bad_input.upload_negative_extent", Needs::kClient, "A negative extent gives INVALID_ARGUMENT", kRobust,
            [](Env& env) {
              float values[4] = {};
              env.CheckFailure(env.TryUpload(PJRT_Buffer_Type_F32, values, {-4}).status(), {Code::kInvalidArgument},
                               "the upload", "an extent is -4");
            });
  suite.Add("bad_input.upload_overflow", Needs::kClient, "A shape whose size overflows gives an error", kRobust,
            [](Env& env) {
              float values[4] = {};
              env.CheckFailure(env.TryUpload(PJRT_Buffer_Type_F32, values, {1LL << 40, 1LL << 40}).status(),
                               {Code::kInvalidArgument, Code::kResourceExhausted}, "the upload",
                               "2^80 elements do not fit");
            });
  for (int type : {0, 23, 34, 1000, -1}) {
    std::string name = type < 0 ? "minus_1" : std::to_string(type);
    suite.Add("bad_input.upload_type_" + name, Needs::kClient,
              "An upload of element type " + std::to_string(type) + " gives an error", kRobust, [type](Env& env) {
                float values[4] = {};
                env.CheckFailure(env.TryUpload(static_cast<PJRT_Buffer_Type>(type), values, {4}).status(),
                                 {Code::kInvalidArgument, Code::kUnimplemented}, "the upload",
                                 "no array has this type");
              });
  }
  suite.Add("bad_input.upload_semantics", Needs::kClient, "Unknown host buffer semantics give an error", kRobust,
            [](Env& env) {
              float values[4] = {};
              Result<Buffer> buffer = env.TryUpload(PJRT_Buffer_Type_F32, values, {4},
                                                    {.semantics = static_cast<PJRT_HostBufferSemantics>(77)});
              env.CheckFailure(buffer.status(), {Code::kInvalidArgument, Code::kUnimplemented}, "the upload",
                               "semantics are 77");
            });
  suite.Add("bad_input.upload_strides_count", Needs::kClient,
            "Another number of strides than extents gives INVALID_ARGUMENT", kRobust, [](Env& env) {
              float values[16] = {};
              env.CheckFailure(env.TryUpload(PJRT_Buffer_Type_F32, values, {2, 2}, {.byte_strides = {4}}).status(),
                               {Code::kInvalidArgument}, "the upload", "there is one stride for two extents");
            });
  suite.Add("bad_input.upload_null_dims", Needs::kClient, "Extents NULL with a rank of 2 give INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              float values[4] = {};
              auto args = New<PJRT_Client_BufferFromHostBuffer_Args>();
              args.client = env.client();
              args.data = values;
              args.type = PJRT_Buffer_Type_F32;
              args.num_dims = 2;
              args.device = env.device();
              env.Fails(args, {Code::kInvalidArgument}, "dims is NULL");
            });
  suite.Add("bad_input.uninitialized_type", Needs::kClient,
            "CreateUninitializedBuffer of an unknown type gives an error", kRobust, [](Env& env) {
              auto args = New<PJRT_Client_CreateUninitializedBuffer_Args>();
              args.client = env.client();
              args.shape_element_type = static_cast<PJRT_Buffer_Type>(99);
              args.device = env.device();
              env.Fails(args, {Code::kInvalidArgument, Code::kUnimplemented}, "there is no type 99");
            });
  suite.Add("bad_input.foreign_device", Needs::kClient, "An upload to another client's device gives INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              Client other = env.NewClient();
              auto devices = New<PJRT_Client_AddressableDevices_Args>();
              devices.client = other;
              env.Ok(devices);
              float values[4] = {};
              env.CheckFailure(
                  env.TryUpload(PJRT_Buffer_Type_F32, values, {4}, {.device = devices.addressable_devices[0]}).status(),
                  {Code::kInvalidArgument}, "the upload", "the device is another client's");
            });
  suite.Add("bad_input.foreign_buffer", Needs::kClient, "Executing over another client's buffer gives INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Client other = env.NewClient();
              auto devices = New<PJRT_Client_AddressableDevices_Args>();
              devices.client = other;
              env.Ok(devices);
              Buffer buffer =
                  env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[0], .client = other});
              Result<Run> run = env.TryExecute(loaded, {{buffer}});
              env.CheckFailure(run.status(), {Code::kInvalidArgument}, "Execute", "the buffer is another client's");
            });
}

}  // namespace

void AddBufferTests(Suite& suite) {
  AddQueries(suite);
  AddTransfers(suite);
  AddLife(suite);
  AddReferences(suite);
  AddCopies(suite);
  AddViews(suite);
  AddBadInput(suite);
}

}  // namespace tenon::conformance
