// A function that calls itself, in a program of several partitions, is refused, and soon.
// RUN: not tenon-opt --import --partitions 2 %s 2>&1 | FileCheck %s
// CHECK: regions and calls are nested
module @recursion attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %a = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = func.call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
    return %b : tensor<8xf32>
  }
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %a = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %a : tensor<8xf32>
  }
}
