#include "tenon/kernels/conv/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/kernels/conv/conv.h"

namespace tenon::kernels::conv {
namespace {

using drivers::Convolution;

class ConvCall final : public drivers::Call {
 public:
  explicit ConvCall(BoundConv conv) : conv_(std::move(conv)) {}
  Status Run(const drivers::Memory& memory, threads::ThreadPool& pool) const override {
    return conv_.Run(memory.inputs[0], memory.inputs[1], memory.outputs[0], pool);
  }

 private:
  BoundConv conv_;
};

class ConvFamily final : public drivers::Family {
 public:
  std::string_view name() const override { return "conv"; }

  bool Takes(std::string_view op) const override { return op == Convolution::kOp; }

  Result<drivers::Offer> Match(const drivers::Problem& problem) const override {
    TENON_ASSIGN_OR_RETURN(const Convolution numbers, drivers::FromConfig<Convolution>(problem.attributes));
    TENON_ASSIGN_OR_RETURN(ConvSignature s, SignatureOf(numbers, {problem.operands, problem.results}));
    drivers::Offer offer{problem.attributes, {RunsOf(numbers, problem.operands[0]), std::nullopt}};
    StridedArray operands[] = {problem.operands[0], problem.operands[1]};
    if (offer.layouts[0]) {
      operands[0] = drivers::WithLayout(operands[0], *offer.layouts[0]);
      TENON_ASSIGN_OR_RETURN(s, SignatureOf(numbers, {operands, problem.results}));
    }
    if (!WeightsSuit(s)) {
      // Output channels innermost, then input channels, then the window.
      Dims layout = {numbers.weight_out, numbers.weight_in};
      for (size_t d = numbers.weight_spatial.size(); d-- > 0;) layout.push_back(numbers.weight_spatial[d]);
      operands[1] = drivers::WithLayout(operands[1], layout);
      TENON_ASSIGN_OR_RETURN(const ConvSignature packed, SignatureOf(numbers, {operands, problem.results}));
      if (!WeightsSuit(packed)) return Unimplemented("the weights suit in no layout");
      offer.layouts[1] = layout;
    }
    return offer;
  }

  Result<drivers::Facts> Describe(const drivers::Config& config, const drivers::Operands& operands) const override {
    TENON_ASSIGN_OR_RETURN(const ConvSignature s, SuitedOf(config, operands));
    drivers::Facts facts;
    facts.flops = ConvFlops(s);
    facts.work = WorkOf(s);
    return facts;
  }

  Result<std::unique_ptr<const drivers::Call>> Bind(const drivers::Config& config, const drivers::Operands& operands,
                                                    std::span<const bool>) const override {
    TENON_ASSIGN_OR_RETURN(const ConvSignature s, SuitedOf(config, operands));
    TENON_ASSIGN_OR_RETURN(BoundConv conv, BoundConv::Create(s));
    return std::unique_ptr<const drivers::Call>(std::make_unique<ConvCall>(std::move(conv)));
  }

 private:
  // Patches are read in runs: an input that is spread along its places or channels, or reversed, is written out first.
  static std::optional<Dims> RunsOf(const Convolution& numbers, const StridedArray& in) {
    const auto runs = [&](int64_t d) {
      return in.strides[static_cast<size_t>(d)] > 0 || in.dims[static_cast<size_t>(d)] <= 1;
    };
    if (runs(numbers.in_feature) && std::ranges::all_of(numbers.in_spatial, runs)) return std::nullopt;
    Dims layout;
    for (size_t d = in.dims.size(); d-- > 0;) layout.push_back(static_cast<int64_t>(d));
    return layout;
  }

  static Result<ConvSignature> SignatureOf(const Convolution& numbers, const drivers::Operands& operands) {
    TENON_RETURN_IF_ERROR(drivers::CheckCount(operands, 2, 1));
    return MakeConvSignature(numbers, operands.inputs[0], operands.inputs[1], operands.outputs[0]);
  }

  static Result<ConvSignature> SuitedOf(const drivers::Config& config, const drivers::Operands& operands) {
    TENON_ASSIGN_OR_RETURN(const Convolution numbers, drivers::FromConfig<Convolution>(config));
    TENON_ASSIGN_OR_RETURN(ConvSignature s, SignatureOf(numbers, operands));
    if (!WeightsSuit(s)) return InvalidArgument("the weights' layout does not suit");
    return s;
  }
};

}  // namespace

std::unique_ptr<const drivers::Family> MakeFamily() { return std::make_unique<ConvFamily>(); }

}  // namespace tenon::kernels::conv
