// fuzz: data=1 specials=0 tolerance=1e-14,0
func.func @main(%a: tensor<f64>) -> tensor<3xf64> {
 %c = stablehlo.constant dense<[1.7976931348623157e308, -1.7976931348623157e308, 1.0e300]> : tensor<3xf64>
 %d = stablehlo.optimization_barrier %c : tensor<3xf64>
 %r = stablehlo.cbrt %d : tensor<3xf64>
 return %r : tensor<3xf64>
}
