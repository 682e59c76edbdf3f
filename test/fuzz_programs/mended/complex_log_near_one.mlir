// fuzz: data=1 specials=0 tolerance=1e-9,1e-16
func.func @main(%a: tensor<f32>) -> (tensor<2xcomplex<f32>>, tensor<2xcomplex<f64>>) {
 %c = stablehlo.constant dense<[(2.4390277E-4, 3.8E-8), (1.0E-3, 1.0E-3)]> : tensor<2xcomplex<f32>>
 %d = stablehlo.optimization_barrier %c : tensor<2xcomplex<f32>>
 %r = stablehlo.log_plus_one %d : tensor<2xcomplex<f32>>
 %e = stablehlo.constant dense<[(1.7645153494584718E-8, 2.147314715503483E-8), (1.0E-6, 1.0E-6)]> : tensor<2xcomplex<f64>>
 %f = stablehlo.optimization_barrier %e : tensor<2xcomplex<f64>>
 %s = stablehlo.log_plus_one %f : tensor<2xcomplex<f64>>
 return %r, %s : tensor<2xcomplex<f32>>, tensor<2xcomplex<f64>>
}
