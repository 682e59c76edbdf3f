// Literals of every kind: splats, bit-packed booleans, sub-byte and wide integers, narrow floats, complex, empty ones.
module @constants {
  func.func @main() {
    %0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %1 = stablehlo.constant dense<true> : tensor<3x5xi1>
    %2 = stablehlo.constant dense<false> : tensor<9xi1>
    %3 = stablehlo.constant dense<true> : tensor<i1>
    %4 = stablehlo.constant dense<[true, false, false, false, true, false, false, false, true, true]> : tensor<10xi1>
    %5 = stablehlo.constant dense<[-1, 7, -8]> : tensor<3xi4>
    %6 = stablehlo.constant dense<[1, 15]> : tensor<2xui4>
    %7 = stablehlo.constant dense<[-128, 127]> : tensor<2xi8>
    %8 = stablehlo.constant dense<[1, 2, 3, 65535]> : tensor<4xui16>
    %9 = stablehlo.constant dense<-1> : tensor<4xi32>
    %10 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
    %11 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
    %12 = stablehlo.constant dense<[1.5, -0.0, 0x7F800000]> : tensor<3xf32>
    %13 = stablehlo.constant dense<[0x7FF8000000000001, 1.0e-300]> : tensor<2xf64>
    %14 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xbf16>
    %15 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf16>
    %16 = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 4.0)]> : tensor<2xcomplex<f32>>
    %17 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E4M3FN>
    %18 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E5M2>
    %19 = stablehlo.constant dense<> : tensor<0xf32>
    %20 = stablehlo.constant dense<> : tensor<2x0xi1>
    return
  }
}
