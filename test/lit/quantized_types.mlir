// Quantized types must fit the tensors they are elements of, in text and in artifacts.
// RUN: split-file %s %t
// RUN: not tenon-opt --import --split-input-file %t/types.mlir 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: tenon-opt --emit-bytecode 1.9.0 %t/scales.mlir > %t/scales.bc
// RUN: not tenon-opt --import %t/scales.bc 2>&1 | FileCheck %s --check-prefix=SCALES

// TYPES: quantized dimension of {{.*}} must be in [0, 1), got 100000000
// TYPES: quantized dimension of {{.*}} must be in [0, 1), got 5
// TYPES: must have 4 scales along dimension 0, got 2
// TYPES: must have 1 scales along dimension 0, got 2
// TYPES: 'func.func' op {{.*}} must have 4 scales along dimension 0, got 2
// TYPES: must be quantized uniformly, in integers
// SCALES: must have 4 scales along dimension 0, got 2

//--- types.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xi8> {
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:100000000, {0.1, 0.2}>>
  %r = stablehlo.bitcast_convert %q : (tensor<4x!quant.uniform<i8:f32:100000000, {0.1, 0.2}>>) -> tensor<4xi8>
  return %r : tensor<4xi8>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xi8> {
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:5, {0.1, 0.2}>>
  %r = stablehlo.bitcast_convert %q : (tensor<4x!quant.uniform<i8:f32:5, {0.1, 0.2}>>) -> tensor<4xi8>
  return %r : tensor<4xi8>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xi8> {
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
  %r = stablehlo.bitcast_convert %q : (tensor<4x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<4xi8>
  return %r : tensor<4xi8>
}

// -----

func.func @main(%x: tensor<1x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<1x!quant.uniform<i8:f32:0, {0.1, 0.2}>> {
  return %x : tensor<1x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
}

// -----

func.func private @f(tensor<4x!quant.uniform<i8:f32:0, {0.1, 0.2}>>)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4x!quant.calibrated<f32<-0.5:1.0>>>) -> tensor<4x!quant.calibrated<f32<-0.5:1.0>>> {
  return %x : tensor<4x!quant.calibrated<f32<-0.5:1.0>>>
}
//--- scales.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xi8> {
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
  %r = stablehlo.bitcast_convert %q : (tensor<4x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<4xi8>
  return %r : tensor<4xi8>
}
