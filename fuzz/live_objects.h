#pragma once

namespace tenon::fuzz {

/// Whether the SDK's counters are zero; prints those that are not when `report`.
bool CountersAreZero(bool report);

}  // namespace tenon::fuzz
