#include "tenon/target/lanes.h"

#include <algorithm>

namespace tenon::target {

double InterleavedMove(int lanes, int stride, int components) {
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

double ShuffledMove(int bytes, int lanes, int vector_bytes, int stride, int components, bool down) {
  const int together = ShuffledLanes(bytes, lanes, vector_bytes);
  const double part = InterleavedMove(together, stride, components) + (down ? components : 0);
  return part * (static_cast<double>(lanes) / together);
}

}  // namespace tenon::target
