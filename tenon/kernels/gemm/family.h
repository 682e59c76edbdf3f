#pragma once

// Matrix products as a family of drivers.

#include <memory>

#include "tenon/drivers/family.h"
#include "tenon/kernels/gemm/signature.h"

namespace tenon::kernels::gemm {

/// What a plan says of a product beside its operands: a contraction, and what hooks stand in for. Inputs: lhs, rhs.
/// Output: as drivers::Contraction's result. Hooks: "pack_a" and "pack_b" make the inputs, "finish" changes the output.
struct GemmConfig {
  drivers::Contraction contraction;
  bool accumulate = false;  ///< The output's contents are added to.
  /// Type and extents of inputs that are not in memory, because hooks make them.
  DType made_type = DType::kInvalid;
  Dims made_lhs, made_rhs;

  template <class Self, class F>
  static void Fields(Self& self, F&& field) {
    drivers::Contraction::Fields(self.contraction, field);
    field("accumulate", self.accumulate);
    field("made_type", self.made_type, static_cast<DType>(kNumDTypes - 1));
    field("made_lhs", self.made_lhs);
    field("made_rhs", self.made_rhs);
  }
  friend bool operator==(const GemmConfig&, const GemmConfig&) = default;
};

/// Which dims of the operands the rows, columns and matrices of the product run over, outermost first.
struct GemmDims {
  Dims a_batch, a_rows, a_cols;
  Dims b_batch, b_rows, b_cols;
  Dims c_batch, c_rows, c_cols;
};

/// The product over operands that lie so, which reaches nothing but their elements. INVALID_ARGUMENT when they do not
/// fit the config, or do not lie as a product wants them; UNIMPLEMENTED for types without a kernel.
struct GemmForm {
  GemmSignature signature;
  GemmDims dims;
};
Result<GemmForm> FormOf(const GemmConfig& config, const drivers::Operands& operands);

std::unique_ptr<const drivers::Family> MakeFamily();

}  // namespace tenon::kernels::gemm
