#include "tenon/channel/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenon/channel/control.h"

namespace tenon::channel {
namespace {

TEST(SharedMemory, CrossesASocketAndCannotShrink) {
  Result<std::pair<Fd, Fd>> sockets = MakeControlSockets();
  ASSERT_TRUE(sockets.ok());
  Result<SharedMemory> memory = SharedMemory::Create(8192);
  ASSERT_TRUE(memory.ok());
  memory->data()[5000] = 'x';
  ASSERT_TRUE(SendPiece(sockets->first.get(), 3, *memory).ok());
  Result<std::optional<PieceNotice>> notice = ReceivePiece(sockets->second.get(), 1000);
  ASSERT_TRUE(notice.ok() && notice->has_value());
  EXPECT_EQ((*notice)->piece, 3u);
  EXPECT_NE(ftruncate((*notice)->fd.get(), 0), 0);
  Result<SharedMemory> there = SharedMemory::Map(std::move((*notice)->fd), (*notice)->size_bytes);
  ASSERT_TRUE(there.ok()) << there.status().ToString();
  EXPECT_EQ(there->data()[5000], 'x');
  EXPECT_FALSE((*ReceivePiece(sockets->second.get(), 0)).has_value());
  sockets->first = Fd();
  EXPECT_EQ(ReceivePiece(sockets->second.get(), 1000).status().code(), Code::kUnavailable);
}

TEST(SharedMemory, UnsealedOrOfAnotherSizeIsRefused) {
  Fd unsealed(memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 8192), 0);
  EXPECT_EQ(SharedMemory::Map(std::move(unsealed), 8192).status().code(), Code::kDataLoss);
  Result<SharedMemory> memory = SharedMemory::Create(8192);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(SharedMemory::Map(Fd(dup(memory->fd())), 16384).status().code(), Code::kDataLoss);
  EXPECT_FALSE(SharedMemory::Map(Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)), 8192).ok());
}

TEST(SharedMemory, OtherMessagesAreRefused) {
  Result<std::pair<Fd, Fd>> sockets = MakeControlSockets();
  ASSERT_TRUE(sockets.ok());
  ASSERT_EQ(write(sockets->first.get(), "rubbish", 7), 7);
  EXPECT_EQ(ReceivePiece(sockets->second.get(), 1000).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace tenon::channel
