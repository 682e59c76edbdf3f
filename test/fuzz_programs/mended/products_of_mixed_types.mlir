// fuzz: data=3 specials=0 tolerance=0,0,0,0,0
func.func @main(%f: tensor<5x3xf32>, %g: tensor<3x4xf32>, %i: tensor<5x3xi8>, %j: tensor<3x4xi8>, %p: tensor<3x4xi1>, %c: tensor<5x3xcomplex<f32>>) -> (tensor<5x4xcomplex<f32>>, tensor<5x4xf32>, tensor<5x4xi1>, tensor<5x4xcomplex<f32>>, tensor<5x4xi64>) {
  %0 = stablehlo.dot_general %f, %g, contracting_dims = [1] x [0] : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xcomplex<f32>>
  %1 = stablehlo.dot_general %i, %j, contracting_dims = [1] x [0] : (tensor<5x3xi8>, tensor<3x4xi8>) -> tensor<5x4xf32>
  %2 = stablehlo.dot_general %i, %p, contracting_dims = [1] x [0] : (tensor<5x3xi8>, tensor<3x4xi1>) -> tensor<5x4xi1>
  %3 = stablehlo.dot_general %c, %g, contracting_dims = [1] x [0] : (tensor<5x3xcomplex<f32>>, tensor<3x4xf32>) -> tensor<5x4xcomplex<f32>>
  %4 = stablehlo.dot_general %i, %g, contracting_dims = [1] x [0] : (tensor<5x3xi8>, tensor<3x4xf32>) -> tensor<5x4xi64>
  return %0, %1, %2, %3, %4 : tensor<5x4xcomplex<f32>>, tensor<5x4xf32>, tensor<5x4xi1>, tensor<5x4xcomplex<f32>>, tensor<5x4xi64>
}
