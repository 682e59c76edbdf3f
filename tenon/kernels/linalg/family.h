#pragma once

// Factorisations and triangular systems as a family of drivers. Plans say drivers::Factorisation of them, whose
// operands and results are inputs and outputs; all but x and a are dense.

#include <memory>

#include "tenon/drivers/family.h"

namespace tenon::kernels::linalg {

std::unique_ptr<const drivers::Family> MakeFamily();

}  // namespace tenon::kernels::linalg
