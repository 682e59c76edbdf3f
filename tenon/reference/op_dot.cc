// dot_general, dot, einsum.

#include <algorithm>

#include "tenon/reference/dot.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/math.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

Dims FreeDims(size_t rank, const Dims& batch, const Dims& contract) {
  Dims free;
  for (size_t d = 0; d < rank; ++d) {
    const auto i = static_cast<int64_t>(d);
    if (!Contains(Span(batch), i) && !Contains(Span(contract), i)) free.push_back(i);
  }
  return free;
}

int64_t Extent(const Value& v, const Dims& which) {
  int64_t n = 1;
  for (int64_t d : which) n *= v.dims()[static_cast<size_t>(d)];
  return n;
}

Dims Joined(const Dims& a, const Dims& b, const Dims& c) {
  Dims all = a;
  all.append(b.begin(), b.end());
  all.append(c.begin(), c.end());
  return all;
}

// [batch, m, k] times [batch, k, n], each sum in ascending k; a product that sums over no dims is no sum, which would
// begin with a zero that makes -0 into 0.
template <class T>
void Multiply3(const Value& lhs, const Value& rhs, Value& out, int64_t batch, int64_t m, int64_t k, int64_t n,
               bool sums) {
  const T* a = lhs.data<T>();
  const T* b = rhs.data<T>();
  T* c = out.mutable_data<T>();
  for (int64_t g = 0; g < batch; ++g) {
    for (int64_t i = 0; i < m; ++i) {
      T* row = c + (g * m + i) * n;
      for (int64_t j = 0; j < n; ++j) row[j] = T{};
      for (int64_t p = 0; p < k; ++p) {
        const auto factor = Load(a[(g * m + i) * k + p]);
        const T* right = b + (g * k + p) * n;
        for (int64_t j = 0; j < n; ++j) {
          const auto product = Multiply::Apply(factor, Load(right[j]));
          row[j] = Store<T>(sums ? Add::Apply(Load(row[j]), product) : product);
        }
      }
    }
  }
}

Status DotWithDims(OpContext& context, const DotDims& dims) {
  const DType type = context.result_shape().dtype;
  TENON_ASSIGN_OR_RETURN(Value out, DotGeneral(context.in(0), context.in(1), dims, type));
  TENON_ASSIGN_OR_RETURN(out, ConvertTo(out, type));
  return context.Return(std::move(out));
}

Status DotGeneralOp(OpContext& context) { return DotWithDims(context, DotDimsOf(context.op)); }

// Vectors and matrices: the last dimension of lhs with the first of rhs.
Status DotOp(OpContext& context) {
  return DotWithDims(context, {{}, {}, {static_cast<int64_t>(context.in(0).rank()) - 1}, {0}});
}

// With a character for each dim of an ellipsis, the same for the last ones of a shorter and a longer one.
std::string Spelled(std::string text, size_t dims) {
  const size_t dots = text.find("...");
  if (dots == std::string::npos || dims + 3 < text.size()) return text;
  const size_t count = dims + 3 - text.size();
  std::string anonymous;
  for (size_t i = 0; i < count; ++i) anonymous += static_cast<char>('!' + (count - 1 - i));
  return text.replace(dots, 3, anonymous);
}

// "ab,bc->ac": letters in both operands and the result are batches, letters in both operands only are contracted.
Status Einsum(OpContext& context) {
  const std::string config = StringAttr(context.op, "einsum_config");
  const size_t comma = config.find(','), arrow = config.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return InvalidArgument("the einsum \"" + config + "\"");
  const std::string a = Spelled(config.substr(0, comma), context.in(0).rank()),
                    b = Spelled(config.substr(comma + 1, arrow - comma - 1), context.in(1).rank()),
                    c = Spelled(config.substr(arrow + 2), context.result_shape().dims.size());
  if ((a + b + c).find('.') != std::string::npos || a.size() != context.in(0).rank() ||
      b.size() != context.in(1).rank()) {
    return Unimplemented("the einsum \"" + config + "\"");
  }
  DotDims dims;
  std::string produced, lhs_free;
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t j = b.find(a[i]);
    if (j == std::string::npos) {
      lhs_free += a[i];
    } else if (c.find(a[i]) != std::string::npos) {
      dims.lhs_batch.push_back(static_cast<int64_t>(i));
      dims.rhs_batch.push_back(static_cast<int64_t>(j));
      produced += a[i];
    } else {
      dims.lhs_contract.push_back(static_cast<int64_t>(i));
      dims.rhs_contract.push_back(static_cast<int64_t>(j));
    }
  }
  produced += lhs_free;
  for (char letter : b) {
    if (a.find(letter) == std::string::npos) produced += letter;
  }
  Dims permutation;
  for (char letter : c) {
    const size_t at = produced.find(letter);
    if (at == std::string::npos) return Unimplemented("the einsum \"" + config + "\"");
    permutation.push_back(static_cast<int64_t>(at));
  }
  if (permutation.size() != produced.size()) return Unimplemented("the einsum \"" + config + "\"");
  TENON_RETURN_IF_ERROR(DotWithDims(context, dims));
  TENON_ASSIGN_OR_RETURN(context.results[0], Transpose(context.results[0], permutation));
  return OkStatus();
}

constexpr OpEntry kOps[] = {
    {"stablehlo.dot_general", &DotGeneralOp}, {"stablehlo.dot", &DotOp}, {"stablehlo.einsum", &Einsum}};

}  // namespace

std::span<const OpEntry> DotOps() { return kOps; }

DType AccumulationType(DType result, int64_t terms) {
  constexpr int64_t kShort = 64;
  switch (KindOf(result)) {
    case DTypeKind::kBool:
      return DType::kPred;
    case DTypeKind::kSigned:
      return DType::kS64;
    case DTypeKind::kUnsigned:
      return DType::kU64;
    case DTypeKind::kComplex:
      return result == DType::kC64 && terms <= kShort ? DType::kC64 : DType::kC128;
    default:
      return result != DType::kF64 && terms <= kShort ? DType::kF32 : DType::kF64;
  }
}

Result<Value> AsFactor(const Value& operand, DType result, DType accumulation) {
  // What meets an integer result and is none becomes an integer of that type first.
  if (IsInteger(result) && !IsInteger(operand.dtype())) {
    TENON_ASSIGN_OR_RETURN(Value narrowed, ConvertTo(operand, result));
    return ConvertTo(narrowed, accumulation);
  }
  return ConvertTo(operand, accumulation);
}

Result<Value> DotGeneral(const Value& lhs, const Value& rhs, const DotDims& dims, DType result) {
  const auto agree = [&](const Dims& left, const Dims& right) {
    for (size_t i = 0; i < left.size(); ++i) {
      if (lhs.dims()[static_cast<size_t>(left[i])] != rhs.dims()[static_cast<size_t>(right[i])]) return false;
    }
    return true;
  };
  if (!agree(dims.lhs_batch, dims.rhs_batch) || !agree(dims.lhs_contract, dims.rhs_contract)) {
    return InvalidArgument("a product of " + ToString(lhs.shape()) + " and " + ToString(rhs.shape()) +
                           " whose dimensions do not agree");
  }
  const Dims lhs_free = FreeDims(lhs.rank(), dims.lhs_batch, dims.lhs_contract);
  const Dims rhs_free = FreeDims(rhs.rank(), dims.rhs_batch, dims.rhs_contract);
  TENON_ASSIGN_OR_RETURN(Value a, Transpose(lhs, Joined(dims.lhs_batch, lhs_free, dims.lhs_contract)));
  TENON_ASSIGN_OR_RETURN(Value b, Transpose(rhs, Joined(dims.rhs_batch, dims.rhs_contract, rhs_free)));
  const int64_t batch = Extent(lhs, dims.lhs_batch), m = Extent(lhs, lhs_free), k = Extent(lhs, dims.lhs_contract),
                n = Extent(rhs, rhs_free);
  Shape shape{AccumulationType(result, k), {}};
  TENON_ASSIGN_OR_RETURN(a, AsFactor(a, result, shape.dtype));
  TENON_ASSIGN_OR_RETURN(b, AsFactor(b, result, shape.dtype));
  for (int64_t d : dims.lhs_batch) shape.dims.push_back(lhs.dims()[static_cast<size_t>(d)]);
  for (int64_t d : lhs_free) shape.dims.push_back(lhs.dims()[static_cast<size_t>(d)]);
  for (int64_t d : rhs_free) shape.dims.push_back(rhs.dims()[static_cast<size_t>(d)]);
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(shape));
  const bool sums = !dims.lhs_contract.empty();
  switch (shape.dtype) {
    case DType::kPred:
      Multiply3<Pred>(a, b, out, batch, m, k, n, sums);
      break;
    case DType::kS64:
      Multiply3<int64_t>(a, b, out, batch, m, k, n, sums);
      break;
    case DType::kU64:
      Multiply3<uint64_t>(a, b, out, batch, m, k, n, sums);
      break;
    case DType::kF32:
      Multiply3<float>(a, b, out, batch, m, k, n, sums);
      break;
    case DType::kC64:
      Multiply3<std::complex<float>>(a, b, out, batch, m, k, n, sums);
      break;
    case DType::kC128:
      Multiply3<std::complex<double>>(a, b, out, batch, m, k, n, sums);
      break;
    default:
      Multiply3<double>(a, b, out, batch, m, k, n, sums);
      break;
  }
  return out;
}

}  // namespace tenon::reference
