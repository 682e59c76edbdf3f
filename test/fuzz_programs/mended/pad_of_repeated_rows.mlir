// fuzz: data=578 specials=0 tolerance=0
// The rows that padding adds do not follow from the place that is read: what is repeated is read everywhere.
func.func @main(%arg0: tensor<2xi32>) -> tensor<68x3x7xi32> {
  %v0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xi32>) -> tensor<65x2x7xi32>
  %v1 = stablehlo.constant dense<0> : tensor<i32>
  %v2 = stablehlo.pad %v0, %v1, low = [0, 1, 0], high = [3, 0, 0], interior = [0, 0, 0] : (tensor<65x2x7xi32>, tensor<i32>) -> tensor<68x3x7xi32>
  return %v2 : tensor<68x3x7xi32>
}
