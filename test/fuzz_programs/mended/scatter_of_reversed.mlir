// A view with memory before its first element has no flat form.
// fuzz: data=12214 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<5x3xcomplex<f64>>) -> tensor<5x3xcomplex<f64>> {
    %0 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<5x3xcomplex<f64>>
    %1 = stablehlo.slice %0 [2:5, 2:3:3] : (tensor<5x3xcomplex<f64>>) -> tensor<3x1xcomplex<f64>>
    %c = stablehlo.constant dense<0> : tensor<1x3xi32>
    %2 = "stablehlo.scatter"(%arg0, %c, %1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%arg1: tensor<complex<f64>>, %arg2: tensor<complex<f64>>):
      stablehlo.return %arg2 : tensor<complex<f64>>
    }) : (tensor<5x3xcomplex<f64>>, tensor<1x3xi32>, tensor<3x1xcomplex<f64>>) -> tensor<5x3xcomplex<f64>>
    return %2 : tensor<5x3xcomplex<f64>>
  }
}

