// A transformer block: 128 places of 256 features, 4 heads, 1024 features inside.
func.func @main(%x: tensor<128x256xf32>, %g1: tensor<256xf32>, %b1: tensor<256xf32>, %wq: tensor<256x256xf32>, %wk: tensor<256x256xf32>, %wv: tensor<256x256xf32>, %wo: tensor<256x256xf32>, %g2: tensor<256xf32>, %b2: tensor<256xf32>, %w1: tensor<256x1024xf32>, %c1: tensor<1024xf32>, %w2: tensor<1024x256xf32>, %c2: tensor<256xf32>) -> tensor<128x256xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = stablehlo.constant dense<256.0> : tensor<f32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<128xf32>
  %4 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [1] : (tensor<128x256xf32>, tensor<f32>) -> tensor<128xf32>
  %5 = stablehlo.divide %4, %3 : tensor<128xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<128xf32>) -> tensor<128x256xf32>
  %7 = stablehlo.subtract %x, %6 : tensor<128x256xf32>
  %8 = stablehlo.multiply %7, %7 : tensor<128x256xf32>
  %9 = stablehlo.reduce(%8 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<128x256xf32>, tensor<f32>) -> tensor<128xf32>
  %10 = stablehlo.divide %9, %3 : tensor<128xf32>
  %11 = stablehlo.constant dense<1.0e-5> : tensor<f32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<128xf32>
  %13 = stablehlo.add %10, %12 : tensor<128xf32>
  %14 = stablehlo.rsqrt %13 : tensor<128xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<128xf32>) -> tensor<128x256xf32>
  %16 = stablehlo.multiply %7, %15 : tensor<128x256xf32>
  %17 = stablehlo.broadcast_in_dim %g1, dims = [1] : (tensor<256xf32>) -> tensor<128x256xf32>
  %18 = stablehlo.multiply %16, %17 : tensor<128x256xf32>
  %19 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<256xf32>) -> tensor<128x256xf32>
  %20 = stablehlo.add %18, %19 : tensor<128x256xf32>
  %21 = stablehlo.dot_general %20, %wq, contracting_dims = [1] x [0] : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %22 = stablehlo.reshape %21 : (tensor<128x256xf32>) -> tensor<128x4x64xf32>
  %23 = stablehlo.transpose %22, dims = [1, 0, 2] : (tensor<128x4x64xf32>) -> tensor<4x128x64xf32>
  %24 = stablehlo.dot_general %20, %wk, contracting_dims = [1] x [0] : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %25 = stablehlo.reshape %24 : (tensor<128x256xf32>) -> tensor<128x4x64xf32>
  %26 = stablehlo.transpose %25, dims = [1, 0, 2] : (tensor<128x4x64xf32>) -> tensor<4x128x64xf32>
  %27 = stablehlo.dot_general %20, %wv, contracting_dims = [1] x [0] : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %28 = stablehlo.reshape %27 : (tensor<128x256xf32>) -> tensor<128x4x64xf32>
  %29 = stablehlo.transpose %28, dims = [1, 0, 2] : (tensor<128x4x64xf32>) -> tensor<4x128x64xf32>
  %30 = stablehlo.dot_general %23, %26, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x128x64xf32>, tensor<4x128x64xf32>) -> tensor<4x128x128xf32>
  %31 = stablehlo.constant dense<0.125> : tensor<f32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [] : (tensor<f32>) -> tensor<4x128x128xf32>
  %33 = stablehlo.multiply %30, %32 : tensor<4x128x128xf32>
  %34 = stablehlo.reduce(%33 init: %1) applies stablehlo.maximum across dimensions = [2] : (tensor<4x128x128xf32>, tensor<f32>) -> tensor<4x128xf32>
  %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %36 = stablehlo.subtract %33, %35 : tensor<4x128x128xf32>
  %37 = stablehlo.exponential %36 : tensor<4x128x128xf32>
  %38 = stablehlo.reduce(%37 init: %0) applies stablehlo.add across dimensions = [2] : (tensor<4x128x128xf32>, tensor<f32>) -> tensor<4x128xf32>
  %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1] : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %40 = stablehlo.divide %37, %39 : tensor<4x128x128xf32>
  %41 = stablehlo.dot_general %40, %29, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x128x128xf32>, tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
  %42 = stablehlo.transpose %41, dims = [1, 0, 2] : (tensor<4x128x64xf32>) -> tensor<128x4x64xf32>
  %43 = stablehlo.reshape %42 : (tensor<128x4x64xf32>) -> tensor<128x256xf32>
  %44 = stablehlo.dot_general %43, %wo, contracting_dims = [1] x [0] : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %45 = stablehlo.add %x, %44 : tensor<128x256xf32>
  %46 = stablehlo.constant dense<256.0> : tensor<f32>
  %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<f32>) -> tensor<128xf32>
  %48 = stablehlo.reduce(%45 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<128x256xf32>, tensor<f32>) -> tensor<128xf32>
  %49 = stablehlo.divide %48, %47 : tensor<128xf32>
  %50 = stablehlo.broadcast_in_dim %49, dims = [0] : (tensor<128xf32>) -> tensor<128x256xf32>
  %51 = stablehlo.subtract %45, %50 : tensor<128x256xf32>
  %52 = stablehlo.multiply %51, %51 : tensor<128x256xf32>
  %53 = stablehlo.reduce(%52 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<128x256xf32>, tensor<f32>) -> tensor<128xf32>
  %54 = stablehlo.divide %53, %47 : tensor<128xf32>
  %55 = stablehlo.constant dense<1.0e-5> : tensor<f32>
  %56 = stablehlo.broadcast_in_dim %55, dims = [] : (tensor<f32>) -> tensor<128xf32>
  %57 = stablehlo.add %54, %56 : tensor<128xf32>
  %58 = stablehlo.rsqrt %57 : tensor<128xf32>
  %59 = stablehlo.broadcast_in_dim %58, dims = [0] : (tensor<128xf32>) -> tensor<128x256xf32>
  %60 = stablehlo.multiply %51, %59 : tensor<128x256xf32>
  %61 = stablehlo.broadcast_in_dim %g2, dims = [1] : (tensor<256xf32>) -> tensor<128x256xf32>
  %62 = stablehlo.multiply %60, %61 : tensor<128x256xf32>
  %63 = stablehlo.broadcast_in_dim %b2, dims = [1] : (tensor<256xf32>) -> tensor<128x256xf32>
  %64 = stablehlo.add %62, %63 : tensor<128x256xf32>
  %65 = stablehlo.dot_general %64, %w1, contracting_dims = [1] x [0] : (tensor<128x256xf32>, tensor<256x1024xf32>) -> tensor<128x1024xf32>
  %66 = stablehlo.broadcast_in_dim %c1, dims = [1] : (tensor<1024xf32>) -> tensor<128x1024xf32>
  %67 = stablehlo.add %65, %66 : tensor<128x1024xf32>
  %68 = stablehlo.multiply %67, %67 : tensor<128x1024xf32>
  %69 = stablehlo.multiply %68, %67 : tensor<128x1024xf32>
  %70 = stablehlo.constant dense<0.044715> : tensor<f32>
  %71 = stablehlo.broadcast_in_dim %70, dims = [] : (tensor<f32>) -> tensor<128x1024xf32>
  %72 = stablehlo.multiply %69, %71 : tensor<128x1024xf32>
  %73 = stablehlo.add %67, %72 : tensor<128x1024xf32>
  %74 = stablehlo.constant dense<0.7978846> : tensor<f32>
  %75 = stablehlo.broadcast_in_dim %74, dims = [] : (tensor<f32>) -> tensor<128x1024xf32>
  %76 = stablehlo.multiply %73, %75 : tensor<128x1024xf32>
  %77 = stablehlo.tanh %76 : tensor<128x1024xf32>
  %78 = stablehlo.constant dense<1.0> : tensor<f32>
  %79 = stablehlo.broadcast_in_dim %78, dims = [] : (tensor<f32>) -> tensor<128x1024xf32>
  %80 = stablehlo.add %77, %79 : tensor<128x1024xf32>
  %81 = stablehlo.constant dense<0.5> : tensor<f32>
  %82 = stablehlo.broadcast_in_dim %81, dims = [] : (tensor<f32>) -> tensor<128x1024xf32>
  %83 = stablehlo.multiply %67, %82 : tensor<128x1024xf32>
  %84 = stablehlo.multiply %83, %80 : tensor<128x1024xf32>
  %85 = stablehlo.dot_general %84, %w2, contracting_dims = [1] x [0] : (tensor<128x1024xf32>, tensor<1024x256xf32>) -> tensor<128x256xf32>
  %86 = stablehlo.broadcast_in_dim %c2, dims = [1] : (tensor<256xf32>) -> tensor<128x256xf32>
  %87 = stablehlo.add %85, %86 : tensor<128x256xf32>
  %88 = stablehlo.add %45, %87 : tensor<128x256xf32>
  return %88 : tensor<128x256xf32>
}
