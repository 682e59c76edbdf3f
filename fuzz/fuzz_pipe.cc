// Frames over connections that break: the bytes are what the other side says, connection after connection, and how many
// frames it claims to have. Frames of this side must come in order, each once unless the other side did not have it.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "fuzz/byte_input.h"
#include "tenon/channel/pipe.h"
#include "tenon/wire/codec.h"

namespace {

using namespace tenon;
using channel::EncodeFrame;
using fuzz::ByteInput;
using wire::Verb;

void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// The other side, as a model knows it.
struct Peer {
  uint64_t sent = 0;      // frames that the pipe was given
  uint64_t taken = 0;     // of them, from the first on, that were written whole
  uint64_t received = 0;  // frames that Receive gave
};

// One connection. What is written to it has to be whole frames, beginning with the one that the other side lacks.
class Connection final : public channel::Stream {
 public:
  Connection(Peer& peer, std::string says, uint64_t next, size_t room)
      : peer_(peer), says_(std::move(says)), next_(next), room_(room) {}
  Result<size_t> TryRead(char* bytes, size_t size) override {
    const size_t n = std::min(size, says_.size() - read_);
    if (n == 0) return Unavailable("the other side closed the connection");
    std::memcpy(bytes, says_.data() + read_, n);
    read_ += n;
    return n;
  }
  Result<size_t> TryWrite(const char* bytes, size_t size) override {
    if (room_ == 0) return Unavailable("the connection broke");
    const size_t n = std::min(size, room_);
    room_ -= n;
    written_.append(bytes, n);
    wire::FrameHeader header;
    while (written_.size() >= sizeof(header)) {
      std::memcpy(&header, written_.data(), sizeof(header));
      if (written_.size() - sizeof(header) < header.size) break;
      const auto verb = static_cast<Verb>(header.verb);
      if (verb != Verb::kAck && verb != Verb::kPing) {
        if (header.number != next_) Fail(fmt::format("frame {} was sent, wanted {}", header.number, next_));
        peer_.taken = std::max(peer_.taken, ++next_);
      }
      written_.erase(0, sizeof(header) + header.size);
    }
    return n;
  }
  bool WaitReadable(int) override { return true; }
  bool WaitWritable(int) override { return true; }
  void Shutdown() override {}
  std::string peer() const override { return "fuzz"; }

 private:
  Peer& peer_;
  const std::string says_;
  size_t read_ = 0;
  std::string written_;
  uint64_t next_;
  size_t room_;
};

std::string Speech(ByteInput& in, const Peer& peer) {
  std::string says;
  for (size_t n = in.Below(8); n > 0; --n) {
    switch (in.Below(6)) {
      case 0:
        says += in.Bytes(40);
        break;
      case 1:
        says += EncodeFrame(Verb::kAck, 0, wire::Encode(wire::Ack{peer.taken + in.Below(3) - 1}));
        break;
      case 2:
        says += EncodeFrame(Verb::kAck, 0, wire::Encode(wire::Ack{static_cast<uint64_t>(in.I64())}));
        break;
      case 3:
        says += EncodeFrame(Verb::kPing, 0, in.Bytes(1));
        break;
      default:
        says += EncodeFrame(static_cast<Verb>(in.U8()), in.U8(), in.Bytes(80));
    }
  }
  if (in.OneIn(4) && !says.empty()) says.resize(in.U8() % says.size());
  return says;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteInput in(data, size);
  Peer peer;
  channel::PipeOptions options;
  options.window_bytes = 1 + size_t{in.U8()} * 8;
  options.max_message_bytes = 64;
  channel::Pipe* self = nullptr;
  int dials = 0;
  channel::Pipe pipe(options, [&](uint64_t received) -> Result<channel::Pipe::Dialed> {
    if (received != peer.received) Fail(fmt::format("{} frames were received, {} given", received, peer.received));
    if (in.empty() || ++dials > 50) return DataLoss("there are no more connections");
    for (size_t n = in.Below(8); n > 0; --n) {
      if (self->TrySend(Verb::kDrop, peer.sent, std::string(in.U8(), 'x'))) ++peer.sent;
    }
    uint64_t has = peer.taken;
    const uint8_t lie = in.U8();
    if (lie % 16 == 0) has += lie / 16 % 4 - 2U;
    const size_t room = in.OneIn(2) ? size_t{1} << 20 : size_t{in.U8()} * 2;
    std::string says = Speech(in, peer);
    return channel::Pipe::Dialed{std::make_unique<Connection>(peer, std::move(says), has, room), has};
  });
  self = &pipe;
  channel::Ring::Frame frame;
  for (;;) {
    const Status status = pipe.Receive(frame);
    if (!status.ok()) {
      if (status.code() != Code::kDataLoss && status.code() != Code::kUnavailable) Fail(status.ToString());
      break;
    }
    if (frame.message.size() > options.max_message_bytes) Fail("a frame is longer than what is taken");
    ++peer.received;
    if (in.OneIn(4) && pipe.TrySend(Verb::kDrop, peer.sent, "y")) ++peer.sent;
  }
  return 0;
}
