// The dialect and its attributes: meshes, axes, shardings, sharding rules. All have hand-written assembly (assembly.cc).
#ifndef TENON_DIALECT_SDY_BASE_TD
#define TENON_DIALECT_SDY_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def SdyDialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::tenon::sdy";
  let summary = "Shardings of tensors over meshes of devices";
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
   private:
    void RegisterAttributes();
   public:
  }];
}

class SdyAttr<string name, string attrMnemonic> : AttrDef<SdyDialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

class SdyEnum<string name, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<name, text, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tenon::sdy";
}

def Sdy_ReductionOp : SdyEnum<"ReductionOp", "how partial values combine", [
  I32EnumAttrCase<"SUM", 0, "sum">, I32EnumAttrCase<"MAX", 1, "max">, I32EnumAttrCase<"MIN", 2, "min">]>;
def Sdy_ReductionOpAttr : EnumAttr<SdyDialect, Sdy_ReductionOp, "reduction_op">;

def Sdy_PropagationDirection : SdyEnum<"PropagationDirection", "which way a sharding may spread", [
  I32EnumAttrCase<"NONE", 0>, I32EnumAttrCase<"FORWARD", 1>, I32EnumAttrCase<"BACKWARD", 2>,
  I32EnumAttrCase<"BOTH", 3>]>;
def Sdy_PropagationDirectionAttr : EnumAttr<SdyDialect, Sdy_PropagationDirection, "propagation_direction">;

class Ints<string what> : ArrayRefParameter<"int64_t", what>;
class AxisRefs<string what> : ArrayRefParameter<"::tenon::sdy::AxisRefAttr", what>;

def Sdy_ManualAxes : SdyAttr<"ManualAxes", "manual_axes"> {
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$value);
}

def Sdy_MeshAxis : SdyAttr<"MeshAxis", "mesh_axis"> {
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
}

// Axes major to minor over the list of devices; deviceIds is empty or a permutation that is not the identity.
def Sdy_Mesh : SdyAttr<"Mesh", "mesh"> {
  let parameters = (ins ArrayRefParameter<"::tenon::sdy::MeshAxisAttr">:$axes, Ints<"order of devices">:$deviceIds);
}

// The middle of an axis seen as [preSize, size, rest].
def Sdy_SubAxisInfo : SdyAttr<"SubAxisInfo", "sub_axis_info"> {
  let parameters = (ins "int64_t":$preSize, "int64_t":$size);
}

def Sdy_AxisRef : SdyAttr<"AxisRef", "axis_ref"> {
  let parameters = (ins StringRefParameter<"name">:$name,
                        OptionalParameter<"::tenon::sdy::SubAxisInfoAttr">:$subAxisInfo);
}

def Sdy_DimensionSharding : SdyAttr<"DimensionSharding", "dimension_sharding"> {
  let parameters = (ins AxisRefs<"axes, major to minor">:$axes, "bool":$isClosed,
                        OptionalParameter<"std::optional<int64_t>">:$priority);
}

// meshOrRef is a MeshAttr or a symbol.
def Sdy_TensorSharding : SdyAttr<"TensorSharding", "sharding"> {
  let parameters = (ins "::mlir::Attribute":$meshOrRef,
                        ArrayRefParameter<"::tenon::sdy::DimensionShardingAttr">:$dimShardings,
                        AxisRefs<"explicitly replicated">:$replicatedAxes, AxisRefs<"partial values">:$unreducedAxes,
                        DefaultValuedParameter<"::tenon::sdy::ReductionOp",
                                               "::tenon::sdy::ReductionOp::SUM">:$reductionOp);
}

def Sdy_TensorShardingPerValue : SdyAttr<"TensorShardingPerValue", "sharding_per_value"> {
  let parameters = (ins ArrayRefParameter<"::tenon::sdy::TensorShardingAttr">:$shardings);
}

// Factors of one dimension, major to minor; the single factor -1 stands for a dimension without any.
def Sdy_DimMapping : SdyAttr<"DimMapping", "dim_mapping"> {
  let parameters = (ins Ints<"factors">:$factorIndices);
}

def Sdy_TensorMapping : SdyAttr<"TensorMapping", "tensor_mapping"> {
  let parameters = (ins ArrayRefParameter<"::tenon::sdy::DimMappingAttr">:$dimMappings);
}

def Sdy_OpShardingRule : SdyAttr<"OpShardingRule", "op_sharding_rule"> {
  let parameters = (ins Ints<"sizes">:$factorSizes,
                        ArrayRefParameter<"::tenon::sdy::TensorMappingAttr">:$operandMappings,
                        ArrayRefParameter<"::tenon::sdy::TensorMappingAttr">:$resultMappings,
                        Ints<"reduced">:$reductionFactors, Ints<"to replicate">:$needReplicationFactors,
                        Ints<"permuted">:$permutationFactors, Ints<"blocked">:$blockedPropagationFactors,
                        "bool":$isCustomRule);
}

def Sdy_AxisRefList : SdyAttr<"AxisRefList", "axis_ref_list"> {
  let parameters = (ins AxisRefs<"axes">:$value);
}

def Sdy_ListOfAxisRefLists : SdyAttr<"ListOfAxisRefLists", "list_of_axis_ref_lists"> {
  let parameters = (ins ArrayRefParameter<"::tenon::sdy::AxisRefListAttr">:$value);
}

def Sdy_AllToAllParam : SdyAttr<"AllToAllParam", "all_to_all_param"> {
  let parameters = (ins AxisRefs<"axes">:$axes, "int64_t":$srcDim, "int64_t":$tgtDim);
}

def Sdy_AllToAllParamList : SdyAttr<"AllToAllParamList", "all_to_all_param_list"> {
  let parameters = (ins ArrayRefParameter<"::tenon::sdy::AllToAllParamAttr">:$value);
}

#endif
