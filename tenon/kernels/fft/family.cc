#include "tenon/kernels/fft/family.h"

#include "tenon/kernels/fft/fft.h"

namespace tenon::kernels::fft {
namespace {

using drivers::FourierTransform;

class FftCall final : public drivers::Call {
 public:
  explicit FftCall(const FftSignature& signature) : fft_(signature) {}
  Status Run(const drivers::Memory& memory, threads::ThreadPool& pool) const override {
    return fft_.Run(memory.inputs[0], memory.outputs[0], pool);
  }

 private:
  Fft fft_;
};

class FftFamily final : public drivers::Family {
 public:
  std::string_view name() const override { return "fft"; }

  bool Takes(std::string_view op) const override { return op == FourierTransform::kOp; }

  Result<drivers::Offer> Match(const drivers::Problem& problem) const override {
    TENON_RETURN_IF_ERROR(SignatureOf(problem.attributes, {problem.operands, problem.results}).status());
    if (!drivers::IsRowMajor(problem.results[0])) return Unimplemented("a result that is not row-major");
    drivers::Offer offer{problem.attributes, {std::nullopt}};
    const StridedArray& in = problem.operands[0];
    if (!drivers::IsRowMajor(in)) {
      Dims layout;
      for (size_t d = in.dims.size(); d-- > 0;) layout.push_back(static_cast<int64_t>(d));
      offer.layouts[0] = layout;
    }
    return offer;
  }

  Result<drivers::Facts> Describe(const drivers::Config& config, const drivers::Operands& operands) const override {
    TENON_ASSIGN_OR_RETURN(const FftSignature s, DenseSignatureOf(config, operands));
    drivers::Facts facts;
    facts.flops = FftFlops(s);
    facts.work.launches = 1;
    facts.work.serial = drivers::CyclesOfNs(EstimateFftNs(s));
    facts.work.bytes_read = drivers::BytesOf(operands.inputs);
    facts.work.bytes_written = drivers::BytesOf(operands.outputs);
    return facts;
  }

  Result<std::unique_ptr<const drivers::Call>> Bind(const drivers::Config& config, const drivers::Operands& operands,
                                                    std::span<const bool>) const override {
    TENON_ASSIGN_OR_RETURN(const FftSignature s, DenseSignatureOf(config, operands));
    return std::unique_ptr<const drivers::Call>(std::make_unique<FftCall>(s));
  }

 private:
  static Result<FftSignature> SignatureOf(const drivers::Config& config, const drivers::Operands& operands) {
    TENON_ASSIGN_OR_RETURN(const FourierTransform fft, drivers::FromConfig<FourierTransform>(config));
    TENON_RETURN_IF_ERROR(drivers::CheckCount(operands, 1, 1));
    const StridedArray &in = operands.inputs[0], &out = operands.outputs[0];
    return MakeFftSignature(fft.kind, {in.type, in.dims}, {out.type, out.dims}, fft.lengths);
  }

  static Result<FftSignature> DenseSignatureOf(const drivers::Config& config, const drivers::Operands& operands) {
    TENON_ASSIGN_OR_RETURN(FftSignature s, SignatureOf(config, operands));
    if (!drivers::IsRowMajor(operands.inputs[0]) || !drivers::IsRowMajor(operands.outputs[0]))
      return InvalidArgument("wants dense row-major operands");
    return s;
  }
};

}  // namespace

std::unique_ptr<const drivers::Family> MakeFamily() { return std::make_unique<FftFamily>(); }

}  // namespace tenon::kernels::fft
