// fuzz: data=500004348 specials=0 tolerance=0z
module {
  func.func @main() -> tensor<1x2x60xi32> {
    %c = stablehlo.constant dense<0> : tensor<1x2xi32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<2x2xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<60x1x2xi32>
    %c_3 = stablehlo.constant dense<0> : tensor<1x2x60xi32>
    %0:4 = stablehlo.while(%iterArg = %c_0, %iterArg_4 = %c, %iterArg_5 = %c_2, %iterArg_6 = %c_3) : tensor<i32>, tensor<1x2xi32>, tensor<60x1x2xi32>, tensor<1x2x60xi32>
    cond {
      %c_7 = stablehlo.constant dense<-59> : tensor<i32>
      %1 = stablehlo.compare  GT, %iterArg, %c_7,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_7 = stablehlo.constant dense<0> : tensor<i32>
      %c_8 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.subtract %c_8, %iterArg : tensor<i32>
      %2 = stablehlo.clamp %iterArg, %iterArg_4, %iterArg : (tensor<i32>, tensor<1x2xi32>, tensor<i32>) -> tensor<1x2xi32>
      %3 = stablehlo.remainder %iterArg_4, %iterArg_4 : tensor<1x2xi32>
      %4 = stablehlo.dot_general %2, %c_1, contracting_dims = [1] x [0] : (tensor<1x2xi32>, tensor<2x2xi32>) -> tensor<1x2xi32>
      %c_9 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.subtract %iterArg, %c_9 : tensor<i32>
      %6 = stablehlo.reshape %3 : (tensor<1x2xi32>) -> tensor<1x1x2xi32>
      %7 = stablehlo.dynamic_update_slice %iterArg_5, %6, %1, %c_7, %c_7 : (tensor<60x1x2xi32>, tensor<1x1x2xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<60x1x2xi32>
      %8 = stablehlo.reshape %4 : (tensor<1x2xi32>) -> tensor<1x2x1xi32>
      %9 = stablehlo.dynamic_update_slice %iterArg_6, %8, %c_7, %c_7, %1 : (tensor<1x2x60xi32>, tensor<1x2x1xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x60xi32>
      stablehlo.return %5, %2, %7, %9 : tensor<i32>, tensor<1x2xi32>, tensor<60x1x2xi32>, tensor<1x2x60xi32>
    }
    return %0#3 : tensor<1x2x60xi32>
  }
}

