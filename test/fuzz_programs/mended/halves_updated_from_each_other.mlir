// Both updates are made of what the array was before the first one. A large one that moves its elements by one needs a copy.
func.func @main(%x: tensor<64xf32>, %step: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<9> : tensor<i32>
  %half = stablehlo.constant dense<32> : tensor<i32>
  %scale = stablehlo.constant dense<0.5> : tensor<7xf32>
  %0:4 = stablehlo.while(%i = %zero, %s = %x, %t = %x, %u = %x) : tensor<i32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %low = stablehlo.multiply %i, %step : tensor<i32>
    %high = stablehlo.add %low, %half : tensor<i32>
    %2 = stablehlo.dynamic_slice %s, %low, sizes = [7] : (tensor<64xf32>, tensor<i32>) -> tensor<7xf32>
    %3 = stablehlo.dynamic_slice %s, %high, sizes = [7] : (tensor<64xf32>, tensor<i32>) -> tensor<7xf32>
    %4 = stablehlo.add %2, %3 : tensor<7xf32>
    %5 = stablehlo.subtract %2, %3 : tensor<7xf32>
    %6 = stablehlo.multiply %5, %scale : tensor<7xf32>
    %7 = stablehlo.dynamic_update_slice %s, %4, %low : (tensor<64xf32>, tensor<7xf32>, tensor<i32>) -> tensor<64xf32>
    %8 = stablehlo.dynamic_update_slice %7, %6, %high : (tensor<64xf32>, tensor<7xf32>, tensor<i32>) -> tensor<64xf32>
    // One that changes what it reads, and is read as it was.
    %9 = stablehlo.dynamic_slice %t, %low, sizes = [7] : (tensor<64xf32>, tensor<i32>) -> tensor<7xf32>
    %10 = stablehlo.multiply %9, %scale : tensor<7xf32>
    %11 = stablehlo.dynamic_update_slice %t, %10, %low : (tensor<64xf32>, tensor<7xf32>, tensor<i32>) -> tensor<64xf32>
    %12 = stablehlo.reverse %t, dims = [0] : tensor<64xf32>
    %13 = stablehlo.add %8, %12 : tensor<64xf32>
    %14 = stablehlo.add %i, %one : tensor<i32>
    %15 = stablehlo.dynamic_slice %u, %i, sizes = [40] : (tensor<64xf32>, tensor<i32>) -> tensor<40xf32>
    %16 = stablehlo.negate %15 : tensor<40xf32>
    %17 = stablehlo.dynamic_update_slice %u, %16, %14 : (tensor<64xf32>, tensor<40xf32>, tensor<i32>) -> tensor<64xf32>
    stablehlo.return %14, %13, %11, %17 : tensor<i32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  return %0#1, %0#2, %0#3 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
