func.func @main(%a: tensor<8x16xcomplex<f64>>, %i0: tensor<2x20xui32>, %u: tensor<9x20xcomplex<f64>>) -> tensor<8x16xcomplex<f64>> {
  %m = stablehlo.constant dense<2> : tensor<2x20xui32>
  %i = stablehlo.remainder %i0, %m : tensor<2x20xui32>
  %re = stablehlo.constant dense<0x7FF0000000000000> : tensor<8x16xf64>
  %zz = stablehlo.constant dense<0.0> : tensor<8x16xf64>
  %im0 = stablehlo.imag %a : (tensor<8x16xcomplex<f64>>) -> tensor<8x16xf64>
  %im = stablehlo.maximum %im0, %zz : tensor<8x16xf64>
  %ac = stablehlo.complex %re, %im : tensor<8x16xcomplex<f64>>
  %0 = "stablehlo.scatter"(%ac, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x: tensor<complex<f64>>, %y: tensor<complex<f64>>):
    %r = stablehlo.multiply %x, %y : tensor<complex<f64>>
    stablehlo.return %r : tensor<complex<f64>>
  }) : (tensor<8x16xcomplex<f64>>, tensor<2x20xui32>, tensor<9x20xcomplex<f64>>) -> tensor<8x16xcomplex<f64>>
  return %0 : tensor<8x16xcomplex<f64>>
}
