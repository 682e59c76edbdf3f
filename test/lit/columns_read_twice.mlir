// Elements of a column, each in a line of memory of its own, wait in a local row for the stage that wants them again,
// where the nearest cache would not hold the lines until then. Columns of narrow rows and short ones are read again.
// RUN: tenon-opt --fuse --split-input-file %s | FileCheck %s

// CHECK-LABEL: kernel v1
// CHECK: buffer [[ROW:b[0-9]+]] local f32
// CHECK: store [[ROW]]
func.func @main(%x: tensor<20000x512xf32>) -> tensor<f32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %column = stablehlo.slice %x [0:20000, 3:4] : (tensor<20000x512xf32>) -> tensor<20000x1xf32>
  %values = stablehlo.reshape %column : (tensor<20000x1xf32>) -> tensor<20000xf32>
  %most = stablehlo.reduce(%values init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<20000xf32>, tensor<f32>) -> tensor<f32>
  %every = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<20000xf32>
  %below = stablehlo.subtract %values, %every : tensor<20000xf32>
  %sum = stablehlo.reduce(%below init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<20000xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
// -----
// CHECK-LABEL: kernel v1
// CHECK-NOT: local
func.func @main(%x: tensor<20000x8xf32>) -> tensor<f32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %column = stablehlo.slice %x [0:20000, 3:4] : (tensor<20000x8xf32>) -> tensor<20000x1xf32>
  %values = stablehlo.reshape %column : (tensor<20000x1xf32>) -> tensor<20000xf32>
  %most = stablehlo.reduce(%values init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<20000xf32>, tensor<f32>) -> tensor<f32>
  %every = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<20000xf32>
  %below = stablehlo.subtract %values, %every : tensor<20000xf32>
  %sum = stablehlo.reduce(%below init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<20000xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
// -----
// CHECK-LABEL: kernel v1
// CHECK-NOT: local
func.func @main(%x: tensor<100x512xf32>) -> tensor<f32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %column = stablehlo.slice %x [0:100, 3:4] : (tensor<100x512xf32>) -> tensor<100x1xf32>
  %values = stablehlo.reshape %column : (tensor<100x1xf32>) -> tensor<100xf32>
  %most = stablehlo.reduce(%values init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<100xf32>, tensor<f32>) -> tensor<f32>
  %every = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<100xf32>
  %below = stablehlo.subtract %values, %every : tensor<100xf32>
  %sum = stablehlo.reduce(%below init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<100xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
// -----
// Columns side by side share their lines.
// CHECK-LABEL: kernel v1
// CHECK-NOT: local
func.func @main(%x: tensor<800x184xf32>, %y: tensor<184x800xf32>) -> tensor<184xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.transpose %x, dims = [1, 0] : (tensor<800x184xf32>) -> tensor<184x800xf32>
  %products = stablehlo.multiply %rows, %y : tensor<184x800xf32>
  %most = stablehlo.reduce(%products init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<184x800xf32>, tensor<f32>) -> tensor<184xf32>
  %every = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<184xf32>) -> tensor<184x800xf32>
  %below = stablehlo.subtract %rows, %every : tensor<184x800xf32>
  %weighed = stablehlo.multiply %below, %y : tensor<184x800xf32>
  %sum = stablehlo.reduce(%weighed init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<184x800xf32>, tensor<f32>) -> tensor<184xf32>
  return %sum : tensor<184xf32>
}
