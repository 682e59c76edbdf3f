#include "tenon/compiler/import/import.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL  // Header-only: no library to find at load time.
#include <xxhash.h>

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "tenon/compiler/import/expand.h"
#include "tenon/compiler/import/import_impl.h"
#include "tenon/compiler/import/importer.h"
#include "tenon/compiler/import/quantized.h"
#include "tenon/compiler/partition/globalize.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {

Imported::Imported() : impl(std::make_unique<Impl>()) {}
Imported::~Imported() = default;
Imported::Imported(Imported&&) = default;
Imported& Imported::operator=(Imported&&) = default;

namespace {

// Of what a program is in every process: what calls are told of callbacks may be addresses of one.
Hash128 HashOf(mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  copy->walk([](stablehlo::CustomCallOp call) {
    if (!call.getCallTargetName().contains("callback")) return;
    call->removeAttr("backend_config");
    call->removeAttr("mhlo.backend_config");
  });
  const std::string text = dialect::ToText(*copy);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

// Exchanges between processes are for the partitioner to make, transfers of the host for the importer.
Status CheckNoOwnCalls(mlir::ModuleOp module) {
  std::string found;
  module.walk([&](stablehlo::CustomCallOp call) {
    const std::string_view target(call.getCallTargetName().data(), call.getCallTargetName().size());
    if (target == kExchangeTarget || target == kHostSendTarget || target == kHostRecvTarget) found = target;
  });
  return found.empty() ? OkStatus() : InvalidArgument(fmt::format("custom calls of '{}' are for Tenon itself", found));
}

// Which device's bytes a channel carries is not said where one program computes for all of them.
Status CheckNoHostTransfers(mlir::ModuleOp module) {
  mlir::Operation* found = nullptr;
  module.walk([&](mlir::Operation* op) {
    if (IsHostTransfer(op)) found = op;
  });
  if (found == nullptr) return OkStatus();
  return Unimplemented(fmt::format("{} with the host in a program of several devices",
                                   std::string_view(found->getName().getStringRef())));
}

// Calls that only order others, which are ordered as it is.
void DropOrderingHints(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation*> hints;
  module.walk([&](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName() == "control_dep" && call->getNumResults() == 0) hints.push_back(call);
  });
  for (mlir::Operation* hint : hints) hint->erase();
}

// What was started and is awaited runs where it was started. Futures that go elsewhere stay.
void InlineAsync(mlir::ModuleOp module) {
  llvm::SmallVector<stablehlo::AsyncStartOp> starts;
  module.walk([&](stablehlo::AsyncStartOp start) { starts.push_back(start); });
  for (stablehlo::AsyncStartOp start : starts) {
    mlir::Block& body = start.getBody().front();
    const llvm::SmallVector<mlir::Value> results(body.getTerminator()->getOperands());
    bool plain = body.getNumArguments() == start->getNumOperands();
    llvm::SmallVector<mlir::Operation*> awaits(start->user_begin(), start->user_end());
    for (mlir::Operation* user : awaits)
      plain &= mlir::isa<stablehlo::AsyncDoneOp>(user) && user->getNumResults() == results.size();
    if (!plain) continue;
    // Results that are arguments have to be looked up before those are replaced.
    llvm::SmallVector<mlir::Value> values;
    for (mlir::Value v : results) {
      auto argument = mlir::dyn_cast<mlir::BlockArgument>(v);
      values.push_back(argument && argument.getOwner() == &body ? start->getOperand(argument.getArgNumber()) : v);
    }
    for (mlir::BlockArgument argument : body.getArguments())
      argument.replaceAllUsesWith(start->getOperand(argument.getArgNumber()));
    body.getTerminator()->erase();
    start->getBlock()->getOperations().splice(start->getIterator(), body.getOperations());
    for (mlir::Operation* user : awaits) {
      user->replaceAllUsesWith(values);
      user->erase();
    }
    start->erase();
  }
}

}  // namespace

Result<Imported> Import(std::string_view bytes, int64_t num_replicas, int64_t num_partitions,
                        const Processes& processes) {
  Imported imported;
  TENON_ASSIGN_OR_RETURN(imported.impl->module, dialect::Parse(imported.impl->context, bytes));
  const mlir::ModuleOp module = dialect::AsModule(imported.impl->module);
  TENON_RETURN_IF_ERROR(CheckNoOwnCalls(module));
  if (num_replicas * num_partitions > 1) TENON_RETURN_IF_ERROR(CheckNoHostTransfers(module));
  if (!processes.empty()) {
    imported.common = HashOf(module);
  }
  DropOrderingHints(module);
  InlineAsync(module);
  TENON_RETURN_IF_ERROR(ExpandBroadcasts(module));
  TENON_RETURN_IF_ERROR(LowerQuantized(module));
  TENON_RETURN_IF_ERROR(ExpandOps(module));
  if (num_partitions > 1) TENON_RETURN_IF_ERROR(dialect::TranslateShardings(module));
  if (NeedsGlobalize(module, num_replicas, num_partitions)) {
    TENON_ASSIGN_OR_RETURN(imported.shardings, Globalize(module, num_replicas, num_partitions, processes));
    if (Status s = dialect::Verify(module); !s.ok())
      return Internal(std::string(s.message())).WithContext("the program over whole arrays is wrong");
  }
  TENON_RETURN_IF_ERROR(Importer(module, imported.program).Run());
  return imported;
}

std::string Imported::Text() const { return dialect::ToText(impl->module.op()); }
Result<std::string> Imported::Artifact() const { return ToArtifact(impl->module.op()); }

Result<std::string> ToArtifact(mlir::Operation* module) {
  // Readers of all clients in use take it.
  constexpr dialect::Version kOld{1, 9, 0};  // structural: a version
  Result<std::string> artifact = dialect::Serialize(module, kOld);
  return artifact.ok() ? std::move(artifact) : dialect::Serialize(module);
}

void CloneSymbols(mlir::ModuleOp to, mlir::ModuleOp from) {
  for (bool added = true; added;) {
    added = false;
    const auto uses = mlir::SymbolTable::getSymbolUses(&to.getBodyRegion());
    if (!uses) return;
    for (const mlir::SymbolTable::SymbolUse& use : *uses) {
      const mlir::StringAttr name = use.getSymbolRef().getRootReference();
      if (mlir::SymbolTable::lookupSymbolIn(to, name) != nullptr) continue;
      mlir::Operation* symbol = mlir::SymbolTable::lookupSymbolIn(from, name);
      if (symbol == nullptr) continue;  // The verifier says so.
      to.push_back(symbol->clone());
      added = true;
      break;  // The list of uses is out of date.
    }
  }
}

Result<std::shared_ptr<const std::string>> Imported::ExportOp(const GraphNode& node) const {
  mlir::Operation* op = node.origin;
  mlir::MLIRContext* context = op->getContext();
  mlir::OpBuilder builder(context);
  const mlir::Location loc = mlir::UnknownLoc::get(context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  llvm::SmallVector<mlir::Value> inputs(op->getOperands().begin(), op->getOperands().end());
  std::vector<const void*> captures = node.captures;
  if (node.op != OpCode::kOpaque) {
    // Regions of ops that have a form here may use outer values too; those cannot travel.
    bool captured = false;
    op->walk([&](mlir::Operation* inner) {
      for (mlir::Value v : inner->getOperands()) {
        mlir::Operation* owner = v.getParentBlock()->getParentOp();
        captured |= inner != op && owner != op && !op->isProperAncestor(owner);
      }
    });
    if (captured) return Unimplemented(fmt::format("{} whose region uses outer values", OpName(node.op)));
  }
  for (const void* v : captures) inputs.push_back(mlir::Value::getFromOpaquePointer(v));
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value v : inputs) types.push_back(v.getType());
  auto function = mlir::func::FuncOp::create(loc, "main", builder.getFunctionType(types, op->getResultTypes()));
  builder.insert(function);
  mlir::Block* block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  mlir::IRMapping mapping;
  // An operand that occurs twice maps to its first argument; the others go unused.
  for (size_t i = inputs.size(); i-- > 0;) mapping.map(inputs[i], block->getArgument(static_cast<unsigned>(i)));
  mlir::Operation* clone = builder.clone(*op, mapping);
  mlir::func::ReturnOp::create(builder, loc, clone->getResults());
  CloneSymbols(*module, op->getParentOfType<mlir::ModuleOp>());
  TENON_ASSIGN_OR_RETURN(std::string bytes, dialect::Serialize(*module));
  return std::make_shared<const std::string>(std::move(bytes));
}

namespace {

// What a splat in a call's configuration may be written out to: a few bytes may claim any size.
constexpr int64_t kMaxSplat = int64_t{1} << 20;  // structural: far beyond any configuration

Result<plan::Attribute> AttributeOf(llvm::StringRef name, mlir::Attribute value) {
  plan::Attribute a;
  a.name = std::string(name.data(), name.size());
  auto scalar = [&](DType type, const llvm::APInt& bits) {
    a.kind = plan::Attribute::Kind::kScalar;
    a.dtype = type;
    const uint64_t v = bits.getBitWidth() <= 64 ? bits.getZExtValue() : 0;  // structural: bits of a word
    a.bytes.assign(reinterpret_cast<const char*>(&v), static_cast<size_t>(std::max(ByteWidth(type), 1)));
  };
  if (auto b = mlir::dyn_cast<mlir::BoolAttr>(value)) {
    scalar(DType::kPred, llvm::APInt(8, b.getValue() ? 1 : 0));
  } else if (auto i = mlir::dyn_cast<mlir::IntegerAttr>(value)) {
    const DType type = mlir::isa<mlir::IndexType>(i.getType()) ? DType::kS64 : ElementTypeOf(i.getType());
    scalar(type, i.getValue());
  } else if (auto f = mlir::dyn_cast<mlir::FloatAttr>(value)) {
    scalar(ElementTypeOf(f.getType()), f.getValue().bitcastToAPInt());
  } else if (auto s = mlir::dyn_cast<mlir::StringAttr>(value)) {
    a.kind = plan::Attribute::Kind::kString;
    a.bytes = std::string(s.getValue().data(), s.getValue().size());
  } else if (auto array = mlir::dyn_cast<mlir::DenseArrayAttr>(value)) {
    a.kind = plan::Attribute::Kind::kArray;
    a.dtype = ElementTypeOf(array.getElementType());
    a.bytes.assign(array.getRawData().data(), array.getRawData().size());
  } else if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value)) {
    a.kind = plan::Attribute::Kind::kArray;
    a.dtype = ElementTypeOf(dense.getElementType());
    if (dense.isSplat() && dense.getNumElements() > kMaxSplat) {
      return InvalidArgument(fmt::format("attribute {} of a call repeats one value {} times, at most {} may be", a.name,
                                         dense.getNumElements(), kMaxSplat));
    }
    std::optional<Literal> literal = LiteralOf(dense);
    if (literal) {
      const size_t copies = literal->splat ? static_cast<size_t>(dense.getNumElements()) : 1;
      a.bytes.reserve(copies * literal->bytes->size());
      for (size_t i = 0; i < copies; ++i) a.bytes += *literal->bytes;
    }
  } else if (auto dictionary = mlir::dyn_cast<mlir::DictionaryAttr>(value)) {
    a.kind = plan::Attribute::Kind::kDictionary;
    for (const mlir::NamedAttribute& n : dictionary) {
      TENON_ASSIGN_OR_RETURN(plan::Attribute member, AttributeOf(n.getName().getValue(), n.getValue()));
      a.members.push_back(std::move(member));
    }
  } else {
    a.kind = plan::Attribute::Kind::kString;
    llvm::raw_string_ostream(a.bytes) << value;
  }
  return a;
}

}  // namespace

plan::Origin Imported::OriginOf(const GraphNode& node) const {
  plan::Origin origin;
  origin.op = node.source->getName().stripDialect().str();
  const mlir::Location location = node.source->getLoc();
  // JAX names each op after the functions and scopes around it; a name further in is a Python function's.
  if (auto named = mlir::dyn_cast<mlir::NameLoc>(location)) origin.scope = named.getName().str();
  // The callee's place comes before its callers', and of several that became one the first.
  if (const auto place = location->findInstanceOf<mlir::FileLineColLoc>())
    origin.place = fmt::format("{}:{}", place.getFilename().str(), place.getLine());
  return origin;
}

Result<Imported::Call> Imported::DescribeCall(const GraphNode& node) const {
  mlir::Operation* op = node.origin;
  Call call;
  call.step.target = node.name;
  if (auto channel = op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
      channel && mlir::isa<stablehlo::SendOp, stablehlo::RecvOp>(op)) {
    call.step.opaque = std::to_string(channel.getHandle());
  }
  if (auto version = op->getAttrOfType<mlir::IntegerAttr>("api_version"))
    call.step.api_version = static_cast<int32_t>(version.getInt());
  mlir::Attribute config = op->getAttr("backend_config");
  // Artifacts older than typed calls carry the dictionary beside the call.
  if (mlir::Attribute beside = op->getAttr("mhlo.backend_config"); beside && mlir::isa<mlir::DictionaryAttr>(beside)) {
    config = beside;
    call.step.api_version = 4;
  }
  if (auto dictionary = config ? mlir::dyn_cast<mlir::DictionaryAttr>(config) : mlir::DictionaryAttr()) {
    for (const mlir::NamedAttribute& n : dictionary) {
      TENON_ASSIGN_OR_RETURN(plan::Attribute attribute, AttributeOf(n.getName().getValue(), n.getValue()));
      call.step.attributes.push_back(std::move(attribute));
    }
  } else if (auto text = config ? mlir::dyn_cast<mlir::StringAttr>(config) : mlir::StringAttr()) {
    call.step.opaque = std::string(text.getValue().data(), text.getValue().size());
  }
  if (auto aliases = op->getAttrOfType<mlir::ArrayAttr>("output_operand_aliases")) {
    for (mlir::Attribute a : aliases) {
      auto alias = mlir::cast<stablehlo::OutputOperandAliasAttr>(a);
      const uint32_t result =
          alias.getOutputTupleIndices().empty() ? 0 : static_cast<uint32_t>(alias.getOutputTupleIndices()[0]);
      call.step.aliases.push_back({result, static_cast<uint32_t>(alias.getOperandIndex())});
    }
  }
  call.operand_layouts = LayoutsOf(op, "operand_layouts");
  call.result_layouts = LayoutsOf(op, "result_layouts");
  return call;
}

}  // namespace tenon::compiler
