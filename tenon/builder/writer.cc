// StableHLO's text. Elementwise operations are written in their short form, all others in MLIR's generic form, which
// every version reads.
#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tenon/builder/internal/state.h"

namespace tenon::builder::internal {
namespace {

bool HasShortForm(OpKind kind) {
  switch (kind) {
#define TENON_BUILDER_UNARY(Function, mnemonic, classes, result) \
  case OpKind::k##Function:                                      \
    return ResultRule::result == ResultRule::kSame;
#define TENON_BUILDER_MATH(Function, mnemonic) \
  case OpKind::k##Function:                    \
    return true;
#define TENON_BUILDER_BINARY(Function, mnemonic, classes) \
  case OpKind::k##Function:                               \
    return true;
#include "tenon/builder/ops.def"
    default:
      return false;
  }
}

class Writer {
 public:
  std::string Write(const ModuleState& module) {
    text_ = fmt::format("module @{}", Symbol(module.name));
    if (module.replicas > 0) {
      text_ += fmt::format(" attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = {} : i32}}",
                           module.partitions, module.replicas);
    }
    text_ += " {\n";
    for (const auto& [name, axes] : module.meshes) {
      text_ += fmt::format("  sdy.mesh @{} = <[", name);
      for (size_t i = 0; i < axes.size(); ++i)
        text_ += fmt::format("{}{}={}", i == 0 ? "" : ", ", Quoted(axes[i].first), axes[i].second);
      text_ += "]>\n";
    }
    for (const FunctionState& function : module.functions) WriteFunction(function);
    return text_ + "}\n";
  }

 private:
  static std::string Symbol(const std::string& name) {
    for (const char c : name) {
      if (!isalnum(static_cast<unsigned char>(c)) && c != '_') return Quoted(name);
    }
    return name.empty() || isdigit(static_cast<unsigned char>(name[0])) ? Quoted(name) : name;
  }

  void WriteFunction(const FunctionState& function) {
    names_.clear();
    used_.clear();
    next_ = 0;
    text_ += fmt::format("  func.func {} @{}(", function.name == "main" ? "public" : "private", function.name);
    for (size_t i = 0; i < function.entry.arguments.size(); ++i) {
      const ValueState* argument = function.entry.arguments[i];
      text_ += fmt::format("{}{}: {}", i == 0 ? "" : ", ", NameArgument(argument, i), argument->type.ToString());
      const ParameterOptions& options = function.parameters[i];
      std::string attributes;
      if (options.alias_output >= 0) attributes += fmt::format("tf.aliasing_output = {} : i32, ", options.alias_output);
      if (options.donate && options.alias_output < 0) attributes += "jax.buffer_donor = true, ";
      AppendSharding(options.sharding, attributes);
      AppendBraces(attributes);
    }
    text_ += ") -> (";
    for (size_t i = 0; i < function.results.size(); ++i) {
      text_ += fmt::format("{}{}", i == 0 ? "" : ", ", function.results[i].type().ToString());
      if (function.result_options.empty()) continue;
      std::string attributes;
      AppendSharding(function.result_options[i].sharding, attributes);
      AppendBraces(attributes);
    }
    text_ += ") {\n";
    WriteOps(function.entry, 4);
    text_ += "  }\n";
  }

  static void AppendSharding(const Sharding& sharding, std::string& attributes) {
    if (sharding.empty()) return;
    attributes += fmt::format("{} = {}{}, ", sharding.name, sharding.name == "sdy.sharding" ? "#sdy.sharding" : "",
                              sharding.text);
  }

  void AppendBraces(std::string& attributes) {
    if (attributes.empty()) return;
    attributes.resize(attributes.size() - 2);
    text_ += " {" + attributes + "}";
  }

  std::string NameArgument(const ValueState* value, size_t index) {
    std::string name = value->name;
    bool good = !name.empty() && !isdigit(static_cast<unsigned char>(name[0]));
    for (const char c : name) good = good && (isalnum(static_cast<unsigned char>(c)) || c == '_');
    if (!good || used_.contains(name)) name = fmt::format("arg{}", index);
    while (!used_.insert(name).second) name += "_";
    return names_[value] = "%" + name;
  }

  const std::string& Name(const ValueState* value) { return names_.at(value); }

  void WriteOps(const BlockState& block, size_t indent) {
    for (const OpState* op : block.ops) WriteOp(*op, indent);
  }

  void WriteOp(const OpState& op, size_t indent) {
    const std::string margin(indent, ' ');
    text_ += margin;
    if (op.results.size() == 1) {
      text_ += fmt::format("{} = ", names_[op.results[0]] = fmt::format("%{}", next_++));
    } else if (!op.results.empty()) {
      const std::string group = fmt::format("%{}", next_++);
      for (size_t i = 0; i < op.results.size(); ++i) names_[op.results[i]] = fmt::format("{}#{}", group, i);
      text_ += fmt::format("{}:{} = ", group, op.results.size());
    }
    if (HasShortForm(op.kind) && op.operands[0].type() == op.operands.back().type() &&
        op.operands[0].type() == op.results[0]->type) {
      text_ += fmt::format("{} ", OpName(op.kind));
      WriteOperands(op);
      WriteAttributes(op, true);
      text_ += fmt::format(" : {}\n", op.results[0]->type.ToString());
      return;
    }
    text_ += fmt::format("\"{}\"(", OpName(op.kind));
    WriteOperands(op);
    text_ += ")";
    WriteAttributes(op, false);
    if (!op.regions.empty()) WriteRegions(op, margin);
    text_ += " : (";
    for (size_t i = 0; i < op.operands.size(); ++i) text_ += (i == 0 ? "" : ", ") + op.operands[i].type().ToString();
    text_ += ") -> ";
    if (op.results.size() == 1) {
      text_ += op.results[0]->type.ToString();
    } else {
      text_ += "(";
      for (size_t i = 0; i < op.results.size(); ++i) text_ += (i == 0 ? "" : ", ") + op.results[i]->type.ToString();
      text_ += ")";
    }
    text_ += "\n";
  }

  void WriteOperands(const OpState& op) {
    for (size_t i = 0; i < op.operands.size(); ++i) text_ += (i == 0 ? "" : ", ") + Name(op.operands[i].state());
  }

  // The operation's own attributes stand in <{}> in generic form; in the short form there is one list for all.
  void WriteAttributes(const OpState& op, bool short_form) {
    std::string own, others;
    for (const NamedAttribute& attribute : op.attributes) {
      own += fmt::format("{}{} = {}", own.empty() ? "" : ", ", attribute.name, ToString(attribute.value));
    }
    for (const auto& [name, value] : op.others)
      others += fmt::format("{}{} = {}", others.empty() ? "" : ", ", name, value);
    if (short_form) {
      const std::string all = own + (own.empty() || others.empty() ? "" : ", ") + others;
      if (!all.empty()) text_ += " {" + all + "}";
      return;
    }
    if (!own.empty()) text_ += " <{" + own + "}>";
    pending_others_ = others;
    if (op.regions.empty()) FlushOthers();
  }

  void FlushOthers() {
    if (!pending_others_.empty()) text_ += " {" + pending_others_ + "}";
    pending_others_.clear();
  }

  void WriteRegions(const OpState& op, const std::string& margin) {
    const std::string others = std::move(pending_others_);
    pending_others_.clear();
    text_ += " (";
    for (size_t r = 0; r < op.regions.size(); ++r) {
      const BlockState& block = *op.regions[r];
      text_ += r == 0 ? "{\n" : ", {\n";
      if (!block.arguments.empty()) {
        text_ += margin + "^bb0(";
        for (size_t i = 0; i < block.arguments.size(); ++i) {
          const std::string name = fmt::format("%{}", next_++);
          names_[block.arguments[i]] = name;
          text_ += fmt::format("{}{}: {}", i == 0 ? "" : ", ", name, block.arguments[i]->type.ToString());
        }
        text_ += "):\n";
      }
      WriteOps(block, margin.size() + 2);
      text_ += margin + "}";
    }
    text_ += ")";
    pending_others_ = others;
    FlushOthers();
  }

  std::string text_, pending_others_;
  std::unordered_map<const ValueState*, std::string> names_;
  std::unordered_set<std::string> used_;
  int next_ = 0;
};

}  // namespace

std::string WriteModule(const ModuleState& module) { return Writer().Write(module); }

}  // namespace tenon::builder::internal
