#pragma once

#include <memory>

#include "tenon/collectives/engine.h"

namespace tenon::collectives {

/// Processes of one machine, by shared memory: one ring per ordered pair of members in a segment that has no name once
/// all have opened it. A member that dies is noticed within kWatch (shm.cc), as its lock on the segment goes with it.
/// Connect gives UNAVAILABLE, at all members alike, when some of them cannot reach the segment.
std::unique_ptr<Engine> MakeShmEngine();

}  // namespace tenon::collectives
