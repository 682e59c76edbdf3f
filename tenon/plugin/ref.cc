#include "tenon/plugin/ref.h"

namespace tenon::plugin {

internal::LiveCounter internal::live_counters[kNumObjectKinds];

int64_t LiveObjects(ObjectKind kind) {
  return internal::live_counters[static_cast<int>(kind)].value.load(std::memory_order_relaxed);
}

}  // namespace tenon::plugin
