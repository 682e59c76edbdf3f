#include "tenon/compiler/ir/verify.h"

#include <fmt/format.h>

#include <set>

namespace tenon::compiler {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : p_(program), defined_(program.nodes.size(), false), stood_(program.nodes.size(), false) {}

  Status CheckBlock(const Block& block) {
    for (NodeId id : block.args) {
      if (id >= p_.nodes.size() || p_[id].op != OpCode::kParameter)
        return Internal(fmt::format("%{} is no parameter", id));
      defined_[id] = true;
    }
    for (NodeId id : block.nodes) {
      if (id >= p_.nodes.size() || stood_[id]) return Internal(fmt::format("%{} stands in blocks twice", id));
      stood_[id] = true;
      TENON_RETURN_IF_ERROR(CheckNode(id));
      defined_[id] = true;
    }
    for (Ref r : block.results) {
      if (!IsDefined(r))
        return Internal(fmt::format("a block yields %{}#{}, which it does not know", r.node, r.result));
    }
    // Nobody outside knows what is inside.
    for (NodeId id : block.args) defined_[id] = false;
    for (NodeId id : block.nodes) defined_[id] = false;
    return OkStatus();
  }

 private:
  bool IsDefined(Ref r) const {
    return r.node < p_.nodes.size() && defined_[r.node] && r.result < p_[r.node].out.size();
  }

  Status CheckNode(NodeId id) {
    const GraphNode& node = p_[id];
    const auto bad = [&](const std::string& what) {
      return Internal(fmt::format("%{} ({}): {}", id, OpName(node.op), what));
    };
    for (Ref r : node.in) {
      if (!IsDefined(r)) return bad(fmt::format("uses %{}#{}, which does not come before it", r.node, r.result));
    }
    if (!FitsOp(node.op, node.attributes)) return bad("has the attributes of another op");
    std::string wrong;
    node.attributes.Visit([&](const auto& attrs) { wrong = CheckFields(node, attrs); });
    if (!wrong.empty()) return bad(wrong);
    if (node.op == OpCode::kConstant) {
      const int64_t elements = node.literal.splat ? 1 : NumElements(node.shape().dims);
      const int64_t bytes = node.literal.bytes ? static_cast<int64_t>(node.literal.bytes->size()) : -1;
      if (bytes != elements * ByteWidth(node.shape().dtype))
        return bad(fmt::format("{} bytes for {} elements of {}", bytes, elements, ToString(node.shape())));
    }
    if (const std::string blocks = CheckBlocks(node); !blocks.empty()) return bad(blocks);
    for (const Block& block : node.blocks) TENON_RETURN_IF_ERROR(CheckBlock(block));
    return OkStatus();
  }

  /// What is wrong with how many blocks there are, and what they take and yield.
  static std::string CheckBlocks(const GraphNode& node) {
    const auto fits = [&](size_t number, size_t args, size_t results) {
      const Block& b = node.blocks[number];
      return b.args.size() == args && b.results.size() == results;
    };
    const size_t in = node.in.size(), n = node.blocks.size();
    switch (node.op) {
      case OpCode::kWhile:
        return n == 2 && fits(0, in, 1) && fits(1, in, in) ? "" : "wants a condition and a body of its carries";
      case OpCode::kCase:
        for (size_t i = 0; i < n; ++i) {
          if (!fits(i, 0, node.out.size())) return "a branch takes arguments, or yields something else";
        }
        return n != 0 ? "" : "has no branch";
      case OpCode::kReduce:
      case OpCode::kReduceWindow:
        return n == 1 && fits(0, in, in / 2) ? "" : "wants a combiner of its operands";
      default:
        return "";
    }
  }

  template <class Attrs>
  std::string CheckFields(const GraphNode& node, const Attrs& attrs) const {
    std::string wrong;
    ForEachField(attrs, [&]<class T>(const char* name, const T& value, FieldMeaning meaning, FieldOf of) {
      if (!wrong.empty()) return;
      int64_t rank = 0;
      if (of == FieldOf::kSpatial) {
        if constexpr (std::is_same_v<Attrs, ConvolutionAttrs>)
          rank = static_cast<int64_t>(attrs.input_spatial_dimensions.size());
      } else if (of != FieldOf::kNone) {
        const Shape* shape = ShapeOf(node, of);
        if (shape == nullptr) {
          wrong = fmt::format("lacks the operand that {} is about", name);
          return;
        }
        rank = static_cast<int64_t>(shape->rank());
      }
      if constexpr (std::is_same_v<T, Dims>) {
        if (!ListFits(value, meaning, rank))
          wrong = fmt::format("{} = {} for {} dimensions", name, DimsToString(value), rank);
      } else if constexpr (std::is_same_v<T, int64_t>) {
        if (meaning == FieldMeaning::kDim && (value < 0 || value >= rank))
          wrong = fmt::format("{} = {} of {} dimensions", name, value, rank);
      }
    });
    return wrong;
  }

  static bool ListFits(const Dims& list, FieldMeaning meaning, int64_t rank) {
    switch (meaning) {
      case FieldMeaning::kDims: {
        std::set<int64_t> seen;
        for (int64_t d : list) {
          if (d < 0 || d >= rank || !seen.insert(d).second) return false;
        }
        return true;
      }
      case FieldMeaning::kSizes:
        for (int64_t n : list) {
          if (n < 1) return false;
        }
        return static_cast<int64_t>(list.size()) == rank;
      case FieldMeaning::kPerDim:
        return static_cast<int64_t>(list.size()) == rank;
      default:
        return true;
    }
  }

  const Shape* ShapeOf(const GraphNode& node, FieldOf of) const {
    size_t operand = 0;
    switch (of) {
      case FieldOf::kOut:
        return node.out.empty() ? nullptr : &node.out[0];
      case FieldOf::kIn1:
        operand = 1;
        break;
      case FieldOf::kIndices:
        operand = node.in.size() / 2;
        break;
      case FieldOf::kUpdates:
        operand = node.in.size() / 2 + 1;
        break;
      default:
        break;
    }
    return operand < node.in.size() ? &p_.shape(node.in[operand]) : nullptr;
  }

  const Program& p_;
  std::vector<bool> defined_;  ///< Whether whoever is looked at may use it.
  std::vector<bool> stood_;    ///< Whether it was in a block that was looked at.
};

}  // namespace

Status Verify(const Program& program) { return Verifier(program).CheckBlock(program.main); }

}  // namespace tenon::compiler
