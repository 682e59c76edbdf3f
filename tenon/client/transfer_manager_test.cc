#include "tenon/client/transfer_manager.h"

#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

class TransferManagerTest : public testing::FakeTest {};

TEST_F(TransferManagerTest, FillsPieceByPiece) {
  {
    ASSERT_OK_AND_ASSIGN(const Memory memory, client_.device(0)->DefaultMemory());
    const Shape shapes[] = {{DType::kF32, {4}}, {DType::kS32, {2}}};
    ASSERT_OK_AND_ASSIGN(TransferManager manager, client_.CreateTransferManager(shapes, memory));
    EXPECT_EQ(manager.BufferCount().value(), 2u);
    EXPECT_EQ(manager.BufferSize(0).value(), 16u);
    EXPECT_EQ(manager.GetDevice().value(), client_.device(0).value());
    ASSERT_OK_AND_ASSIGN(Buffer first, manager.RetrieveBuffer(0));
    EXPECT_EQ(first.ReadyEvent()->IsReady().value(), false);
    const float values[] = {1, 2, 3, 4};
    const auto bytes = std::as_bytes(std::span(values));
    ASSERT_OK_AND_ASSIGN(const Event a, manager.TransferData(0, bytes.subspan(8), 8, false));
    EXPECT_OK(a.Await());
    ASSERT_OK_AND_ASSIGN(const Event b, manager.TransferData(0, bytes.subspan(0, 8), 0, true));
    EXPECT_OK(b.Await());
    EXPECT_THAT(first.ToHost<float>().value(), ::testing::ElementsAre(1, 2, 3, 4));
    EXPECT_OK(manager.SetBufferError(1, Aborted("no data")));
    ASSERT_OK_AND_ASSIGN(Buffer second, manager.RetrieveBuffer(1));
    EXPECT_FAILS(second.Await(), kAborted, "no data");
    EXPECT_OK(manager.AddMetadata(std::vector<NamedValue>{{"why", std::string("test")}}));
    EXPECT_FAILS(manager.AddMetadata(std::vector<NamedValue>{{"n", int64_t{1}}}), kInvalidArgument, "'n'");
  }
}

TEST_F(TransferManagerTest, LiteralsAndBadIndices) {
  ASSERT_OK_AND_ASSIGN(const Memory memory, client_.device(0)->DefaultMemory());
  const Shape shapes[] = {{DType::kF32, {2, 2}}};
  ASSERT_OK_AND_ASSIGN(TransferManager manager, client_.CreateTransferManager(shapes, memory));
  const std::vector<float> values = {1, 2, 3, 4};
  const int64_t dims[] = {2, 2};
  ASSERT_OK_AND_ASSIGN(const HostArray array, HostArray::Of(std::span<const float>(values), dims));
  ASSERT_OK_AND_ASSIGN(const Event done, manager.TransferLiteral(0, array));
  EXPECT_OK(done.Await());
  ASSERT_OK_AND_ASSIGN(Buffer buffer, manager.RetrieveBuffer(0));
  EXPECT_THAT(buffer.ToHost<float>().value(), ::testing::ElementsAre(1, 2, 3, 4));
  EXPECT_FAILS(manager.RetrieveBuffer(1), kOutOfRange, "buffer 1");
  EXPECT_FAILS(manager.RetrieveBuffer(static_cast<size_t>(-1)), kOutOfRange, "with 1");
  const TransferManager moved = std::move(manager);
  EXPECT_FAILS(manager.BufferCount(), kFailedPrecondition, "moved from");  // NOLINT: on purpose
}

}  // namespace
}  // namespace tenon::client
