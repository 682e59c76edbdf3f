#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/abi/pjrt.h"

namespace tenon::fuzz {

/// The plugin under test, linked in: backend_fake.cc (the SDK with the device of its own tests) or backend_cpu.cc.
const PJRT_Api* Api();

/// Starts an input: puts switches back. `variant` chooses among the forms that the plugin has.
void ResetBackend(uint8_t variant);

/// Runs work that waits for somebody to run it. Afterwards whatever does not depend on the caller (promises, events
/// that it sets) is done, or will be without help.
void Settle();

/// Whether all objects that the plugin counts are gone. May wait for those that other threads are about to free; prints
/// what is left.
bool NothingLives();

/// Programs in "mlir" format that this plugin compiles, most of them on f32[4].
std::span<const std::string_view> Programs();
/// A name that PJRT_TopologyDescription_Create may know.
std::string_view TopologyName();
/// Names of options that the plugin knows.
std::span<const std::string_view> OptionNames();

}  // namespace tenon::fuzz
