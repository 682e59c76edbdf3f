#include "tenon/target/lanes.h"

#include <algorithm>
#include <bit>

namespace tenon::target {

namespace {

double MoveByRows(int lanes, int stride) {
  const int rounds = std::bit_width(static_cast<unsigned>(lanes)) - 1;
  double cycles = stride / lanes * lanes * (kContiguousMove + rounds);
  if (stride % lanes == 0) return cycles;
  // The last components, from the end of the rows: of each round those vectors that they need.
  cycles += lanes * kContiguousMove;
  for (int round = 0; round < rounds; ++round) cycles += std::min(lanes, stride % lanes << round);
  return cycles;
}

double MoveByFactors(int lanes, int stride, int components) {
  // Taken apart by the prime factors of the stride, each vector of the result meets that many others; or one by one.
  int shared = 0;
  for (int rest = stride, p = 2; rest > 1;) {
    if (rest % p == 0) {
      shared += p - 1;
      rest /= p;
    } else {
      ++p;
    }
  }
  const int direct = components * (std::min(lanes, stride) - 1);
  return stride + std::min(stride * shared, direct);
}

}  // namespace

bool MovesByRows(int lanes, int stride, int components) {
  return stride > lanes && components == stride && MoveByRows(lanes, stride) < MoveByFactors(lanes, stride, components);
}

double InterleavedMove(int lanes, int stride, int components) {
  return MovesByRows(lanes, stride, components) ? MoveByRows(lanes, stride) : MoveByFactors(lanes, stride, components);
}

double ShuffledMove(int bytes, int lanes, int vector_bytes, int stride, int components, bool down) {
  const int together = ShuffledLanes(bytes, lanes, vector_bytes);
  const double part = InterleavedMove(together, stride, components) + (down ? components : 0);
  return part * (static_cast<double>(lanes) / together);
}

}  // namespace tenon::target
