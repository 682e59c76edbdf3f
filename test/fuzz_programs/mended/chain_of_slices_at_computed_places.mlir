// fuzz: data=3 specials=0 tolerance=0
// A kernel that looks through a chain of slices at computed places adds up ten starts: a plan from outside is proven to
// stay inside its memory all the same.
func.func @main(%x: tensor<64xf32>, %k: tensor<i32>) -> tensor<64xf32> {
  %new = stablehlo.slice %x [0:4] : (tensor<64xf32>) -> tensor<4xf32>
  %rest0 = stablehlo.dynamic_slice %x, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v0 = stablehlo.concatenate %rest0, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest1 = stablehlo.dynamic_slice %v0, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v1 = stablehlo.concatenate %rest1, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest2 = stablehlo.dynamic_slice %v1, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v2 = stablehlo.concatenate %rest2, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest3 = stablehlo.dynamic_slice %v2, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v3 = stablehlo.concatenate %rest3, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest4 = stablehlo.dynamic_slice %v3, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v4 = stablehlo.concatenate %rest4, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest5 = stablehlo.dynamic_slice %v4, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v5 = stablehlo.concatenate %rest5, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest6 = stablehlo.dynamic_slice %v5, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v6 = stablehlo.concatenate %rest6, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest7 = stablehlo.dynamic_slice %v6, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v7 = stablehlo.concatenate %rest7, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest8 = stablehlo.dynamic_slice %v7, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v8 = stablehlo.concatenate %rest8, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  %rest9 = stablehlo.dynamic_slice %v8, %k, sizes = [60] : (tensor<64xf32>, tensor<i32>) -> tensor<60xf32>
  %v9 = stablehlo.concatenate %rest9, %new, dim = 0 : (tensor<60xf32>, tensor<4xf32>) -> tensor<64xf32>
  return %v9 : tensor<64xf32>
}
