#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tenon/kernels/gemm/config.h"
#include "tenon/kernels/linalg/config.h"
#include "tenon/kernels/sort/config.h"
#include "tenon/runtime/internal/ops.h"

namespace tenon::runtime::internal {
namespace {

class Builder {
 public:
  Builder(const plan::Plan& plan, const std::vector<KernelCode>& code) : plan_(plan), code_(code) {}

  Result<OpList> All(const plan::Seq& seq) const {
    OpList ops;
    ops.reserve(seq.size());
    for (const plan::Step& step : seq) {
      TENON_ASSIGN_OR_RETURN(std::unique_ptr<Op> op, std::visit([this](const auto& s) { return One(s); }, step.is));
      ops.push_back(std::move(op));
    }
    return ops;
  }

 private:
  using OpResult = Result<std::unique_ptr<Op>>;

  Place PlaceOf(plan::SlotId id) const {
    if (id == plan::kNoSlot) return {kNoBase, 0};
    const plan::Slot& slot = plan_.slots[id];
    const auto inputs = static_cast<uint32_t>(plan_.inputs.size());
    const auto outputs = static_cast<uint32_t>(plan_.outputs.size());
    switch (slot.kind) {
      case plan::SlotKind::kArg:
        return {slot.index, slot.offset_bytes};
      case plan::SlotKind::kOut:
        return {inputs + slot.index, slot.offset_bytes};
      case plan::SlotKind::kTemp:
        return {inputs + outputs, slot.offset_bytes};
      case plan::SlotKind::kConst:
        return {inputs + outputs + 1 + slot.index, slot.offset_bytes};
    }
    return {kNoBase, 0};
  }

  template <class Slots, class Params>
  Result<BoundKernel> Bind(uint32_t index, const Slots& slots, const Params& params) const {
    BoundKernel bound;
    bound.fn = code_[index].fn;
    if (bound.fn == nullptr) return InvalidArgument(fmt::format("kernel {} has no code", index));
    for (plan::SlotId id : slots) bound.buffers.push_back(PlaceOf(id));
    bound.params.assign(params.begin(), params.end());
    return bound;
  }

  OpResult One(const plan::KernelStep& s) const {
    TENON_ASSIGN_OR_RETURN(BoundKernel bound, Bind(s.kernel, s.buffers, s.params));
    const kir::Kernel& kernel = plan_.kernels[s.kernel];
    const int64_t* params = bound.params.data();
    bound.scratch_bytes = kir::LocalBytes(kernel, params);
    const int64_t total = kir::SplitTotal(kernel, params);
    const int64_t grain = kernel.split.dims == 0 ? 1 : kernel.split.grain.Value(params);
    if (grain < 1) return InvalidArgument(fmt::format("kernel {}: pieces of {} elements", s.kernel, grain));
    return std::unique_ptr<Op>(std::make_unique<KernelOp>(std::move(bound), total, grain, s.cost_ns));
  }

  StridedArray ArrayOf(plan::SlotId id) const {
    const plan::Slot& slot = plan_.slots[id];
    return {slot.dtype, slot.dims, slot.stride_elems};
  }
  std::vector<StridedArray> ArraysOf(std::span<const plan::SlotId> ids) const {
    std::vector<StridedArray> arrays;
    for (plan::SlotId id : ids) arrays.push_back(ArrayOf(id));
    return arrays;
  }
  std::vector<Place> PlacesOf(std::span<const plan::SlotId> ids) const {
    std::vector<Place> places;
    for (plan::SlotId id : ids) places.push_back(PlaceOf(id));
    return places;
  }
  bool IsDense(plan::SlotId id, DType type, int64_t least_elements) const {
    const plan::Slot& slot = plan_.slots[id];
    return slot.dtype == type && NumElements(slot.dims) >= least_elements &&
           slot.stride_elems == RowMajorStridesElems(slot.dims);
  }

  // What drivers without hooks ask of a step: so many operands, each there, and results apart from each other.
  Status CheckOperands(const plan::DriverStep& s, size_t num_inputs, size_t num_outputs) const {
    if (s.inputs.size() != num_inputs || s.outputs.size() != num_outputs || !s.hooks.empty()) {
      return InvalidArgument(fmt::format("{} with {} inputs, {} outputs and {} hooks, wanted {}, {} and none", s.driver,
                                         s.inputs.size(), s.outputs.size(), s.hooks.size(), num_inputs, num_outputs));
    }
    for (std::span<const plan::SlotId> ids : {std::span<const plan::SlotId>(s.inputs.data(), s.inputs.size()),
                                              std::span<const plan::SlotId>(s.outputs.data(), s.outputs.size())}) {
      for (plan::SlotId id : ids) {
        if (id == plan::kNoSlot) return InvalidArgument(fmt::format("{} lacks an operand", s.driver));
      }
    }
    for (size_t i = 0; i < num_outputs; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (Overlap(s.outputs[i], s.outputs[j])) {
          return InvalidArgument(fmt::format("{}: outputs %{} and %{} overlap", s.driver, s.outputs[j], s.outputs[i]));
        }
      }
    }
    return OkStatus();
  }

  // The last output is scratch.
  Status CheckScratch(const plan::DriverStep& s, int64_t bytes) const {
    const plan::SlotId id = s.outputs[s.outputs.size() - 1];
    if (plan_.slots[id].dims.size() == 1 && IsDense(id, DType::kU8, bytes) && PlaceOf(id).offset_bytes % 64 == 0)
      return OkStatus();
    return InvalidArgument(fmt::format("{} wants {} dense, 64-byte aligned bytes of scratch", s.driver, bytes));
  }

  OpResult FourierTransform(const plan::DriverStep& s) const {
    TENON_RETURN_IF_ERROR(CheckOperands(s, 1, 1));
    if (s.config.empty() || s.config[0] < 0 || s.config[0] > static_cast<int64_t>(kernels::FftKind::kRealInverse))
      return InvalidArgument("fft of no known kind");
    const plan::Slot& in = plan_.slots[s.inputs[0]];
    const plan::Slot& out = plan_.slots[s.outputs[0]];
    for (const plan::Slot* slot : {&in, &out}) {
      int64_t dense = 1;
      for (size_t d = slot->dims.size(); d-- > 0; dense *= slot->dims[d]) {
        if (slot->dims[d] != 1 && slot->stride_elems[d] != dense)
          return InvalidArgument("fft wants dense row-major operands");
      }
    }
    TENON_ASSIGN_OR_RETURN(
        const kernels::FftSignature signature,
        kernels::MakeFftSignature(static_cast<kernels::FftKind>(s.config[0]), {in.dtype, in.dims},
                                  {out.dtype, out.dims}, Dims(s.config.begin() + 1, s.config.end())));
    return std::unique_ptr<Op>(std::make_unique<FftOp>(signature, PlaceOf(s.inputs[0]), PlaceOf(s.outputs[0])));
  }

  OpResult Convolution(const plan::DriverStep& s) const {
    TENON_RETURN_IF_ERROR(CheckOperands(s, 2, 1));
    TENON_ASSIGN_OR_RETURN(const kernels::ConvNumbers numbers, kernels::ConvNumbersOf(s.config));
    TENON_ASSIGN_OR_RETURN(
        const kernels::ConvSignature signature,
        kernels::MakeConvSignature(numbers, ArrayOf(s.inputs[0]), ArrayOf(s.inputs[1]), ArrayOf(s.outputs[0])));
    if (!kernels::WeightsSuit(signature)) return InvalidArgument("conv: the weights' layout does not suit");
    return std::unique_ptr<Op>(
        std::make_unique<ConvOp>(signature, PlaceOf(s.inputs[0]), PlaceOf(s.inputs[1]), PlaceOf(s.outputs[0])));
  }

  OpResult One(const plan::DriverStep& s) const {
    if (s.driver == "sort") return Sort(s);
    if (s.driver == "linalg") return Linalg(s);
    if (s.driver == "conv") return Convolution(s);
    if (s.driver == "fft") return FourierTransform(s);
    if (s.driver != "gemm") return InvalidArgument(fmt::format("no driver is called '{}'", s.driver));
    if (s.inputs.size() != 2 || s.outputs.size() != 1) {
      return InvalidArgument(
          fmt::format("gemm takes 2 inputs and 1 output, got {} and {}", s.inputs.size(), s.outputs.size()));
    }
    TENON_ASSIGN_OR_RETURN(kernels::GemmSignature signature, kernels::FromConfig(s.config));
    GemmOp::HookKernel pack_a, pack_b, finish;
    for (const auto& [name, hook] : s.hooks) {
      GemmOp::HookKernel* target = name == "pack_a"   ? &pack_a
                                   : name == "pack_b" ? &pack_b
                                   : name == "finish" ? &finish
                                                      : nullptr;
      if (target == nullptr) return InvalidArgument(fmt::format("gemm has no hook '{}'", name));
      TENON_ASSIGN_OR_RETURN(target->kernel, Bind(hook.kernel, hook.buffers, hook.params));
      target->present = true;
    }
    if ((s.inputs[0] == plan::kNoSlot && !pack_a.present) || (s.inputs[1] == plan::kNoSlot && !pack_b.present) ||
        s.outputs[0] == plan::kNoSlot) {
      return InvalidArgument("gemm lacks an operand");
    }
    TENON_RETURN_IF_ERROR(CheckReach(signature, s));
    return std::unique_ptr<Op>(std::make_unique<GemmOp>(signature, PlaceOf(s.inputs[0]), PlaceOf(s.inputs[1]),
                                                        PlaceOf(s.outputs[0]), std::move(pack_a), std::move(pack_b),
                                                        std::move(finish)));
  }

  OpResult Sort(const plan::DriverStep& s) const {
    TENON_ASSIGN_OR_RETURN(const kernels::SortConfig config, kernels::SortConfigOf(s.config));
    const size_t keys = config.keys.size();
    const auto read = std::count(config.is_position.begin(), config.is_position.end(), false);
    TENON_RETURN_IF_ERROR(CheckOperands(s, keys + static_cast<size_t>(read), config.is_position.size() + 1));
    const std::vector<StridedArray> in = ArraysOf(s.inputs), out = ArraysOf(s.outputs);
    const std::span<const StridedArray> inputs = in, outputs = out;
    TENON_ASSIGN_OR_RETURN(
        kernels::SortSignature signature,
        kernels::SignatureOf(config, inputs.first(keys), inputs.subspan(keys), outputs.first(out.size() - 1)));
    TENON_RETURN_IF_ERROR(CheckScratch(s, kernels::SortScratchBytes(signature)));
    return std::unique_ptr<Op>(std::make_unique<SortOp>(std::move(signature), PlacesOf(s.inputs), PlacesOf(s.outputs)));
  }

  OpResult Linalg(const plan::DriverStep& s) const {
    TENON_ASSIGN_OR_RETURN(const kernels::LinalgConfig config, kernels::LinalgConfigOf(s.config));
    const bool is_lu = config.op == kernels::LinalgOp::kLu;
    const bool solves = config.op == kernels::LinalgOp::kTriangularSolve;
    const size_t num_out = 2u + is_lu + config.has_info;
    TENON_RETURN_IF_ERROR(CheckOperands(s, 1u + solves, num_out));
    const StridedArray from = ArrayOf(s.inputs[0]), to = ArrayOf(s.outputs[0]);
    if (from.type != to.type || from.dims != to.dims)
      return InvalidArgument("linear algebra whose operand and result differ in type or shape");
    TENON_ASSIGN_OR_RETURN(
        kernels::LinalgSignature signature,
        kernels::SignatureOf(config, to, solves ? std::optional(ArrayOf(s.inputs[1])) : std::nullopt));
    const int64_t matrices = NumElements(signature.batch);
    if (is_lu && !IsDense(s.outputs[1], DType::kS32, matrices * std::min(signature.x.rows, signature.x.cols))) {
      return InvalidArgument("LU wants dense s32 pivots, one per row or column, whichever are fewer");
    }
    if (config.has_info && !IsDense(s.outputs[num_out - 2], DType::kS32, matrices))
      return InvalidArgument("linear algebra wants dense s32 infos, one per matrix");
    TENON_RETURN_IF_ERROR(CheckScratch(s, kernels::LinalgStepScratchBytes(signature)));
    return std::unique_ptr<Op>(std::make_unique<LinalgOp>(std::move(signature), config.has_info, PlacesOf(s.inputs),
                                                          PlacesOf(s.outputs), to.dims, from.strides, to.strides));
  }

  // The operands' slots were verified; the signature must not reach beyond what they span.
  Status CheckReach(const kernels::GemmSignature& g, const plan::DriverStep& s) const {
    if (g.m == 0 || g.n == 0 || g.batch_count() == 0) return OkStatus();
    const auto check = [&](plan::SlotId id, DType type, int64_t rows, int64_t cols, int64_t row_stride,
                           int64_t col_stride, int64_t kernels::GemmBatchDim::* batch_stride,
                           std::string_view name) -> Status {
      if (id == plan::kNoSlot || rows == 0 || cols == 0) return OkStatus();
      const plan::Slot& slot = plan_.slots[id];
      if (slot.dtype != type) {
        return InvalidArgument(
            fmt::format("gemm's operand {} is {}, slot %{} is {}", name, DTypeName(type), id, DTypeName(slot.dtype)));
      }
      if (NumElements(slot.dims) == 0)
        return InvalidArgument(fmt::format("gemm's operand {}, slot %{}, is empty", name, id));
      __int128 low = 0, high = 0;
      const auto reach = [&](__int128 by) { (by < 0 ? low : high) += by; };
      reach(static_cast<__int128>(rows - 1) * row_stride);
      reach(static_cast<__int128>(cols - 1) * col_stride);
      for (const kernels::GemmBatchDim& d : g.batch) reach(static_cast<__int128>(d.extent - 1) * (d.*batch_stride));
      __int128 slot_low = 0, slot_high = 0;
      for (size_t i = 0; i < slot.dims.size(); ++i) {
        const __int128 by = static_cast<__int128>(slot.dims[i] - 1) * slot.stride_elems[i];
        (by < 0 ? slot_low : slot_high) += by;
      }
      if (low < slot_low || high > slot_high)
        return InvalidArgument(fmt::format("gemm reaches beyond operand {}, slot %{}", name, id));
      return OkStatus();
    };
    TENON_RETURN_IF_ERROR(
        check(s.inputs[0], g.a_type, g.m, g.k, g.a_row_stride, g.a_col_stride, &kernels::GemmBatchDim::a_stride, "a"));
    TENON_RETURN_IF_ERROR(
        check(s.inputs[1], g.b_type, g.k, g.n, g.b_row_stride, g.b_col_stride, &kernels::GemmBatchDim::b_stride, "b"));
    return check(s.outputs[0], g.c_type, g.m, g.n, g.c_row_stride, g.c_col_stride, &kernels::GemmBatchDim::c_stride,
                 "c");
  }

  std::unique_ptr<Op> Copy(Place from, const Dims& from_strides, Place to, const plan::Slot& like,
                           const Dims& to_strides) const {
    return std::make_unique<CopyOp>(from, from_strides, to, to_strides, like.dims, ByteWidth(like.dtype));
  }

  OpResult One(const plan::CopyStep& s) const {
    const plan::Slot& from = plan_.slots[s.from];
    const plan::Slot& to = plan_.slots[s.to];
    const bool same = PlaceOf(s.from) == PlaceOf(s.to) && from.stride_elems == to.stride_elems;
    if (!same && Overlap(s.from, s.to))
      return InvalidArgument(fmt::format("copy of %{} to %{}, which overlap", s.from, s.to));
    return Copy(PlaceOf(s.from), from.stride_elems, PlaceOf(s.to), to, to.stride_elems);
  }

  OpResult One(const plan::WhileStep& s) const {
    TENON_ASSIGN_OR_RETURN(OpList condition, All(s.condition));
    TENON_ASSIGN_OR_RETURN(OpList body, All(s.body));
    if (CarriesAreInOrder(s)) {
      for (const auto& [from, to] : s.carry) {
        TENON_ASSIGN_OR_RETURN(std::unique_ptr<Op> copy, One(plan::CopyStep{from, to}));
        body.push_back(std::move(copy));
      }
    } else {
      TENON_ASSIGN_OR_RETURN(std::unique_ptr<Op> carry, CarryAtOnce(s));
      body.push_back(std::move(carry));
    }
    const Place predicate = s.trip_count < 0 ? PlaceOf(s.predicate) : Place{};
    return std::unique_ptr<Op>(
        std::make_unique<WhileOp>(std::move(condition), predicate, s.trip_count, std::move(body)));
  }

  // Copies one after the other equal copies at once when none overwrites what a later one reads.
  bool CarriesAreInOrder(const plan::WhileStep& s) const {
    for (size_t i = 0; i < s.carry.size(); ++i) {
      if (Overlap(s.carry[i].first, s.carry[i].second)) return false;
      for (size_t j = i + 1; j < s.carry.size(); ++j) {
        if (Overlap(s.carry[i].second, s.carry[j].first)) return false;
      }
    }
    return true;
  }

  // All next values to a place of their own, then all to the carried ones: carries that trade places.
  OpResult CarryAtOnce(const plan::WhileStep& s) const {
    std::vector<CarryOp::Move> moves;
    __int128 bytes = 0;
    for (const auto& [from, to] : s.carry) {
      const plan::Slot& a = plan_.slots[from];
      const plan::Slot& b = plan_.slots[to];
      moves.push_back({PlaceOf(from), PlaceOf(to), a.stride_elems, b.stride_elems, a.dims, ByteWidth(a.dtype),
                       static_cast<int64_t>(bytes)});
      TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes({a.dtype, a.dims}));
      bytes += (static_cast<__int128>(size) + 63) / 64 * 64;
      if (bytes > INT64_MAX / 2) return InvalidArgument("the carries of a loop are too large");
    }
    return std::unique_ptr<Op>(std::make_unique<CarryOp>(std::move(moves), static_cast<int64_t>(bytes)));
  }

  bool Overlap(plan::SlotId a, plan::SlotId b) const {
    const Place x = PlaceOf(a), y = PlaceOf(b);
    if (x.base != y.base) return false;
    const auto span = [](const plan::Slot& slot, const Place& place) {
      int64_t low = place.offset_bytes, high = place.offset_bytes + ByteWidth(slot.dtype);
      for (size_t i = 0; i < slot.dims.size(); ++i) {
        if (slot.dims[i] == 0) return std::pair<int64_t, int64_t>(0, 0);
        const int64_t by = (slot.dims[i] - 1) * slot.stride_elems[i] * ByteWidth(slot.dtype);
        (by < 0 ? low : high) += by;
      }
      return std::pair(low, high);
    };
    const auto [xl, xh] = span(plan_.slots[a], x);
    const auto [yl, yh] = span(plan_.slots[b], y);
    return xl < yh && yl < xh;
  }

  OpResult One(const plan::CaseStep& s) const {
    std::vector<OpList> branches;
    for (const plan::Seq& branch : s.branches) {
      TENON_ASSIGN_OR_RETURN(OpList ops, All(branch));
      branches.push_back(std::move(ops));
    }
    const bool is_pred = plan_.slots[s.index].dtype == DType::kPred;
    return std::unique_ptr<Op>(std::make_unique<CaseOp>(PlaceOf(s.index), is_pred, std::move(branches)));
  }

  template <class StepT>
  OpResult Service(const StepT& s) const {
    using Operand = typename ServiceOp<StepT>::Operand;
    const auto resolve = [&](const auto& ids) {
      std::vector<Operand> out;
      for (plan::SlotId id : ids)
        out.push_back(id == plan::kNoSlot ? Operand{} : Operand{PlaceOf(id), &plan_.slots[id]});
      return out;
    };
    return std::unique_ptr<Op>(std::make_unique<ServiceOp<StepT>>(s, resolve(s.operands), resolve(s.results)));
  }
  OpResult One(const plan::CustomCallStep& s) const { return Service(s); }
  OpResult One(const plan::EvaluateStep& s) const { return Service(s); }

  const plan::Plan& plan_;
  const std::vector<KernelCode>& code_;
};

}  // namespace

Result<OpList> Build(const plan::Plan& plan, const std::vector<KernelCode>& code) {
  return Builder(plan, code).All(plan.steps);
}

}  // namespace tenon::runtime::internal
