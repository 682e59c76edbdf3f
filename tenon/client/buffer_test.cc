#include "tenon/client/buffer.h"

#include <complex>
#include <stdexcept>

#include "tenon/client/host_memory.h"
#include "tenon/client/layouts.h"
#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

using ::testing::ElementsAre;

class BufferTest : public testing::FakeTest {
 protected:
  Device device(size_t i = 0) { return client_.device(i).value(); }
};

TEST_F(BufferTest, FactsOfABuffer) {
  ASSERT_OK_AND_ASSIGN(const Buffer b, client_.ToDevice(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_EQ(b.dtype().value(), DType::kS32);
  EXPECT_THAT(b.dims().value(), ElementsAre(2, 3));
  EXPECT_EQ(b.shape().value(), (Shape{DType::kS32, {2, 3}}));
  EXPECT_THAT(b.UnpaddedDims().value(), ElementsAre(2, 3));
  EXPECT_TRUE(b.DynamicDimensions()->empty());
  EXPECT_EQ(b.OnDeviceSizeInBytes().value(), 24u);
  EXPECT_EQ(b.HostSizeInBytes().value(), 24u);
  EXPECT_EQ(b.GetDevice().value(), device());
  EXPECT_EQ(b.GetMemory()->kind().value(), "device");
  EXPECT_TRUE(b.IsOnCpu().value());
  EXPECT_EQ(b.GetLayout().value(), Layout(TiledLayout::RowMajor(2)));
  EXPECT_EQ(b.MemoryLayout().value(), Layout(TiledLayout::RowMajor(2)));
  EXPECT_EQ(BufferLayout(b).value(), "{1,0}");
  EXPECT_OK(b.Await());
  EXPECT_FALSE(b.IsDeleted().value());
}

template <class T>
class ElementTest : public BufferTest {};
using Elements =
    ::testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double, F16,
                     BF16, std::complex<float>, std::complex<double>, F8E5M2, F8E4M3FN, F8E4M3B11FNUZ, F8E5M2FNUZ,
                     F8E4M3FNUZ, F8E4M3, F8E3M4, F8E8M0FNU, F4E2M1FN, F6E2M3FN, F6E3M2FN, S4, U4, S2, U2, S1, U1>;
TYPED_TEST_SUITE(ElementTest, Elements);

TYPED_TEST(ElementTest, GoesToTheDeviceAndBack) {
  const int other = std::is_same_v<TypeParam, F8E8M0FNU> ? 2 : 0;  // which has no zero
  const TypeParam values[] = {TypeParam(other), TypeParam(1), TypeParam(1), TypeParam(other)};
  const int64_t dims[] = {2, 2};
  ASSERT_OK_AND_ASSIGN(const Buffer b, this->client_.ToDevice(std::span<const TypeParam>(values), dims));
  EXPECT_EQ(b.dtype().value(), kDTypeOf<TypeParam>);
  ASSERT_OK_AND_ASSIGN(const HostVector<TypeParam> back, b.template ToHost<TypeParam>());
  ASSERT_EQ(back.size(), 4u);
  static_assert(sizeof(TypeParam) == sizeof(back[0]));
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(static_cast<TypeParam>(back[i]) == values[i]) << i;
  ASSERT_OK_AND_ASSIGN(const Buffer scalar, this->client_.ScalarToDevice(TypeParam(1)));
  ASSERT_OK_AND_ASSIGN(const TypeParam one, scalar.template ToScalar<TypeParam>());
  EXPECT_TRUE(one == TypeParam(1));
  EXPECT_EQ(scalar.dims()->size(), 0u);
}

TEST_F(BufferTest, EmptyArraysAndSpans) {
  ASSERT_OK_AND_ASSIGN(const Buffer none, client_.ToDevice(std::vector<float>{}, {0, 3}));
  EXPECT_TRUE(none.ToHost<float>()->empty());
  ASSERT_OK_AND_ASSIGN(const Buffer b, client_.ToDevice(std::vector<float>{1, 2}, {2}));
  float out[2] = {};
  EXPECT_OK(b.ToHost(std::span<float>(out)));
  EXPECT_EQ(out[1], 2);
  float small[1];
  EXPECT_FAILS(b.ToHost(std::span<float>(small)), kInvalidArgument, "2 elements; the destination has room for 1");
  EXPECT_FAILS(b.ToHost<double>(), kInvalidArgument, "f32[2]");
  EXPECT_FAILS(b.ToScalar<float>(), kInvalidArgument, "2 elements");
}

TEST_F(BufferTest, StridesOfTheHost) {
  const std::vector<int32_t> rows = {1, 2, 3, 4, 5, 6};
  HostArray transposed{rows.data(), DType::kS32, {3, 2}, {4, 12}};
  ASSERT_OK_AND_ASSIGN(const Buffer t, client_.ToDevice(transposed, device()));
  EXPECT_THAT(t.ToHost<int32_t>().value(), ElementsAre(1, 4, 2, 5, 3, 6));
  HostArray reversed{rows.data() + 5, DType::kS32, {6}, {-4}};
  ASSERT_OK_AND_ASSIGN(const Buffer r, client_.ToDevice(reversed, device()));
  EXPECT_THAT(r.ToHost<int32_t>().value(), ElementsAre(6, 5, 4, 3, 2, 1));
}

TEST_F(BufferTest, Layouts) {
  const std::vector<int32_t> rows = {1, 2, 3, 4, 5, 6};
  const HostArray array{rows.data(), DType::kS32, {2, 3}, {}};
  const Layout column = TiledLayout::ColumnMajor(2);
  ASSERT_OK_AND_ASSIGN(const Buffer b, client_.ToDevice(array, device(), &column));
  EXPECT_EQ(b.GetLayout().value(), column);
  EXPECT_THAT(b.ToHost<int32_t>().value(), ElementsAre(1, 2, 3, 4, 5, 6));  // row-major, whatever the device does
  std::vector<int32_t> by_columns(6);
  EXPECT_OK(b.CopyToHost(by_columns.data(), 24, &column));
  EXPECT_THAT(by_columns, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(DefaultLayout(client_, Shape{DType::kF32, {4, 5, 6}}).value(), "{2,1,0}");
}

TEST_F(BufferTest, BadInputIsRefusedBeforeThePluginSeesIt) {
  const float x = 1;
  EXPECT_FAILS(client_.ToDevice(HostArray{&x, DType::kInvalid, {1}, {}}, device()), kInvalidArgument,
               "not an element type");
  EXPECT_FAILS(client_.ToDevice(HostArray{&x, static_cast<DType>(99), {1}, {}}, device()), kInvalidArgument, "99");
  EXPECT_FAILS(client_.ToDevice(HostArray{&x, DType::kF32, {-1}, {}}, device()), kInvalidArgument,
               "negative extent -1");
  EXPECT_FAILS(client_.ToDevice(HostArray{&x, DType::kF32, {1, 1}, {4}}, device()), kInvalidArgument,
               "rank 2 with 1 strides");
  EXPECT_FAILS(client_.ToDevice(HostArray{nullptr, DType::kF32, {1}, {}}, device()), kInvalidArgument, "without data");
  EXPECT_FAILS(client_.ToDevice(std::vector<float>{1, 2}, {3}), kInvalidArgument, "2 host elements");
}

// Some plugins end the process on a number that their version does not have.
TEST_F(BufferTest, ElementTypesNewerThanThePluginAreRefused) {
  static const testing::AlteredTable old(plugin_.api().raw(), 81);
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&old.table, "old"));
  ASSERT_OK_AND_ASSIGN(const Client client, plugin.CreateClient());
  EXPECT_FAILS(client.ScalarToDevice(S1(1)), kUnimplemented, "s1 came with PJRT 0.94; old has 0.81");
  EXPECT_FAILS(client.ScalarToDevice(F6E2M3FN(1)), kUnimplemented, "0.114");
  EXPECT_OK(client.ScalarToDevice(F4E2M1FN(1)));
}

TEST_F(BufferTest, UseAfterMoveAndDelete) {
  Buffer b = Floats({1, 2, 3, 4});
  const Buffer moved = std::move(b);
  EXPECT_TRUE(b.empty());  // NOLINT: on purpose, here and below
  EXPECT_FAILS(b.shape(), kFailedPrecondition, "empty");
  EXPECT_FAILS(b.ToHost<float>(), kFailedPrecondition, "moved from");
  EXPECT_FAILS(b.Delete(), kFailedPrecondition, "Buffer::Delete");
  Buffer deleted = Floats({1, 2, 3, 4});
  EXPECT_OK(deleted.Delete());
  EXPECT_OK(deleted.Delete());
  EXPECT_TRUE(deleted.IsDeleted().value());
  EXPECT_EQ(deleted.ToHost<float>().status().code(), Code::kInvalidArgument);
}

TEST_F(BufferTest, AsynchronousTransfersTellWhenTheHostIsFree) {
  testing::SetRemoteMemory(true);
  ASSERT_OK_AND_ASSIGN(const Client remote, plugin_.CreateClient());
  std::vector<float> values = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  {
    ASSERT_OK_AND_ASSIGN(const HostArray array, HostArray::Of(std::span<const float>(values), dims));
    ASSERT_OK_AND_ASSIGN(Transfer transfer, remote.ToDeviceAsync(array, remote.device(0).value()));
    EXPECT_FALSE(transfer.done.IsReady().value());
    testing::RunPending();
    EXPECT_TRUE(transfer.done.IsReady().value());
    values.assign(4, 0);
    ASSERT_OK_AND_ASSIGN(auto future, transfer.buffer.ToHostAsync<float>());
    EXPECT_FALSE(future.IsReady().value());
    testing::RunPending();
    EXPECT_THAT(std::move(future).Await().value(), ElementsAre(1, 2, 3, 4));
    EXPECT_FALSE(transfer.buffer.IsOnCpu().value());
    EXPECT_FAILS(ViewOnHost<float>(transfer.buffer), kFailedPrecondition, "cannot read");
  }
}

TEST_F(BufferTest, ViewsOfTheHostKeepTheirMemory) {
  ASSERT_OK_AND_ASSIGN(AlignedMemory memory, AlignedMemory::Allocate(1 << 16));
  auto shared = std::make_shared<AlignedMemory>(std::move(memory));
  const std::weak_ptr<AlignedMemory> alive = shared;
  auto* const floats = reinterpret_cast<float*>(shared->data());
  floats[2] = 7;
  const HostArray array{floats, DType::kF32, {1 << 14}, {}};
  {
    ASSERT_OK_AND_ASSIGN(const Buffer b, client_.ViewOfHost(array, std::move(shared), device()));
    EXPECT_FALSE(alive.expired());
    ASSERT_OK_AND_ASSIGN(const HostView<float> view, ViewOnHost<float>(b));
    EXPECT_EQ(view.elements().data(), floats);  // no copy was made
    EXPECT_EQ(view.elements()[2], 7);
  }
  EXPECT_TRUE(alive.expired());
}

TEST_F(BufferTest, SharedBuffersAreHostMemory) {
  std::weak_ptr<AlignedMemory> alive;
  {
    ASSERT_OK_AND_ASSIGN(SharedBuffer shared, client_.NewSharedBuffer(Shape{DType::kF32, {4}}, device()));
    alive = shared.memory;
    ASSERT_OK_AND_ASSIGN(const std::span<float> data, shared.As<float>());
    EXPECT_FAILS(shared.As<int32_t>(), kInvalidArgument, "another type");
    for (size_t i = 0; i < 4; ++i) data[i] = static_cast<float>(i);
    const LoadedExecutable increment = Compile("increment");
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, increment.Execute({&shared.buffer}));
    EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
    data[0] = 10;
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> again, increment.Execute({&shared.buffer}));
    EXPECT_THAT(again[0].ToHost<float>().value(), ElementsAre(11, 2, 3, 4));
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_FAILS(AlignedMemory::Allocate(8, 3), kInvalidArgument, "alignment of 3");
}

TEST_F(BufferTest, ViewsOfDeviceMemoryTellWhenTheyEnd) {
  alignas(64) float data[4] = {1, 2, 3, 4};
  int deleted = 0;
  {
    ASSERT_OK_AND_ASSIGN(const Buffer b,
                         client_.ViewOfDeviceMemory(data, Shape{DType::kF32, {4}}, device(), [&] { ++deleted; }));
    EXPECT_THAT(b.ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
  // An error leaves the callback uncalled and frees it.
  EXPECT_FAILS(client_.ViewOfDeviceMemory(data, Shape{DType::kInvalid, {4}}, device(), [&] { ++deleted; }),
               kInvalidArgument, "type");
  EXPECT_EQ(deleted, 1);
  // What it throws does not go through the plugin.
  EXPECT_OK(client_.ViewOfDeviceMemory(data, Shape{DType::kF32, {4}}, device(), [&] {
    ++deleted;
    throw std::runtime_error("on purpose");
  }));
  EXPECT_EQ(deleted, 2);
}

TEST_F(BufferTest, ExternalReferencesOutliveTheBuffer) {
  ASSERT_OK_AND_ASSIGN(ExternalReference reference, [&]() -> Result<ExternalReference> {
    Buffer b = Floats({5, 6, 7, 8});
    EXPECT_EQ(b.UnsafePointer().value(), reinterpret_cast<uintptr_t>(b.AcquireExternalReference()->data()));
    EXPECT_EQ(b.release(), nullptr);  // pinned: ownership cannot be given away
    return b.AcquireExternalReference();
  }());
  EXPECT_EQ(static_cast<const float*>(reference.data())[3], 8);
  EXPECT_EQ(client_.live_objects().buffers, 1);
  EXPECT_OK(reference.Release());
  EXPECT_OK(reference.Release());
  EXPECT_EQ(client_.live_objects().buffers, 0);
}

TEST_F(BufferTest, RawCopies) {
  const Buffer b = Floats({1, 2, 3, 4});
  float out[2] = {};
  ASSERT_OK_AND_ASSIGN(const Event done, b.CopyRawToHost(out, 4, 8));
  EXPECT_OK(done.Await());
  EXPECT_THAT(out, ElementsAre(2, 3));
  ASSERT_OK_AND_ASSIGN(Buffer::RawCopy later, b.CopyRawToHostLater(8, 8));
  ASSERT_OK_AND_ASSIGN(const Event event, std::move(later).Start(out));
  EXPECT_OK(event.Await());
  EXPECT_THAT(out, ElementsAre(3, 4));
  EXPECT_FAILS(std::move(later).Start(out), kFailedPrecondition, "started already");  // NOLINT: on purpose
  {
    ASSERT_OK_AND_ASSIGN(const Buffer::RawCopy dropped, b.CopyRawToHostLater(0, 4));
  }
}

TEST_F(BufferTest, CopiesWithinAClient) {
  const Buffer b = Floats({1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const Buffer other, b.CopyTo(device(1)));
  EXPECT_EQ(other.GetDevice().value(), device(1));
  EXPECT_THAT(other.ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
  ASSERT_OK_AND_ASSIGN(const Memory pinned, device().MemoryOfKind("pinned_host"));
  ASSERT_OK_AND_ASSIGN(const Buffer there, b.CopyTo(pinned));
  EXPECT_EQ(there.GetMemory().value(), pinned);
  EXPECT_THAT(there.ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
}

TEST_F(BufferTest, CopiesBetweenClientsGoThroughTheHost) {
  ASSERT_OK_AND_ASSIGN(const Client other, plugin_.CreateClient());
  const Buffer b = Floats({1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const Buffer copy, b.CopyTo(other.device(1).value()));
  EXPECT_EQ(copy.client_state(), other.state());
  EXPECT_EQ(copy.shape().value(), (Shape{DType::kF32, {4}}));
  EXPECT_THAT(copy.ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
  EXPECT_FAILS(client_.ToDevice(std::vector<float>{1}, {1}, other.device(0).value()), kInvalidArgument,
               "another client");
}

TEST_F(BufferTest, PromisesAndErrors) {
  ASSERT_OK_AND_ASSIGN(const Memory memory, device().DefaultMemory());
  const Shape shape{DType::kF32, {4}};
  {
    ASSERT_OK_AND_ASSIGN(BufferPromise promise, client_.PromiseBuffer(shape, memory));
    const Buffer promised = promise.TakeBuffer();
    EXPECT_FALSE(promised.ReadyEvent()->IsReady().value());
    EXPECT_OK(promise.Fulfill(Floats({1, 2, 3, 4})));
    EXPECT_FAILS(promise.Fulfill(Floats({1, 2, 3, 4})), kFailedPrecondition, "fulfilled already");
    EXPECT_THAT(promised.ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
  }
  Buffer orphan;
  {
    ASSERT_OK_AND_ASSIGN(BufferPromise dropped, client_.PromiseBuffer(shape, memory));
    orphan = dropped.TakeBuffer();
  }
  EXPECT_FAILS(orphan.Await(), kCancelled, "dropped");
  ASSERT_OK_AND_ASSIGN(const Buffer broken, client_.ErrorBuffer(DataLoss("lost"), shape, memory));
  EXPECT_FAILS(broken.Await(), kDataLoss, "lost");
  EXPECT_FAILS(client_.ErrorBuffer(OkStatus(), shape, memory), kInvalidArgument, "needs an error");
  ASSERT_OK_AND_ASSIGN(const Buffer raw, client_.UninitializedBuffer(shape, memory));
  EXPECT_EQ(raw.shape().value(), shape);
}

TEST_F(BufferTest, DependenciesOfDonatedBuffers) {
  Buffer b = Floats({1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(auto donated, b.DonateWithControlDependency());
  EXPECT_TRUE(b.IsDeleted().value());
  EXPECT_FALSE(donated.first.ReadyEvent()->IsReady().value());
  donated.second.Signal(OkStatus());
  donated.second.Signal(Aborted("ignored"));
  EXPECT_THAT(donated.first.ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
  Buffer c = Floats({1, 2, 3, 4});
  Buffer waits;
  {
    ASSERT_OK_AND_ASSIGN(auto dropped, c.DonateWithControlDependency());
    waits = std::move(dropped.first);
  }
  EXPECT_FAILS(waits.Await(), kCancelled, "without a signal");
}

TEST_F(BufferTest, Bitcasts) {
  Buffer b = Floats({1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const Buffer bits, b.Bitcast(Shape{DType::kU32, {2, 2}}));
  EXPECT_THAT(bits.ToHost<uint32_t>().value(), ElementsAre(0x3f800000u, 0x40000000u, 0x40400000u, 0x40800000u));
}

TEST_F(BufferTest, CopiesOfAnyType) {
  ASSERT_OK_AND_ASSIGN(const Buffer b, client_.ToDevice(std::vector<int16_t>{1, -2}, {2, 1}));
  ASSERT_OK_AND_ASSIGN(const HostCopy copy, b.ToHostCopy());
  EXPECT_EQ(copy.shape, (Shape{DType::kS16, {2, 1}}));
  EXPECT_THAT(copy.As<int16_t>(), ElementsAre(1, -2));
  EXPECT_TRUE(copy.As<float>().empty());
}

TEST_F(BufferTest, StreamsNeedTheExtension) {
  EXPECT_FAILS(device().StreamForExternalReadyEvents(), kUnimplemented, "extension Stream");
  EXPECT_FAILS(Floats({1}).WaitOnStream(0), kUnimplemented, "extension Stream");
}

}  // namespace
}  // namespace tenon::client
