// fuzz: data=1 specials=0 tolerance=1e-10z
func.func @main(%a: tensor<f64>) -> (tensor<4xf32>,tensor<4xf64>) {
 %c = stablehlo.constant dense<[3.4028234663852886e38, 3.4e38, -3.4028234663852886e38, 1.8446742974197923e19]> : tensor<4xf32>
 %e = stablehlo.constant dense<[1.0,1.0,1.0,2.0]> : tensor<4xf32>
 %d = stablehlo.optimization_barrier %c : tensor<4xf32>
 %f = stablehlo.optimization_barrier %e : tensor<4xf32>
 %r = stablehlo.power %d, %f : tensor<4xf32>
 %c2 = stablehlo.constant dense<[1.7976931348623157e308, 1.7e308, -1.7976931348623157e308, 1.3407807929942596e154]> : tensor<4xf64>
 %e2 = stablehlo.constant dense<[1.0,1.0,1.0,2.0]> : tensor<4xf64>
 %d2 = stablehlo.optimization_barrier %c2 : tensor<4xf64>
 %f2 = stablehlo.optimization_barrier %e2 : tensor<4xf64>
 %r2 = stablehlo.power %d2, %f2 : tensor<4xf64>
 return %r, %r2 : tensor<4xf32>, tensor<4xf64>
}
