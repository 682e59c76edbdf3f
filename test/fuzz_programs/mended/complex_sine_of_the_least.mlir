// fuzz: data=1 specials=0 tolerance=100,100
func.func @main(%a: tensor<f32>) -> (tensor<1xcomplex<f32>>, tensor<1xcomplex<f32>>) {
 %c = stablehlo.constant dense<[(1.2E-38, 100.0)]> : tensor<1xcomplex<f32>>
 %d = stablehlo.optimization_barrier %c : tensor<1xcomplex<f32>>
 %r = stablehlo.sine %d : tensor<1xcomplex<f32>>
 %s = stablehlo.cosine %d : tensor<1xcomplex<f32>>
 return %r, %s : tensor<1xcomplex<f32>>, tensor<1xcomplex<f32>>
}
