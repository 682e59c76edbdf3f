// Portable artifacts: MLIR bytecode that carries VHLO. The module and what is Shardy's are written as themselves;
// values cross between the two by casts.
#include <algorithm>
#include <unordered_map>

#include "tenon/builder/internal/portable.h"

namespace tenon::builder::internal {
namespace {

using vhlo::Sink;
using vhlo::Version;
using Number = Portable::Number;

// Of an op's encoding: which parts follow.
enum Part : uint8_t { kAttributes = 1, kResults = 2, kOperands = 4, kRegions = 16, kProperties = 64 };
constexpr uint8_t kIrSection = 4;
constexpr Version kLeastVersion{1, 0, 0};

class ArtifactWriter {
 public:
  explicit ArtifactWriter(Version target) : portable_(target) {}

  Result<std::string> Run(const ModuleState& module) {
    Sink ir;
    ir.VarInt(1 << 1);  // A block of one operation, without arguments.
    WriteModule(module, ir);
    TENON_RETURN_IF_ERROR(status_);
    TENON_RETURN_IF_ERROR(portable_.status());
    return portable_.file().Assemble(ir.bytes());
  }

 private:
  bool ok() const { return status_.ok() && portable_.status().ok(); }
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }

  void Head(std::string_view dialect, std::string_view name, int parts, Sink& out) {
    out.VarInt(portable_.file().OpName(dialect, name));
    out.Byte(static_cast<uint8_t>(parts));
    out.VarInt(portable_.UnknownLocation());
  }

  void WriteModule(const ModuleState& module, Sink& out) {
    Head("builtin", "module", kProperties | kRegions | (module.replicas > 0 ? kAttributes : 0), out);
    if (module.replicas > 0) {
      out.VarInt(portable_.NativeDictionary(
          {{"mhlo.num_partitions", portable_.NativeText("builtin", fmt::format("{} : i32", module.partitions))},
           {"mhlo.num_replicas", portable_.NativeText("builtin", fmt::format("{} : i32", module.replicas))}}));
    }
    Sink properties;
    properties.VarInt(portable_.NativeString(module.name) << 1 | 1);
    properties.VarInt(0);  // No visibility.
    out.VarInt(portable_.file().Properties(properties.Take()));
    out.VarInt(1 << 1 | 1);  // One region, isolated.
    Sink region;
    region.VarInt(1);  // Blocks.
    region.VarInt(0);  // Values.
    region.VarInt((module.meshes.size() + module.functions.size()) << 1);
    for (const auto& [name, axes] : module.meshes) {
      std::string text;
      for (const auto& [axis, size] : axes)
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", Quoted(axis), size);
      WriteMesh(name, fmt::format("#sdy.mesh<[{}]>", text), region);
    }
    for (const FunctionState& function : module.functions) WriteFunction(function, region);
    out.Section(kIrSection, region.bytes());
  }

  void NeedForeign() {
    if (portable_.target() >= Version{1, 11, 0}) return;
    Fail(
        InvalidArgument(fmt::format("before version 1.11.0 artifacts hold nothing but StableHLO, wanted {} with meshes",
                                    portable_.target().ToString())));
  }

  void WriteMesh(const std::string& name, const std::string& mesh, Sink& out) {
    NeedForeign();
    Head("sdy", "mesh", kProperties, out);
    Sink properties;
    properties.VarInt(portable_.NativeText("sdy", mesh));
    properties.VarInt(portable_.NativeString(name));
    out.VarInt(portable_.file().Properties(properties.Take()));
  }

  static Portable::Named SdyOrText(const Sharding& sharding, Portable& portable) {
    return {sharding.name,
            portable.AttrOfText(sharding.name == "sdy.sharding" ? "#sdy.sharding" + sharding.text : sharding.text)};
  }

  void WriteFunction(const FunctionState& function, Sink& out) {
    if (!ok()) return;
    numbers_.clear();
    std::vector<Type> inputs, results;
    std::vector<Number> argument_attrs, result_attrs;
    bool any_argument = false, any_result = false;
    for (size_t i = 0; i < function.entry.arguments.size(); ++i) {
      inputs.push_back(function.entry.arguments[i]->type);
      const ParameterOptions& options = function.parameters[i];
      std::vector<Portable::Named> entries;
      if (options.alias_output >= 0)
        entries.emplace_back("tf.aliasing_output", portable_.Integer(options.alias_output, "i32"));
      if (options.donate && options.alias_output < 0) entries.emplace_back("jax.buffer_donor", portable_.Bool(true));
      if (!options.sharding.empty()) entries.push_back(SdyOrText(options.sharding, portable_));
      any_argument |= !entries.empty();
      argument_attrs.push_back(portable_.Dictionary(std::move(entries)));
    }
    for (size_t i = 0; i < function.results.size(); ++i) {
      results.push_back(function.results[i].type());
      std::vector<Portable::Named> entries;
      if (!function.result_options.empty() && !function.result_options[i].sharding.empty())
        entries.push_back(SdyOrText(function.result_options[i].sharding, portable_));
      any_result |= !entries.empty();
      result_attrs.push_back(portable_.Dictionary(std::move(entries)));
    }
    // arg_attrs, function_type, res_attrs, sym_name, sym_visibility.
    Sink properties;
    properties.VarInt(portable_.Array(any_argument ? argument_attrs : std::vector<Number>()));
    properties.VarInt(portable_.TypeAttr(portable_.FunctionType(inputs, results)));
    properties.VarInt(portable_.Array(any_result ? result_attrs : std::vector<Number>()));
    properties.VarInt(portable_.String(function.name));
    properties.VarInt(portable_.String(function.name == "main" ? "public" : "private"));
    Head("vhlo", "func_v1", kProperties | kRegions, out);
    out.VarInt(portable_.file().Properties(properties.Take()));
    out.VarInt(1 << 1);
    WriteRegion(function.entry, 0, out);
  }

  // Values are numbered along the operations of a block; `next` is the first number that is free.
  void WriteRegion(const BlockState& block, Number next, Sink& out) {
    const Number base = next;
    size_t count = 0;
    for (const ValueState* argument : block.arguments) numbers_[argument] = next++;
    for (const OpState* op : block.ops) {
      if (op->kind == OpKind::kShardingConstraint) {
        casts_[op] = next;  // Of the operand, of the result itself, and its way back.
        next += 2;
        count += 2;
      }
      for (const ValueState* result : op->results) numbers_[result] = next++;
      ++count;
    }
    out.VarInt(1);
    out.VarInt(next - base);
    out.VarInt(count << 1 | (block.arguments.empty() ? 0 : 1));
    if (!block.arguments.empty()) {
      out.VarInt(block.arguments.size());
      for (const ValueState* argument : block.arguments) out.VarInt(portable_.Type(argument->type) << 1);
      out.Byte(0);  // No order of uses.
    }
    for (const OpState* op : block.ops) {
      if (op->kind == OpKind::kShardingConstraint) {
        WriteConstraint(*op, out);
      } else {
        WriteOp(*op, next, out);
      }
      if (!ok()) return;
    }
  }

  void WriteCast(Number from, Number type, Sink& out) {
    Head("builtin", "unrealized_conversion_cast", kResults | kOperands, out);
    out.VarInt(1);
    out.VarInt(type);
    out.VarInt(1);
    out.VarInt(from);
  }

  void WriteConstraint(const OpState& op, Sink& out) {
    NeedForeign();
    const Type& type = op.results[0]->type;
    const Number native = portable_.NativeType(type), operand = casts_.at(&op);
    WriteCast(numbers_.at(op.operands[0].state()), native, out);
    Head("sdy", "sharding_constraint", kProperties | kResults | kOperands, out);
    Sink properties;
    properties.VarInt(portable_.NativeText("sdy", ToString(op.attributes[0].value)));
    out.VarInt(portable_.file().Properties(properties.Take()));
    out.VarInt(1);
    out.VarInt(native);
    out.VarInt(1);
    out.VarInt(operand);
    WriteCast(operand + 1, portable_.Type(type), out);
  }

  // Rules of versions that no single attribute or type shows.
  Status CheckVersion(const OpState& op) const {
    if (op.kind != OpKind::kCustomCall) return OkStatus();
    const auto version = [&] {
      for (const NamedAttribute& attribute : op.attributes) {
        if (attribute.name == "api_version") return std::get<AttrInt32>(attribute.value).value;
      }
      return 1;
    };
    if (portable_.target() < Version{1, 3, 0} && version() == 4)
      return InvalidArgument("before version 1.3.0 custom calls have no typed API");
    const bool future = std::any_of(op.operands.begin(), op.operands.end(),
                                    [](Value v) { return v.type().kind() == Type::Kind::kFuture; });
    if (portable_.target() < Version{1, 17, 0} && future)
      return InvalidArgument("before version 1.17.0 custom calls have no futures as operands");
    return OkStatus();
  }

  void WriteOp(const OpState& op, Number next, Sink& out) {
    const vhlo::Op* row = vhlo::FindForm(OpName(op.kind), portable_.target());
    if (row == nullptr) {
      return Fail(
          InvalidArgument(fmt::format("version {} does not have {}", portable_.target().ToString(), OpName(op.kind))));
    }
    if (const Status status = CheckVersion(op); !status.ok()) return Fail(status);
    if (!row->operands.Allows(op.operands.size()) || !row->results.Allows(op.results.size())) {
      return Fail(
          InvalidArgument(fmt::format("{} of version {} cannot have {} operands and {} results", OpName(op.kind),
                                      portable_.target().ToString(), op.operands.size(), op.results.size())));
    }
    std::vector<std::string> used;
    const Result<std::vector<Number>> attributes = AttributesOf(op, *row, portable_, used);
    if (!attributes.ok()) return Fail(attributes.status().WithContext(std::string(OpName(op.kind))));
    std::vector<Portable::Named> others;
    for (const auto& [name, text] : op.others) {
      if (std::find(used.begin(), used.end(), name) == used.end())
        others.emplace_back(name, portable_.AttrOfText(text));
    }
    if (!portable_.status().ok()) return Fail(portable_.status().WithContext(std::string(OpName(op.kind))));
    Head("vhlo", row->name,
         (others.empty() ? 0 : kAttributes) | (attributes->empty() ? 0 : kProperties) |
             (op.results.empty() ? 0 : kResults) | (op.operands.empty() ? 0 : kOperands) |
             (op.regions.empty() ? 0 : kRegions),
         out);
    if (!others.empty()) out.VarInt(portable_.NativeDictionary(std::move(others)));
    if (!attributes->empty()) {
      Sink properties;
      for (const Number number : *attributes) properties.VarInt(number);
      out.VarInt(portable_.file().Properties(properties.Take()));
    }
    if (!op.results.empty()) {
      out.VarInt(op.results.size());
      for (const ValueState* result : op.results) out.VarInt(portable_.Type(result->type));
    }
    if (!op.operands.empty()) {
      out.VarInt(op.operands.size());
      for (const Value operand : op.operands) out.VarInt(numbers_.at(operand.state()));
    }
    if (op.regions.empty()) return;
    out.VarInt(op.regions.size() << 1);
    for (const BlockState* region : op.regions) WriteRegion(*region, next, out);
  }

  Portable portable_;
  Status status_;
  std::unordered_map<const ValueState*, Number> numbers_;
  std::unordered_map<const OpState*, Number> casts_;
};

}  // namespace

Result<std::string> WriteArtifact(const ModuleState& module, Version target) {
  if (target < kLeastVersion || target > vhlo::kCurrentVersion) {
    return InvalidArgument(fmt::format("artifacts of version {} cannot be written; wanted {} to {}", target.ToString(),
                                       kLeastVersion.ToString(), vhlo::kCurrentVersion.ToString()));
  }
  return ArtifactWriter(target).Run(module);
}

}  // namespace tenon::builder::internal
