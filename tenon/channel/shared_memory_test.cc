#include "tenon/channel/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenon/channel/control.h"
#include "tenon/channel/link.h"

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

// Memory that is announced is mapped: the other side says how much, and need not have it.
TEST(SharedMemory, PiecesAreSoManyAndSoLarge) {
  const auto notice = [](uint32_t number, size_t size_bytes) {
    Fd fd(memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(size_bytes)), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    return PieceNotice{number, size_bytes, std::move(fd)};
  };
  Pieces pieces({.pieces = 3, .bytes = uint64_t{1} << 40});
  EXPECT_EQ(pieces.Add(notice(1, uint64_t{1} << 45)).code(), Code::kDataLoss);
  ASSERT_TRUE(pieces.Add(notice(1, uint64_t{1} << 39)).ok());
  EXPECT_NE(pieces.Add(notice(2, (uint64_t{1} << 39) + 4096)).message().find("beside 1 pieces"), std::string::npos);
  ASSERT_TRUE(pieces.Add(notice(2, uint64_t{1} << 39)).ok());
  pieces.Remove(1);
  pieces.Remove(1);
  ASSERT_TRUE(pieces.Add(notice(1, 4096)).ok());
  ASSERT_TRUE(pieces.Add(notice(3, 4096)).ok());
  EXPECT_EQ(pieces.Add(notice(4, 4096)).code(), Code::kDataLoss);
}

TEST(SharedMemory, OtherMessagesAreRefused) {
  Result<std::pair<Fd, Fd>> sockets = MakeControlSockets();
  ASSERT_TRUE(sockets.ok());
  ASSERT_EQ(write(sockets->first.get(), "rubbish", 7), 7);
  EXPECT_EQ(ReceivePiece(sockets->second.get(), 1000).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace tenon::channel
