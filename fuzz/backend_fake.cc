#include "fuzz/backend.h"
#include "fuzz/live_objects.h"
#include "tenon/plugin/testing/fake_plugin.h"

namespace tenon::fuzz {

using plugin::testing::FakePlugin;

const PJRT_Api* Api() { return plugin::MakeApi(FakePlugin::Get()); }

void ResetBackend(uint8_t variant) {
  FakePlugin& fake = FakePlugin::Get();
  fake.remote_memory = (variant & 1) != 0;
  plugin::testing::SetScheduling((variant & 2) != 0);
  fake.ffi_targets.clear();
}

void Settle() { plugin::testing::RunPending(); }

bool NothingLives() { return CountersAreZero(/*report=*/true); }

std::span<const std::string_view> Programs() {
  static constexpr std::string_view kPrograms[] = {"add",
                                                   "increment",
                                                   "echo",
                                                   "column",
                                                   "pair",
                                                   "token",
                                                   "refuse",
                                                   "fail",
                                                   "throw",
                                                   "later add",
                                                   "later increment",
                                                   "later echo",
                                                   "later pair",
                                                   "everywhere add",
                                                   "everywhere increment",
                                                   "everywhere later pair",
                                                   "no such program"};
  return kPrograms;
}

std::string_view TopologyName() { return "fake:2"; }

std::span<const std::string_view> OptionNames() {
  static constexpr std::string_view kNames[] = {"num_devices", "fast",      "ratio",   "sizes",     "label",
                                                "fake_level",  "fake_fast", "node_id", "num_nodes", "partition_index"};
  return kNames;
}

}  // namespace tenon::fuzz
