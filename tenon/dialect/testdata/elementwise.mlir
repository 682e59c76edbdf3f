// Ops whose portable form is a name and operands, and those with a result accuracy since 1.9 and 1.10.
module @elementwise attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %p: tensor<2x3xi1>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %x, %y : tensor<2x3xf32>
    %1 = stablehlo.multiply %0, %y : tensor<2x3xf32>
    %2 = stablehlo.exponential %1 : tensor<2x3xf32>
    %3 = stablehlo.tanh %2 : tensor<2x3xf32>
    %4 = stablehlo.cosine %3 : tensor<2x3xf32>
    %5 = stablehlo.negate %4 : tensor<2x3xf32>
    %6 = stablehlo.select %p, %5, %x : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.compare LT, %6, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %8 = "stablehlo.compare"(%6, %y) {comparison_direction = #stablehlo<comparison_direction GE>, compare_type = #stablehlo<comparison_type TOTALORDER>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %9 = stablehlo.and %7, %8 : tensor<2x3xi1>
    %10 = stablehlo.convert %9 : (tensor<2x3xi1>) -> tensor<2x3xf32>
    %11 = stablehlo.clamp %x, %10, %y : tensor<2x3xf32>
    %12 = "stablehlo.reduce_precision"(%11) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %12 : tensor<2x3xf32>
  }
}
