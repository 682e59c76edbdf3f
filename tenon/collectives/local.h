#pragma once

#include <memory>

#include "tenon/collectives/engine.h"

namespace tenon::collectives {

/// Members that are threads of one process, for tests. All of them use one engine object.
std::unique_ptr<Engine> MakeLocalEngine();

/// A store in this process's memory.
std::unique_ptr<Store> MakeLocalStore();

}  // namespace tenon::collectives
