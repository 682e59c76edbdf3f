#include "tenon/dialect/vhlo/reader.h"

#include <memory>
#include <optional>
#include <utility>

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/convert.h"
#include "tenon/dialect/vhlo/limits.h"
#include "tenon/vhlo/table.h"

namespace tenon::vhlo {
namespace {

using mlir::Attribute;

llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }

enum OpMask : uint8_t {
  kHasAttrs = 1,
  kHasResults = 2,
  kHasOperands = 4,
  kHasSuccessors = 8,
  kHasRegions = 16,
  kHasUseListOrder = 32,
  kHasProperties = 64,
};

// Lets generated readProperties code of registered ops read from a property blob.
class PropertyReader : public mlir::DialectBytecodeReader {
 public:
  PropertyReader(EntryReader& entries, Cursor& in) : entries_(entries), in_(in) {}

  mlir::InFlightDiagnostic emitError(const mlir::Twine& message) const override {
    return mlir::emitError(mlir::UnknownLoc::get(entries_.context()), message);
  }
  mlir::InFlightDiagnostic emitWarning(const mlir::Twine& message) const {
    return mlir::emitWarning(mlir::UnknownLoc::get(entries_.context()), message);
  }
  mlir::FailureOr<const mlir::DialectVersion*> getDialectVersion(llvm::StringRef) const override {
    return mlir::failure();
  }
  mlir::MLIRContext* getContext() const override { return entries_.context(); }
  uint64_t getBytecodeVersion() const override { return entries_.container().version; }

  mlir::LogicalResult readAttribute(Attribute& result) override {
    result = entries_.ReadAttr(in_);
    return mlir::success(result != nullptr);
  }
  mlir::LogicalResult readOptionalAttribute(Attribute& result) override {
    // Writers of another version know fewer optional attributes; theirs end early.
    if (in_.ok() && in_.AtEnd()) return mlir::success();
    result = entries_.ReadOptionalAttr(in_);
    return mlir::success(entries_.status().ok());
  }
  mlir::LogicalResult readType(mlir::Type& result) override {
    result = entries_.ReadType(in_);
    return mlir::success(result != nullptr);
  }
  mlir::LogicalResult readVarInt(uint64_t& result) override {
    result = in_.VarInt();
    return mlir::success(in_.ok());
  }
  mlir::LogicalResult readSignedVarInt(int64_t& result) override {
    result = in_.SignedVarInt();
    return mlir::success(in_.ok());
  }
  mlir::FailureOr<llvm::APInt> readAPIntWithKnownWidth(unsigned width) override {
    if (width == 0 || width > 64) return mlir::failure();
    const uint64_t bits = entries_.ReadBits(in_, width);
    if (!in_.ok()) return mlir::failure();
    return llvm::APInt(width, bits);
  }
  mlir::FailureOr<llvm::APFloat> readAPFloatWithKnownSemantics(const llvm::fltSemantics& semantics) override {
    auto bits = readAPIntWithKnownWidth(llvm::APFloat::getSizeInBits(semantics));
    if (mlir::failed(bits)) return mlir::failure();
    return llvm::APFloat(semantics, *bits);
  }
  mlir::LogicalResult readString(llvm::StringRef& result) override {
    std::string_view text = entries_.ReadString(in_);
    result = Ref(text);
    return mlir::success(entries_.status().ok());
  }
  mlir::LogicalResult readBlob(llvm::ArrayRef<char>& result) override {
    std::string_view blob = in_.Blob();
    result = {blob.data(), blob.size()};
    return mlir::success(in_.ok());
  }
  mlir::LogicalResult readBool(bool& result) override {
    result = in_.Byte() != 0;
    return mlir::success(in_.ok());
  }

 private:
  mlir::FailureOr<mlir::AsmDialectResourceHandle> readResourceHandle() override { return mlir::failure(); }

  EntryReader& entries_;
  Cursor& in_;
};

class IrReader {
 public:
  IrReader(const Container& container, mlir::MLIRContext* context, LiteralPolicy literals)
      : container_(container),
        context_(context),
        entries_(container, context, literals),
        names_(container.op_names.size()) {}

  Result<mlir::OwningOpRef<mlir::ModuleOp>> Run() {
    Cursor in(container_.ir);
    const uint64_t header = in.VarInt();
    if (!in.ok() || header != 2) return InvalidArgument("malformed bytecode: it does not hold exactly one module");
    Scope none;
    mlir::Operation* op = ReadOp(in, none, nullptr, 0);
    std::unique_ptr<mlir::Operation, Destroy> owned(op);
    if (op == nullptr || !status_.ok()) return Failure();
    auto module = mlir::dyn_cast<mlir::ModuleOp>(op);
    if (!module) return InvalidArgument("the bytecode's top operation is no module");
    if (!in.Finished()) return InvalidArgument("malformed bytecode: bytes left over after the module");
    owned.release();
    return mlir::OwningOpRef<mlir::ModuleOp>(module);
  }

 private:
  struct Destroy {
    void operator()(mlir::Operation* op) const {
      op->dropAllReferences();
      op->dropAllDefinedValueUses();
      op->destroy();
    }
  };

  // Values that ops may refer to: those of the region being read and of the regions around it, up to an isolated op.
  struct Values {
    std::vector<mlir::Value> all;
  };
  // The numbers of the region being read: values [next, all.size()) are yet to be defined.
  struct Scope {
    Values* values = nullptr;
    size_t next = 0;
  };

  struct Name {
    const Op* vhlo = nullptr;
    std::optional<mlir::OperationName> op;
  };

  std::nullptr_t Fail(std::string why) {
    if (status_.ok()) status_ = InvalidArgument(std::move(why));
    return nullptr;
  }
  Status Failure() const {
    if (!status_.ok()) return status_;
    if (!entries_.status().ok()) return entries_.status();
    return InvalidArgument("malformed bytecode");
  }

  // Prefixes the error with the op at fault; the innermost op wins.
  std::nullptr_t Blame(std::string_view name, mlir::LocationAttr location) {
    if (blamed_) return nullptr;
    Status s = Failure();
    std::string what = "'" + std::string(name) + "'";
    if (location) {
      if (auto file = location.findInstanceOf<mlir::FileLineColLoc>()) {
        what += " at " + file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
                std::to_string(file.getColumn());
      }
    }
    status_ = s.WithContext(what);
    blamed_ = true;
    return nullptr;
  }

  const Name* FindName(uint64_t index) {
    if (index >= names_.size()) {
      Fail("malformed bytecode: there is no op name " + std::to_string(index));
      return nullptr;
    }
    Name& name = names_[index];
    if (name.op) return &name;
    const Container::OpName& wire = container_.op_names[index];
    const std::string_view dialect = container_.dialects[wire.dialect].name;
    std::string full;
    if (dialect == "vhlo") {
      name.vhlo = FindOp(wire.name);
      if (name.vhlo == nullptr) {
        Fail("unknown op 'vhlo." + std::string(wire.name) + "': no version up to " + kCurrentVersion.ToString() +
             " has it");
        return nullptr;
      }
      full = name.vhlo->stablehlo;
    } else {
      full = std::string(dialect) + "." + std::string(wire.name);
    }
    auto registered = mlir::RegisteredOperationName::lookup(full, context_);
    if (!registered) {
      Fail("unknown op '" + full + "'");
      return nullptr;
    }
    name.op = *registered;
    return &name;
  }

  // Reads an op with its regions, appends it to `block` (when there is one) and numbers its results. Null on error.
  mlir::Operation* ReadOp(Cursor& in, Scope& scope, mlir::Block* block, uint32_t depth) {
    const Name* name = FindName(in.VarInt());
    if (!in.ok() || name == nullptr) return in.ok() ? nullptr : Fail("malformed bytecode: it ends inside an op");
    const std::string_view shown = name->vhlo ? name->vhlo->name : std::string_view(name->op->getStringRef());
    mlir::LocationAttr location;
    mlir::Operation* op = ReadNamedOp(in, scope, block, depth, *name, location);
    if (op == nullptr || !status_.ok()) return Blame(shown, location);
    return op;
  }

  mlir::Operation* ReadNamedOp(Cursor& in, Scope& scope, mlir::Block* block, uint32_t depth, const Name& name,
                               mlir::LocationAttr& location) {
    const uint8_t mask = in.Byte();
    location = entries_.ReadAttrOf<mlir::LocationAttr>(in, "location");
    if (!location) return nullptr;
    mlir::OperationState state(mlir::Location(location), *name.op);

    mlir::DictionaryAttr dictionary;
    if (mask & kHasAttrs) {
      dictionary = entries_.ReadAttrOf<mlir::DictionaryAttr>(in, "dictionary");
      if (!dictionary) return nullptr;
    }
    std::optional<std::string_view> properties;
    if (mask & kHasProperties) {
      const uint64_t index = in.VarInt();
      if (!in.ok() || index >= container_.properties.size()) return Fail("malformed bytecode: no such properties");
      properties = container_.properties[index];
    }
    if (mask & kHasResults) {
      const size_t n = in.Count();
      state.types.reserve(n);
      for (size_t i = 0; i < n; ++i) {
        mlir::Type type = entries_.ReadType(in);
        if (!type) return nullptr;
        state.types.push_back(type);
      }
    }
    if (mask & kHasOperands) {
      const size_t n = in.Count();
      state.operands.reserve(n);
      for (size_t i = 0; i < n; ++i) {
        const uint64_t value = in.VarInt();
        if (scope.values == nullptr || value >= scope.values->all.size() || !scope.values->all[value]) {
          return Fail("operand " + std::to_string(i) + " is used before it is defined");
        }
        state.operands.push_back(scope.values->all[value]);
      }
    }
    if (mask & kHasSuccessors) return Fail("control flow between blocks is not supported");
    if (mask & kHasUseListOrder && container_.version >= 3) SkipUseListOrder(in, state.types.size());
    size_t num_regions = 0;
    bool isolated = false;
    if (mask & kHasRegions) {
      const uint64_t value = in.VarInt();
      isolated = value & 1;
      num_regions = static_cast<size_t>(value >> 1);
      if (!in.ok() || num_regions > in.left()) return Fail("malformed bytecode: more regions than bytes");
    }
    if (!in.ok()) return Fail("malformed bytecode: it ends inside an op");

    if (name.vhlo != nullptr) {
      if (!FillVhlo(*name.vhlo, dictionary, properties, block, num_regions, state)) return nullptr;
    } else if (!FillForeign(name, dictionary, properties, state)) {
      return nullptr;
    }
    if (FoldsAway(state)) return FoldCast(state, scope);

    for (size_t i = 0; i < num_regions; ++i) state.addRegion();
    mlir::Operation* op = mlir::Operation::create(state);
    std::unique_ptr<mlir::Operation, Destroy> owned;
    if (block) {
      block->push_back(op);
    } else {
      owned.reset(op);
    }
    if (scope.values != nullptr && !Define(scope, op->getResults())) return nullptr;
    if (num_regions > 0 && !ReadRegions(in, scope, op, isolated, depth + 1)) return nullptr;
    owned.release();
    return op;
  }

  // A cast between a VHLO type and what it stands for is nothing once types are converted.
  bool FoldsAway(const mlir::OperationState& state) const {
    return state.name.getStringRef() == "builtin.unrealized_conversion_cast" &&
           mlir::TypeRange(state.types) == mlir::ValueRange(state.operands).getTypes() && !state.operands.empty();
  }
  mlir::Operation* FoldCast(mlir::OperationState& state, Scope& scope) {
    if (!Define(scope, state.operands)) return nullptr;
    return state.operands.front().getParentBlock()->getParentOp();  // Any op: only null means an error.
  }

  bool Define(Scope& scope, mlir::ValueRange values) {
    if (values.size() > scope.values->all.size() - scope.next) {
      Fail("malformed bytecode: a region defines more values than it says");
      return false;
    }
    for (mlir::Value value : values) scope.values->all[scope.next++] = value;
    return true;
  }

  bool FillVhlo(const Op& vhlo, mlir::DictionaryAttr dictionary, std::optional<std::string_view> properties,
                mlir::Block* block, size_t num_regions, mlir::OperationState& state) {
    if (!vhlo.operands.Allows(state.operands.size()))
      return WrongCount(vhlo.operands, state.operands.size(), "operands");
    if (!vhlo.results.Allows(state.types.size())) return WrongCount(vhlo.results, state.types.size(), "results");
    if (!vhlo.regions.Allows(num_regions)) return WrongCount(vhlo.regions, num_regions, "regions");
    llvm::SmallVector<Attribute, 17> values(vhlo.attrs.size());
    if (properties) {
      Cursor blob(*properties);
      for (Attribute& value : values) {
        if (!(value = entries_.ReadAttr(blob))) return false;
      }
      if (!blob.Finished()) {
        Fail("its properties have the wrong length");
        return false;
      }
    }
    if (dictionary) {
      for (mlir::NamedAttribute entry : dictionary) {
        size_t i = 0;
        while (i < vhlo.attrs.size() && Ref(vhlo.attrs[i].name) != entry.getName().getValue()) ++i;
        if (i < vhlo.attrs.size()) {
          values[i] = entry.getValue();
        } else {
          state.attributes.push_back(entry);
        }
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i]) {
        Fail("attribute '" + std::string(vhlo.attrs[i].name) + "' is missing");
        return false;
      }
    }
    if (vhlo.stablehlo == "func.return" &&
        !(block && mlir::isa_and_nonnull<mlir::func::FuncOp>(block->getParentOp()))) {
      if (!stablehlo_return_) {
        auto name = mlir::RegisteredOperationName::lookup("stablehlo.return", context_);
        if (!name) {
          Fail("unknown op 'stablehlo.return'");
          return false;
        }
        stablehlo_return_ = *name;
      }
      state.name = *stablehlo_return_;
    }
    Status converted = ToStablehlo(vhlo, values, state.attributes);
    // A discardable attribute must not pose as an inherent one.
    if (converted.ok() && state.attributes.findDuplicate()) converted = InvalidArgument("an attribute is given twice");
    if (!converted.ok()) Fail(std::string(converted.message()));
    return converted.ok();
  }

  bool WrongCount(Count count, size_t got, const char* what) {
    Fail("it has " + std::to_string(got) + " " + what + ", wanted " + (count.variadic ? "at least " : "") +
         std::to_string(count.number));
    return false;
  }

  bool FillForeign(const Name& name, mlir::DictionaryAttr dictionary, std::optional<std::string_view> properties,
                   mlir::OperationState& state) {
    if (dictionary) state.attributes = dictionary;
    if (!properties) return true;
    auto* interface = name.op->getInterface<mlir::BytecodeOpInterface>();
    if (interface == nullptr) {
      Fail("its properties cannot be read");
      return false;
    }
    Cursor blob(*properties);
    PropertyReader reader(entries_, blob);
    if (mlir::failed(interface->readProperties(reader, state)) || !blob.Finished()) {
      if (entries_.status().ok()) Fail("its properties are malformed");
      return false;
    }
    return true;
  }

  bool ReadRegions(Cursor& in, Scope& scope, mlir::Operation* op, bool isolated, uint32_t depth) {
    if (depth > dialect::kMaxNesting) {
      Fail("regions are nested deeper than " + std::to_string(dialect::kMaxNesting));
      return false;
    }
    Values own;
    Values* values = isolated || scope.values == nullptr ? &own : scope.values;
    if (isolated && container_.version >= 2) {
      const uint8_t id = in.Byte();
      Cursor section(in.Blob());
      if (!in.ok() || id != 4) {
        Fail("malformed bytecode: an isolated region has no section");
        return false;
      }
      for (mlir::Region& region : op->getRegions()) {
        if (!ReadRegion(section, *values, region, depth)) return false;
      }
      if (!section.Finished()) Fail("malformed bytecode: bytes left over after a region");
      return status_.ok();
    }
    for (mlir::Region& region : op->getRegions()) {
      if (!ReadRegion(in, *values, region, depth)) return false;
    }
    return true;
  }

  bool ReadRegion(Cursor& in, Values& values, mlir::Region& region, uint32_t depth) {
    const size_t num_blocks = in.Count();
    if (!in.ok()) Fail("malformed bytecode: more blocks than bytes");
    if (num_blocks == 0) return in.ok();
    const size_t num_values = in.Count();
    const size_t base = values.all.size();
    // Every value that can be seen stands somewhere in the IR section.
    if (!in.ok() || num_values + base > container_.ir.size()) {
      Fail("malformed bytecode: more values than bytes");
      return false;
    }
    values.all.resize(base + num_values);
    Scope scope{&values, base};
    for (size_t i = 0; i < num_blocks; ++i) {
      auto* block = new mlir::Block();
      region.push_back(block);
      if (!ReadBlock(in, scope, *block, depth)) return false;
    }
    values.all.resize(base);
    return true;
  }

  bool ReadBlock(Cursor& in, Scope& scope, mlir::Block& block, uint32_t depth) {
    const uint64_t header = in.VarInt();
    if (header & 1) {
      const size_t n = in.Count();
      for (size_t i = 0; i < n; ++i) {
        mlir::Type type;
        mlir::LocationAttr location = mlir::UnknownLoc::get(context_);
        bool has_location = true;
        if (container_.version >= 4) {
          const uint64_t value = in.VarInt();
          has_location = value & 1;
          type = in.ok() ? entries_.Type(value >> 1) : nullptr;
        } else {
          type = entries_.ReadType(in);
        }
        if (type && has_location) location = entries_.ReadAttrOf<mlir::LocationAttr>(in, "location");
        if (!type || !location) return false;
        block.addArgument(type, mlir::Location(location));
      }
      if (container_.version >= 3 && in.Byte() != 0) SkipUseListOrder(in, n);
      if (!Define(scope, block.getArguments())) return false;
    }
    const uint64_t num_ops = header >> 1;
    if (!in.ok() || num_ops > in.left()) {
      Fail("malformed bytecode: more ops than bytes");
      return false;
    }
    for (uint64_t i = 0; i < num_ops; ++i) {
      if (ReadOp(in, scope, &block, depth) == nullptr) return false;
    }
    return true;
  }

  const Container& container_;
  mlir::MLIRContext* context_;
  EntryReader entries_;
  std::vector<Name> names_;
  std::optional<mlir::OperationName> stablehlo_return_;
  Status status_;
  bool blamed_ = false;
};

}  // namespace

Result<mlir::OwningOpRef<mlir::ModuleOp>> ReadBytecode(std::string_view bytes, mlir::MLIRContext* context,
                                                       LiteralPolicy literals) {
  TENON_ASSIGN_OR_RETURN(Container container, ReadContainer(bytes));
  return IrReader(container, context, literals).Run();
}

}  // namespace tenon::vhlo
