// The inner loop begins with the outer one's state and reads it in each of its trips: what it changes has other memory.
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %tenth = stablehlo.constant dense<3> : tensor<4xi32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xi32>
  cond {
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2:2 = stablehlo.while(%j = %zero, %z = %y) : tensor<i32>, tensor<4xi32>
    cond {
      %3 = stablehlo.compare LT, %j, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %4 = stablehlo.subtract %z, %y : tensor<4xi32>
      %5 = stablehlo.negate %z : tensor<4xi32>
      %6 = stablehlo.multiply %tenth, %5 : tensor<4xi32>
      %7 = stablehlo.subtract %4, %6 : tensor<4xi32>
      %8 = "stablehlo.sort"(%7) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) : (tensor<4xi32>) -> tensor<4xi32>
      %9 = stablehlo.subtract %z, %8 : tensor<4xi32>
      %10 = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %10, %9 : tensor<i32>, tensor<4xi32>
    }
    %11 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %11, %2#1 : tensor<i32>, tensor<4xi32>
  }
  return %0#1 : tensor<4xi32>
}
