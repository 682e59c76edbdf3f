// fuzz: data=7 specials=0 tolerance=0,0
// Two donated arguments, a part of each updated from itself and from another part of it: the first may be read where it
// is written, the second is as it was before.
func.func @main(%a: tensor<40xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<40xf32> {tf.aliasing_output = 1 : i32}, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<40xf32>, tensor<40xf32>) {
  %a0 = stablehlo.dynamic_slice %a, %i, sizes = [16] : (tensor<40xf32>, tensor<i32>) -> tensor<16xf32>
  %a1 = stablehlo.negate %a0 : tensor<16xf32>
  %a2 = stablehlo.dynamic_update_slice %a, %a1, %i : (tensor<40xf32>, tensor<16xf32>, tensor<i32>) -> tensor<40xf32>
  %b0 = stablehlo.dynamic_slice %b, %i, sizes = [16] : (tensor<40xf32>, tensor<i32>) -> tensor<16xf32>
  %b1 = stablehlo.negate %b0 : tensor<16xf32>
  %b2 = stablehlo.dynamic_update_slice %b, %b1, %j : (tensor<40xf32>, tensor<16xf32>, tensor<i32>) -> tensor<40xf32>
  return %a2, %b2 : tensor<40xf32>, tensor<40xf32>
}
