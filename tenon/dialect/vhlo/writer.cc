#include "tenon/dialect/vhlo/writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeUtilities.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/convert.h"
#include "tenon/dialect/vhlo/encoder.h"

namespace tenon::vhlo {
namespace {

using Form = Encoder::Form;

// Lets generated writeProperties code of registered ops write into a property blob.
class PropertyWriter : public mlir::DialectBytecodeWriter {
 public:
  explicit PropertyWriter(Encoder& encoder) : encoder_(encoder) {}
  std::string Take() { return out_.Take(); }

  void writeAttribute(mlir::Attribute attr) override { out_.VarInt(encoder_.Attr(attr, Form::kNative)); }
  void writeOptionalAttribute(mlir::Attribute attr) override {
    out_.VarInt(attr ? encoder_.Attr(attr, Form::kNative) << 1 | 1 : 0);
  }
  void writeType(mlir::Type type) override { out_.VarInt(encoder_.Type(type, Form::kNative)); }
  void writeResourceHandle(const mlir::AsmDialectResourceHandle&) override {
    encoder_.Fail("resources have no portable form");
  }
  void writeVarInt(uint64_t value) override { out_.VarInt(value); }
  void writeSignedVarInt(int64_t value) override { out_.SignedVarInt(value); }
  void writeAPIntWithKnownWidth(const llvm::APInt& value) override {
    if (value.getBitWidth() <= 8) return out_.Byte(static_cast<uint8_t>(value.getZExtValue()));
    out_.SignedVarInt(static_cast<int64_t>(value.getZExtValue()));
  }
  void writeAPFloatWithKnownSemantics(const llvm::APFloat& value) override {
    writeAPIntWithKnownWidth(value.bitcastToAPInt());
  }
  void writeOwnedString(llvm::StringRef text) override { out_.VarInt(encoder_.String(text)); }
  void writeOwnedBlob(llvm::ArrayRef<char> blob) override { out_.Blob({blob.data(), blob.size()}); }
  void writeOwnedBool(bool value) override { out_.Byte(value ? 1 : 0); }
  int64_t getBytecodeVersion() const override { return encoder_.bytecode(); }
  mlir::FailureOr<const mlir::DialectVersion*> getDialectVersion(llvm::StringRef) const override {
    return mlir::failure();
  }

 private:
  Encoder& encoder_;
  Sink out_;
};

bool IsPortable(mlir::Operation* op) { return HasForm(op->getName().getStringRef()); }

// Numbers of values on the wire. A value of an op outside of VHLO has two: its own, and that of the cast to its VHLO
// type.
struct Numbers {
  llvm::DenseMap<mlir::Value, uint64_t> portable;
  llvm::DenseMap<mlir::Value, uint64_t> native;
};

struct Cast {
  uint64_t from;
  mlir::Type type;
  Form to;
};

struct OpPlan {
  mlir::Operation* op;
  std::vector<Cast> before;
  std::vector<uint64_t> operands;
  std::vector<Cast> after;
};

struct BlockPlan {
  std::vector<Cast> arguments;
  std::vector<OpPlan> ops;
};

class IrWriter {
 public:
  explicit IrWriter(Version target) : encoder_(target) {}

  Result<std::string> Run(mlir::ModuleOp module) {
    Sink ir;
    ir.VarInt(1 << 1);  // A block of one op without arguments.
    Numbers none;
    Write({module, {}, {}, {}}, none, 0, ir);
    if (!status_.ok()) return status_;
    if (!encoder_.status().ok()) return encoder_.status();
    return encoder_.Assemble(ir.bytes());
  }

 private:
  bool ok() const { return status_.ok() && encoder_.status().ok(); }

  void Blame(mlir::Operation* op) {
    if (blamed_) return;
    blamed_ = true;
    const Status& why = status_.ok() ? encoder_.status() : status_;
    std::string what = "'" + op->getName().getStringRef().str() + "'";
    if (auto file = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>()) {
      what += " at " + file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
              std::to_string(file.getColumn());
    }
    status_ = why.WithContext(what);
  }

  void WriteCast(const Cast& cast, Sink& out) {
    out.VarInt(encoder_.OpName("builtin", "unrealized_conversion_cast"));
    out.Byte(2 | 4);  // Results and operands.
    out.VarInt(encoder_.Attr(unknown_, Form::kNative));
    out.VarInt(1);
    out.VarInt(encoder_.Type(cast.type, cast.to));
    out.VarInt(1);
    out.VarInt(cast.from);
  }

  // `numbers` are those visible to the op's regions, `next` the first free one.
  void Write(const OpPlan& plan, Numbers& numbers, uint64_t next, Sink& out) {
    if (!ok()) return;
    mlir::Operation* op = plan.op;
    if (!unknown_) unknown_ = mlir::UnknownLoc::get(op->getContext());
    const bool portable = IsPortable(op);
    const Form form = portable ? Form::kPortable : Form::kNative;
    uint8_t mask = 0;
    uint64_t dictionary = 0;
    uint64_t properties = 0;
    uint64_t name = 0;
    if (portable) {
      const Op* row = FindForm(op->getName().getStringRef(), encoder_.target());
      if (row == nullptr) {
        status_ = InvalidArgument("version " + encoder_.target().ToString() + " does not have this op");
        return Blame(op);
      }
      name = encoder_.OpName("vhlo", {row->name.data(), row->name.size()});
      status_ = Portable(op, *row, mask, dictionary, properties);
    } else {
      name = encoder_.OpName(op->getName().getDialectNamespace(), op->getName().stripDialect());
      Foreign(op, mask, dictionary, properties);
    }
    if (!ok()) return Blame(op);
    if (op->getNumResults() > 0) mask |= 2;
    if (op->getNumOperands() > 0) mask |= 4;
    if (op->getNumRegions() > 0) mask |= 16;
    out.VarInt(name);
    out.Byte(mask);
    out.VarInt(encoder_.Attr(op->getLoc(), Form::kNative));
    if (mask & 1) out.VarInt(dictionary);
    if (mask & 64) out.VarInt(properties);
    if (mask & 2) {
      out.VarInt(op->getNumResults());
      for (mlir::Type type : op->getResultTypes()) out.VarInt(encoder_.Type(type, form));
    }
    if (mask & 4) {
      out.VarInt(plan.operands.size());
      for (uint64_t operand : plan.operands) out.VarInt(operand);
    }
    if (!ok()) return Blame(op);
    if (!(mask & 16)) return;
    const bool isolated = !portable && op->hasTrait<mlir::OpTrait::IsIsolatedFromAbove>();
    out.VarInt(uint64_t{op->getNumRegions()} << 1 | (isolated ? 1 : 0));
    if (!isolated) {
      for (mlir::Region& region : op->getRegions()) WriteRegion(region, portable, numbers, next, out);
      return;
    }
    Numbers own;
    Sink section;
    const bool nested = encoder_.bytecode() >= 2;
    for (mlir::Region& region : op->getRegions()) WriteRegion(region, portable, own, 0, nested ? section : out);
    if (nested) out.Section(4, section.bytes());
  }

  // Inherent attributes become the op's properties (or, before bytecode 5, part of its dictionary), the others its
  // dictionary.
  Status Portable(mlir::Operation* op, const Op& row, uint8_t& mask, uint64_t& dictionary, uint64_t& properties) {
    if (!row.operands.Allows(op->getNumOperands()) || !row.results.Allows(op->getNumResults()) ||
        !row.regions.Allows(op->getNumRegions())) {
      return InvalidArgument(std::string(row.name) + " cannot have this number of operands, results or regions");
    }
    TENON_RETURN_IF_ERROR(CheckConstraints(op));
    llvm::SmallVector<mlir::Attribute, 17> values;
    TENON_RETURN_IF_ERROR(FromStablehlo(op, row, values));
    const bool native_properties = encoder_.bytecode() >= 5;
    std::vector<std::pair<llvm::StringRef, uint64_t>> entries;
    Sink blob;
    for (size_t i = 0; i < values.size(); ++i) {
      const Form form = row.attrs[i].kind == AttrKind::kApiVersion ? Form::kApiVersion : Form::kPortable;
      const uint64_t number = encoder_.Attr(values[i], form);
      if (native_properties) {
        blob.VarInt(number);
      } else {
        entries.emplace_back(llvm::StringRef(row.attrs[i].name.data(), row.attrs[i].name.size()), number);
      }
      if (!encoder_.status().ok())
        return encoder_.status().WithContext("attribute '" + std::string(row.attrs[i].name) + "'");
    }
    for (mlir::NamedAttribute attr : op->getDiscardableAttrs()) {
      entries.emplace_back(attr.getName().getValue(), encoder_.Attr(attr.getValue(), Form::kPortable));
      if (!encoder_.status().ok()) return encoder_.status().WithContext("attribute '" + attr.getName().str() + "'");
    }
    if (!entries.empty()) {
      std::sort(entries.begin(), entries.end());
      mask |= 1;
      dictionary = encoder_.Dictionary(entries);
    }
    if (native_properties && !values.empty()) {
      mask |= 64;
      properties = encoder_.Properties(blob.Take());
    }
    return OkStatus();
  }

  // Rules of old versions that no single attribute or type shows.
  Status CheckConstraints(mlir::Operation* op) {
    const Version target{encoder_.target().major, encoder_.target().minor, 0};
    if (target < Version{0, 17, 0} &&
        mlir::isa<stablehlo::ReduceOp, stablehlo::ReduceWindowOp, stablehlo::ReduceScatterOp, stablehlo::AllReduceOp,
                  stablehlo::ScatterOp, stablehlo::SelectAndScatterOp>(op)) {
      for (auto [operand, result] : llvm::zip(op->getOperandTypes(), op->getResultTypes())) {
        if (mlir::getElementTypeOrSelf(operand) != mlir::getElementTypeOrSelf(result)) {
          return InvalidArgument("before version 0.17.0 operands and results must have the same element types");
        }
      }
    }
    if (auto call = mlir::dyn_cast<stablehlo::CustomCallOp>(op)) {
      auto version = op->getAttrOfType<mlir::IntegerAttr>("api_version");
      if (target < Version{1, 3, 0} && (mlir::isa_and_nonnull<mlir::DictionaryAttr>(op->getAttr("backend_config")) ||
                                        (version && version.getInt() == 4))) {
        return InvalidArgument(
            "before version 1.3.0 custom calls have neither a dictionary as configuration nor the typed API");
      }
      if (target < Version{1, 17, 0} &&
          llvm::any_of(op->getOperandTypes(), [](mlir::Type t) { return mlir::isa<stablehlo::FutureType>(t); })) {
        return InvalidArgument("before version 1.17.0 custom calls have no futures as operands");
      }
    }
    return OkStatus();
  }

  void Foreign(mlir::Operation* op, uint8_t& mask, uint64_t& dictionary, uint64_t& properties) {
    const bool native_properties = encoder_.bytecode() >= 5;
    if (!mlir::isa<mlir::ModuleOp>(op) && encoder_.target() < Version{1, 11, 0}) {
      status_ = InvalidArgument("before version 1.11.0 artifacts hold nothing but StableHLO");
      return;
    }
    mlir::DictionaryAttr attrs = native_properties ? op->getDiscardableAttrDictionary() : op->getAttrDictionary();
    if (!attrs.empty()) {
      mask |= 1;
      dictionary = encoder_.Attr(attrs, Form::kNative);
    }
    auto interface = mlir::dyn_cast<mlir::BytecodeOpInterface>(op);
    if (native_properties && interface) {
      PropertyWriter writer(encoder_);
      interface.writeProperties(writer);
      mask |= 64;
      properties = encoder_.Properties(writer.Take());
    }
  }

  void WriteRegion(mlir::Region& region, bool portable_parent, Numbers& numbers, uint64_t base, Sink& out) {
    if (!ok()) return;
    out.VarInt(region.getBlocks().size());
    if (region.empty()) return;
    uint64_t next = base;
    std::vector<BlockPlan> plans;
    for (mlir::Block& block : region) plans.push_back(Plan(block, portable_parent, numbers, next));
    out.VarInt(next - base);
    for (auto [block, plan] : llvm::zip(region, plans)) {
      size_t num_ops = plan.arguments.size();
      for (const OpPlan& op : plan.ops) num_ops += 1 + op.before.size() + op.after.size();
      out.VarInt(uint64_t{num_ops} << 1 | (block.getNumArguments() > 0 ? 1 : 0));
      if (block.getNumArguments() > 0) WriteArguments(block, portable_parent ? Form::kPortable : Form::kNative, out);
      for (const Cast& cast : plan.arguments) WriteCast(cast, out);
      for (const OpPlan& op : plan.ops) {
        for (const Cast& cast : op.before) WriteCast(cast, out);
        Write(op, numbers, next, out);
        for (const Cast& cast : op.after) WriteCast(cast, out);
        if (!ok()) return Blame(op.op);
      }
    }
  }

  void WriteArguments(mlir::Block& block, Form form, Sink& out) {
    out.VarInt(block.getNumArguments());
    for (mlir::BlockArgument argument : block.getArguments()) {
      const uint64_t type = encoder_.Type(argument.getType(), form);
      const bool located = !mlir::isa<mlir::UnknownLoc>(argument.getLoc());
      if (encoder_.bytecode() >= 4) {
        out.VarInt(type << 1 | (located ? 1 : 0));
        if (located) out.VarInt(encoder_.Attr(argument.getLoc(), Form::kNative));
      } else {
        out.VarInt(type);
        out.VarInt(encoder_.Attr(argument.getLoc(), Form::kNative));
      }
    }
    if (encoder_.bytecode() >= 3) out.Byte(0);  // No order of uses.
  }

  // Gives the block's values their numbers, and those of the casts at the borders of ops outside of VHLO.
  static BlockPlan Plan(mlir::Block& block, bool portable_parent, Numbers& numbers, uint64_t& next) {
    BlockPlan plan;
    for (mlir::BlockArgument argument : block.getArguments()) {
      (portable_parent ? numbers.portable : numbers.native)[argument] = next++;
    }
    if (!portable_parent) {
      for (mlir::BlockArgument argument : block.getArguments()) {
        plan.arguments.push_back({numbers.native[argument], argument.getType(), Form::kPortable});
        numbers.portable[argument] = next++;
      }
    }
    for (mlir::Operation& op : block) {
      OpPlan& step = plan.ops.emplace_back();
      step.op = &op;
      const bool portable = IsPortable(&op);
      for (mlir::Value operand : op.getOperands()) {
        if (portable) {
          step.operands.push_back(numbers.portable.lookup(operand));
        } else if (auto it = numbers.native.find(operand); it != numbers.native.end()) {
          step.operands.push_back(it->second);
        } else {
          step.before.push_back({numbers.portable.lookup(operand), operand.getType(), Form::kNative});
          step.operands.push_back(next++);
        }
      }
      for (mlir::Value result : op.getResults()) (portable ? numbers.portable : numbers.native)[result] = next++;
      if (portable) continue;
      for (mlir::Value result : op.getResults()) {
        step.after.push_back({numbers.native[result], result.getType(), Form::kPortable});
        numbers.portable[result] = next++;
      }
    }
    return plan;
  }

  Encoder encoder_;
  mlir::Attribute unknown_;
  Status status_;
  bool blamed_ = false;
};

}  // namespace

Result<std::string> WriteArtifact(mlir::ModuleOp module, Version target) {
  if (target < kMinimumVersion || target > kCurrentVersion) {
    return InvalidArgument("version " + target.ToString() + " cannot be written; wanted " + kMinimumVersion.ToString() +
                           " to " + kCurrentVersion.ToString());
  }
  return IrWriter(target).Run(module);
}

}  // namespace tenon::vhlo
