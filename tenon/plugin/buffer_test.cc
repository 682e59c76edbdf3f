#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/plugin/host_copy.h"
#include "tenon/plugin/testing/harness.h"
#include "tenon/plugin/transfers.h"

namespace tenon::plugin::testing {
namespace {

class BufferTest : public PluginTest {
 protected:
  using Bytes = std::vector<uint8_t>;

  Bytes BytesOf(PJRT_Buffer* buffer) {
    Bytes got(4);
    ARGS(PJRT_Buffer_ToHostBuffer, to_host);
    to_host.src = buffer;
    to_host.dst = got.data();
    to_host.dst_size = 4;
    EXPECT_CALL_OK(PJRT_Buffer_ToHostBuffer, to_host);
    EXPECT_TRUE(Finish(to_host.event).ok());
    return got;
  }
  Bytes RawBytesOf(PJRT_Buffer* buffer) {
    Bytes got(4);
    ARGS(PJRT_Buffer_CopyRawToHost, raw);
    raw.buffer = buffer;
    raw.dst = got.data();
    raw.transfer_size = 4;
    EXPECT_CALL_OK(PJRT_Buffer_CopyRawToHost, raw);
    EXPECT_TRUE(Finish(raw.event).ok());
    return got;
  }
  // The four elements of s4 that a program gets for the buffer.
  Bytes SeenByProgram(PJRT_Buffer* buffer) {
    PJRT_LoadedExecutable* nibbles = Compile("nibbles").value();
    Result<Outcome> out = Execute(nibbles, {buffer});
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    Bytes seen = BytesOf(out->outputs[0]);
    Destroy(out->outputs[0]);
    DestroyEvent(out->done);
    Destroy(nibbles);
    return seen;
  }
  PJRT_Buffer* Bytes4(const Bytes& bytes, PJRT_Buffer_Type type) {
    const std::vector<int64_t> dims = {4};
    auto args = FromHost(bytes.data(), type, dims);
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    EXPECT_CALL_OK(PJRT_Client_BufferFromHostBuffer, args);
    EXPECT_TRUE(Finish(args.done_with_host_buffer).ok());
    return args.buffer;
  }

  // By transfer managers, as another type of what is there, and through raw aliases.
  void WriteNibblesEveryWay() {
    const Bytes data = {0x0f, 0x01, 0x08, 0x97}, want = {0xff, 0x01, 0xf8, 0x07};
    int64_t four[] = {4};
    PJRT_ShapeSpec spec{};
    spec.dims = four;
    spec.num_dims = 1;
    spec.element_type = PJRT_Buffer_Type_S4;
    ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
    create.client = client_;
    create.shape_specs = &spec;
    create.num_shape_specs = 1;
    create.memory = memory(0, "device");
    ASSERT_CALL(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
    ARGS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
    retrieve.transfer_manager = create.transfer_manager;
    ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
    for (int64_t offset : {2, 0}) {
      ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer);
      transfer.transfer_manager = create.transfer_manager;
      transfer.data = data.data() + offset;
      transfer.offset = offset;
      transfer.transfer_size = 2;
      transfer.is_last_transfer = offset == 0;
      ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer);
      EXPECT_TRUE(Finish(transfer.done_with_h2d_transfer).ok());
    }
    PJRT_Buffer* sent = retrieve.buffer_out;
    EXPECT_EQ(BytesOf(sent), want);
    EXPECT_EQ(RawBytesOf(sent), want);
    EXPECT_EQ(SeenByProgram(sent), want);
    ARGS(PJRT_AsyncHostToDeviceTransferManager_Destroy, destroy);
    destroy.transfer_manager = create.transfer_manager;
    ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_Destroy, destroy);

    // What is seen through the bytes is what was written; what is seen as s4 has the form of s4.
    PJRT_Buffer* bytes = Bytes4(data, PJRT_Buffer_Type_U8);
    PJRT_Buffer* cast = Bitcast(bytes, PJRT_Buffer_Type_S4, {4});
    EXPECT_EQ(BytesOf(cast), want);
    EXPECT_EQ(SeenByProgram(cast), want);
    EXPECT_EQ(BytesOf(bytes), data);
    ARGS(PJRT_Buffer_CopyToDevice, copy);
    copy.buffer = cast;
    copy.dst_device = device(0);
    ASSERT_CALL(PJRT_Buffer_CopyToDevice, copy);
    EXPECT_EQ(SeenByProgram(copy.dst_buffer), want);

    // Raw writes know the type of the alias: another one's bytes are seen as it.
    const auto write = [&](PJRT_Buffer* to, size_t offset) {
      const auto& raw = *FindExtension<PJRT_RawBuffer_Extension>(PJRT_Extension_Type_RawBuffer);
      ARGS(PJRT_RawBuffer_CreateRawAliasOfBuffer, alias);
      alias.buffer = to;
      ASSERT_TRUE(TakeStatus(raw.PJRT_RawBuffer_CreateRawAliasOfBuffer(&alias)).ok());
      ARGS(PJRT_RawBuffer_CopyRawHostToDevice, copy_raw);
      copy_raw.buffer = alias.raw_buffer;
      copy_raw.src = data.data() + offset;
      copy_raw.offset = static_cast<int64_t>(offset);
      copy_raw.transfer_size = static_cast<int64_t>(4 - offset);
      ASSERT_TRUE(TakeStatus(raw.PJRT_RawBuffer_CopyRawHostToDevice(&copy_raw)).ok());
      EXPECT_TRUE(Finish(copy_raw.event).ok());
      ARGS(PJRT_RawBuffer_Destroy, destroy_raw);
      destroy_raw.buffer = alias.raw_buffer;
      EXPECT_TRUE(TakeStatus(raw.PJRT_RawBuffer_Destroy(&destroy_raw)).ok());
    };
    PJRT_Buffer* zeros = Bytes4({0, 0, 0, 0}, PJRT_Buffer_Type_S4);
    write(zeros, 1);
    EXPECT_EQ(RawBytesOf(zeros), (Bytes{0, 0x01, 0xf8, 0x07}));
    EXPECT_EQ(SeenByProgram(zeros), (Bytes{0, 0x01, 0xf8, 0x07}));
    PJRT_Buffer* as_bytes = Bitcast(zeros, PJRT_Buffer_Type_U8, {4});
    write(as_bytes, 0);
    EXPECT_EQ(BytesOf(as_bytes), data);
    EXPECT_EQ(BytesOf(zeros), want);
    EXPECT_EQ(SeenByProgram(zeros), want);

    // What is cast before it is there.
    ARGS(PJRT_Client_CreateAliasBuffer, promise);
    promise.client = client_;
    promise.memory = memory(0, "device");
    promise.shape_dims = four;
    promise.shape_num_dims = 1;
    promise.shape_element_type = PJRT_Buffer_Type_U8;
    ASSERT_CALL(PJRT_Client_CreateAliasBuffer, promise);
    PJRT_Buffer* later = Bitcast(promise.alias_buffer, PJRT_Buffer_Type_S4, {4});
    ARGS(PJRT_Client_FulfillAliasBuffer, keep);
    keep.client = client_;
    keep.buffer = bytes;
    keep.status_code = PJRT_Error_Code_OK;
    keep.fulfill_alias_buffer_cb = promise.fulfill_alias_buffer_cb;
    ASSERT_CALL(PJRT_Client_FulfillAliasBuffer, keep);
    EXPECT_EQ(SeenByProgram(later), want);
    for (PJRT_Buffer* buffer : {sent, bytes, cast, copy.dst_buffer, zeros, as_bytes, promise.alias_buffer, later})
      Destroy(buffer);
  }

  // A BufferFromHostBuffer call that tests change before they make it.
  PJRT_Client_BufferFromHostBuffer_Args FromHost(const void* data, PJRT_Buffer_Type type,
                                                 const std::vector<int64_t>& dims) {
    ARGS(PJRT_Client_BufferFromHostBuffer, args);
    args.client = client_;
    args.data = data;
    args.type = type;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
    args.memory = memory(0, "device");
    return args;
  }
  void* Pointer(PJRT_Buffer* buffer) {
    ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args);
    args.buffer = buffer;
    Status status = CALL(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args);
    return status.ok() ? args.device_memory_ptr : nullptr;
  }
};

TEST_F(BufferTest, DescribesItself) {
  PJRT_Buffer* buffer = Upload({1, 2, 3, 4, 5, 6}, {2, 3});
  ARGS(PJRT_Buffer_ElementType, type);
  type.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_ElementType, type);
  EXPECT_EQ(type.type, PJRT_Buffer_Type_F32);
  ARGS(PJRT_Buffer_UnpaddedDimensions, dims);
  dims.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_UnpaddedDimensions, dims);
  ASSERT_EQ(dims.num_dims, 2u);
  EXPECT_EQ(dims.unpadded_dims[0], 2);
  EXPECT_EQ(dims.unpadded_dims[1], 3);
  ARGS(PJRT_Buffer_GetMemoryLayout, layout);
  layout.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_GetMemoryLayout, layout);
  EXPECT_EQ(layout.layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled);
  ASSERT_EQ(layout.layout.tiled.minor_to_major_size, 2u);
  EXPECT_EQ(layout.layout.tiled.minor_to_major[0], 1);
  EXPECT_EQ(layout.layout.tiled.minor_to_major[1], 0);
  ARGS(PJRT_Buffer_OnDeviceSizeInBytes, size);
  size.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_OnDeviceSizeInBytes, size);
  EXPECT_EQ(size.on_device_size_in_bytes, 24u);
  ARGS(PJRT_Buffer_IsOnCpu, cpu);
  cpu.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_IsOnCpu, cpu);
  EXPECT_TRUE(cpu.is_on_cpu);
  ARGS(PJRT_Buffer_Device, on);
  on.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_Device, on);
  EXPECT_EQ(on.device, device(0));
  ARGS(PJRT_Buffer_Memory, in);
  in.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_Memory, in);
  EXPECT_EQ(in.memory, memory(0, "device"));
  ARGS(PJRT_Buffer_DynamicDimensionIndices, dynamic);
  dynamic.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_DynamicDimensionIndices, dynamic);
  EXPECT_EQ(dynamic.num_dynamic_dims, 0u);
  Destroy(buffer);
}

// Strides of every kind: transposed, negative, broadcast, with gaps.
TEST_F(BufferTest, StridedUploads) {
  const float data[] = {0, 1, 2, 3, 4, 5};
  struct Case {
    const float* start;
    std::vector<int64_t> dims, strides;
    std::vector<float> expected;
  };
  const Case cases[] = {
      {data, {2, 3}, {12, 4}, {0, 1, 2, 3, 4, 5}},
      {data, {3, 2}, {4, 12}, {0, 3, 1, 4, 2, 5}},
      {data + 5, {2, 3}, {-12, -4}, {5, 4, 3, 2, 1, 0}},
      {data + 1, {2, 2}, {0, 8}, {1, 3, 1, 3}},
      {data, {2, 1, 2}, {4, 400, 8}, {0, 2, 1, 3}},
      {data, {0, 3}, {12, 4}, {}},
      {data + 2, {}, {}, {2}},
  };
  for (int semantics = 0; semantics < 4; ++semantics) {
    for (const Case& c : cases) {
      auto args = FromHost(c.start, PJRT_Buffer_Type_F32, c.dims);
      args.byte_strides = c.strides.data();
      args.num_byte_strides = c.strides.size();
      args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(semantics);
      ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, args);
      Result<std::vector<float>> got = Download(args.buffer);
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      EXPECT_EQ(*got, c.expected);
      Destroy(args.buffer);
      EXPECT_TRUE(Finish(args.done_with_host_buffer).ok());
    }
  }
}

TEST_F(BufferTest, RefusesBadArrays) {
  const float data[4] = {};
  const std::vector<int64_t> four = {4}, negative = {-4}, huge = {int64_t{1} << 40, int64_t{1} << 40};
  auto args = FromHost(data, PJRT_Buffer_Type_INVALID, four);
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(data, PJRT_Buffer_Type_F32, four);
  const int unknown = 1234;  // Callers in C may put any number there.
  static_assert(sizeof(args.type) == sizeof(unknown));
  std::memcpy(&args.type, &unknown, sizeof(unknown));
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(data, PJRT_Buffer_Type_TOKEN, four);  // Tokens have no extents.
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(data, PJRT_Buffer_Type_F32, negative);
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(data, PJRT_Buffer_Type_F32, huge);
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(nullptr, PJRT_Buffer_Type_F32, four);
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(data, PJRT_Buffer_Type_F32, four);
  args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(9);
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(data, PJRT_Buffer_Type_F32, four);
  const int64_t strides[] = {4, 4};
  args.byte_strides = strides;
  args.num_byte_strides = 2;
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(data, PJRT_Buffer_Type_F32, four);
  args.memory = nullptr;
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  args = FromHost(data, PJRT_Buffer_Type_F32, four);
  args.memory = memory(0, "device");
  args.device = device(1);
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
}

// The order of dims of one element makes no difference to bytes, and is reported as it was asked for.
TEST_F(BufferTest, DeviceLayoutsOfSingleElements) {
  const float data[] = {0, 1, 2, 3};
  const int64_t orders[][3] = {{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {1, 2, 0}};
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, 4, 1}, {1, 1, 4}, {0, 3, 1}}) {
    for (const int64_t* order : orders) {
      PJRT_Buffer_MemoryLayout layout{};
      layout.tiled.minor_to_major = order;
      layout.tiled.minor_to_major_size = 3;
      auto args = FromHost(data, PJRT_Buffer_Type_F32, dims);
      args.device_layout = &layout;
      ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, args);
      EXPECT_TRUE(Finish(args.done_with_host_buffer).ok());
      ARGS(PJRT_Buffer_CopyToMemory, copy);
      copy.buffer = args.buffer;
      copy.dst_memory = memory(0, "pinned_host");
      ASSERT_CALL(PJRT_Buffer_CopyToMemory, copy);
      for (PJRT_Buffer* buffer : {args.buffer, copy.dst_buffer}) {
        ARGS(PJRT_Buffer_GetMemoryLayout, get);
        get.buffer = buffer;
        ASSERT_CALL(PJRT_Buffer_GetMemoryLayout, get);
        EXPECT_TRUE(std::equal(order, order + 3, get.layout.tiled.minor_to_major));
        if (dims[0] != 0) EXPECT_EQ(*Download(buffer), (std::vector<float>{0, 1, 2, 3}));
        Destroy(buffer);
      }
    }
  }
}

TEST_F(BufferTest, DeviceLayouts) {
  const float data[] = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> dims = {2, 3};
  const int64_t column_major[] = {0, 1}, wrong[] = {1, 1};
  PJRT_Buffer_MemoryLayout layout{};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = column_major;
  layout.tiled.minor_to_major_size = 2;
  auto args = FromHost(data, PJRT_Buffer_Type_F32, dims);
  args.device_layout = &layout;
  ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, args);
  EXPECT_TRUE(Finish(args.done_with_host_buffer).ok());
  const float* raw = static_cast<const float*>(Pointer(args.buffer));
  EXPECT_EQ(std::vector<float>(raw, raw + 6), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(*Download(args.buffer), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  // Without a host layout the order is the device's.
  std::vector<float> as_is(6);
  ARGS(PJRT_Buffer_ToHostBuffer, to_host);
  to_host.src = args.buffer;
  to_host.dst = as_is.data();
  to_host.dst_size = 24;
  ASSERT_CALL(PJRT_Buffer_ToHostBuffer, to_host);
  EXPECT_TRUE(Finish(to_host.event).ok());
  EXPECT_EQ(as_is, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  to_host.dst_size = 23;
  EXPECT_CODE(CALL(PJRT_Buffer_ToHostBuffer, to_host), kInvalidArgument);
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  to_host.dst_size = 24;
  to_host.host_layout = &layout;
  EXPECT_CODE(CALL(PJRT_Buffer_ToHostBuffer, to_host), kInvalidArgument);
  Destroy(args.buffer);

  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = wrong;
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
  layout.tiled.minor_to_major = column_major;
  layout.tiled.num_tiles = 1;
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, args), kInvalidArgument);
}

// Four-bit integers take a byte each on both sides; what a caller leaves in the high bits does not matter.
TEST_F(BufferTest, SubByteIntegers) {
  const uint8_t data[] = {0x0e, 0xf7, 0x53, 0x08};
  const std::vector<int64_t> dims = {4};
  for (const auto& [type, expected] : {std::pair(PJRT_Buffer_Type_S4, std::vector<uint8_t>{0xfe, 0x07, 0x03, 0xf8}),
                                       std::pair(PJRT_Buffer_Type_U4, std::vector<uint8_t>{0x0e, 0x07, 0x03, 0x08}),
                                       std::pair(PJRT_Buffer_Type_U2, std::vector<uint8_t>{2, 3, 3, 0})}) {
    auto args = FromHost(data, type, dims);
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
    ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, args);
    EXPECT_TRUE(Finish(args.done_with_host_buffer).ok());
    std::vector<uint8_t> got(4);
    ARGS(PJRT_Buffer_ToHostBuffer, to_host);
    to_host.src = args.buffer;
    to_host.dst = got.data();
    to_host.dst_size = 4;
    ASSERT_CALL(PJRT_Buffer_ToHostBuffer, to_host);
    EXPECT_TRUE(Finish(to_host.event).ok());
    EXPECT_EQ(got, expected);
    Destroy(args.buffer);
  }
}

TEST_F(BufferTest, SubByteIntegersThatRawBytesAre) { WriteNibblesEveryWay(); }

TEST_F(BufferTest, ZeroCopyAliasesUntilTheBufferGoes) {
  std::vector<float> data(4096, 3.0f);
  const std::vector<int64_t> dims = {4096};
  auto args = FromHost(data.data(), PJRT_Buffer_Type_F32, dims);
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, args);
  EXPECT_EQ(Pointer(args.buffer), data.data());
  EXPECT_FALSE(IsReady(args.done_with_host_buffer));
  EXPECT_TRUE(Ready(args.buffer).ok());
  Destroy(args.buffer);
  EXPECT_TRUE(IsReady(args.done_with_host_buffer));
  EXPECT_TRUE(Finish(args.done_with_host_buffer).ok());
}

TEST_F(BufferTest, LargeCopiesAreScheduled) {
  SetScheduling(true);
  std::vector<float> data(4096, 3.0f);
  const std::vector<int64_t> dims = {64, 64};
  const int64_t transposed[] = {4, 256};
  auto args = FromHost(data.data(), PJRT_Buffer_Type_F32, dims);
  args.byte_strides = transposed;
  args.num_byte_strides = 2;
  ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, args);
  EXPECT_FALSE(IsReady(args.done_with_host_buffer));
  PJRT_Buffer* copied = nullptr;
  ARGS(PJRT_Buffer_CopyToDevice, copy);
  copy.buffer = args.buffer;
  copy.dst_device = device(1);
  ASSERT_CALL(PJRT_Buffer_CopyToDevice, copy);
  copied = copy.dst_buffer;
  Destroy(args.buffer);  // Legal while the copy is pending.
  EXPECT_EQ(*Download(copied), data);
  EXPECT_TRUE(Finish(args.done_with_host_buffer).ok());
  Destroy(copied);
}

TEST_F(BufferTest, DeleteAndExternalReferences) {
  PJRT_Buffer* buffer = Four(1);
  ARGS(PJRT_Buffer_DecreaseExternalReferenceCount, decrease);
  decrease.buffer = buffer;
  Status unbalanced = CALL(PJRT_Buffer_DecreaseExternalReferenceCount, decrease);
  EXPECT_CODE(unbalanced, kInvalidArgument);
  EXPECT_EQ(unbalanced.message(), "Attempting to decrease reference on a buffer with zero reference count.");
  ARGS(PJRT_Buffer_IncreaseExternalReferenceCount, increase);
  increase.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_IncreaseExternalReferenceCount, increase);
  const float* data = static_cast<const float*>(Pointer(buffer));
  ARGS(PJRT_Buffer_Delete, del);
  del.buffer = buffer;
  EXPECT_CALL_OK(PJRT_Buffer_Delete, del);
  EXPECT_CALL_OK(PJRT_Buffer_Delete, del);
  EXPECT_TRUE(IsDeleted(buffer));
  EXPECT_EQ(data[3], 4.0f);  // Still there: the reference holds it.
  EXPECT_EQ(Pointer(buffer), data);
  EXPECT_CALL_OK(PJRT_Buffer_DecreaseExternalReferenceCount, decrease);
  EXPECT_EQ(LiveObjects(ObjectKind::kStorage), 0);
  EXPECT_EQ(Pointer(buffer), nullptr);
  EXPECT_CODE(Ready(buffer), kInvalidArgument);
  EXPECT_CODE(Download(buffer).status(), kInvalidArgument);
  ARGS(PJRT_Buffer_OnDeviceSizeInBytes, size);
  size.buffer = buffer;
  EXPECT_CALL_OK(PJRT_Buffer_OnDeviceSizeInBytes, size);
  EXPECT_EQ(size.on_device_size_in_bytes, 16u);
  Destroy(buffer);
}

TEST_F(BufferTest, ReadyEventTakenBeforeDeleteStaysGood) {
  PJRT_Buffer* buffer = Four(1);
  ARGS(PJRT_Buffer_ReadyEvent, ready);
  ready.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_ReadyEvent, ready);
  Destroy(buffer);
  EXPECT_TRUE(Finish(ready.event).ok());
}

TEST_F(BufferTest, CopiesBetweenDevicesAndMemories) {
  PJRT_Buffer* buffer = Four(1);
  ARGS(PJRT_Buffer_CopyToMemory, copy);
  copy.buffer = buffer;
  for (PJRT_Memory* to : {memory(0, "pinned_host"), memory(1, "device"), memory(0, "device")}) {
    copy.dst_memory = to;
    ASSERT_CALL(PJRT_Buffer_CopyToMemory, copy);
    EXPECT_EQ(*Download(copy.dst_buffer), (std::vector<float>{1, 2, 3, 4}));
    ARGS(PJRT_Buffer_Memory, in);
    in.buffer = copy.dst_buffer;
    ASSERT_CALL(PJRT_Buffer_Memory, in);
    EXPECT_EQ(in.memory, to);
    EXPECT_NE(Pointer(copy.dst_buffer), Pointer(buffer));
    Destroy(copy.dst_buffer);
  }
  Destroy(buffer);
}

TEST_F(BufferTest, RawCopies) {
  PJRT_Buffer* buffer = Four(1);
  float two[2] = {};
  ARGS(PJRT_Buffer_CopyRawToHost, raw);
  raw.buffer = buffer;
  raw.dst = two;
  raw.offset = 4;
  raw.transfer_size = 8;
  ASSERT_CALL(PJRT_Buffer_CopyRawToHost, raw);
  EXPECT_TRUE(Finish(raw.event).ok());
  EXPECT_EQ(two[0], 2.0f);
  EXPECT_EQ(two[1], 3.0f);
  for (auto [offset, size] : {std::pair<int64_t, int64_t>{12, 8}, {-4, 4}, {0, -1}, {INT64_MAX, 4}}) {
    raw.offset = offset;
    raw.transfer_size = size;
    ASSERT_CALL(PJRT_Buffer_CopyRawToHost, raw);
    EXPECT_CODE(Finish(raw.event), kInvalidArgument);
  }

  ARGS(PJRT_Buffer_CopyRawToHostFuture, future);
  future.buffer = buffer;
  future.offset = 8;
  future.transfer_size = 8;
  ASSERT_CALL(PJRT_Buffer_CopyRawToHostFuture, future);
  PJRT_Buffer_CopyRawToHostFuture_Callback_Args callback{};
  callback.struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE;
  callback.callback_data = future.callback_data;
  callback.dst = two;
  Destroy(buffer);  // The source stays alive until the callback.
  EXPECT_FALSE(IsReady(future.event));
  future.future_ready_callback(&callback);
  EXPECT_TRUE(Finish(future.event).ok());
  EXPECT_EQ(two[0], 3.0f);
  EXPECT_EQ(two[1], 4.0f);
}

// Another thread fails the array while this one decides whether its bytes may be read: they never may.
TEST_F(BufferTest, ArraysThatFailWhileTheyAreReadFail) {
  auto* on = reinterpret_cast<Device*>(device(0));
  const ArraySpec spec{.shape = {DType::kF32, {4}}};
  std::atomic<int> at{0};
  std::atomic<Event*> next{nullptr};
  constexpr int kRounds = 20000;
  std::thread fails([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (at.load(std::memory_order_acquire) != round) {
      }
      next.load()->Set(Aborted("failed on purpose"));
      at.store(-round, std::memory_order_release);
    }
  });
  int wrong = 0;
  for (int round = 1; round <= kRounds; ++round) {
    Ref<Event> ready = Event::Make();
    Ref<Buffer> buffer =
        Buffer::Make(on, on->default_memory(), spec, *on->default_memory()->Allocate(on, 16), EventRef(ready));
    float values[4];
    next = ready.get();
    at.store(round, std::memory_order_release);
    for (int i = round % 64; i > 0; --i) __builtin_ia32_pause();
    const EventRef read = DownloadRaw(*buffer, 0, sizeof(values), values);
    while (at.load(std::memory_order_acquire) != -round) {
    }
    wrong += read.Wait().ok() ? 1 : 0;
  }
  fails.join();
  EXPECT_EQ(wrong, 0) << "of " << kRounds << " reads of failed arrays";
}

TEST_F(BufferTest, ViewsOfCallersMemory) {
  alignas(8) static char memory_block[64];
  const std::vector<int64_t> dims = {4};
  for (int offset : {0, 4, 1}) {  // Aligned, element-aligned, and not aligned at all.
    float values[] = {1, 2, 3, 4};
    std::memcpy(memory_block + offset, values, 16);
    int deleted = 0;
    ARGS(PJRT_Client_CreateViewOfDeviceBuffer, view);
    view.client = client_;
    view.device_buffer_ptr = memory_block + offset;
    view.dims = dims.data();
    view.num_dims = 1;
    view.element_type = PJRT_Buffer_Type_F32;
    view.device = device(0);
    view.on_delete_callback = [](void* ptr, void* arg) {
      EXPECT_GE(ptr, static_cast<void*>(memory_block));
      ++*static_cast<int*>(arg);
    };
    view.on_delete_callback_arg = &deleted;
    ASSERT_CALL(PJRT_Client_CreateViewOfDeviceBuffer, view);
    EXPECT_EQ(Pointer(view.buffer), memory_block + offset);
    Result<PJRT_LoadedExecutable*> echo = Compile("echo");
    for (float first : {1.0f, 9.0f}) {  // The caller writes between executions.
      std::memcpy(memory_block + offset, &first, 4);
      Result<Outcome> out = Execute(*echo, {view.buffer});
      ASSERT_TRUE(out.ok()) << out.status().ToString();
      EXPECT_EQ(*Download(out->outputs[0]), (std::vector<float>{first, 2, 3, 4}));
      Destroy(out->outputs[0]);
      DestroyEvent(out->done);
    }
    EXPECT_EQ(deleted, 0);
    Destroy(view.buffer);
    EXPECT_EQ(deleted, 1);
    Destroy(*echo);
  }
}

TEST_F(BufferTest, ViewsOfSubByteIntegers) {
  alignas(8) uint8_t block[] = {0x0f, 0x01, 0x08, 0x97};
  const std::vector<int64_t> dims = {4};
  ARGS(PJRT_Client_CreateViewOfDeviceBuffer, view);
  view.client = client_;
  view.device_buffer_ptr = block;
  view.dims = dims.data();
  view.num_dims = 1;
  view.element_type = PJRT_Buffer_Type_S4;
  view.device = device(0);
  ASSERT_CALL(PJRT_Client_CreateViewOfDeviceBuffer, view);
  EXPECT_EQ(Pointer(view.buffer), block);
  EXPECT_EQ(SeenByProgram(view.buffer), (Bytes{0xff, 0x01, 0xf8, 0x07}));
  block[1] = 0x0e;  // The caller writes between executions.
  EXPECT_EQ(SeenByProgram(view.buffer), (Bytes{0xff, 0xfe, 0xf8, 0x07}));
  EXPECT_EQ(BytesOf(view.buffer), (Bytes{0xff, 0xfe, 0xf8, 0x07}));
  EXPECT_EQ(Bytes(block, block + 4), (Bytes{0x0f, 0x0e, 0x08, 0x97}));
  Destroy(view.buffer);
}

TEST_F(BufferTest, UninitializedErrorAndBitcast) {
  const std::vector<int64_t> dims = {2, 2};
  ARGS(PJRT_Client_CreateUninitializedBuffer, empty);
  empty.client = client_;
  empty.shape_dims = dims.data();
  empty.shape_num_dims = 2;
  empty.shape_element_type = PJRT_Buffer_Type_F32;
  empty.device = device(1);
  ASSERT_CALL(PJRT_Client_CreateUninitializedBuffer, empty);
  EXPECT_EQ(Download(empty.buffer)->size(), 4u);
  Destroy(empty.buffer);

  ARGS(PJRT_Client_CreateErrorBuffer, error);
  error.client = client_;
  error.error_code = PJRT_Error_Code_ABORTED;
  error.error_message = "born failed";
  error.error_message_size = 11;
  error.shape_dims = dims.data();
  error.shape_num_dims = 2;
  error.shape_element_type = PJRT_Buffer_Type_F32;
  error.memory = memory(0, "device");
  error.struct_size = 96;  // Before 0.103 the struct ended here.
  ASSERT_CALL(PJRT_Client_CreateErrorBuffer, error);
  Status ready = Ready(error.buffer);
  EXPECT_CODE(ready, kAborted);
  EXPECT_EQ(ready.message(), "born failed");
  EXPECT_CODE(Download(error.buffer).status(), kAborted);
  Destroy(error.buffer);

  PJRT_Buffer* buffer = Four(1);
  const std::vector<int64_t> eight = {8}, sixteen = {16};
  ARGS(PJRT_Buffer_Bitcast, cast);
  cast.buffer = buffer;
  cast.element_type = PJRT_Buffer_Type_U8;
  cast.dims = eight.data();
  cast.num_dims = 1;
  EXPECT_CODE(CALL(PJRT_Buffer_Bitcast, cast), kInvalidArgument);
  cast.dims = sixteen.data();
  ASSERT_CALL(PJRT_Buffer_Bitcast, cast);
  EXPECT_EQ(Pointer(cast.out_buffer), Pointer(buffer));
  Destroy(buffer);
  EXPECT_EQ(Download(cast.out_buffer)->at(2), 3.0f);
  Destroy(cast.out_buffer);
}

// What hangs on the error that a buffer was born with hangs on those of all that was computed from it.
TEST_F(BufferTest, ErrorsCarryPayloads) {
  const std::vector<int64_t> dims = {4};
  PJRT_NamedValue values[2] = {};
  const auto fill = [](PJRT_NamedValue& value, std::string_view name, std::string_view text) {
    value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    value.name = name.data();
    value.name_size = name.size();
    value.type = PJRT_NamedValue_kString;
    value.string_value = text.data();
    value.value_size = text.size();
  };
  fill(values[0], "origin", "a test");
  fill(values[1], "bytes", std::string_view("\0\1", 2));
  ARGS(PJRT_Client_CreateErrorBuffer, error);
  error.client = client_;
  error.error_code = PJRT_Error_Code_ABORTED;
  error.shape_dims = dims.data();
  error.shape_num_dims = 1;
  error.shape_element_type = PJRT_Buffer_Type_F32;
  error.memory = memory(0, "device");
  error.payload = values;
  error.num_payload = 2;
  ASSERT_CALL(PJRT_Client_CreateErrorBuffer, error);
  auto increment = Compile("increment");
  ASSERT_TRUE(increment.ok());
  auto out = Execute(*increment, {error.buffer});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  ARGS(PJRT_Buffer_ReadyEvent, ready);
  ready.buffer = out->outputs[0];
  ASSERT_CALL(PJRT_Buffer_ReadyEvent, ready);
  ARGS(PJRT_Event_Error, of_event);
  of_event.event = ready.event;
  PJRT_Error* raw = api()->PJRT_Event_Error(&of_event);
  ASSERT_NE(raw, nullptr);
  std::map<std::string, std::string> seen;
  ARGS(PJRT_Error_ForEachPayload, each);
  each.error = raw;
  each.user_arg = &seen;
  each.visitor = [](const char* key, size_t key_size, const char* value, size_t value_size, void* user) {
    static_cast<std::map<std::string, std::string>*>(user)->emplace(std::string(key, key_size),
                                                                    std::string(value, value_size));
  };
  EXPECT_CALL_OK(PJRT_Error_ForEachPayload, each);
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"origin", "a test"}, {"bytes", std::string("\0\1", 2)}}));
  EXPECT_CODE(TakeStatus(raw), kAborted);
  DestroyEvent(ready.event);
  DestroyEvent(out->done);
  Destroy(out->outputs[0]);
  Destroy(error.buffer);
  Destroy(*increment);

  // Only strings can be payloads.
  values[1].type = PJRT_NamedValue_kInt64;
  values[1].value_size = 1;
  EXPECT_CODE(CALL(PJRT_Client_CreateErrorBuffer, error), kInvalidArgument);
}

TEST_F(BufferTest, DonateWithControlDependency) {
  for (bool fails : {false, true}) {
    PJRT_Buffer* buffer = Four(1);
    ARGS(PJRT_Buffer_DonateWithControlDependency, donate);
    donate.buffer = buffer;
    ASSERT_CALL(PJRT_Buffer_DonateWithControlDependency, donate);
    EXPECT_TRUE(IsDeleted(buffer));
    Destroy(buffer);
    PJRT_Buffer_DonateWithControlDependency_Callback_Args callback{};
    callback.struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE;
    callback.callback_data = donate.callback_data;
    if (fails) callback.error_code = PJRT_Error_Code_CANCELLED;
    donate.dependency_ready_callback(&callback);
    if (fails) {
      EXPECT_CODE(Ready(donate.out_buffer), kCancelled);
    } else {
      EXPECT_EQ(*Download(donate.out_buffer), (std::vector<float>{1, 2, 3, 4}));
    }
    Destroy(donate.out_buffer);
  }
}

// The oracle is indexing element by element.
TEST(HostCopy, EqualsIndexing) {
  uint32_t seed = 1;
  auto next = [&](uint32_t n) { return (seed = seed * 1664525u + 1013904223u) / 65536u % n; };
  for (int round = 0; round < 300; ++round) {
    int bytes = 1 << next(5);
    size_t rank = next(5);
    std::vector<int64_t> dims(rank), order(rank), dst_strides(rank), src_strides(rank);
    for (size_t i = 0; i < rank; ++i) {
      dims[i] = next(6);
      if (next(8) == 0) dims[i] = 40;
      order[i] = static_cast<int64_t>(i);
    }
    auto fill = [&](std::vector<int64_t>& strides, bool gaps) {
      for (size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[next(static_cast<uint32_t>(i))]);
      int64_t stride = bytes;
      for (int64_t d : order) {
        strides[d] = stride;
        stride *= std::max<int64_t>(dims[d], 1) + (gaps ? next(2) : 0);
      }
      return stride;
    };
    int64_t dst_size = fill(dst_strides, false), src_size = fill(src_strides, true);
    std::vector<uint8_t> src(src_size), got(dst_size), want(dst_size);
    for (uint8_t& b : src) b = static_cast<uint8_t>(next(256));
    int64_t src_start = 0;
    for (size_t i = 0; i < rank; ++i) {
      if (dims[i] > 0 && next(4) == 0) {  // Backwards.
        src_start += src_strides[i] * (dims[i] - 1);
        src_strides[i] = -src_strides[i];
      }
    }
    std::vector<int64_t> index(rank, 0);
    bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
    while (!empty) {
      int64_t from = src_start, to = 0;
      for (size_t i = 0; i < rank; ++i) {
        from += index[i] * src_strides[i];
        to += index[i] * dst_strides[i];
      }
      std::copy(src.begin() + from, src.begin() + from + bytes, want.begin() + to);
      size_t i = rank;
      while (i > 0 && ++index[i - 1] == dims[i - 1]) index[--i] = 0;
      if (i == 0) break;
    }
    CopyStrided(got.data(), dst_strides, src.data() + src_start, src_strides, dims, bytes);
    EXPECT_EQ(got, want) << "round " << round;
  }
}

class RemoteBufferTest : public BufferTest {
 protected:
  void SetUp() override {
    FakePlugin::Get().remote_memory = true;
    BufferTest::SetUp();
  }
};

// Memory that the host cannot address: everything goes through Write and Read, which complete later.
TEST_F(RemoteBufferTest, RoundTrips) {
  const float data[] = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> dims = {3, 2}, strides = {4, 12};
  for (int semantics = 0; semantics < 4; ++semantics) {
    auto args = FromHost(data, PJRT_Buffer_Type_F32, dims);
    args.byte_strides = strides.data();
    args.num_byte_strides = 2;
    args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(semantics);
    ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, args);
    ARGS(PJRT_Buffer_IsOnCpu, cpu);
    cpu.buffer = args.buffer;
    ASSERT_CALL(PJRT_Buffer_IsOnCpu, cpu);
    EXPECT_FALSE(cpu.is_on_cpu);
    EXPECT_EQ(*Download(args.buffer), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    ARGS(PJRT_Buffer_CopyToMemory, copy);
    copy.buffer = args.buffer;
    copy.dst_memory = memory(0, "pinned_host");
    ASSERT_CALL(PJRT_Buffer_CopyToMemory, copy);
    Destroy(args.buffer);
    EXPECT_EQ(*Download(copy.dst_buffer), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    Destroy(copy.dst_buffer);
    EXPECT_TRUE(Finish(args.done_with_host_buffer).ok());
  }
}

TEST_F(RemoteBufferTest, SubByteIntegersThatRawBytesAre) { WriteNibblesEveryWay(); }

// Neither side can be reached by the host and both serve requests later: nobody may wait for them, and the objects may
// go first.
TEST_F(RemoteBufferTest, CopiesBetweenRemoteMemoriesWithoutWaiting) {
  PJRT_Buffer* source = Four(1);
  ARGS(PJRT_Buffer_CopyToDevice, copy);
  copy.buffer = source;
  copy.dst_device = device(1);
  ASSERT_CALL(PJRT_Buffer_CopyToDevice, copy);
  RunPending();
  EXPECT_EQ(*Download(copy.dst_buffer), (std::vector<float>{1, 2, 3, 4}));
  Destroy(copy.dst_buffer);
  ASSERT_CALL(PJRT_Buffer_CopyToDevice, copy);
  Destroy(source);
  Destroy(copy.dst_buffer);
}

}  // namespace
}  // namespace tenon::plugin::testing
