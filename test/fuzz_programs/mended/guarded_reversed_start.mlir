// fuzz: data=3010307 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<1x8xcomplex<f32>>, %arg1: tensor<ui16>) -> tensor<1x1xcomplex<f32>> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<1x8xcomplex<f32>>
    %1 = stablehlo.slice %0 [0:1, 7:8] : (tensor<1x8xcomplex<f32>>) -> tensor<1x1xcomplex<f32>>
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<1x1xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<1x1xcomplex<f32>>
    %2 = stablehlo.concatenate %1, %cst, %cst_0, dim = 1 : (tensor<1x1xcomplex<f32>>, tensor<1x1xcomplex<f32>>, tensor<1x1xcomplex<f32>>) -> tensor<1x3xcomplex<f32>>
    %3 = stablehlo.dynamic_slice %2, %arg1, %arg1, sizes = [1, 1] : (tensor<1x3xcomplex<f32>>, tensor<ui16>, tensor<ui16>) -> tensor<1x1xcomplex<f32>>
    return %3 : tensor<1x1xcomplex<f32>>
  }
}

