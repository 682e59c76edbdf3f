#include <fmt/format.h>

#include "tenon/kir/internal/verify_nodes.h"
#include "tenon/kir/math.h"

namespace tenon::kir {
namespace internal {
namespace {

bool IsScalarType(DType t) { return t == DType::kPred || IsInteger(t) || IsFloat(t); }

template <class... Args>
Status Bad(size_t v, const Node& node, fmt::format_string<Args...> format, Args&&... args) {
  return InvalidArgument(
      fmt::format("node %{} ({}): {}", v, OpName(node.op), fmt::format(format, std::forward<Args>(args)...)));
}

Status VerifyMath(size_t v, const Node& node, const std::vector<Node>& nodes) {
  if (node.attr >= NumMath())
    return Bad(v, node, "math function {} does not exist, there are {}", node.attr, NumMath());
  const Graph& g = MathGraph(node.attr);
  if (node.in.size() != g.arguments.size()) {
    return Bad(v, node, "{} takes {} arguments, got {}", MathName(node.attr), g.arguments.size(), node.in.size());
  }
  for (size_t i = 0; i < node.in.size(); ++i) {
    const DType got = nodes[node.in[i]].type;
    if (got != g.arguments[i]) {
      return Bad(v, node, "argument {} of {} is {}, got {}", i, MathName(node.attr), DTypeName(g.arguments[i]),
                 DTypeName(got));
    }
  }
  const DType wanted = g.nodes[g.results[0]].type;
  if (node.type != wanted) {
    return Bad(v, node, "{} gives {}, not {}", MathName(node.attr), DTypeName(wanted), DTypeName(node.type));
  }
  return OkStatus();
}

enum Kinds : unsigned { kP = 1, kI = 2, kF = 4, kS = 8 };  // pred, any integer, float, signed integer

// The kinds of types that an operation works on when all of its operands have its type; 0 for the others.
unsigned KindsOf(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kMin:
    case Op::kMax:
      return kP | kI | kF;
    case Op::kSub:
    case Op::kDiv:
    case Op::kRem:
    case Op::kNeg:
      return kI | kF;
    case Op::kAbs:
    case Op::kSign:
      return kS | kF;
    case Op::kFma:
    case Op::kSqrt:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kRoundAway:
    case Op::kTrunc:
    case Op::kReducePrecision:
      return kF;
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kNot:
      return kP | kI;
    case Op::kShl:
    case Op::kShrLogical:
    case Op::kShrArith:
    case Op::kClz:
    case Op::kPopcnt:
      return kI;
    default:
      return 0;
  }
}

bool FitsKinds(DType t, unsigned kinds) {
  return (t == DType::kPred && (kinds & kP)) || (IsInteger(t) && (kinds & kI)) || (IsSigned(t) && (kinds & kS)) ||
         (IsFloat(t) && (kinds & kF));
}

Status VerifyUniform(size_t v, const Node& node, const std::vector<Node>& nodes) {
  for (Val in : node.in) {
    if (nodes[in].type != node.type) {
      return Bad(v, node, "operand %{} is {}, wanted {}", in, DTypeName(nodes[in].type), DTypeName(node.type));
    }
  }
  if (!FitsKinds(node.type, KindsOf(node.op))) return Bad(v, node, "does not work on {}", DTypeName(node.type));
  if (node.op == Op::kFma && node.type != DType::kF32 && node.type != DType::kF64) {
    return Bad(v, node, "works on f32 and f64 only, got {}", DTypeName(node.type));
  }
  if (node.op == Op::kReducePrecision) {
    const bool plain =
        node.type == DType::kF16 || node.type == DType::kBF16 || node.type == DType::kF32 || node.type == DType::kF64;
    if (!plain) return Bad(v, node, "works on f16, bf16, f32 and f64 only, got {}", DTypeName(node.type));
    const uint32_t e = node.attr >> 8;
    const uint32_t m = node.attr & 0xff;
    // structural: bits of the fields of f64
    if (e < 1 || e > 11 || m > 52) return Bad(v, node, "{} exponent and {} mantissa bits are not supported", e, m);
  } else if (node.attr != 0) {
    return Bad(v, node, "attribute {} has no meaning here", node.attr);
  }
  return OkStatus();
}

}  // namespace

Status VerifyNode(const std::vector<Node>& nodes, size_t v, const std::vector<uint64_t>& literals) {
  const Node& node = nodes[v];
  if (!IsScalarType(node.type)) return Bad(v, node, "type {} is not a scalar type", DTypeName(node.type));
  const int operands = OpOperands(node.op);
  if (OpName(node.op) == "unknown") return Bad(v, node, "operation {} does not exist", static_cast<int>(node.op));
  if (operands >= 0 && node.in.size() != static_cast<size_t>(operands)) {
    return Bad(v, node, "takes {} operands, got {}", operands, node.in.size());
  }
  for (Val in : node.in) {
    if (in >= v) return Bad(v, node, "operand %{} does not come before it", in);
  }
  const bool has_imm = node.op == Op::kRead || node.op == Op::kReduced || node.op == Op::kCarried ||
                       node.op == Op::kArgument || node.op == Op::kCompare || node.op == Op::kSelect ||
                       (node.op == Op::kFma && node.imm == kExactProduct);
  if (!has_imm && node.imm != 0) return Bad(v, node, "immediate {} has no meaning here", node.imm);
  const auto type_of = [&](size_t i) { return nodes[node.in[i]].type; };
  const auto no_attr = [&]() -> Status {
    return node.attr == 0 ? OkStatus() : Bad(v, node, "attribute {} has no meaning here", node.attr);
  };
  switch (node.op) {
    case Op::kConst: {
      if (node.attr >= literals.size())
        return Bad(v, node, "literal {} does not exist, there are {}", node.attr, literals.size());
      const uint64_t bits = literals[node.attr];
      const int width = DTypeBits(node.type);
      if ((width < 64 && bits >> width != 0) ||  // structural: bits of a word
          (node.type == DType::kPred && bits > 1)) {
        return Bad(v, node, "literal {:#x} is not a bit pattern of {}", bits, DTypeName(node.type));
      }
      return OkStatus();
    }
    case Op::kIndex:
    case Op::kParam:
      return node.type == DType::kS64 ? OkStatus() : Bad(v, node, "has type s64, got {}", DTypeName(node.type));
    case Op::kRead:
    case Op::kReduced:
    case Op::kCarried:
      return OkStatus();
    case Op::kArgument:
      return no_attr();
    case Op::kCompare:
      if ((node.imm & 0xf) > kGe || (node.imm & ~(0xf | kTotalOrder)) != 0)
        return Bad(v, node, "comparison {} does not exist", node.imm);
      if (type_of(0) != type_of(1)) {
        return Bad(v, node, "operands are {} and {}, wanted one type", DTypeName(type_of(0)), DTypeName(type_of(1)));
      }
      if ((node.imm & kTotalOrder) && !IsFloat(type_of(0)))
        return Bad(v, node, "total order is for floats, got {}", DTypeName(type_of(0)));
      if (node.type != DType::kPred) return Bad(v, node, "has type pred, got {}", DTypeName(node.type));
      return no_attr();
    case Op::kSelect:
      if (node.imm > 1) return Bad(v, node, "hint {} does not exist", node.imm);
      if (type_of(0) != DType::kPred) return Bad(v, node, "the first operand is pred, got {}", DTypeName(type_of(0)));
      if (type_of(1) != node.type || type_of(2) != node.type) {
        return Bad(v, node, "chooses between {} and {}, wanted {}", DTypeName(type_of(1)), DTypeName(type_of(2)),
                   DTypeName(node.type));
      }
      return no_attr();
    case Op::kConvert:
      return no_attr();
    case Op::kBitcast:
      if (type_of(0) == DType::kPred || node.type == DType::kPred) return Bad(v, node, "does not work on pred");
      if (DTypeBits(type_of(0)) != DTypeBits(node.type)) {
        return Bad(v, node, "{} and {} differ in width", DTypeName(type_of(0)), DTypeName(node.type));
      }
      return no_attr();
    case Op::kIsFinite:
      if (!IsFloat(type_of(0)) || node.type != DType::kPred) {
        return Bad(v, node, "takes a float and gives pred, got {} and {}", DTypeName(type_of(0)), DTypeName(node.type));
      }
      return no_attr();
    case Op::kMath:
      return VerifyMath(v, node, nodes);
    default:
      return VerifyUniform(v, node, nodes);
  }
}

Status VerifyGraph(const Graph& graph) {
  if (graph.arguments.size() > 255)  // structural: arguments are numbered in a byte
    return InvalidArgument(fmt::format("a graph has at most 255 arguments, got {}", graph.arguments.size()));
  for (DType t : graph.arguments) {
    if (!IsScalarType(t)) return InvalidArgument(fmt::format("argument type {} is not a scalar type", DTypeName(t)));
  }
  for (size_t v = 0; v < graph.nodes.size(); ++v) {
    const Node& node = graph.nodes[v];
    TENON_RETURN_IF_ERROR(VerifyNode(graph.nodes, v, graph.literals));
    switch (node.op) {
      case Op::kIndex:
      case Op::kParam:
      case Op::kRead:
      case Op::kReduced:
      case Op::kCarried:
        return Bad(v, node, "does not occur in a graph");
      case Op::kArgument:
        if (node.imm >= graph.arguments.size())
          return Bad(v, node, "argument {} does not exist, there are {}", node.imm, graph.arguments.size());
        if (node.type != graph.arguments[node.imm]) {
          return Bad(v, node, "argument {} is {}, not {}", node.imm, DTypeName(graph.arguments[node.imm]),
                     DTypeName(node.type));
        }
        break;
      default:
        break;
    }
  }
  if (graph.results.empty()) return InvalidArgument("a graph has at least one result");
  for (Val r : graph.results) {
    if (r >= graph.nodes.size())
      return InvalidArgument(fmt::format("result %{} does not exist, there are {} nodes", r, graph.nodes.size()));
  }
  return OkStatus();
}

}  // namespace internal

Status Verify(const Graph& graph) { return internal::VerifyGraph(graph); }

}  // namespace tenon::kir
