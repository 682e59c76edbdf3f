#include "tenon/compiler/ir/operation_count.h"

#include <algorithm>
#include <cmath>

#include "tenon/compiler/ir/kir_op.h"

namespace tenon::compiler {
namespace {

double Elements(const Shape& shape) { return static_cast<double>(NumElements(shape.dims)); }

double Product(const Dims& dims) { return static_cast<double>(NumElements(dims)); }

/// Of a multiplication and an addition.
double PerProduct(const Shape& shape) { return IsComplex(shape.dtype) ? 8 : 2; }  // structural: what the words mean

bool IsTranscendental(const GraphNode& node) { return !MathFunction(node).empty() || node.op == OpCode::kSqrt; }

bool OnlyChangesType(OpCode op) {
  return op == OpCode::kConvert || op == OpCode::kBitcast || op == OpCode::kComplex || op == OpCode::kReal ||
         op == OpCode::kImag;
}

class Counter {
 public:
  explicit Counter(const Program& program) : program_(program) {}

  OperationCount All(const Block& block) const {
    OperationCount sum;
    for (const NodeId id : block.nodes) Add(sum, One(program_[id]));
    return sum;
  }

 private:
  static void Add(OperationCount& to, const OperationCount& what, double times = 1) {
    to.flops += times * what.flops;
    to.transcendentals += times * what.transcendentals;
  }

  OperationCount Times(double times, const Block& block) const {
    OperationCount count;
    Add(count, All(block), std::max(times, 0.0));
    return count;
  }

  const Shape& In(const GraphNode& node, size_t i) const { return program_.shape(node.in[i]); }

  double Linalg(const GraphNode& node) const {
    const Shape& x = In(node, 0);
    const double elements = Elements(x), last = x.rank() == 0 ? 1 : static_cast<double>(x.dims.back());
    switch (node.attrs<LinalgAttrs>().op) {
      case LinalgOp::kCholesky:
        return elements * last / 3;
      case LinalgOp::kLu:
        return elements * last * 2 / 3;
      case LinalgOp::kTriangularSolve: {
        const Shape& a = In(node, 1);
        return elements * (a.rank() == 0 ? 1 : static_cast<double>(a.dims.back()));
      }
    }
    return 0;
  }

  OperationCount One(const GraphNode& node) const {
    const double out = node.out.empty() ? 0 : Elements(node.shape());
    if (IsTranscendental(node)) return {0, out};
    switch (node.op) {
      case OpCode::kDot: {
        double contracted = 1;
        for (const int64_t d : node.attrs<DotAttrs>().lhs_contracting_dimensions)
          contracted *= static_cast<double>(In(node, 0).dims[static_cast<size_t>(d)]);
        return {PerProduct(node.shape()) * out * contracted, 0};
      }
      case OpCode::kConvolution: {
        const auto features = static_cast<size_t>(node.attrs<ConvolutionAttrs>().kernel_output_feature_dimension);
        const double outputs = static_cast<double>(In(node, 1).dims[features]);
        return {outputs == 0 ? 0 : PerProduct(node.shape()) * out * Elements(In(node, 1)) / outputs, 0};
      }
      case OpCode::kReduce:
        return Times(Elements(In(node, 0)) - out, node.blocks[0]);
      case OpCode::kReduceWindow:
        return Times(out * (Product(node.attrs<ReduceWindowAttrs>().window_dimensions) - 1), node.blocks[0]);
      case OpCode::kScatter:
        return Times(Elements(In(node, node.in.size() - 1)), node.blocks[0]);
      case OpCode::kSelectAndScatter: {
        const double windows = Elements(In(node, 1));
        OperationCount count =
            Times(windows * (Product(node.attrs<SelectAndScatterAttrs>().window_dimensions) - 1), node.blocks[0]);
        Add(count, Times(windows, node.blocks[1]));
        return count;
      }
      case OpCode::kSort: {
        const Shape& keys = In(node, 0);
        const auto length = static_cast<double>(keys.dims[static_cast<size_t>(node.attrs<SortAttrs>().dimension)]);
        return {length < 2 ? 0 : Elements(keys) * std::ceil(std::log2(length)), 0};
      }
      case OpCode::kFft: {
        const double length = Product(node.attrs<FftAttrs>().fft_length);
        // 5 N log2 N is what a transform of N complex numbers is taken to cost.
        return {length < 2 ? 0 : 5 * std::max(out, Elements(In(node, 0))) * std::log2(length), 0};  // structural
      }
      case OpCode::kLinalg:
        return {Linalg(node), 0};
      case OpCode::kWhile: {
        OperationCount count = All(node.blocks[0]);
        Add(count, All(node.blocks[1]));
        return count;
      }
      case OpCode::kCase: {
        OperationCount most;
        for (const Block& branch : node.blocks) {
          const OperationCount count = All(branch);
          most.flops = std::max(most.flops, count.flops);
          most.transcendentals = std::max(most.transcendentals, count.transcendentals);
        }
        return most;
      }
      default:
        return {KindOfOp(node.op) == OpKind::kElementwise && !OnlyChangesType(node.op) ? out : 0, 0};
    }
  }

  const Program& program_;
};

}  // namespace

OperationCount CountOperations(const Program& program) { return Counter(program).All(program.main); }

}  // namespace tenon::compiler
