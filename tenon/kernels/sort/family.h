#pragma once

// Sorting as a family of drivers. Plans say drivers::Ordering of it. Inputs: the keys, then the payloads that are read.
// Outputs: the payloads in order.

#include <memory>
#include <span>

#include "tenon/drivers/family.h"
#include "tenon/kernels/sort/sort.h"

namespace tenon::kernels::sort {

/// What to run over arrays that lie so. INVALID_ARGUMENT when they do not fit each other; UNIMPLEMENTED for types and
/// counts that Sort does not take.
Result<SortSignature> SignatureOf(const drivers::Ordering& ordering, const drivers::Operands& operands);

std::unique_ptr<const drivers::Family> MakeFamily();

}  // namespace tenon::kernels::sort
