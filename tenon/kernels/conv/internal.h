#pragma once

#include "tenon/kernels/conv/conv.h"

namespace tenon::kernels::internal {

/// Whether some dimension's input is dilated and every output looks at it.
bool HasPhases(const ConvSignature& s);
/// Conv of such a signature, phase by phase; weights in any order.
Status ConvInPhases(const ConvSignature& s, const void* in, const void* weights, void* out, threads::ThreadPool& pool);
/// Conv as one product.
Status ConvOfWhole(const ConvSignature& s, const void* in, const void* weights, void* out, threads::ThreadPool& pool);

}  // namespace tenon::kernels::internal
