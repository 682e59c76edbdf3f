#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/client/program.h"

namespace tenon::cli {

/// The parameters of a program's entry, as far as its bytes tell without a compiler: StableHLO text, HLO text and HLO
/// protos. Nothing for bytecode and for what cannot be read. Tokens are DType::kToken.
std::optional<std::vector<Shape>> ReadParameters(const client::Program& program);

/// The same for StableHLO text; `text` may come from anywhere.
std::optional<std::vector<Shape>> ReadTextParameters(std::string_view text);

/// "2x3xf32", "f32", "complex<f64>", "4xi1": what stands in tensor<...>.
std::optional<Shape> ParseTensorType(std::string_view type);

}  // namespace tenon::cli
