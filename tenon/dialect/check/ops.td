// Ops of self-checking test programs. Only tools register them.
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def CheckDialect : Dialect {
  let name = "check";
  let cppNamespace = "::tenon::check";
  let summary = "Comparisons of values with what a test expects";
}

def InterpreterDialect : Dialect {
  let name = "interpreter";
  let cppNamespace = "::tenon::interpreter";
  let summary = "What a test asks of the program that interprets it";
}

class CheckOp<string mnemonic, list<Trait> traits = []> : Op<CheckDialect, mnemonic, traits>;
class InterpreterOp<string mnemonic, list<Trait> traits = []> : Op<InterpreterDialect, mnemonic, traits>;

// Operands keep their RankedTensorType, so that evaluators need no casts.
def Check_Tensor : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "a ranked tensor",
                        "::mlir::RankedTensorType">;

//===--- check ---===//

// Every element equal by value.
def Check_ExpectEqOp : CheckOp<"expect_eq", [SameTypeOperands]> {
  let arguments = (ins Check_Tensor:$actual, Check_Tensor:$expected);
  let assemblyFormat = "$actual `,` $expected attr-dict `:` type($actual)";
}

def Check_ExpectEqConstOp : CheckOp<"expect_eq_const", [AllTypesMatch<["actual", "value"]>]> {
  let arguments = (ins Check_Tensor:$actual, ElementsAttr:$value);
  let assemblyFormat = "$actual `,` custom<ConstantOfType>($value, type($actual)) attr-dict";
}

// Absolute difference at most `tolerance` (1e-4 if absent).
def Check_ExpectAlmostEqOp : CheckOp<"expect_almost_eq", [SameTypeOperands]> {
  let arguments = (ins Check_Tensor:$actual, Check_Tensor:$expected, OptionalAttr<F64Attr>:$tolerance);
  let assemblyFormat = "$actual `,` $expected (`,` `tolerance` `=` $tolerance^)? attr-dict `:` type($actual)";
}

def Check_ExpectAlmostEqConstOp : CheckOp<"expect_almost_eq_const", [AllTypesMatch<["actual", "value"]>]> {
  let arguments = (ins Check_Tensor:$actual, ElementsAttr:$value, OptionalAttr<F64Attr>:$tolerance);
  let assemblyFormat = "$actual `,` custom<ConstantOfType>($value, type($actual)) attr-dict";
}

// Distance in units in the last place at most `max` (3 if absent) for each element, and at least `min` if present.
def Check_ExpectCloseOp : CheckOp<"expect_close"> {
  let arguments = (ins Check_Tensor:$actual, Check_Tensor:$expected,
                       OptionalAttr<I64Attr>:$max_ulp_difference, OptionalAttr<I64Attr>:$min_ulp_difference);
  let assemblyFormat = [{
    $actual `,` $expected (`,` `max_ulp_difference` `=` $max_ulp_difference^)?
      (`,` `min_ulp_difference` `=` $min_ulp_difference^)? attr-dict `:` type($actual) `,` type($expected)
  }];
}

// The value that the probe of this name wrote (at its `iter`-th run) equals `expected`.
def Check_ExpectSerializedEqOp : CheckOp<"expect_serialized_eq"> {
  let arguments = (ins Check_Tensor:$expected, StrAttr:$probe_id, OptionalAttr<I64Attr>:$iter);
  let assemblyFormat = [{
    $expected `,` `probe_id` `=` $probe_id (`,` `iter` `=` $iter^)? attr-dict `:` type($expected)
  }];
}

//===--- interpreter ---===//

// Runs all processes at once: rows of `programs` are replicas, columns partitions.
def Interpreter_RunParallelOp : InterpreterOp<"run_parallel"> {
  let arguments = (ins Variadic<AnyType>:$inputs, OptionalAttr<ArrayAttr>:$infeed, ArrayAttr:$programs);
  let results = (outs Variadic<AnyType>:$results);
}

def Interpreter_PrintOp : InterpreterOp<"print"> {
  let arguments = (ins Check_Tensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

// Writes the value under a name, and gives it on.
def Interpreter_ProbeOp : InterpreterOp<"probe", [AllTypesMatch<["operand", "result"]>]> {
  let arguments = (ins Check_Tensor:$operand, StrAttr:$probe_id);
  let results = (outs Check_Tensor:$result);
  let assemblyFormat = "$operand `,` `probe_id` `=` $probe_id attr-dict `:` type($operand)";
}
