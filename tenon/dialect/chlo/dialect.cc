#include "tenon/dialect/chlo/dialect.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "tenon/dialect/chlo/dialect.cc.inc"
#include "tenon/dialect/chlo/enums.cc.inc"
#include "tenon/dialect/stablehlo/assembly.h"

#define GET_ATTRDEF_CLASSES
#include "tenon/dialect/chlo/attributes.cc.inc"

namespace tenon::chlo {

using mlir::failure;
using mlir::ParseResult;
using mlir::success;
using stablehlo::ParseInts;
using stablehlo::PrintInts;

void ChloDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/dialect/chlo/attributes.cc.inc"
      >();
  registerChloDialectOperations(this);
}

void RegisterChlo(mlir::DialectRegistry& registry) { registry.insert<ChloDialect>(); }

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

//===--- #chlo.ragged_dot ---===//

namespace {
constexpr llvm::StringLiteral kRaggedNames[] = {"lhs_batching_dimensions",    "rhs_batching_dimensions",
                                                "lhs_contracting_dimensions", "rhs_contracting_dimensions",
                                                "lhs_ragged_dimensions",      "rhs_group_dimensions"};
}  // namespace

mlir::Attribute RaggedDotDimensionNumbersAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  llvm::SmallVector<int64_t> dims[6];
  bool seen[6] = {};
  const auto parse_field = [&]() -> ParseResult {
    const llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef name;
    if (parser.parseKeyword(&name)) return failure();
    const auto* found = llvm::find(kRaggedNames, name);
    if (found == std::end(kRaggedNames)) return parser.emitError(loc) << "unknown field " << name;
    const size_t index = found - kRaggedNames;
    if (std::exchange(seen[index], true)) return parser.emitError(loc) << name << " given twice";
    return failure(parser.parseEqual() || ParseInts(parser, dims[index]));
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::LessGreater, parse_field)) return {};
  return get(parser.getContext(), dims[0], dims[1], dims[2], dims[3], dims[4], dims[5]);
}

void RaggedDotDimensionNumbersAttr::print(mlir::AsmPrinter& printer) const {
  const llvm::ArrayRef<int64_t> dims[] = {getLhsBatchingDimensions(),    getRhsBatchingDimensions(),
                                          getLhsContractingDimensions(), getRhsContractingDimensions(),
                                          getLhsRaggedDimensions(),      getRhsGroupDimensions()};
  printer << '<';
  bool first = true;
  for (auto [name, values] : llvm::zip_equal(kRaggedNames, dims)) {
    if (values.empty()) continue;
    printer << (first ? "" : ", ") << name << " = ";
    PrintInts(printer, values);
    first = false;
  }
  printer << '>';
}

//===--- chlo.scan ---===//

namespace {
constexpr llvm::StringLiteral kResultSegments = "resultSegmentSizes";
}  // namespace

// scan(%in, ..) inits (%z, ..) dimension=N [attributes {...}] REGION : FN
ParseResult ScanOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  using Operands = llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand>;
  Operands inputs, inits;
  int64_t dimension = 0;
  const llvm::SMLoc loc = parser.getCurrentLocation();
  mlir::Region* body = result.addRegion();
  mlir::FunctionType type;
  if (parser.parseOperandList(inputs, mlir::AsmParser::Delimiter::Paren) || parser.parseKeyword("inits") ||
      parser.parseOperandList(inits, mlir::AsmParser::Delimiter::Paren) || parser.parseKeyword("dimension") ||
      parser.parseEqual() || parser.parseInteger(dimension) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body) || parser.parseColon() ||
      parser.parseType(type)) {
    return failure();
  }
  if (type.getNumResults() < inits.size()) {
    return parser.emitError(loc) << "expected at least " << inits.size() << " results, got " << type.getNumResults();
  }
  mlir::Builder& builder = parser.getBuilder();
  const auto count = [](size_t n) { return static_cast<int32_t>(n); };
  result.addAttribute(getDimensionAttrName(result.name), builder.getI64IntegerAttr(dimension));
  result.addAttribute(getOperandSegmentSizesAttrName(result.name),
                      builder.getDenseI32ArrayAttr({count(inputs.size()), count(inits.size())}));
  result.addAttribute(kResultSegments,
                      builder.getDenseI32ArrayAttr({count(type.getNumResults() - inits.size()), count(inits.size())}));
  result.addTypes(type.getResults());
  Operands operands(inputs);
  llvm::append_range(operands, inits);
  return parser.resolveOperands(operands, type.getInputs(), loc, result.operands);
}

void ScanOp::print(mlir::OpAsmPrinter& printer) {
  printer << '(' << getInputs() << ") inits (" << getInits() << ") dimension=" << getDimension() << ' ';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getDimensionAttrName(), getOperandSegmentSizesAttrName(), kResultSegments});
  printer << ' ';
  printer.printRegion(getBody());
  printer << " : ";
  printer.printFunctionalType(*this);
}

}  // namespace tenon::chlo
