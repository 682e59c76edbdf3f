// fuzz: data=1 specials=0 tolerance=0
func.func @main(%x: tensor<i32>, %p: tensor<i1>) -> tensor<i32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  %w7:2 = stablehlo.while(%i7 = %c0, %a7 = %x) : tensor<i32>, tensor<i32> cond {
   %g7 = stablehlo.compare LT, %i7, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
   stablehlo.return %g7 : tensor<i1> } do {
   %r7 = "stablehlo.if"(%p) ({
    %w6:2 = stablehlo.while(%i6 = %c0, %a6 = %a7) : tensor<i32>, tensor<i32> cond {
     %g6 = stablehlo.compare LT, %i6, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
     stablehlo.return %g6 : tensor<i1> } do {
     %r6 = "stablehlo.if"(%p) ({
      %w5:2 = stablehlo.while(%i5 = %c0, %a5 = %a6) : tensor<i32>, tensor<i32> cond {
       %g5 = stablehlo.compare LT, %i5, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
       stablehlo.return %g5 : tensor<i1> } do {
       %r5 = "stablehlo.if"(%p) ({
        %w4:2 = stablehlo.while(%i4 = %c0, %a4 = %a5) : tensor<i32>, tensor<i32> cond {
         %g4 = stablehlo.compare LT, %i4, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
         stablehlo.return %g4 : tensor<i1> } do {
         %r4 = "stablehlo.if"(%p) ({
          %w3:2 = stablehlo.while(%i3 = %c0, %a3 = %a4) : tensor<i32>, tensor<i32> cond {
           %g3 = stablehlo.compare LT, %i3, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %g3 : tensor<i1> } do {
           %r3 = "stablehlo.if"(%p) ({
            %w2:2 = stablehlo.while(%i2 = %c0, %a2 = %a3) : tensor<i32>, tensor<i32> cond {
             %g2 = stablehlo.compare LT, %i2, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %g2 : tensor<i1> } do {
             %r2 = "stablehlo.if"(%p) ({
              %w1:2 = stablehlo.while(%i1 = %c0, %a1 = %a2) : tensor<i32>, tensor<i32> cond {
               %g1 = stablehlo.compare LT, %i1, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %g1 : tensor<i1> } do {
               %r1 = "stablehlo.if"(%p) ({
                %z8 = stablehlo.add %a1, %a1 : tensor<i32>
                stablehlo.return %z8 : tensor<i32> }, { stablehlo.return %a1 : tensor<i32> }) : (tensor<i1>) -> tensor<i32>
               %n1 = stablehlo.add %i1, %c1 : tensor<i32>
               stablehlo.return %n1, %r1 : tensor<i32>, tensor<i32> }
              stablehlo.return %w1#1 : tensor<i32> }, { stablehlo.return %a2 : tensor<i32> }) : (tensor<i1>) -> tensor<i32>
             %n2 = stablehlo.add %i2, %c1 : tensor<i32>
             stablehlo.return %n2, %r2 : tensor<i32>, tensor<i32> }
            stablehlo.return %w2#1 : tensor<i32> }, { stablehlo.return %a3 : tensor<i32> }) : (tensor<i1>) -> tensor<i32>
           %n3 = stablehlo.add %i3, %c1 : tensor<i32>
           stablehlo.return %n3, %r3 : tensor<i32>, tensor<i32> }
          stablehlo.return %w3#1 : tensor<i32> }, { stablehlo.return %a4 : tensor<i32> }) : (tensor<i1>) -> tensor<i32>
         %n4 = stablehlo.add %i4, %c1 : tensor<i32>
         stablehlo.return %n4, %r4 : tensor<i32>, tensor<i32> }
        stablehlo.return %w4#1 : tensor<i32> }, { stablehlo.return %a5 : tensor<i32> }) : (tensor<i1>) -> tensor<i32>
       %n5 = stablehlo.add %i5, %c1 : tensor<i32>
       stablehlo.return %n5, %r5 : tensor<i32>, tensor<i32> }
      stablehlo.return %w5#1 : tensor<i32> }, { stablehlo.return %a6 : tensor<i32> }) : (tensor<i1>) -> tensor<i32>
     %n6 = stablehlo.add %i6, %c1 : tensor<i32>
     stablehlo.return %n6, %r6 : tensor<i32>, tensor<i32> }
    stablehlo.return %w6#1 : tensor<i32> }, { stablehlo.return %a7 : tensor<i32> }) : (tensor<i1>) -> tensor<i32>
   %n7 = stablehlo.add %i7, %c1 : tensor<i32>
   stablehlo.return %n7, %r7 : tensor<i32>, tensor<i32> }
  return %w7#1 : tensor<i32>
}
