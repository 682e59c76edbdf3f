// fuzz: data=2 specials=0 tolerance=0,0
func.func @main(%arg0: tensor<43xi4>, %arg1: tensor<5xui4>) -> (tensor<43xui4>, tensor<5xi4>) {
  %v0 = stablehlo.bitcast_convert %arg0 : (tensor<43xi4>) -> tensor<43xui4>
  %v1 = stablehlo.bitcast_convert %arg1 : (tensor<5xui4>) -> tensor<5xi4>
  return %v0, %v1 : tensor<43xui4>, tensor<5xi4>
}
