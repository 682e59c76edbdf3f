#pragma once

#include "tenon/plugin/plugin.h"

namespace tenon::conformance::mock {

/// The mock without a fault: two devices (option num_devices) over host memory, written with the SDK; programs as
/// ParseProgram reads them. Programs run on the thread that completes their last argument.
plugin::Plugin& MockDevicePlugin();

}  // namespace tenon::conformance::mock
