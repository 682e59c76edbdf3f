#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tenon/base/status.h"

namespace tenon::emit_spirv {

/// A module that Emit made, as assembly: what `spirv-as --preserve-numeric-ids` makes the same words of. DATA_LOSS,
/// naming the word, for others that it does not know.
Result<std::string> Print(std::span<const uint32_t> words);

}  // namespace tenon::emit_spirv
