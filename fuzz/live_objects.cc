#include "fuzz/live_objects.h"

#include <cstdio>

#include "tenon/plugin/ref.h"

namespace tenon::fuzz {

bool CountersAreZero(bool report) {
  bool zero = true;
  for (int i = 0; i < plugin::kNumObjectKinds; ++i) {
    const long long live = plugin::LiveObjects(static_cast<plugin::ObjectKind>(i));
    if (live == 0) continue;
    zero = false;
    if (report) std::fprintf(stderr, "%lld objects of kind %d (tenon::plugin::ObjectKind) are left\n", live, i);
  }
  return zero;
}

}  // namespace tenon::fuzz
