// Which dims run in lanes, and how rows end.
// RUN: tenon-opt --emit=llvm --isa=avx512 --split-input-file %s | FileCheck %s

// Columns are summed in lanes of columns however much is done with each sum.
// CHECK: define void @tenon_
// CHECK-NOT: gather
// CHECK: call <{{[0-9]+}} x double> @llvm.fma
// CHECK: ret void
module @sums_of_columns {
  func.func @main(%x: tensor<60x500xf32>) -> tensor<500xf64> {
    %z = stablehlo.constant dense<0.0> : tensor<60x500xf32>
    %p = stablehlo.compare GT, %x, %z : (tensor<60x500xf32>, tensor<60x500xf32>) -> tensor<60x500xi1>
    %i = stablehlo.convert %p : (tensor<60x500xi1>) -> tensor<60x500xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.reduce(%i init: %c) applies stablehlo.add across dimensions = [0] : (tensor<60x500xi32>, tensor<i32>) -> tensor<500xi32>
    %f = stablehlo.convert %s : (tensor<500xi32>) -> tensor<500xf64>
    %l = stablehlo.log_plus_one %f : tensor<500xf64>
    return %l : tensor<500xf64>
  }
}

// -----

// Rows of 32 bytes are vectors of 32, without masks.
// CHECK: define void @tenon_
// CHECK-NOT: masked
// CHECK: load <32 x i8>
// CHECK-NOT: masked
// CHECK: ret void
module @rows_of_bytes {
  func.func @main(%x: tensor<500x33xui8>) -> tensor<500x32xui8> {
    %0 = stablehlo.slice %x [0:500, 0:32] : (tensor<500x33xui8>) -> tensor<500x32xui8>
    %1 = stablehlo.not %0 : tensor<500x32xui8>
    return %1 : tensor<500x32xui8>
  }
}

// -----

// Bytes that lie the other way round are turned in tiles, however many of a short dim are written out.
// CHECK: define void @tenon_
// CHECK: load <16 x i8>
// CHECK: shufflevector <16 x i8>
// CHECK: store <16 x i8>
module @bytes_turned {
  func.func @main(%x: tensor<3x40x5x60xui8>) -> tensor<3x60x5x40xui8> {
    %y = stablehlo.transpose %x, dims = [0, 3, 2, 1] : (tensor<3x40x5x60xui8>) -> tensor<3x60x5x40xui8>
    return %y : tensor<3x60x5x40xui8>
  }
}

// -----

// Whole numbers, and what is made of them without coming close to zero, are divided by constants in two products.
// CHECK: define void @tenon_
// CHECK-NOT: fdiv
// CHECK: call <{{[0-9]+}} x float> @llvm.fma
// CHECK-NOT: fdiv
// CHECK: ret void
module @quotients_of_bytes {
  func.func @main(%x: tensor<5000xui8>) -> tensor<5000xf32> {
    %a = stablehlo.constant dense<255.0> : tensor<5000xf32>
    %b = stablehlo.constant dense<0.45> : tensor<5000xf32>
    %c = stablehlo.constant dense<0.22> : tensor<5000xf32>
    %0 = stablehlo.convert %x : (tensor<5000xui8>) -> tensor<5000xf32>
    %1 = stablehlo.divide %0, %a : tensor<5000xf32>
    %2 = stablehlo.subtract %1, %b : tensor<5000xf32>
    %3 = stablehlo.divide %2, %c : tensor<5000xf32>
    return %3 : tensor<5000xf32>
  }
}

// -----

// Floats may be subnormal, or become so.
// CHECK: define void @tenon_
// CHECK: fdiv
module @quotients_of_floats {
  func.func @main(%x: tensor<5000xf32>) -> tensor<5000xf32> {
    %a = stablehlo.constant dense<255.0> : tensor<5000xf32>
    %0 = stablehlo.divide %x, %a : tensor<5000xf32>
    return %0 : tensor<5000xf32>
  }
}
