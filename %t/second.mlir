func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %b : tensor<4xf32>
}
