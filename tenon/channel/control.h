#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "tenon/base/status.h"
#include "tenon/channel/shared_memory.h"

namespace tenon::channel {

/// Two ends of a socket over which pieces of shared memory are handed. Its closing says that a process is gone.
Result<std::pair<Fd, Fd>> MakeControlSockets();

/// A piece of shared memory that the other side makes known.
struct PieceNotice {
  uint32_t piece = 0;
  uint64_t size_bytes = 0;
  Fd fd;
};

/// Sends the descriptor of a piece, waiting for room. UNAVAILABLE when the other side is gone.
Status SendPiece(int socket, uint32_t piece, const SharedMemory& memory);
/// The next notice; waits at most `timeout_ms` (-1: for ever) and gives nothing when there is none by then. UNAVAILABLE
/// when the other side is gone, DATA_LOSS for anything else than a notice.
Result<std::optional<PieceNotice>> ReceivePiece(int socket, int timeout_ms);

}  // namespace tenon::channel
