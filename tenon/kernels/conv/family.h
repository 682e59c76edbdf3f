#pragma once

// Convolutions as a family of drivers. Plans say drivers::Convolution of them. Inputs: input, weights. Output: the
// result.

#include <memory>

#include "tenon/drivers/family.h"

namespace tenon::kernels::conv {

std::unique_ptr<const drivers::Family> MakeFamily();

}  // namespace tenon::kernels::conv
