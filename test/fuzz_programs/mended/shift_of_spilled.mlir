// fuzz: data=9554644 specials=1 tolerance=0z
module {
  func.func @main(%arg0: tensor<5x15xi8>) -> tensor<5xi8> {
    %c = stablehlo.constant dense<1> : tensor<i8>
    %c_0 = stablehlo.constant dense<0> : tensor<i8>
    %0:2 = stablehlo.reduce(%arg0 init: %c), (%arg0 init: %c_0) across dimensions = [1] : (tensor<5x15xi8>, tensor<5x15xi8>, tensor<i8>, tensor<i8>) -> (tensor<5xi8>, tensor<5xi8>)
     reducer(%arg1: tensor<i8>, %arg3: tensor<i8>) (%arg2: tensor<i8>, %arg4: tensor<i8>)  {
      %1 = stablehlo.multiply %arg1, %arg3 : tensor<i8>
      stablehlo.return %1, %arg2 : tensor<i8>, tensor<i8>
    }
    return %0#1 : tensor<5xi8>
  }
}

