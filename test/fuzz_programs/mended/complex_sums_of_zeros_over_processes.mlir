// fuzz: data=1 specials=0 tolerance=0
func.func @main(%a: tensor<8x16xcomplex<f64>>, %i0: tensor<2x20xui32>, %u: tensor<9x20xcomplex<f64>>) -> tensor<8x16xcomplex<f64>> {
  %m = stablehlo.constant dense<2> : tensor<2x20xui32>
  %i = stablehlo.remainder %i0, %m : tensor<2x20xui32>
  %nz = stablehlo.constant dense<(-0.0,-0.0)> : tensor<8x16xcomplex<f64>>
  %z = stablehlo.constant dense<false> : tensor<i1>
  %zb = stablehlo.optimization_barrier %z : tensor<i1>
  %az = stablehlo.select %zb, %a, %nz : tensor<i1>, tensor<8x16xcomplex<f64>>
  %0 = "stablehlo.scatter"(%az, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x: tensor<complex<f64>>, %y: tensor<complex<f64>>):
    %r = stablehlo.add %x, %y : tensor<complex<f64>>
    stablehlo.return %r : tensor<complex<f64>>
  }) : (tensor<8x16xcomplex<f64>>, tensor<2x20xui32>, tensor<9x20xcomplex<f64>>) -> tensor<8x16xcomplex<f64>>
  return %0 : tensor<8x16xcomplex<f64>>
}
