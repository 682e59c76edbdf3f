#include "tenon/kernels/gemm/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tenon/kernels/gemm/gemm.h"

namespace tenon::kernels::gemm {
namespace {

// Hook points, in the order in which Facts lists them.
enum : size_t { kPackA, kPackB, kFinish, kNumHooks };

class GemmCall final : public drivers::Call {
 public:
  GemmCall(BoundGemm gemm, bool has_hooks) : gemm_(std::move(gemm)), has_hooks_(has_hooks) {}
  Status Run(const drivers::Memory& memory, threads::ThreadPool& pool) const override {
    GemmHooks hooks;
    if (has_hooks_) hooks = {memory.hooks[kPackA], memory.hooks[kPackB], memory.hooks[kFinish]};
    return gemm_.Run({memory.inputs[0], memory.inputs[1], memory.outputs[0]}, hooks, pool);
  }

 private:
  BoundGemm gemm_;
  bool has_hooks_;
};

drivers::HookPoint PointOf(std::string_view name, drivers::HookPoint::Role role, uint32_t index, DType type,
                           const GemmSignature& s, int64_t rows, int64_t cols) {
  drivers::HookPoint point;
  point.name = name;
  point.role = role;
  point.index = index;
  point.type = type;
  point.batch = s.batch_count();
  point.rows = rows;
  point.cols = cols;
  return point;
}

/// The order of dims, minor to major, in which these lists, outermost first, lie densely one inside the next.
Dims LayoutOf(std::initializer_list<const Dims*> lists) {
  Dims major;
  for (const Dims* list : lists) {
    for (int64_t d : *list) major.push_back(d);
  }
  std::reverse(major.begin(), major.end());
  return major;
}

class GemmFamily final : public drivers::Family {
 public:
  std::string_view name() const override { return "gemm"; }

  bool Takes(std::string_view op) const override { return op == drivers::Contraction::kOp; }

  Result<drivers::Offer> Match(const drivers::Problem& problem) const override {
    TENON_ASSIGN_OR_RETURN(drivers::Contraction contraction,
                           drivers::FromConfig<drivers::Contraction>(problem.attributes));
    if (problem.operands.size() != 2 || problem.results.size() != 1)
      return InvalidArgument("a contraction has two operands and a result");
    const DType a = problem.operands[0].type, b = problem.operands[1].type, c = problem.results[0].type;
    TENON_RETURN_IF_ERROR(Verify(DenseGemm(a, b, c, 1, 1, 1)));
    GemmConfig config;
    config.contraction = std::move(contraction);
    drivers::Offer offer;
    offer.config = drivers::ToConfig(config);
    offer.layouts.resize(2);
    if (Fits(config, problem.operands[0], problem.operands[1], problem.results[0])) {
      if (problem.lasting) offer.layouts[*problem.lasting] = FasterLayout(config, problem, *problem.lasting);
      return offer;
    }
    // As little as possible is moved: one operand, by preference to row-major, which others may use as well; then both.
    TENON_ASSIGN_OR_RETURN(const GemmForm ideal, FormOfPacked(config, problem));
    const GemmDims& d = ideal.dims;
    const Dims lhs = LayoutOf({&d.a_batch, &d.a_rows, &d.a_cols}), rhs = LayoutOf({&d.b_batch, &d.b_rows, &d.b_cols});
    const Dims lhs_rows = RowMajor(problem.operands[0]);
    const std::optional<Dims> stay;
    for (const auto& [x, y] :
         {std::pair(stay, std::optional(rhs)), std::pair(std::optional(lhs_rows), stay),
          std::pair(std::optional(lhs), stay), std::pair(std::optional(lhs_rows), std::optional(rhs)),
          std::pair(std::optional(lhs), std::optional(rhs))}) {
      if (!Fits(config, x ? drivers::WithLayout(problem.operands[0], *x) : problem.operands[0],
                y ? drivers::WithLayout(problem.operands[1], *y) : problem.operands[1], problem.results[0])) {
        continue;
      }
      offer.layouts = {x, y};
      return offer;
    }
    return Unimplemented("the result has no rows and columns");
  }

  Result<drivers::Facts> Describe(const drivers::Config& config, const drivers::Operands& operands) const override {
    TENON_ASSIGN_OR_RETURN(const GemmForm form, FormOfConfig(config, operands));
    const GemmSignature& s = form.signature;
    const GemmCost cost = EstimateCost(s);
    drivers::Facts facts;
    facts.flops = cost.flops;
    facts.work = WorkOf(s);
    using Role = drivers::HookPoint::Role;
    facts.hooks.resize(kNumHooks);
    drivers::HookPoint& pack_a = facts.hooks[kPackA] = PointOf("pack_a", Role::kMakesInput, 0, s.a_type, s, s.m, s.k);
    drivers::HookPoint& pack_b = facts.hooks[kPackB] = PointOf("pack_b", Role::kMakesInput, 1, s.b_type, s, s.k, s.n);
    drivers::HookPoint& finish = facts.hooks[kFinish] =
        PointOf("finish", Role::kChangesOutput, 0, s.c_type, s, s.m, s.n);
    const auto set = [](drivers::HookPoint& point, const Dims& batch, const Dims& rows, const Dims& cols) {
      point.batch_dims = batch;
      point.row_dims = rows;
      point.col_dims = cols;
    };
    set(pack_a, form.dims.a_batch, form.dims.a_rows, form.dims.a_cols);
    set(pack_b, form.dims.b_batch, form.dims.b_rows, form.dims.b_cols);
    set(finish, form.dims.c_batch, form.dims.c_rows, form.dims.c_cols);
    finish.col_stride = s.c_col_stride == 1 ? 1 : 0;
    // Strips of a middling kernel's tiles.
    constexpr double kStripRows = 14, kStripCols = 1024;
    finish.calls = static_cast<double>(finish.batch) * std::ceil(static_cast<double>(s.m) / kStripRows) *
                   std::ceil(static_cast<double>(s.n) / kStripCols);
    return facts;
  }

  Result<std::unique_ptr<const drivers::Call>> Bind(const drivers::Config& config, const drivers::Operands& operands,
                                                    std::span<const bool> hooked) const override {
    TENON_ASSIGN_OR_RETURN(const GemmForm form, FormOfConfig(config, operands));
    GemmHookSet set;
    if (!hooked.empty()) set = {hooked[kPackA], hooked[kPackB], hooked[kFinish]};
    TENON_ASSIGN_OR_RETURN(BoundGemm gemm, BoundGemm::Create(form.signature, set));
    return std::unique_ptr<const drivers::Call>(
        std::make_unique<GemmCall>(std::move(gemm), set.pack_a || set.pack_b || set.finish));
  }

 private:
  static Result<GemmForm> FormOfConfig(const drivers::Config& config, const drivers::Operands& operands) {
    TENON_ASSIGN_OR_RETURN(const GemmConfig gemm, drivers::FromConfig<GemmConfig>(config));
    return FormOf(gemm, operands);
  }

  static bool Fits(const GemmConfig& config, const StridedArray& a, const StridedArray& b, const StridedArray& c) {
    const StridedArray inputs[] = {a, b};
    return FormOf(config, {inputs, {&c, 1}}).ok();
  }

  /// The layout of this operand that many products are worth a copy for, if it does not lie so.
  static std::optional<Dims> FasterLayout(const GemmConfig& config, const drivers::Problem& problem, size_t operand) {
    const Result<GemmForm> form = FormOf(config, {problem.operands, problem.results});
    if (!form.ok()) return std::nullopt;
    const GemmDims& d = form->dims;
    switch (BetterLaidOf(form->signature, operand)) {
      case BetterLaid::kAsItIs:
        return std::nullopt;
      case BetterLaid::kDepthInside:
        return operand == 0 ? LayoutOf({&d.a_batch, &d.a_rows, &d.a_cols})
                            : LayoutOf({&d.b_batch, &d.b_cols, &d.b_rows});
      case BetterLaid::kDepthOutside:
        return operand == 0 ? LayoutOf({&d.a_batch, &d.a_cols, &d.a_rows})
                            : LayoutOf({&d.b_batch, &d.b_rows, &d.b_cols});
    }
    return std::nullopt;
  }

  /// The form when both operands lie in the best order: an error is about extents, or the result.
  static Result<GemmForm> FormOfPacked(GemmConfig config, const drivers::Problem& problem) {
    config.made_type = problem.operands[0].type;
    config.made_lhs = problem.operands[0].dims;
    config.made_rhs = problem.operands[1].dims;
    const StridedArray inputs[2] = {};
    return FormOf(config, {inputs, problem.results});
  }

  static Dims RowMajor(const StridedArray& array) {
    Dims layout;
    for (size_t d = array.dims.size(); d-- > 0;) layout.push_back(static_cast<int64_t>(d));
    return layout;
  }
};

}  // namespace

std::unique_ptr<const drivers::Family> MakeFamily() { return std::make_unique<GemmFamily>(); }

}  // namespace tenon::kernels::gemm
