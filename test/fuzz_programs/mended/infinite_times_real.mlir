// fuzz: data=1 specials=0 tolerance=0z,0z
func.func @main() -> (tensor<3x30xcomplex<f32>>, tensor<3x30xcomplex<f32>>) {
  %xc = stablehlo.constant dense<1.0> : tensor<3x40xf32>
  %yc = stablehlo.constant dense<(0x7F800000, 1.0)> : tensor<40x30xcomplex<f32>>
  %x = stablehlo.optimization_barrier %xc : tensor<3x40xf32>
  %y = stablehlo.optimization_barrier %yc : tensor<40x30xcomplex<f32>>
  %c = stablehlo.convert %x : (tensor<3x40xf32>) -> tensor<3x40xcomplex<f32>>
  %0 = stablehlo.dot_general %c, %y, contracting_dims = [1] x [0] : (tensor<3x40xcomplex<f32>>, tensor<40x30xcomplex<f32>>) -> tensor<3x30xcomplex<f32>>
  %cb = stablehlo.optimization_barrier %c : tensor<3x40xcomplex<f32>>
  %1 = stablehlo.dot_general %cb, %y, contracting_dims = [1] x [0] : (tensor<3x40xcomplex<f32>>, tensor<40x30xcomplex<f32>>) -> tensor<3x30xcomplex<f32>>
  return %0, %1 : tensor<3x30xcomplex<f32>>, tensor<3x30xcomplex<f32>>
}
