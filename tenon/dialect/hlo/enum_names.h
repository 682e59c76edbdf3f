#pragma once

// The names that HLO text has for the numbers of its enumerations: the reader and the writer agree on them here.

#include <string_view>

namespace tenon::hlo {

inline constexpr std::string_view kDotAlgorithms[] = {"unset",
                                                      "dot_any_f8_any_f8_f32",
                                                      "dot_any_f8_any_f8_f32_fast_accum",
                                                      "dot_f16_f16_f16",
                                                      "dot_f16_f16_f32",
                                                      "dot_bf16_bf16_bf16",
                                                      "dot_bf16_bf16_f32",
                                                      "dot_bf16_bf16_f32_x3",
                                                      "dot_bf16_bf16_f32_x6",
                                                      "dot_tf32_tf32_f32",
                                                      "dot_tf32_tf32_f32_x3",
                                                      "dot_f32_f32_f32",
                                                      "dot_f64_f64_f64",
                                                      "dot_bf16_bf16_f32_x9",
                                                      "dot_bf16_bf16_fp8_x3",
                                                      "dot_bf16_bf16_fp8_x4"};
inline constexpr std::string_view kRngAlgorithms[] = {"rng_default", "rng_three_fry", "rng_philox"};
inline constexpr std::string_view kRngDistributions[] = {"rng_invalid", "rng_uniform", "rng_normal"};
inline constexpr std::string_view kFftTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
inline constexpr std::string_view kTransposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
inline constexpr std::string_view kPrecisions[] = {"default", "high", "highest"};
inline constexpr std::string_view kCallVersions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                                     "API_VERSION_STATUS_RETURNING",
                                                     "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};

}  // namespace tenon::hlo
