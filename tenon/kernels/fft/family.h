#pragma once

// Fourier transforms as a family of drivers. Plans say drivers::FourierTransform of them. One input, one output, both
// dense and row-major.

#include <memory>

#include "tenon/drivers/family.h"

namespace tenon::kernels::fft {

std::unique_ptr<const drivers::Family> MakeFamily();

}  // namespace tenon::kernels::fft
