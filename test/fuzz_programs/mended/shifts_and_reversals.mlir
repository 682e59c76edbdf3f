// fuzz: data=5 specials=0 tolerance=0,0,0,0,0,0,0
func.func @main(%x0: tensor<9xi32>) -> tensor<9xi32> {
 %z = stablehlo.constant dense<3> : tensor<i32>
 %a0 = stablehlo.slice %x0 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p0 = stablehlo.pad %a0, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b0 = stablehlo.reverse %x0, dims = [0] : tensor<9xi32>
 %x1 = stablehlo.add %p0, %b0 : tensor<9xi32>
 %a1 = stablehlo.slice %x1 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p1 = stablehlo.pad %a1, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b1 = stablehlo.reverse %x1, dims = [0] : tensor<9xi32>
 %x2 = stablehlo.add %p1, %b1 : tensor<9xi32>
 %a2 = stablehlo.slice %x2 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p2 = stablehlo.pad %a2, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b2 = stablehlo.reverse %x2, dims = [0] : tensor<9xi32>
 %x3 = stablehlo.add %p2, %b2 : tensor<9xi32>
 %a3 = stablehlo.slice %x3 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p3 = stablehlo.pad %a3, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b3 = stablehlo.reverse %x3, dims = [0] : tensor<9xi32>
 %x4 = stablehlo.add %p3, %b3 : tensor<9xi32>
 %a4 = stablehlo.slice %x4 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p4 = stablehlo.pad %a4, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b4 = stablehlo.reverse %x4, dims = [0] : tensor<9xi32>
 %x5 = stablehlo.add %p4, %b4 : tensor<9xi32>
 %a5 = stablehlo.slice %x5 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p5 = stablehlo.pad %a5, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b5 = stablehlo.reverse %x5, dims = [0] : tensor<9xi32>
 %x6 = stablehlo.add %p5, %b5 : tensor<9xi32>
 %a6 = stablehlo.slice %x6 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p6 = stablehlo.pad %a6, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b6 = stablehlo.reverse %x6, dims = [0] : tensor<9xi32>
 %x7 = stablehlo.add %p6, %b6 : tensor<9xi32>
 %a7 = stablehlo.slice %x7 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p7 = stablehlo.pad %a7, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b7 = stablehlo.reverse %x7, dims = [0] : tensor<9xi32>
 %x8 = stablehlo.add %p7, %b7 : tensor<9xi32>
 %a8 = stablehlo.slice %x8 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p8 = stablehlo.pad %a8, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b8 = stablehlo.reverse %x8, dims = [0] : tensor<9xi32>
 %x9 = stablehlo.add %p8, %b8 : tensor<9xi32>
 %a9 = stablehlo.slice %x9 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p9 = stablehlo.pad %a9, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b9 = stablehlo.reverse %x9, dims = [0] : tensor<9xi32>
 %x10 = stablehlo.add %p9, %b9 : tensor<9xi32>
 %a10 = stablehlo.slice %x10 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p10 = stablehlo.pad %a10, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b10 = stablehlo.reverse %x10, dims = [0] : tensor<9xi32>
 %x11 = stablehlo.add %p10, %b10 : tensor<9xi32>
 %a11 = stablehlo.slice %x11 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p11 = stablehlo.pad %a11, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b11 = stablehlo.reverse %x11, dims = [0] : tensor<9xi32>
 %x12 = stablehlo.add %p11, %b11 : tensor<9xi32>
 %a12 = stablehlo.slice %x12 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p12 = stablehlo.pad %a12, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b12 = stablehlo.reverse %x12, dims = [0] : tensor<9xi32>
 %x13 = stablehlo.add %p12, %b12 : tensor<9xi32>
 %a13 = stablehlo.slice %x13 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p13 = stablehlo.pad %a13, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b13 = stablehlo.reverse %x13, dims = [0] : tensor<9xi32>
 %x14 = stablehlo.add %p13, %b13 : tensor<9xi32>
 %a14 = stablehlo.slice %x14 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p14 = stablehlo.pad %a14, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b14 = stablehlo.reverse %x14, dims = [0] : tensor<9xi32>
 %x15 = stablehlo.add %p14, %b14 : tensor<9xi32>
 %a15 = stablehlo.slice %x15 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p15 = stablehlo.pad %a15, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b15 = stablehlo.reverse %x15, dims = [0] : tensor<9xi32>
 %x16 = stablehlo.add %p15, %b15 : tensor<9xi32>
 %a16 = stablehlo.slice %x16 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p16 = stablehlo.pad %a16, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b16 = stablehlo.reverse %x16, dims = [0] : tensor<9xi32>
 %x17 = stablehlo.add %p16, %b16 : tensor<9xi32>
 %a17 = stablehlo.slice %x17 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p17 = stablehlo.pad %a17, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b17 = stablehlo.reverse %x17, dims = [0] : tensor<9xi32>
 %x18 = stablehlo.add %p17, %b17 : tensor<9xi32>
 %a18 = stablehlo.slice %x18 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p18 = stablehlo.pad %a18, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b18 = stablehlo.reverse %x18, dims = [0] : tensor<9xi32>
 %x19 = stablehlo.add %p18, %b18 : tensor<9xi32>
 %a19 = stablehlo.slice %x19 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p19 = stablehlo.pad %a19, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b19 = stablehlo.reverse %x19, dims = [0] : tensor<9xi32>
 %x20 = stablehlo.add %p19, %b19 : tensor<9xi32>
 %a20 = stablehlo.slice %x20 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p20 = stablehlo.pad %a20, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b20 = stablehlo.reverse %x20, dims = [0] : tensor<9xi32>
 %x21 = stablehlo.add %p20, %b20 : tensor<9xi32>
 %a21 = stablehlo.slice %x21 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p21 = stablehlo.pad %a21, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b21 = stablehlo.reverse %x21, dims = [0] : tensor<9xi32>
 %x22 = stablehlo.add %p21, %b21 : tensor<9xi32>
 %a22 = stablehlo.slice %x22 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p22 = stablehlo.pad %a22, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b22 = stablehlo.reverse %x22, dims = [0] : tensor<9xi32>
 %x23 = stablehlo.add %p22, %b22 : tensor<9xi32>
 %a23 = stablehlo.slice %x23 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p23 = stablehlo.pad %a23, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b23 = stablehlo.reverse %x23, dims = [0] : tensor<9xi32>
 %x24 = stablehlo.add %p23, %b23 : tensor<9xi32>
 %a24 = stablehlo.slice %x24 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p24 = stablehlo.pad %a24, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b24 = stablehlo.reverse %x24, dims = [0] : tensor<9xi32>
 %x25 = stablehlo.add %p24, %b24 : tensor<9xi32>
 %a25 = stablehlo.slice %x25 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p25 = stablehlo.pad %a25, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b25 = stablehlo.reverse %x25, dims = [0] : tensor<9xi32>
 %x26 = stablehlo.add %p25, %b25 : tensor<9xi32>
 %a26 = stablehlo.slice %x26 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p26 = stablehlo.pad %a26, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b26 = stablehlo.reverse %x26, dims = [0] : tensor<9xi32>
 %x27 = stablehlo.add %p26, %b26 : tensor<9xi32>
 %a27 = stablehlo.slice %x27 [1:9] : (tensor<9xi32>) -> tensor<8xi32>
 %p27 = stablehlo.pad %a27, %z, low = [1], high = [0], interior = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<9xi32>
 %b27 = stablehlo.reverse %x27, dims = [0] : tensor<9xi32>
 %x28 = stablehlo.add %p27, %b27 : tensor<9xi32>
 return %x28 : tensor<9xi32>
}
