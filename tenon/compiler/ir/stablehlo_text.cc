#include "tenon/compiler/ir/stablehlo_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <unordered_map>

namespace tenon::compiler {
namespace {

std::string ElementText(DType type) {
  switch (type) {
    case DType::kPred:
      return "i1";
    case DType::kC64:
      return "complex<f32>";
    case DType::kC128:
      return "complex<f64>";
    default:
      break;
  }
  std::string name(DTypeName(type));
  if (IsFloat(type) && DTypeBits(type) <= 8) {
    for (size_t i = 2; i < name.size(); ++i)
      name[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));  // f8E4M3FN
  }
  if (IsSigned(type)) return "i" + name.substr(1);
  if (IsUnsigned(type)) return "ui" + name.substr(1);
  return name;  // f32, bf16 ...
}

std::string TypeText(const Shape& shape) {
  std::string text = "tensor<";
  for (int64_t d : shape.dims) text += fmt::format("{}x", d);
  return text + ElementText(shape.dtype) + ">";
}

std::string ListText(const Dims& list) {
  return list.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(list.begin(), list.end(), ", "));
}

std::string ValueText(const Dims& list) { return ListText(list); }
std::string ValueText(int64_t number) { return fmt::format("{} : i64", number); }

/// The fields of an attribute struct by their names, which are StableHLO's.
template <class T>
std::string FieldsText(const GraphNode& node) {
  std::string text;
  ForEachField(node.attrs<T>(), [&](const char* name, const auto& value, FieldMeaning, FieldOf) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, ValueText(value));
  });
  return "{" + text + "}";
}

Result<std::string> AttributesOf(const GraphNode& node) {
  switch (node.op) {
    case OpCode::kBroadcast:
      return FieldsText<BroadcastAttrs>(node);
    case OpCode::kReshape:
      return std::string();
    case OpCode::kReverse:
      return FieldsText<ReverseAttrs>(node);
    case OpCode::kSlice:
      return FieldsText<SliceAttrs>(node);
    case OpCode::kTranspose:
      return FieldsText<TransposeAttrs>(node);
    case OpCode::kPad:
      return FieldsText<PadAttrs>(node);
    case OpCode::kConcatenate:
      return FieldsText<ConcatenateAttrs>(node);
    case OpCode::kReduce:
      return FieldsText<ReduceAttrs>(node);
    case OpCode::kCompare:
    case OpCode::kNamedMath:
    case OpCode::kReducePrecision:
      break;  // Always somebody's op.
    default:
      if (KindOfOp(node.op) == OpKind::kElementwise) return std::string();
  }
  return Unimplemented(fmt::format("{} has no compiled form", OpName(node.op)));
}

class Writer {
 public:
  explicit Writer(const Program& program) : p_(program) {}

  std::string Name(Ref r, std::string_view prefix) {
    auto [it, fresh] = names_.try_emplace(r, std::string());
    if (fresh) it->second = fmt::format("%{}{}", prefix, names_.size());
    return it->second;
  }

  /// "results = "stablehlo.op"(operands) ({region}) {attributes} : (types) -> types". Operands must have names.
  Result<std::string> Line(const GraphNode& node, std::string_view results, std::string_view operands) {
    TENON_ASSIGN_OR_RETURN(const std::string attributes, AttributesOf(node));
    std::string in, out, regions;
    for (Ref r : node.in) in += (in.empty() ? "" : ", ") + TypeText(p_.shape(r));
    for (const Shape& s : node.out) out += (out.empty() ? "" : ", ") + TypeText(s);
    for (const Block& b : node.blocks) {
      TENON_ASSIGN_OR_RETURN(const std::string region, Region(b));
      regions += (regions.empty() ? "" : ", ") + region;
    }
    return fmt::format("{} = \"stablehlo.{}\"({}) {}{}{} {} : ({}) -> ({})\n", results, OpName(node.op), operands,
                       regions.empty() ? "" : "(", regions, regions.empty() ? "" : ")", attributes, in, out);
  }

 private:
  Result<std::string> Region(const Block& block) {
    std::string text = "{\n^bb0(";
    for (size_t i = 0; i < block.args.size(); ++i) {
      text +=
          fmt::format("{}{}: {}", i ? ", " : "", Name({block.args[i], 0}, "r"), TypeText(p_[block.args[i]].shape()));
    }
    text += "):\n";
    for (NodeId id : block.nodes) {
      const GraphNode& node = p_[id];
      std::string operands;
      for (Ref r : node.in) {
        if (!names_.contains(r)) return Unimplemented("a region that uses a value from outside");
        operands += (operands.empty() ? "" : ", ") + names_[r];
      }
      TENON_ASSIGN_OR_RETURN(const std::string line, Line(node, Name({id, 0}, "r"), operands));
      text += line;
    }
    std::string values, types;
    for (Ref r : block.results) {
      if (!names_.contains(r)) return Unimplemented("a region that yields a value from outside");
      values += (values.empty() ? "" : ", ") + names_[r];
      types += (types.empty() ? "" : ", ") + TypeText(p_.shape(r));
    }
    return text + fmt::format("stablehlo.return {} : {}\n}}", values, types);
  }

  const Program& p_;
  std::unordered_map<Ref, std::string, RefHasher> names_;
};

}  // namespace

Result<std::string> ToStablehlo(const Program& program, const GraphNode& node) {
  std::string arguments, operands, results, types;
  for (size_t i = 0; i < node.in.size(); ++i) {
    arguments += fmt::format("{}%a{}: {}", i ? ", " : "", i, TypeText(program.shape(node.in[i])));
    operands += fmt::format("{}%a{}", i ? ", " : "", i);
  }
  for (size_t i = 0; i < node.out.size(); ++i) {
    results += node.out.size() == 1 ? "%out" : fmt::format("{}%out#{}", i ? ", " : "", i);
    types += (i ? ", " : "") + TypeText(node.out[i]);
  }
  TENON_ASSIGN_OR_RETURN(
      const std::string line,
      Writer(program).Line(node, node.out.size() == 1 ? "%out" : fmt::format("%out:{}", node.out.size()), operands));
  return fmt::format("func.func @main({}) -> ({}) {{\n{}return {} : {}\n}}\n", arguments, types, line, results, types);
}

}  // namespace tenon::compiler
