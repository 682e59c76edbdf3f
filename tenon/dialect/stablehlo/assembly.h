#pragma once

#include "mlir/IR/OpImplementation.h"
#include "tenon/dialect/stablehlo/dialect.h"

/// The custom<...> pieces of the ops' pretty forms. Names are those that TableGen's generated code calls.
namespace tenon::stablehlo {

using UnresolvedOperands = llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>;

/// `T` for all operands and the result, or a function type.
mlir::ParseResult parseSameOrFunctionType(mlir::OpAsmParser& parser, mlir::Type& a, mlir::Type& result);
mlir::ParseResult parseSameOrFunctionType(mlir::OpAsmParser& parser, mlir::Type& a, mlir::Type& b, mlir::Type& result);
mlir::ParseResult parseSameOrFunctionType(mlir::OpAsmParser& parser, mlir::Type& a, mlir::Type& b, mlir::Type& c,
                                          mlir::Type& result);
void printSameOrFunctionType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::Type a, mlir::Type result);
void printSameOrFunctionType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::Type a, mlir::Type b,
                             mlir::Type result);
void printSameOrFunctionType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::Type a, mlir::Type b, mlir::Type c,
                             mlir::Type result);

/// As above for a list of operands; the type alone if there are none.
mlir::ParseResult parseVariadicSameType(mlir::OpAsmParser& parser, const UnresolvedOperands& operands,
                                        llvm::SmallVectorImpl<mlir::Type>& types, mlir::Type& result);
void printVariadicSameType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::OperandRange operands,
                           mlir::TypeRange types, mlir::Type result);

/// Complex result type (operands are its parts), or a function type.
mlir::ParseResult parseComplexType(mlir::OpAsmParser& parser, mlir::Type& lhs, mlir::Type& rhs, mlir::Type& result);
void printComplexType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::Type lhs, mlir::Type rhs,
                      mlir::Type result);

/// `predicate type, T`, or a function type.
mlir::ParseResult parseSelectType(mlir::OpAsmParser& parser, mlir::Type& pred, mlir::Type& on_true,
                                  mlir::Type& on_false, mlir::Type& result);
void printSelectType(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::Type pred, mlir::Type on_true,
                     mlir::Type on_false, mlir::Type result);

/// One list for the types of operands and results.
mlir::ParseResult parsePairwiseTypes(mlir::OpAsmParser& parser, llvm::SmallVectorImpl<mlir::Type>& operands,
                                     llvm::SmallVectorImpl<mlir::Type>& results);
void printPairwiseTypes(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::TypeRange operands,
                        mlir::TypeRange results);

/// `tuple<...>`, which gives the types of the operands too.
mlir::ParseResult parseTupleOperandTypes(mlir::OpAsmParser& parser, llvm::SmallVectorImpl<mlir::Type>& operands,
                                         mlir::Type& result);
void printTupleOperandTypes(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::TypeRange operands,
                            mlir::Type result);

/// Operands each followed by a comma.
mlir::ParseResult parseOperandsWithCommas(mlir::OpAsmParser& parser, UnresolvedOperands& operands);
void printOperandsWithCommas(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::OperandRange operands);

/// `e5m10`.
mlir::ParseResult parseExponentMantissa(mlir::OpAsmParser& parser, mlir::IntegerAttr& exponent,
                                        mlir::IntegerAttr& mantissa);
void printExponentMantissa(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::IntegerAttr exponent,
                           mlir::IntegerAttr mantissa);

/// `[start:limit:stride, ...]`, stride 1 left out.
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser& parser, mlir::DenseI64ArrayAttr& start,
                                   mlir::DenseI64ArrayAttr& limit, mlir::DenseI64ArrayAttr& strides);
void printSliceRanges(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::DenseI64ArrayAttr start,
                      mlir::DenseI64ArrayAttr limit, mlir::DenseI64ArrayAttr strides);

/// `[batching_dims = [..] x [..],] contracting_dims = [..] x [..]`.
mlir::ParseResult parseDotDimensions(mlir::OpAsmParser& parser, DotDimensionNumbersAttr& dims);
void printDotDimensions(mlir::OpAsmPrinter& printer, mlir::Operation* op, DotDimensionNumbersAttr dims);

/// `[, precision = [P, P]]`.
mlir::ParseResult parsePrecisionConfig(mlir::OpAsmParser& parser, mlir::ArrayAttr& precision);
void printPrecisionConfig(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::ArrayAttr precision);

/// `[, precision = [P, P]] [, algorithm = <...>]`.
mlir::ParseResult parsePrecisionAndAlgorithm(mlir::OpAsmParser& parser, mlir::ArrayAttr& precision,
                                             DotAlgorithmAttr& algorithm);
void printPrecisionAndAlgorithm(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::ArrayAttr precision,
                                DotAlgorithmAttr algorithm);

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
mlir::ParseResult parseConvolutionDimensions(mlir::AsmParser& parser, ConvDimensionNumbersAttr& dims);
void printConvolutionDimensions(mlir::AsmPrinter& printer, ConvDimensionNumbersAttr dims);
void printConvolutionDimensions(mlir::AsmPrinter& printer, mlir::Operation* op, ConvDimensionNumbersAttr dims);

/// `stride = [..], pad = [[lo, hi], ..], lhs_dilate = [..], rhs_dilate = [..], reverse = [..]` in any order.
mlir::ParseResult parseWindow(mlir::OpAsmParser& parser, mlir::DenseI64ArrayAttr& strides,
                              mlir::DenseIntElementsAttr& padding, mlir::DenseI64ArrayAttr& lhs_dilation,
                              mlir::DenseI64ArrayAttr& rhs_dilation, mlir::DenseBoolArrayAttr& reversal);
void printWindow(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::DenseI64ArrayAttr strides,
                 mlir::DenseIntElementsAttr padding, mlir::DenseI64ArrayAttr lhs_dilation,
                 mlir::DenseI64ArrayAttr rhs_dilation, mlir::DenseBoolArrayAttr reversal);

/// `@name` or `@"odd name"`: a string attribute printed like a symbol.
mlir::ParseResult parseCallTarget(mlir::OpAsmParser& parser, mlir::StringAttr& target);
void printCallTarget(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::StringAttr target);

/// `[1, 2]`, appended to `values`.
mlir::ParseResult ParseInts(mlir::AsmParser& parser, llvm::SmallVectorImpl<int64_t>& values);
void PrintInts(mlir::AsmPrinter& printer, llvm::ArrayRef<int64_t> values);

}  // namespace tenon::stablehlo
