// Custom calls, composites, function attributes and names.
module @calls {
  func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func public @main(%x: tensor<4xf32> {mhlo.layout_mode = "default", tf.aliasing_output = 0 : i32}, %t: !stablehlo.token {jax.token = true}) -> (tensor<4xf32> {jax.result_info = "[0]"}, !stablehlo.token) {
    %0 = "stablehlo.custom_call"(%x) {call_target_name = "plain"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.custom_call"(%0) {call_target_name = "typed", api_version = 4 : i32, backend_config = {k = 3 : i64, name = "n", flag = true}, has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.composite"(%1) {name = "my.op", decomposition = @body, composite_attributes = {scale = 2.0 : f32}, version = 3 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.custom_call"(%2) {call_target_name = "calls", called_computations = [@body], backend_config = "text", mhlo.frontend_attributes = {a = "b"}} : (tensor<4xf32>) -> tensor<4xf32>
    return %3, %t : tensor<4xf32>, !stablehlo.token
  }
}
