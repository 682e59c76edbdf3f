// Enumerations of StableHLO attributes. Numbers are those of the portable artifact.
#ifndef TENON_DIALECT_STABLEHLO_ENUMS_TD
#define TENON_DIALECT_STABLEHLO_ENUMS_TD

include "tenon/dialect/stablehlo/base.td"

class StablehloEnum<string name, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<name, text, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tenon::stablehlo";
}

def Stablehlo_ComparisonDirection : StablehloEnum<"ComparisonDirection", "which comparison", [
  I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>, I32EnumAttrCase<"GT", 3>,
  I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def Stablehlo_ComparisonDirectionAttr
    : EnumAttr<StablehloDialect, Stablehlo_ComparisonDirection, "comparison_direction">;

def Stablehlo_ComparisonType : StablehloEnum<"ComparisonType", "how operands of a comparison are read", [
  I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
  I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def Stablehlo_ComparisonTypeAttr : EnumAttr<StablehloDialect, Stablehlo_ComparisonType, "comparison_type">;

def Stablehlo_Precision : StablehloEnum<"Precision", "wanted precision of a product", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def Stablehlo_PrecisionAttr : EnumAttr<StablehloDialect, Stablehlo_Precision, "precision">;
def Stablehlo_PrecisionConfig : TypedArrayAttrBase<Stablehlo_PrecisionAttr, "array of precisions">;

def Stablehlo_FftType : StablehloEnum<"FftType", "kind of Fourier transform", [
  I32EnumAttrCase<"FFT", 0>, I32EnumAttrCase<"IFFT", 1>, I32EnumAttrCase<"RFFT", 2>, I32EnumAttrCase<"IRFFT", 3>]>;
def Stablehlo_FftTypeAttr : EnumAttr<StablehloDialect, Stablehlo_FftType, "fft_type">;

def Stablehlo_RngAlgorithm : StablehloEnum<"RngAlgorithm", "random bit generator", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"THREE_FRY", 1>, I32EnumAttrCase<"PHILOX", 2>]>;
def Stablehlo_RngAlgorithmAttr : EnumAttr<StablehloDialect, Stablehlo_RngAlgorithm, "rng_algorithm">;

def Stablehlo_RngDistribution : StablehloEnum<"RngDistribution", "distribution of random numbers", [
  I32EnumAttrCase<"UNIFORM", 1>, I32EnumAttrCase<"NORMAL", 2>]>;
def Stablehlo_RngDistributionAttr : EnumAttr<StablehloDialect, Stablehlo_RngDistribution, "rng_distribution">;

def Stablehlo_Transpose : StablehloEnum<"Transpose", "how a matrix enters a solve", [
  I32EnumAttrCase<"TRANSPOSE_INVALID", 0>, I32EnumAttrCase<"NO_TRANSPOSE", 1>, I32EnumAttrCase<"TRANSPOSE", 2>,
  I32EnumAttrCase<"ADJOINT", 3>]>;
def Stablehlo_TransposeAttr : EnumAttr<StablehloDialect, Stablehlo_Transpose, "transpose">;

def Stablehlo_ResultAccuracyMode : StablehloEnum<"ResultAccuracyMode", "which accuracy is asked for", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGHEST", 1>, I32EnumAttrCase<"TOLERANCE", 2>]>;
def Stablehlo_ResultAccuracyModeAttr
    : EnumAttr<StablehloDialect, Stablehlo_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

// Plain `N : i32` in text.
def Stablehlo_CustomCallApiVersion : I32EnumAttr<"CustomCallApiVersion", "how a custom call is called", [
  I32EnumAttrCase<"API_VERSION_UNSPECIFIED", 0>, I32EnumAttrCase<"API_VERSION_ORIGINAL", 1>,
  I32EnumAttrCase<"API_VERSION_STATUS_RETURNING", 2>, I32EnumAttrCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
  I32EnumAttrCase<"API_VERSION_TYPED_FFI", 4>]> {
  let cppNamespace = "::tenon::stablehlo";
}

#endif
