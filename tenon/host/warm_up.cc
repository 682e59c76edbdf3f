#include "tenon/host/warm_up.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tenon/base/fork.h"
#include "tenon/dialect/parse.h"

namespace tenon::host {
namespace {

std::atomic<int> warming{0};

// MLIR and LLVM have static objects: they must not go, with the process or the library, while a thread works on them.
void AwaitWarmUp() {
  const uint32_t generation = ForkGeneration();
  for (int ms = 0; warming.load() > 0 && generation == 0 && ms < 2000; ++ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Warm() {
  ++warming;
  dialect::WarmContexts(1);
  --warming;
}

}  // namespace

std::function<void()> WarmUp() {
  static const int at_exit = std::atexit(&AwaitWarmUp);
  static_cast<void>(at_exit);
  return &Warm;
}

}  // namespace tenon::host
