// The dialect, its types, and the constraints on operands that all op files share.
#ifndef TENON_DIALECT_STABLEHLO_BASE_TD
#define TENON_DIALECT_STABLEHLO_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def StablehloDialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::tenon::stablehlo";
  let summary = "Tensor programs as JAX, go-xla and other clients hand them over";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 0;
  let hasConstantMaterializer = 1;
  // Hand-written because #stablehlo.bounds<...> is a short form of #stablehlo.type_extensions<...>.
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr, ::mlir::DialectAsmPrinter &printer) const override;
   private:
    void RegisterAttributes();
    void RegisterTypes();
   public:
  }];
}

//===--- Types ---===//

class StablehloType<string name, string typeMnemonic> : TypeDef<StablehloDialect, name> {
  let mnemonic = typeMnemonic;
}

def Stablehlo_Token : StablehloType<"Token", "token"> {
  let summary = "orders side effects";
}

def Stablehlo_Future : StablehloType<"Future", "future"> {
  let summary = "results of a computation that async_start began";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
}

//===--- Element kinds: bits of tenon::stablehlo::ElementKind ---===//

class Kind<int value, string text> {
  int mask = value;
  string what = text;
}

def KFloat : Kind<1, "floating-point">;
def KBool : Kind<2, "i1">;
def KInt : Kind<4, "integer">;
def KSignless : Kind<8, "signed integer">;
def KComplex : Kind<16, "complex">;
def KQuant : Kind<32, "per-tensor quantized">;
def KQuantAxis : Kind<64, "per-axis quantized">;
def KIndex : Kind<128, "index">;
def KPart : Kind<256, "f32 or f64">;
def KI32 : Kind<512, "i32">;
def KUi32 : Kind<1024, "ui32">;

class KindMask<list<Kind> kinds> {
  int mask = !foldl(0, kinds, sum, k, !or(sum, k.mask));
  string what = !interleave(!foreach(k, kinds, k.what), ", ");
}

// A ranked tensor whose elements are of one of the kinds.
class TensorOfKinds<list<Kind> kinds>
    : Type<CPred<"::tenon::stablehlo::IsTensorOf($_self, " # KindMask<kinds>.mask # "u)">,
           "a ranked tensor of " # KindMask<kinds>.what, "::mlir::RankedTensorType">;

class TensorOfRank<int rank, list<Kind> kinds>
    : Type<CPred<"::tenon::stablehlo::IsTensorOfRank($_self, " # KindMask<kinds>.mask # "u, " # rank # ")">,
           "a tensor of rank " # rank # " of " # KindMask<kinds>.what, "::mlir::RankedTensorType">;

class StaticTensorOfKinds<list<Kind> kinds>
    : Type<CPred<"::tenon::stablehlo::IsStaticTensorOf($_self, " # KindMask<kinds>.mask # "u)">,
           "a statically shaped tensor of " # KindMask<kinds>.what, "::mlir::RankedTensorType">;

class StaticTensorOfRank<int rank, list<Kind> kinds>
    : Type<CPred<"::tenon::stablehlo::IsStaticTensorOfRank($_self, " # KindMask<kinds>.mask # "u, " # rank # ")">,
           "a statically shaped tensor of rank " # rank # " of " # KindMask<kinds>.what, "::mlir::RankedTensorType">;

defvar Numeric = [KFloat, KBool, KInt, KComplex];
defvar Plain = [KFloat, KBool, KInt, KComplex, KQuant];
defvar Everything = [KFloat, KBool, KInt, KComplex, KQuant, KQuantAxis];

def T_Plain : TensorOfKinds<Plain>;
def T_Any : TensorOfKinds<Everything>;
def T_Numeric : TensorOfKinds<Numeric>;
def T_Float : TensorOfKinds<[KFloat]>;
def T_FloatQ : TensorOfKinds<[KFloat, KQuant]>;
def T_FloatComplex : TensorOfKinds<[KFloat, KComplex]>;
def T_FloatComplexQ : TensorOfKinds<[KFloat, KComplex, KQuant]>;
def T_IntFloatComplexQ : TensorOfKinds<[KInt, KFloat, KComplex, KQuant]>;
def T_SignedFloatComplexQ : TensorOfKinds<[KSignless, KFloat, KComplex, KQuant]>;
def T_SignedFloatQ : TensorOfKinds<[KSignless, KFloat, KQuant]>;
def T_Int : TensorOfKinds<[KInt]>;
def T_IntBool : TensorOfKinds<[KBool, KInt]>;
def T_IntFloat : TensorOfKinds<[KInt, KFloat]>;
def T_AnyInt : TensorOfKinds<[KInt, KBool, KIndex]>;
def T_Bool : TensorOfKinds<[KBool]>;
def T_Complex : TensorOfKinds<[KComplex]>;
def T_Part : TensorOfKinds<[KPart]>;
def T_QuantAny : TensorOfKinds<[KQuant, KQuantAxis]>;
def T_FloatQuantAny : TensorOfKinds<[KFloat, KQuant, KQuantAxis]>;
def T_I32Scalar : TensorOfRank<0, [KI32]>;
def T_I32 : TensorOfKinds<[KI32]>;
def T_Ui32Scalar : TensorOfRank<0, [KUi32]>;
def T_BoolScalar : TensorOfRank<0, [KBool]>;
def T_IntScalar : TensorOfRank<0, [KInt]>;
def T_PlainScalar : TensorOfRank<0, Plain>;
def T_FloatQVector : TensorOfRank<1, [KFloat, KQuant]>;
def T_DimVector : TensorOfRank<1, [KIndex, KInt]>;
def T_StaticDimVector : StaticTensorOfRank<1, [KIndex, KInt]>;
def T_StaticAny : StaticTensorOfKinds<Everything>;
def T_StaticIota : StaticTensorOfKinds<[KInt, KFloat, KComplex, KQuant]>;
def T_StaticIntFloat : StaticTensorOfKinds<[KInt, KFloat]>;
def T_StaticOrBounded
    : Type<CPred<"::tenon::stablehlo::IsStaticOrOneBounded($_self)">,
           "a tensor of static shape, or with one bounded dimension", "::mlir::RankedTensorType">;

def T_TensorOrToken
    : Type<CPred<"::tenon::stablehlo::IsTensorOrToken($_self)">, "a ranked tensor or a token">;
def T_PlainOrToken
    : Type<CPred<"::tenon::stablehlo::IsPlainTensorOrToken($_self)">, "a ranked tensor that is not quantized per axis, or a token">;
def T_StaticOrToken
    : Type<CPred<"::tenon::stablehlo::IsStaticTensorOrToken($_self)">, "a statically shaped tensor or a token">;
def T_Carried
    : Type<CPred<"::tenon::stablehlo::IsTensorTokenOrBuffer($_self)">, "a ranked tensor, a token or a buffer">;
def T_TupleValue
    : Type<CPred<"::tenon::stablehlo::IsTupleOrElement($_self)">, "a ranked tensor, a token, a buffer or a tuple of these">;
def T_Tuple
    : Type<CPred<"::tenon::stablehlo::IsNestedTuple($_self)">, "a tuple of tensors, tokens, buffers and tuples",
           "::mlir::TupleType">;
def T_CustomCallValue
    : Type<CPred<"::tenon::stablehlo::IsCustomCallValue($_self)">,
           "a tensor of any rank, a token, a buffer, a future or a tuple of these">;

//===--- Ops ---===//

class StablehloOp<string mnemonic, list<Trait> traits = []> : Op<StablehloDialect, mnemonic, traits> {
  let hasVerifier = 1;
}

// An op whose result types follow from its operands and attributes: inferReturnTypes is hand-written.
class InferredOp<string mnemonic, list<Trait> traits = []>
    : Op<StablehloDialect, mnemonic, !listconcat(traits, [InferTypeOpAdaptorWithIsCompatible])> {
  code compatible = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
      return ::tenon::stablehlo::AreCompatible(inferred, actual);
    }
  }];
  // For ops that compute with the numbers that quantized elements stand for.
  code baseline = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
      return ::tenon::stablehlo::AreBaselineCompatible(inferred, actual);
    }
  }];
  let extraClassDefinition = compatible;
}

// Calls the op's Check() before the traits that follow. Type inference has a trait that would otherwise see, and
// complain about, operands and attributes that no check has looked at.
def ChecksFirst : NativeOpTrait<"ChecksFirst"> {
  let cppNamespace = "::tenon::stablehlo";
}

class CheckedInferredOp<string mnemonic, list<Trait> traits = []>
    : InferredOp<mnemonic, !listconcat([ChecksFirst], traits)> {
  let extraClassDeclaration = "::llvm::LogicalResult Check();";
}

#endif
