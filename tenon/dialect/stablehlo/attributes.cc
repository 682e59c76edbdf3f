#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "tenon/dialect/stablehlo/assembly.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/stablehlo/enums.cc.inc"

#define GET_TYPEDEF_CLASSES
#include "tenon/dialect/stablehlo/types.cc.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/dialect/stablehlo/attributes.cc.inc"

namespace tenon::stablehlo {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;
using mlir::AsmParser;
using mlir::AsmPrinter;
using mlir::Attribute;
using mlir::failed;
using mlir::failure;
using mlir::ParseResult;
using mlir::succeeded;
using mlir::success;
using mlir::Type;

namespace {

// One `name = value` of a record attribute.
struct Field {
  StringRef name;
  bool required;
  llvm::function_ref<ParseResult()> parse;
  bool seen = false;
};

// `<` name = value, ... `>`: any order, each name at most once.
ParseResult ParseRecord(AsmParser& parser, llvm::MutableArrayRef<Field> fields) {
  const llvm::SMLoc begin = parser.getCurrentLocation();
  const auto parse_field = [&]() -> ParseResult {
    const llvm::SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name)) return failure();
    for (Field& field : fields) {
      if (field.name != name) continue;
      if (field.seen) return parser.emitError(loc) << name << " given twice";
      field.seen = true;
      return failure(parser.parseEqual() || field.parse());
    }
    auto error = parser.emitError(loc) << "expected one of ";
    llvm::interleaveComma(fields, error, [&](const Field& field) { error << field.name; });
    return error << ", got " << name;
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parse_field)) return failure();
  for (const Field& field : fields) {
    if (field.required && !field.seen) return parser.emitError(begin) << field.name << " is missing";
  }
  return success();
}

// Prints `name = value` pairs with commas between them.
class RecordPrinter {
 public:
  explicit RecordPrinter(AsmPrinter& printer) : printer_(printer) { printer_ << '<'; }
  ~RecordPrinter() { printer_ << '>'; }
  AsmPrinter& Name(StringRef name, StringRef equals = " = ") {
    if (!first_) printer_ << ", ";
    first_ = false;
    return printer_ << name << equals;
  }
  void Ints(StringRef name, ArrayRef<int64_t> values) {
    Name(name);
    PrintInts(printer_, values);
  }
  void IntsUnlessEmpty(StringRef name, ArrayRef<int64_t> values) {
    if (!values.empty()) Ints(name, values);
  }

 private:
  AsmPrinter& printer_;
  bool first_ = true;
};

void PrintName(AsmPrinter& printer, StringRef name) { printer.printString(name); }

template <typename T>
ParseResult ParseList(AsmParser& parser, SmallVector<T>& values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseAttribute(values.emplace_back()); });
}

template <typename T>
void PrintList(AsmPrinter& printer, ArrayRef<T> values) {
  printer << '[';
  llvm::interleaveComma(values, printer, [&](T value) { printer.printAttribute(value); });
  printer << ']';
}

}  // namespace

//===--- Dimension numbers ---===//

Attribute DotDimensionNumbersAttr::parse(AsmParser& parser, Type) {
  SmallVector<int64_t> lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  const auto a = [&] { return ParseInts(parser, lhs_batch); };
  const auto b = [&] { return ParseInts(parser, rhs_batch); };
  const auto c = [&] { return ParseInts(parser, lhs_contract); };
  const auto d = [&] { return ParseInts(parser, rhs_contract); };
  Field fields[] = {{"lhs_batching_dimensions", false, a},
                    {"rhs_batching_dimensions", false, b},
                    {"lhs_contracting_dimensions", false, c},
                    {"rhs_contracting_dimensions", false, d}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), lhs_batch, rhs_batch, lhs_contract, rhs_contract);
}
void DotDimensionNumbersAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  record.IntsUnlessEmpty("lhs_batching_dimensions", getLhsBatchingDimensions());
  record.IntsUnlessEmpty("rhs_batching_dimensions", getRhsBatchingDimensions());
  record.IntsUnlessEmpty("lhs_contracting_dimensions", getLhsContractingDimensions());
  record.IntsUnlessEmpty("rhs_contracting_dimensions", getRhsContractingDimensions());
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser& parser, Type) {
  SmallVector<int64_t> offset, collapsed, batching, index_batching, map;
  int64_t vector_dim = 0;
  const auto a = [&] { return ParseInts(parser, offset); };
  const auto b = [&] { return ParseInts(parser, collapsed); };
  const auto c = [&] { return ParseInts(parser, batching); };
  const auto d = [&] { return ParseInts(parser, index_batching); };
  const auto e = [&] { return ParseInts(parser, map); };
  const auto f = [&] { return parser.parseInteger(vector_dim); };
  Field fields[] = {{"offset_dims", false, a},           {"collapsed_slice_dims", false, b},
                    {"operand_batching_dims", false, c}, {"start_indices_batching_dims", false, d},
                    {"start_index_map", false, e},       {"index_vector_dim", false, f}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), offset, collapsed, batching, index_batching, map, vector_dim);
}
void GatherDimensionNumbersAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  record.IntsUnlessEmpty("offset_dims", getOffsetDims());
  record.IntsUnlessEmpty("collapsed_slice_dims", getCollapsedSliceDims());
  record.IntsUnlessEmpty("operand_batching_dims", getOperandBatchingDims());
  record.IntsUnlessEmpty("start_indices_batching_dims", getStartIndicesBatchingDims());
  record.IntsUnlessEmpty("start_index_map", getStartIndexMap());
  if (getIndexVectorDim() != 0) record.Name("index_vector_dim") << getIndexVectorDim();
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser& parser, Type) {
  SmallVector<int64_t> window, inserted, batching, index_batching, map;
  int64_t vector_dim = 0;
  const auto a = [&] { return ParseInts(parser, window); };
  const auto b = [&] { return ParseInts(parser, inserted); };
  const auto c = [&] { return ParseInts(parser, batching); };
  const auto d = [&] { return ParseInts(parser, index_batching); };
  const auto e = [&] { return ParseInts(parser, map); };
  const auto f = [&] { return parser.parseInteger(vector_dim); };
  Field fields[] = {{"update_window_dims", false, a},           {"inserted_window_dims", false, b},
                    {"input_batching_dims", false, c},          {"scatter_indices_batching_dims", false, d},
                    {"scatter_dims_to_operand_dims", false, e}, {"index_vector_dim", false, f}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), window, inserted, batching, index_batching, map, vector_dim);
}
void ScatterDimensionNumbersAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  record.IntsUnlessEmpty("update_window_dims", getUpdateWindowDims());
  record.IntsUnlessEmpty("inserted_window_dims", getInsertedWindowDims());
  record.IntsUnlessEmpty("input_batching_dims", getInputBatchingDims());
  record.IntsUnlessEmpty("scatter_indices_batching_dims", getScatterIndicesBatchingDims());
  record.IntsUnlessEmpty("scatter_dims_to_operand_dims", getScatterDimsToOperandDims());
  if (getIndexVectorDim() != 0) record.Name("index_vector_dim") << getIndexVectorDim();
}

//===--- Channels, aliases, algorithms ---===//

Attribute ChannelHandleAttr::parse(AsmParser& parser, Type) {
  int64_t handle = 0, type = 0;
  const auto a = [&] { return parser.parseInteger(handle); };
  const auto b = [&] { return parser.parseInteger(type); };
  Field fields[] = {{"handle", true, a}, {"type", true, b}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), handle, type);
}
void ChannelHandleAttr::print(AsmPrinter& printer) const {
  printer << "<handle = " << getHandle() << ", type = " << getType() << '>';
}

Attribute OutputOperandAliasAttr::parse(AsmParser& parser, Type) {
  SmallVector<int64_t> output, operand;
  int64_t index = 0;
  const auto a = [&] { return ParseInts(parser, output); };
  const auto b = [&] { return parser.parseInteger(index); };
  const auto c = [&] { return ParseInts(parser, operand); };
  Field fields[] = {{"output_tuple_indices", true, a}, {"operand_index", true, b}, {"operand_tuple_indices", true, c}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), output, index, operand);
}
void OutputOperandAliasAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  record.Ints("output_tuple_indices", getOutputTupleIndices());
  record.Name("operand_index") << getOperandIndex();
  record.Ints("operand_tuple_indices", getOperandTupleIndices());
}

Attribute DotAlgorithmAttr::parse(AsmParser& parser, Type) {
  Type lhs, rhs, accumulation;
  int64_t lhs_count = 0, rhs_count = 0, operations = 0;
  bool imprecise = false;
  const auto a = [&] { return parser.parseType(lhs); };
  const auto b = [&] { return parser.parseType(rhs); };
  const auto c = [&] { return parser.parseType(accumulation); };
  const auto d = [&] { return parser.parseInteger(lhs_count); };
  const auto e = [&] { return parser.parseInteger(rhs_count); };
  const auto f = [&] { return parser.parseInteger(operations); };
  const auto g = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("true"))) {
      imprecise = true;
      return success();
    }
    return parser.parseKeyword("false");
  };
  Field fields[] = {{"lhs_precision_type", true, a},          {"rhs_precision_type", true, b},
                    {"accumulation_type", true, c},           {"lhs_component_count", true, d},
                    {"rhs_component_count", true, e},         {"num_primitive_operations", true, f},
                    {"allow_imprecise_accumulation", true, g}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), lhs, rhs, accumulation, lhs_count, rhs_count, operations, imprecise);
}
void DotAlgorithmAttr::print(AsmPrinter& printer) const {
  printer << "<lhs_precision_type = " << getLhsPrecisionType() << ", rhs_precision_type = " << getRhsPrecisionType()
          << ", accumulation_type = " << getAccumulationType() << ", lhs_component_count = " << getLhsComponentCount()
          << ", rhs_component_count = " << getRhsComponentCount()
          << ", num_primitive_operations = " << getNumPrimitiveOperations()
          << ", allow_imprecise_accumulation = " << (getAllowImpreciseAccumulation() ? "true" : "false") << '>';
}

Attribute ResultAccuracyAttr::parse(AsmParser& parser, Type) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  const auto a = [&] { return parser.parseFloat(atol); };
  const auto b = [&] { return parser.parseFloat(rtol); };
  const auto c = [&] { return parser.parseInteger(ulps); };
  const auto d = [&] { return parser.parseAttribute(mode); };
  Field fields[] = {{"atol", false, a}, {"rtol", false, b}, {"ulps", false, c}, {"mode", true, d}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), llvm::APFloat(atol), llvm::APFloat(rtol), ulps, mode);
}
void ResultAccuracyAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  if (!getAtol().isZero()) {
    record.Name("atol");
    printer.printFloat(getAtol());
  }
  if (!getRtol().isZero()) {
    record.Name("rtol");
    printer.printFloat(getRtol());
  }
  if (getUlps() != 0) record.Name("ulps") << getUlps();
  record.Name("mode");
  printer.printAttribute(getMode());
}

//===--- Bounds ---===//

namespace {

ParseResult ParseBounds(AsmParser& parser, SmallVectorImpl<int64_t>& bounds, AsmParser::Delimiter delimiter) {
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      bounds.push_back(mlir::ShapedType::kDynamic);
      return success();
    }
    return parser.parseInteger(bounds.emplace_back());
  });
}

void PrintBounds(AsmPrinter& printer, ArrayRef<int64_t> bounds) {
  llvm::interleaveComma(bounds, printer, [&](int64_t bound) {
    if (mlir::ShapedType::isDynamic(bound)) {
      printer << '?';
    } else {
      printer << bound;
    }
  });
}

}  // namespace

Attribute TypeExtensionsAttr::parse(AsmParser& parser, Type) {
  SmallVector<int64_t> bounds;
  const auto a = [&] { return ParseBounds(parser, bounds, AsmParser::Delimiter::Square); };
  Field fields[] = {{"bounds", true, a}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), bounds);
}
void TypeExtensionsAttr::print(AsmPrinter& printer) const {
  printer << "<bounds = [";
  PrintBounds(printer, getBounds());
  printer << "]>";
}

llvm::LogicalResult TypeExtensionsAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type, llvm::function_ref<mlir::InFlightDiagnostic()> emit_error) const {
  const ArrayRef<int64_t> bounds = getBounds();
  if (bounds.size() != shape.size()) {
    return emit_error() << "expected one bound per dimension (" << shape.size() << "), got " << bounds.size();
  }
  for (auto [index, bound] : llvm::enumerate(bounds)) {
    if (mlir::ShapedType::isDynamic(bound)) continue;
    if (bound < 0) return emit_error() << "bound of dimension " << index << " is negative: " << bound;
    if (!mlir::ShapedType::isDynamic(shape[index])) {
      return emit_error() << "static dimension " << index << " of size " << shape[index] << " has a bound: " << bound;
    }
  }
  return success();
}

//===--- Meshes ---===//

Attribute MeshAxisAttr::parse(AsmParser& parser, Type) {
  std::string name;
  int64_t size = 0;
  const auto a = [&] { return parser.parseString(&name); };
  const auto b = [&] { return parser.parseInteger(size); };
  Field fields[] = {{"name", true, a}, {"size", true, b}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), name, size);
}
void MeshAxisAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  record.Name("name");
  PrintName(printer, getName());
  record.Name("size") << getSize();
}

Attribute MeshAttr::parse(AsmParser& parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  mlir::DenseIntElementsAttr device_ids;
  const auto a = [&] { return ParseList(parser, axes); };
  const auto b = [&] { return parser.parseAttribute(device_ids); };
  Field fields[] = {{"axes", true, a}, {"device_ids", false, b}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), axes, device_ids);
}
void MeshAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  record.Name("axes", "=");
  PrintList(printer, getAxes());
  if (getDeviceIds()) {
    record.Name("device_ids", "=");
    printer.printAttribute(getDeviceIds());
  }
}

Attribute SubAxisInfoAttr::parse(AsmParser& parser, Type) {
  int64_t pre_size = 0, size = 0;
  if (parser.parseLParen() || parser.parseInteger(pre_size) || parser.parseRParen() || parser.parseInteger(size)) {
    return {};
  }
  return get(parser.getContext(), pre_size, size);
}
void SubAxisInfoAttr::print(AsmPrinter& printer) const { printer << '(' << getPreSize() << ')' << getSize(); }

Attribute AxisRefAttr::parse(AsmParser& parser, Type) {
  std::string name;
  SubAxisInfoAttr sub_axis;
  const auto a = [&] { return parser.parseString(&name); };
  const auto b = [&] {
    sub_axis = llvm::dyn_cast_if_present<SubAxisInfoAttr>(SubAxisInfoAttr::parse(parser, {}));
    return mlir::failure(!sub_axis);
  };
  Field fields[] = {{"name", true, a}, {"sub_axis_info", false, b}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), name, sub_axis);
}
void AxisRefAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  record.Name("name");
  PrintName(printer, getName());
  if (getSubAxisInfo()) {
    record.Name("sub_axis_info");
    getSubAxisInfo().print(printer);
  }
}

Attribute ReplicaGroupMeshAxesAttr::parse(AsmParser& parser, Type) {
  Attribute mesh;
  SmallVector<AxisRefAttr> axes;
  const auto a = [&]() -> ParseResult {
    const llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseAttribute(mesh)) return failure();
    if (llvm::isa<MeshAttr, mlir::FlatSymbolRefAttr>(mesh)) return success();
    return parser.emitError(loc) << "expected a mesh or its symbol, got " << mesh;
  };
  const auto b = [&] { return ParseList(parser, axes); };
  Field fields[] = {{"mesh", true, a}, {"axes", true, b}};
  if (ParseRecord(parser, fields)) return {};
  return get(parser.getContext(), mesh, axes);
}
void ReplicaGroupMeshAxesAttr::print(AsmPrinter& printer) const {
  RecordPrinter record(printer);
  record.Name("mesh");
  printer.printAttribute(getMesh());
  record.Name("axes");
  PrintList(printer, getAxes());
}

//===--- Dialect ---===//

void StablehloDialect::RegisterAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/dialect/stablehlo/attributes.cc.inc"
      >();
}

void StablehloDialect::RegisterTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tenon/dialect/stablehlo/types.cc.inc"
      >();
}

Attribute StablehloDialect::parseAttribute(mlir::DialectAsmParser& parser, Type type) const {
  const llvm::SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attr;
  const mlir::OptionalParseResult parsed = generatedAttributeParser(parser, &mnemonic, type, attr);
  if (parsed.has_value()) return attr;
  if (mnemonic == "bounds") {
    SmallVector<int64_t> bounds;
    if (ParseBounds(parser, bounds, AsmParser::Delimiter::LessGreater)) return {};
    return TypeExtensionsAttr::get(parser.getContext(), bounds);
  }
  parser.emitError(loc) << "unknown attribute `" << mnemonic << "` in dialect `stablehlo`";
  return {};
}

void StablehloDialect::printAttribute(Attribute attr, mlir::DialectAsmPrinter& printer) const {
  if (auto extensions = llvm::dyn_cast<TypeExtensionsAttr>(attr)) {
    printer << "bounds<";
    PrintBounds(printer, extensions.getBounds());
    printer << '>';
    return;
  }
  (void)generatedAttributePrinter(attr, printer);
}

}  // namespace tenon::stablehlo
