#pragma once

#include "tenon/abi/pjrt.h"

namespace tenon::plugin::testing {

/// Extensions that the SDK itself does not offer, over its objects, for tests of those who use them; chained to `next`.
/// The structs are static: tests may change their slots. The first call chains.
///   RawBuffer      all slots; handles keep the bytes
///   HostAllocator  prefers 128 bytes
///   PhaseCompile   phases "parse" and "lower", which note in a partial program that they ran
///   AbiVersion     platform 7; a runtime runs executables of its own version, "1", and takes the place of equal ones
PJRT_Extension_Base* TestExtensions(PJRT_Extension_Base* next);

/// What the extensions have handed out and not got back: handles, allocations and arrays of texts.
int64_t LiveTestObjects();

}  // namespace tenon::plugin::testing
