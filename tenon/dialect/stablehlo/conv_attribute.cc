// #stablehlo.conv and the dim_numbers of a convolution's pretty form.
#include "mlir/IR/DialectImplementation.h"
#include "tenon/dialect/stablehlo/assembly.h"

namespace tenon::stablehlo {

using llvm::ArrayRef;
using llvm::SmallVector;
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

// One bracketed list: two letters, and the numbers of the spatial dimensions, at their positions.
struct ConvDims {
  int64_t first = -1;   // position of the first letter
  int64_t second = -1;  // position of the second letter
  SmallVector<int64_t> spatial;
};

ParseResult ParseConvDims(AsmParser& parser, StringRef first, StringRef second, ConvDims& dims) {
  const llvm::SMLoc begin = parser.getCurrentLocation();
  int64_t position = 0;
  const auto parse_dim = [&]() -> ParseResult {
    const int64_t here = position++;
    const llvm::SMLoc loc = parser.getCurrentLocation();
    int64_t number = 0;
    const mlir::OptionalParseResult parsed = parser.parseOptionalInteger(number);
    if (!parsed.has_value()) {
      if (succeeded(parser.parseOptionalQuestion())) return success();
      StringRef letter;
      if (parser.parseKeyword(&letter)) return failure();
      if (letter != first && letter != second) {
        return parser.emitError(loc) << "expected " << first << ", " << second << " or a number, got " << letter;
      }
      int64_t& slot = letter == first ? dims.first : dims.second;
      if (slot != -1) return parser.emitError(loc) << letter << " given twice";
      slot = here;
      return success();
    }
    if (failed(*parsed)) return failure();
    constexpr int64_t kMaxSpatial = 1 << 10;
    if (number < 0 || number >= kMaxSpatial)
      return parser.emitError(loc) << "spatial dimension " << number << " is out of range";
    while (static_cast<int64_t>(dims.spatial.size()) <= number) dims.spatial.push_back(-1);
    if (dims.spatial[number] != -1) return parser.emitError(loc) << "spatial dimension " << number << " given twice";
    dims.spatial[number] = here;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parse_dim)) return failure();
  if (dims.first == -1) return parser.emitError(begin) << "dimension " << first << " is missing";
  if (dims.second == -1) return parser.emitError(begin) << "dimension " << second << " is missing";
  for (auto [number, where] : llvm::enumerate(dims.spatial)) {
    if (where == -1) return parser.emitError(begin) << "spatial dimension " << number << " is missing";
  }
  return success();
}

void PrintConvDims(AsmPrinter& printer, char first, int64_t first_at, char second, int64_t second_at,
                   ArrayRef<int64_t> spatial) {
  int64_t rank = std::max<int64_t>({first_at, second_at, -1}) + 1;
  for (int64_t at : spatial) rank = std::max(rank, at + 1);
  printer << '[';
  for (int64_t at = 0; at < rank; ++at) {
    if (at) printer << ", ";
    const auto* number = llvm::find(spatial, at);
    if (at == first_at) {
      printer << first;
    } else if (at == second_at) {
      printer << second;
    } else if (number != spatial.end()) {
      printer << (number - spatial.begin());
    } else {
      printer << '?';
    }
  }
  printer << ']';
}

// `<raw field = value, ...>`, for numbers that the short form cannot show.
Attribute ParseRawConv(AsmParser& parser) {
  int64_t values[6] = {};
  SmallVector<int64_t> spatial[3];
  constexpr StringRef kNames[] = {"input_batch_dimension",          "input_feature_dimension",
                                  "kernel_input_feature_dimension", "kernel_output_feature_dimension",
                                  "output_batch_dimension",         "output_feature_dimension"};
  constexpr StringRef kSpatial[] = {"input_spatial_dimensions", "kernel_spatial_dimensions",
                                    "output_spatial_dimensions"};
  bool seen[9] = {};
  if (failed(parser.parseOptionalGreater())) {
    do {
      const llvm::SMLoc loc = parser.getCurrentLocation();
      StringRef name;
      if (parser.parseKeyword(&name) || parser.parseEqual()) return {};
      const auto* scalar = llvm::find(kNames, name);
      const auto* list = llvm::find(kSpatial, name);
      if (scalar == std::end(kNames) && list == std::end(kSpatial)) {
        parser.emitError(loc) << "unknown field " << name;
        return {};
      }
      const size_t index = scalar != std::end(kNames) ? scalar - kNames : 6 + (list - kSpatial);
      if (std::exchange(seen[index], true)) {
        parser.emitError(loc) << name << " given twice";
        return {};
      }
      if (index < 6 ? parser.parseInteger(values[index]) : ParseInts(parser, spatial[index - 6])) return {};
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseGreater()) return {};
  }
  return ConvDimensionNumbersAttr::get(parser.getContext(), values[0], values[1], spatial[0], values[2], values[3],
                                       spatial[1], values[4], values[5], spatial[2]);
}

bool IsDrawable(int64_t first, int64_t second, ArrayRef<int64_t> spatial) {
  SmallVector<int64_t> all(spatial);
  all.push_back(first);
  all.push_back(second);
  llvm::sort(all);
  constexpr int64_t kMaxRank = 1 << 10;
  return all.front() >= 0 && all.back() < kMaxRank && std::adjacent_find(all.begin(), all.end()) == all.end();
}

}  // namespace

ParseResult parseConvolutionDimensions(AsmParser& parser, ConvDimensionNumbersAttr& dims) {
  ConvDims input, kernel, output;
  if (ParseConvDims(parser, "b", "f", input) || parser.parseKeyword("x") || ParseConvDims(parser, "i", "o", kernel) ||
      parser.parseArrow() || ParseConvDims(parser, "b", "f", output)) {
    return failure();
  }
  dims = ConvDimensionNumbersAttr::get(parser.getContext(), input.first, input.second, input.spatial, kernel.first,
                                       kernel.second, kernel.spatial, output.first, output.second, output.spatial);
  return success();
}
void printConvolutionDimensions(AsmPrinter& printer, ConvDimensionNumbersAttr dims) {
  PrintConvDims(printer, 'b', dims.getInputBatchDimension(), 'f', dims.getInputFeatureDimension(),
                dims.getInputSpatialDimensions());
  printer << 'x';
  PrintConvDims(printer, 'i', dims.getKernelInputFeatureDimension(), 'o', dims.getKernelOutputFeatureDimension(),
                dims.getKernelSpatialDimensions());
  printer << "->";
  PrintConvDims(printer, 'b', dims.getOutputBatchDimension(), 'f', dims.getOutputFeatureDimension(),
                dims.getOutputSpatialDimensions());
}
void printConvolutionDimensions(AsmPrinter& printer, mlir::Operation*, ConvDimensionNumbersAttr dims) {
  printConvolutionDimensions(printer, dims);
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser& parser, Type) {
  if (parser.parseLess()) return {};
  if (succeeded(parser.parseOptionalKeyword("raw"))) return ParseRawConv(parser);
  ConvDimensionNumbersAttr dims;
  if (parseConvolutionDimensions(parser, dims) || parser.parseGreater()) return {};
  return dims;
}
void ConvDimensionNumbersAttr::print(AsmPrinter& printer) const {
  if (IsDrawable(getInputBatchDimension(), getInputFeatureDimension(), getInputSpatialDimensions()) &&
      IsDrawable(getKernelInputFeatureDimension(), getKernelOutputFeatureDimension(), getKernelSpatialDimensions()) &&
      IsDrawable(getOutputBatchDimension(), getOutputFeatureDimension(), getOutputSpatialDimensions())) {
    printer << '<';
    printConvolutionDimensions(printer, *this);
    printer << '>';
    return;
  }
  printer << "<raw input_batch_dimension = " << getInputBatchDimension()
          << ", input_feature_dimension = " << getInputFeatureDimension() << ", input_spatial_dimensions = ";
  PrintInts(printer, getInputSpatialDimensions());
  printer << ", kernel_input_feature_dimension = " << getKernelInputFeatureDimension()
          << ", kernel_output_feature_dimension = " << getKernelOutputFeatureDimension()
          << ", kernel_spatial_dimensions = ";
  PrintInts(printer, getKernelSpatialDimensions());
  printer << ", output_batch_dimension = " << getOutputBatchDimension()
          << ", output_feature_dimension = " << getOutputFeatureDimension() << ", output_spatial_dimensions = ";
  PrintInts(printer, getOutputSpatialDimensions());
  printer << '>';
}

}  // namespace tenon::stablehlo
