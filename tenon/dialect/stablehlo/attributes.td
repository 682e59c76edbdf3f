// Attributes of StableHLO that are records: dimension numbers, channel handles, accuracy, meshes.
#ifndef TENON_DIALECT_STABLEHLO_ATTRIBUTES_TD
#define TENON_DIALECT_STABLEHLO_ATTRIBUTES_TD

include "tenon/dialect/stablehlo/base.td"
include "tenon/dialect/stablehlo/enums.td"

class StablehloAttr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<StablehloDialect, name, traits> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Dims : ArrayRefParameter<"int64_t", "dimensions">;

def Stablehlo_DotDimensionNumbers : StablehloAttr<"DotDimensionNumbers", "dot"> {
  let parameters = (ins Dims:$lhsBatchingDimensions, Dims:$rhsBatchingDimensions,
                        Dims:$lhsContractingDimensions, Dims:$rhsContractingDimensions);
}

def Stablehlo_GatherDimensionNumbers : StablehloAttr<"GatherDimensionNumbers", "gather"> {
  let parameters = (ins Dims:$offsetDims, Dims:$collapsedSliceDims, Dims:$operandBatchingDims,
                        Dims:$startIndicesBatchingDims, Dims:$startIndexMap, "int64_t":$indexVectorDim);
}

def Stablehlo_ScatterDimensionNumbers : StablehloAttr<"ScatterDimensionNumbers", "scatter"> {
  let parameters = (ins Dims:$updateWindowDims, Dims:$insertedWindowDims, Dims:$inputBatchingDims,
                        Dims:$scatterIndicesBatchingDims, Dims:$scatterDimsToOperandDims, "int64_t":$indexVectorDim);
}

def Stablehlo_ConvDimensionNumbers : StablehloAttr<"ConvDimensionNumbers", "conv"> {
  let parameters = (ins "int64_t":$inputBatchDimension, "int64_t":$inputFeatureDimension, Dims:$inputSpatialDimensions,
                        "int64_t":$kernelInputFeatureDimension, "int64_t":$kernelOutputFeatureDimension,
                        Dims:$kernelSpatialDimensions, "int64_t":$outputBatchDimension,
                        "int64_t":$outputFeatureDimension, Dims:$outputSpatialDimensions);
}

def Stablehlo_ChannelHandle : StablehloAttr<"ChannelHandle", "channel_handle"> {
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
}

def Stablehlo_OutputOperandAlias : StablehloAttr<"OutputOperandAlias", "output_operand_alias"> {
  let parameters = (ins Dims:$outputTupleIndices, "int64_t":$operandIndex, Dims:$operandTupleIndices);
}

def Stablehlo_DotAlgorithm : StablehloAttr<"DotAlgorithm", "dot_algorithm"> {
  let parameters = (ins "::mlir::Type":$lhsPrecisionType, "::mlir::Type":$rhsPrecisionType,
                        "::mlir::Type":$accumulationType, "int64_t":$lhsComponentCount, "int64_t":$rhsComponentCount,
                        "int64_t":$numPrimitiveOperations, "bool":$allowImpreciseAccumulation);
}

def Stablehlo_ResultAccuracy : StablehloAttr<"ResultAccuracy", "result_accuracy"> {
  let parameters = (ins APFloatParameter<"absolute tolerance">:$atol, APFloatParameter<"relative tolerance">:$rtol,
                        "int64_t":$ulps, "::tenon::stablehlo::ResultAccuracyModeAttr":$mode);
  let builders = [AttrBuilder<(ins "double":$atol, "double":$rtol, "int64_t":$ulps,
                                   "::tenon::stablehlo::ResultAccuracyMode":$mode), [{
    return Base::get($_ctxt, ::llvm::APFloat(atol), ::llvm::APFloat(rtol), ulps,
                     ::tenon::stablehlo::ResultAccuracyModeAttr::get($_ctxt, mode));
  }]>];
  let constBuilderCall = "::tenon::stablehlo::ResultAccuracyAttr::get($_builder.getContext(), $0)";
}
def Stablehlo_DefaultAccuracy
    : DefaultValuedOptionalAttr<Stablehlo_ResultAccuracy, "0.0, 0.0, 0, ::tenon::stablehlo::ResultAccuracyMode::DEFAULT">;

// Upper bounds of dynamic dimensions: an encoding of tensor types. kDynamic stands for `?`.
def Stablehlo_TypeExtensions
    : StablehloAttr<"TypeExtensions", "type_extensions",
                    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let parameters = (ins Dims:$bounds);
}

def Stablehlo_MeshAxis : StablehloAttr<"MeshAxis", "mesh_axis"> {
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
}

def Stablehlo_Mesh : StablehloAttr<"Mesh", "mesh"> {
  let parameters = (ins ArrayRefParameter<"::tenon::stablehlo::MeshAxisAttr">:$axes,
                        OptionalParameter<"::mlir::DenseIntElementsAttr">:$deviceIds);
}

// Sub-axis of an axis of size n: n = preSize * size * rest.
def Stablehlo_SubAxisInfo : StablehloAttr<"SubAxisInfo", "sub_axis_info"> {
  let parameters = (ins "int64_t":$preSize, "int64_t":$size);
}

def Stablehlo_AxisRef : StablehloAttr<"AxisRef", "axis_ref"> {
  let parameters = (ins StringRefParameter<"name">:$name,
                        OptionalParameter<"::tenon::stablehlo::SubAxisInfoAttr">:$subAxisInfo);
}

// mesh is a symbol or a MeshAttr.
def Stablehlo_ReplicaGroupMeshAxes : StablehloAttr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes"> {
  let parameters = (ins "::mlir::Attribute":$mesh, ArrayRefParameter<"::tenon::stablehlo::AxisRefAttr">:$axes);
}

//===--- Constraints ---===//

class AttrThat<Pred condition, string what> : Attr<condition, what> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}

def Stablehlo_ReplicaGroups
    : AttrThat<CPred<"::tenon::stablehlo::IsReplicaGroups($_self)">,
           "an i64 matrix of process ids or #stablehlo.replica_group_mesh_axes">;
def Stablehlo_BackendConfig
    : AttrThat<CPred<"::llvm::isa<::mlir::StringAttr, ::mlir::DictionaryAttr>($_self)">, "a string or a dictionary">;
def Stablehlo_Layout
    : AttrThat<CPred<"::tenon::stablehlo::IsLayout($_self)">, "a dense vector of index">;
def Stablehlo_Layouts : TypedArrayAttrBase<Stablehlo_Layout, "array of layouts (dense vectors of index)">;
def Stablehlo_Tilings : TypedArrayAttrBase<Stablehlo_Layouts, "array of arrays of tiles (dense vectors of index)">;
def Stablehlo_Aliases : TypedArrayAttrBase<Stablehlo_OutputOperandAlias, "array of #stablehlo.output_operand_alias">;
def Stablehlo_Symbols : TypedArrayAttrBase<FlatSymbolRefAttr, "array of symbols">;

#endif
