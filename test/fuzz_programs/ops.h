#pragma once

/// The families of ops, each with operands taken from what is in scope. One that finds no operands writes nothing.

#include "test/fuzz_programs/builder.h"

namespace tenon::fuzz {

// elementwise.cc
void AddBinary(Builder& b);
void AddUnary(Builder& b);
void AddConvert(Builder& b);
void AddBitcast(Builder& b);
void AddCompare(Builder& b);
void AddSelect(Builder& b);
void AddComplex(Builder& b);
void AddTranscendental(Builder& b);
void AddDiamonds(Builder& b);
void AddMap(Builder& b);
void AddBarrier(Builder& b);
/// "FLOAT", "SIGNED" ... for a compare of v with another value of its type.
const char* CompareKind(Builder& b, const Value& v, bool may_be_total);
/// `op` (add, multiply, maximum ...) of two values of one type and dims, as text, and what is known of the result.
Numbers AfterBinary(const Builder& b, std::string_view op, const Type& type, const Numbers& x, const Numbers& y);

// movement.cc
void AddTranspose(Builder& b);
void AddBroadcast(Builder& b);
void AddReshape(Builder& b);
void AddReverse(Builder& b);
void AddSlice(Builder& b);
void AddConcatenate(Builder& b);
void AddPad(Builder& b);
void AddRoll(Builder& b);
void AddSeams(Builder& b);
void AddSeamChain(Builder& b);
void AddIota(Builder& b);
void AddRandomBits(Builder& b);

// indexing.cc
void AddDynamicSlice(Builder& b);
void AddDynamicUpdate(Builder& b);
void AddGather(Builder& b);
void AddScatter(Builder& b);
void AddScatterOfTwo(Builder& b);
void AddPieceChain(Builder& b);

// reduce.cc
void AddReduce(Builder& b);
void AddArgReduce(Builder& b);
void AddVariadicReduce(Builder& b);
void AddReduceWindow(Builder& b);
void AddSelectAndScatter(Builder& b);
void AddManyRowSums(Builder& b);
void AddWrittenOutReduce(Builder& b);

// sort.cc
void AddSort(Builder& b);
void AddTopK(Builder& b);

// products.cc
void AddDot(Builder& b);
void AddMixedDot(Builder& b);
void AddConvolution(Builder& b);
void AddFft(Builder& b);

// linalg.cc
void AddCholesky(Builder& b);
void AddTriangularSolve(Builder& b);

// trips.cc
void AddTrips(Builder& b);

// exotic.cc
void AddDynamicShape(Builder& b);
void AddClientOp(Builder& b);

// quantized.cc
void AddQuantized(Builder& b);
void AddRequantized(Builder& b);
void AddQuantizedProduct(Builder& b);
void AddQuantizedConvolution(Builder& b);
void AddQuantizedChain(Builder& b);

// custom.cc
void AddOrderedReduce(Builder& b);
void AddOrderedWindow(Builder& b);
void AddComposite(Builder& b);
void AddManyParts(Builder& b);
void AddCollective(Builder& b);
void AddOldLookup(Builder& b);

// regions.cc
void AddRegionReduce(Builder& b);
void AddRegionWindow(Builder& b);
void AddRegionScatter(Builder& b);
void AddRegionMap(Builder& b);
void AddRegionSelectAndScatter(Builder& b);

// complexes.cc
void AddComplexFunction(Builder& b);
void AddComplexSort(Builder& b);
void AddComplexBits(Builder& b);

// dressed.cc
void AddDressedProduct(Builder& b);
void AddDressedConvolution(Builder& b);

// scans.cc
void AddScan(Builder& b);
void AddRaggedDot(Builder& b);
void AddRandomNumbers(Builder& b);
void AddClientPair(Builder& b);

// scales.cc
void AddScales(Builder& b);

// functions.cc
void AddFunction(Builder& b);
void AddFloatPredicate(Builder& b);
void AddExactQuotient(Builder& b);
void AddBatchNorm(Builder& b);

// rewritten.cc
void AddRewritten(Builder& b);

// blocks.cc
void AddAttention(Builder& b);
void AddRowNorm(Builder& b);
void AddActivation(Builder& b);
void AddRandomLoop(Builder& b);

// spelled.cc
void AddOldProduct(Builder& b);
void AddOldBroadcast(Builder& b);
void AddTuple(Builder& b);
void AddWideCollective(Builder& b);
void AddNamedTopK(Builder& b);

// control.cc
void AddWhile(Builder& b);
void AddShiftLoop(Builder& b);
void AddMappedShiftLoop(Builder& b);
void AddRecurrence(Builder& b);
void AddIf(Builder& b);
void AddCase(Builder& b);
void AddCall(Builder& b);

/// Writes one of a few random ops.
Function NewFunction(Builder& b);

}  // namespace tenon::fuzz
