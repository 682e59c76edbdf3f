// fuzz: data=1 specials=0 tolerance=0,0,0,0,0,0
func.func @main(%arg0: tensor<ui32>, %arg1: tensor<i64>) -> (tensor<2xi16>, tensor<4xui16>, tensor<2xi16>, tensor<4xui16>, tensor<2xi16>, tensor<4xui16>) {
  %v0 = stablehlo.constant dense<0> : tensor<ui32>
  %v10 = stablehlo.add %arg0, %v0 : tensor<ui32>
  %v20 = stablehlo.bitcast_convert %v10 : (tensor<ui32>) -> tensor<2xi16>
  %v1 = stablehlo.constant dense<1> : tensor<i64>
  %v11 = stablehlo.add %arg1, %v1 : tensor<i64>
  %v21 = stablehlo.bitcast_convert %v11 : (tensor<i64>) -> tensor<4xui16>
  %v2 = stablehlo.constant dense<2> : tensor<ui32>
  %v12 = stablehlo.add %arg0, %v2 : tensor<ui32>
  %v22 = stablehlo.bitcast_convert %v12 : (tensor<ui32>) -> tensor<2xi16>
  %v3 = stablehlo.constant dense<3> : tensor<i64>
  %v13 = stablehlo.add %arg1, %v3 : tensor<i64>
  %v23 = stablehlo.bitcast_convert %v13 : (tensor<i64>) -> tensor<4xui16>
  %v4 = stablehlo.constant dense<4> : tensor<ui32>
  %v14 = stablehlo.add %arg0, %v4 : tensor<ui32>
  %v24 = stablehlo.bitcast_convert %v14 : (tensor<ui32>) -> tensor<2xi16>
  %v5 = stablehlo.constant dense<5> : tensor<i64>
  %v15 = stablehlo.add %arg1, %v5 : tensor<i64>
  %v25 = stablehlo.bitcast_convert %v15 : (tensor<i64>) -> tensor<4xui16>
  return %v20, %v21, %v22, %v23, %v24, %v25 : tensor<2xi16>, tensor<4xui16>, tensor<2xi16>, tensor<4xui16>, tensor<2xi16>, tensor<4xui16>
}
