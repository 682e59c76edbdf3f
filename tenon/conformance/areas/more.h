#pragma once

#include "tenon/conformance/test.h"

namespace tenon::conformance {

// Parts of areas in files of their own; each adds its tests.

/// extensions: raw buffers, host allocator, single phases of the compiler, ABI versions.
void AddRareExtensionTests(Suite& suite);
/// buffers: promises that are kept, broken, kept with themselves, and never kept; error buffers.
void AddPromiseTests(Suite& suite);
/// client and execute: what plugins call back for: key-value stores, send and receive channels.
void AddCallbackTests(Suite& suite);

}  // namespace tenon::conformance
