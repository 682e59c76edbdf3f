#include "tenon/kernels/linalg/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tenon/base/strided_copy.h"
#include "tenon/kernels/linalg/linalg.h"

namespace tenon::kernels::linalg {
namespace {

using drivers::Factorisation;
using Kind = Factorisation::Kind;

/// What to run in place in an array of x's form.
Result<LinalgSignature> SignatureOf(const Factorisation& config, const StridedArray& x,
                                    const std::optional<StridedArray>& a) {
  LinalgSignature s;
  s.op = config.kind;
  s.type = x.type;
  s.lower = config.lower;
  s.left = config.left;
  s.transpose = config.transpose;
  s.unit_diagonal = config.unit_diagonal;
  if (a.has_value() != (config.kind == LinalgOp::kTriangularSolve))
    return InvalidArgument("linear algebra with a wrong number of operands");
  const auto matrix = [](const StridedArray& array, Dims& batch, LinalgMatrix& m) -> Status {
    const size_t rank = array.dims.size();
    if (rank < 2 || array.strides.size() != rank)
      return InvalidArgument(fmt::format("linear algebra on an array of rank {}", rank));
    batch = Dims(array.dims.begin(), array.dims.end() - 2);
    m = {array.dims[rank - 2], array.dims[rank - 1], array.strides[rank - 2], array.strides[rank - 1],
         Dims(array.strides.begin(), array.strides.end() - 2)};
    return OkStatus();
  };
  TENON_RETURN_IF_ERROR(matrix(x, s.batch, s.x));
  if (a) {
    Dims batch;
    TENON_RETURN_IF_ERROR(matrix(*a, batch, s.a));
    if (a->type != x.type || batch != s.batch)
      return InvalidArgument("linear algebra on operands that do not fit each other");
  }
  TENON_RETURN_IF_ERROR(Verify(s));
  return s;
}

/// A step: the signature of the work in place, and how x gets there.
struct Form {
  LinalgSignature signature;
  bool has_info = false;
  Dims dims, from, to;  ///< Of x; strides in bytes, before and after.
  int64_t matrices = 0;
};

int64_t ScratchBytes(const Form& f) { return LinalgScratchBytes(f.signature) + 4 * f.matrices; }

/// Whether the array is dense and holds `count` numbers.
bool IsList(const StridedArray& array, int64_t count) {
  return array.type == DType::kS32 && drivers::IsRowMajor(array) && NumElements(array.dims) == count;
}

Result<Form> FormOf(const drivers::Config& config, const drivers::Operands& operands) {
  TENON_ASSIGN_OR_RETURN(const Factorisation what, drivers::FromConfig<Factorisation>(config));
  const bool is_lu = what.kind == Kind::kLu, solves = what.kind == Kind::kTriangularSolve;
  TENON_RETURN_IF_ERROR(drivers::CheckCount(operands, 1u + solves, 1u + is_lu + what.has_info));
  const StridedArray &from = operands.inputs[0], &to = operands.outputs[0];
  if (from.type != to.type || !(from.dims == to.dims))
    return InvalidArgument("linear algebra whose operand and result differ in type or shape");
  Form f;
  TENON_ASSIGN_OR_RETURN(f.signature, SignatureOf(what, to, solves ? std::optional(operands.inputs[1]) : std::nullopt));
  f.has_info = what.has_info;
  f.matrices = NumElements(f.signature.batch);
  if (is_lu && !IsList(operands.outputs[1], f.matrices * std::min(f.signature.x.rows, f.signature.x.cols))) {
    return InvalidArgument("LU wants dense s32 pivots, one per row or column, whichever are fewer");
  }
  if (what.has_info && !IsList(operands.outputs.back(), f.matrices))
    return InvalidArgument("linear algebra wants dense s32 infos, one per matrix");
  f.dims = to.dims;
  f.from = from.strides;
  f.to = to.strides;
  for (Dims* strides : {&f.from, &f.to}) {
    for (int64_t& s : *strides) s *= ByteWidth(to.type);
  }
  return f;
}

class LinalgCall final : public drivers::Call {
 public:
  explicit LinalgCall(Form form) : f_(std::move(form)) {}

  Status Run(const drivers::Memory& memory, threads::ThreadPool& pool) const override {
    const LinalgSignature& s = f_.signature;
    auto* x = static_cast<std::byte*>(memory.outputs[0]);
    StridedCopy(x, f_.to, memory.inputs[0], f_.from, f_.dims, ByteWidth(s.type));
    const bool is_lu = s.op == Kind::kLu, solves = s.op == Kind::kTriangularSolve;
    auto* scratch = static_cast<std::byte*>(memory.scratch);
    auto* pivots = is_lu ? static_cast<int32_t*>(memory.outputs[1]) : nullptr;
    auto* info = static_cast<int32_t*>(f_.has_info ? memory.outputs[is_lu ? 2 : 1] : scratch + LinalgScratchBytes(s));
    TENON_RETURN_IF_ERROR(Linalg(s, solves ? memory.inputs[1] : nullptr, x, pivots, info, scratch, pool));
    if (!f_.has_info && s.op == Kind::kCholesky) FillFailed(x, info);
    return OkStatus();
  }

 private:
  // What has no factor is NaN everywhere.
  void FillFailed(std::byte* x, const int32_t* info) const {
    const Dims& batch = f_.signature.batch;
    const int64_t width = ByteWidth(f_.signature.type);
    for (int64_t i = 0; i < f_.matrices; ++i) {
      if (info[i] == 0) continue;
      int64_t at = 0, rest = i;
      for (size_t d = batch.size(); d-- > 0;) {
        at += rest % batch[d] * f_.to[d];
        rest /= batch[d];
      }
      const float nan32 = std::numeric_limits<float>::quiet_NaN();
      const double nan64 = std::numeric_limits<double>::quiet_NaN();
      const void* nan = width == 4 ? static_cast<const void*>(&nan32) : &nan64;
      const auto last_two = [](const Dims& list) { return Dims(list.end() - 2, list.end()); };
      StridedCopy(x + at, last_two(f_.to), nan, Dims(2, 0), last_two(f_.dims), width);
    }
  }

  Form f_;
};

class LinalgFamily final : public drivers::Family {
 public:
  std::string_view name() const override { return "linalg"; }

  bool Takes(std::string_view op) const override { return op == Factorisation::kOp; }

  Result<drivers::Offer> Match(const drivers::Problem& problem) const override {
    TENON_RETURN_IF_ERROR(FormOf(problem.attributes, {problem.operands, problem.results}).status());
    return drivers::Offer{problem.attributes, std::vector<std::optional<Dims>>(problem.operands.size())};
  }

  Result<drivers::Facts> Describe(const drivers::Config& config, const drivers::Operands& operands) const override {
    TENON_ASSIGN_OR_RETURN(const Form f, FormOf(config, operands));
    drivers::Facts facts;
    facts.scratch_bytes = ScratchBytes(f);
    facts.flops = LinalgFlops(f.signature);
    facts.work.launches = 1;
    facts.work.serial = drivers::CyclesOfNs(LinalgCostNs(f.signature));
    facts.work.bytes_read = drivers::BytesOf(operands.inputs);
    facts.work.bytes_written = drivers::BytesOf(operands.outputs);
    return facts;
  }

  Result<std::unique_ptr<const drivers::Call>> Bind(const drivers::Config& config, const drivers::Operands& operands,
                                                    std::span<const bool>) const override {
    TENON_ASSIGN_OR_RETURN(Form f, FormOf(config, operands));
    return std::unique_ptr<const drivers::Call>(std::make_unique<LinalgCall>(std::move(f)));
  }
};

}  // namespace

std::unique_ptr<const drivers::Family> MakeFamily() { return std::make_unique<LinalgFamily>(); }

}  // namespace tenon::kernels::linalg
