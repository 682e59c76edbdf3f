// Which products are written out: those that a kernel is through with before a driver is.
// RUN: tenon-opt --simplify --split-input-file %s | FileCheck %s

// Nothing is summed, a matrix of few elements, a dot of vectors: per matrix of the batch a driver costs more than the work.
// CHECK: program @batches
// CHECK-NOT: dot_general
// CHECK: multiply {{.*}} : f32[10000]
// CHECK: multiply {{.*}} : f32[512,3,3,3]
// CHECK: reduce {{.*}} dimensions=[3] : f32[512,3,3]
// CHECK: multiply {{.*}} : f32[64,32,48]
// CHECK: reduce {{.*}} dimensions=[1] : f32[4096]
// CHECK-NOT: dot_general
module @batches {
  func.func @main(%a: tensor<10000xf32>, %b: tensor<10000xf32>, %c: tensor<512x3x3xf32>, %u: tensor<64x32xf32>, %v: tensor<64x48xf32>, %x: tensor<4096x40xf32>)
      -> (tensor<10000xf32>, tensor<512x3x3xf32>, tensor<64x32x48xf32>, tensor<4096xf32>) {
    %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<10000xf32>, tensor<10000xf32>) -> tensor<10000xf32>
    %1 = stablehlo.dot_general %c, %c, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<512x3x3xf32>, tensor<512x3x3xf32>) -> tensor<512x3x3xf32>
    %2 = stablehlo.dot_general %u, %v, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<64x32xf32>, tensor<64x48xf32>) -> tensor<64x32x48xf32>
    %3 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4096x40xf32>, tensor<4096x40xf32>) -> tensor<4096xf32>
    return %0, %1, %2, %3 : tensor<10000xf32>, tensor<512x3x3xf32>, tensor<64x32x48xf32>, tensor<4096xf32>
  }
}

// -----

// Deep or wide ones stay, and so do those whose operands a kernel would have to compute for every term; not so rows of few
// terms that all meet one vector.
// CHECK: program @matrices
// CHECK-COUNT-2: dot_general
// CHECK-NOT: dot_general
// CHECK: reduce {{.*}} dimensions=[1] : f32[2000]
// CHECK: dot_general
// CHECK: return
module @matrices {
  func.func @main(%a: tensor<64x32x32xf32>, %w: tensor<65536x60xf32>, %n: tensor<60x12xf32>, %m: tensor<2000x50xf32>, %x: tensor<50xf32>, %t: tensor<512x8x8xf32>)
      -> (tensor<64x32x32xf32>, tensor<65536x12xf32>, tensor<2000xf32>, tensor<512x8x8xf32>) {
    %0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<64x32x32xf32>, tensor<64x32x32xf32>) -> tensor<64x32x32xf32>
    %1 = stablehlo.dot_general %w, %n, contracting_dims = [1] x [0] : (tensor<65536x60xf32>, tensor<60x12xf32>) -> tensor<65536x12xf32>
    %2 = stablehlo.dot_general %m, %x, contracting_dims = [1] x [0] : (tensor<2000x50xf32>, tensor<50xf32>) -> tensor<2000xf32>
    %e = stablehlo.tanh %t : tensor<512x8x8xf32>
    %3 = stablehlo.dot_general %e, %t, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<512x8x8xf32>, tensor<512x8x8xf32>) -> tensor<512x8x8xf32>
    return %0, %1, %2, %3 : tensor<64x32x32xf32>, tensor<65536x12xf32>, tensor<2000xf32>, tensor<512x8x8xf32>
  }
}

// -----

// Few columns, written out while rows run in lanes; few rows are not worth the code.
// CHECK: program @narrow
// CHECK: reduce {{.*}} dimensions=[2] : f32[65536,4]
// CHECK: reduce {{.*}} dimensions=[3] : f32[500,64,3]
// CHECK: dot_general {{.*}} : f32[20,8]
// CHECK-NOT: dot_general
module @narrow {
  func.func @main(%w: tensor<65536x4xf32>, %n: tensor<4x4xf32>, %x: tensor<500x64x3xf32>, %r: tensor<500x3x3xf32>, %s: tensor<20x8xf32>, %t: tensor<8x8xf32>)
      -> (tensor<65536x4xf32>, tensor<500x64x3xf32>, tensor<20x8xf32>) {
    %0 = stablehlo.dot_general %w, %n, contracting_dims = [1] x [0] : (tensor<65536x4xf32>, tensor<4x4xf32>) -> tensor<65536x4xf32>
    %1 = stablehlo.dot_general %x, %r, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<500x64x3xf32>, tensor<500x3x3xf32>) -> tensor<500x64x3xf32>
    %2 = stablehlo.dot_general %s, %t, contracting_dims = [1] x [0] : (tensor<20x8xf32>, tensor<8x8xf32>) -> tensor<20x8xf32>
    return %0, %1, %2 : tensor<65536x4xf32>, tensor<500x64x3xf32>, tensor<20x8xf32>
  }
}

// -----

// A kernel's lanes would lie along the sum, each in a line of its own, and the matrix is read from memory.
// CHECK: program @columns
// CHECK-COUNT-2: dot_general
// CHECK: return
module @columns {
  func.func @main(%x: tensor<5000xf32>, %a: tensor<5000x5000xf32>, %w: tensor<8192xf32>, %b: tensor<8192x24x24xf32>) -> (tensor<5000xf32>, tensor<24x24xf32>) {
    %0 = stablehlo.dot_general %x, %a, contracting_dims = [0] x [0] : (tensor<5000xf32>, tensor<5000x5000xf32>) -> tensor<5000xf32>
    %1 = stablehlo.dot_general %w, %b, contracting_dims = [0] x [0] : (tensor<8192xf32>, tensor<8192x24x24xf32>) -> tensor<24x24xf32>
    return %0, %1 : tensor<5000xf32>, tensor<24x24xf32>
  }
}

// -----

// What no driver takes runs in the narrowest type of one that holds both operands, and sums in a wider one.
// CHECK: program @others
// CHECK: dot_general {{.*}} : s32[100,100]
// CHECK: convert {{.*}} : s16[100,100]
// CHECK: convert {{.*}} : s16[100,100]
// CHECK: dot_general {{.*}} : s32[100,100]
// CHECK: convert {{.*}} : bf16[100,100]
// CHECK: dot_general {{.*}} : f32[100,100]
// CHECK: convert {{.*}} : f32[100,100]
// CHECK: dot_general {{.*}} : f32[100,100]
// CHECK-NOT: convert
// CHECK: dot_general {{.*}} : s32[100,100]
module @others {
  func.func @main(%a: tensor<100x100xi16>, %b: tensor<100x100xi8>, %c: tensor<100x100xui8>, %f: tensor<100x100xf8E4M3FN>, %g: tensor<100x100xbf16>, %h: tensor<100x100xf32>)
      -> (tensor<100x100xi16>, tensor<100x100xi32>, tensor<100x100xf32>, tensor<100x100xf32>, tensor<100x100xi32>) {
    %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<100x100xi16>, tensor<100x100xi16>) -> tensor<100x100xi16>
    %1 = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] : (tensor<100x100xi8>, tensor<100x100xui8>) -> tensor<100x100xi32>
    %2 = stablehlo.dot_general %f, %g, contracting_dims = [1] x [0] : (tensor<100x100xf8E4M3FN>, tensor<100x100xbf16>) -> tensor<100x100xf32>
    %3 = stablehlo.dot_general %g, %h, contracting_dims = [1] x [0] : (tensor<100x100xbf16>, tensor<100x100xf32>) -> tensor<100x100xf32>
    %4 = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] : (tensor<100x100xui8>, tensor<100x100xui8>) -> tensor<100x100xi32>
    return %0, %1, %2, %3, %4 : tensor<100x100xi16>, tensor<100x100xi32>, tensor<100x100xf32>, tensor<100x100xf32>, tensor<100x100xi32>
  }
}

// -----

// A complex matrix of a few elements; other complex products are real ones of the parts.
// CHECK: program @gate
// CHECK-NOT: dot_general
// CHECK: multiply {{.*}} : c64[2,64,128,2]
// CHECK-NOT: dot_general
// CHECK: reduce {{.*}} : f32[2,64,128]
// CHECK-COUNT-4: dot_general
module @gate {
  func.func @main(%g: tensor<2x2xcomplex<f32>>, %s: tensor<64x2x128xcomplex<f32>>, %a: tensor<100x100xcomplex<f32>>) -> (tensor<2x64x128xcomplex<f32>>, tensor<100x100xcomplex<f32>>) {
    %0 = stablehlo.dot_general %g, %s, contracting_dims = [1] x [1] : (tensor<2x2xcomplex<f32>>, tensor<64x2x128xcomplex<f32>>) -> tensor<2x64x128xcomplex<f32>>
    %1 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<100x100xcomplex<f32>>, tensor<100x100xcomplex<f32>>) -> tensor<100x100xcomplex<f32>>
    return %0, %1 : tensor<2x64x128xcomplex<f32>>, tensor<100x100xcomplex<f32>>
  }
}

// -----

// Complex vectors and matrices: sums run along rows whose elements are all added, others go row by row, as the matrix
// lies. Of two columns, those are taken apart.
// CHECK: program @complex_vectors
// CHECK-NOT: dot_general
// CHECK: multiply {{.*}} : c64[1,90,100]
// CHECK: reduce {{.*}} dimensions=[1] : f32[1,100]
// CHECK-NOT: dot_general
// CHECK: multiply {{.*}} : c64[61,20,21]
// CHECK: reduce {{.*}} dimensions=[1] : f32[61,21]
// CHECK-NOT: dot_general
// CHECK: multiply {{.*}} : c64[30,50,20]
// CHECK: reduce {{.*}} dimensions=[1] : f32[30,20]
// CHECK-NOT: dot_general
// CHECK: multiply {{.*}} : c64[61,21,20]
// CHECK: reduce {{.*}} dimensions=[2] : f32[61,21]
// CHECK-NOT: dot_general
// CHECK: multiply {{.*}} : c64[60,2,50]
// CHECK: reduce {{.*}} dimensions=[2] : f32[60,2]
// CHECK-NOT: dot_general
// CHECK: return
module @complex_vectors {
  func.func @main(%v: tensor<1x90xcomplex<f32>>, %m: tensor<90x100xcomplex<f32>>, %x: tensor<61x20xcomplex<f32>>, %a: tensor<61x20x21xcomplex<f32>>, %u: tensor<50xcomplex<f32>>,
                  %i: tensor<30x50x20xcomplex<f32>>, %b: tensor<61x21x20xcomplex<f32>>, %y: tensor<60x50xcomplex<f32>>, %t: tensor<60x50x2xcomplex<f32>>)
      -> (tensor<1x100xcomplex<f32>>, tensor<61x21xcomplex<f32>>, tensor<30x20xcomplex<f32>>, tensor<61x21xcomplex<f32>>, tensor<60x2xcomplex<f32>>) {
    %0 = stablehlo.dot_general %v, %m, contracting_dims = [1] x [0] : (tensor<1x90xcomplex<f32>>, tensor<90x100xcomplex<f32>>) -> tensor<1x100xcomplex<f32>>
    %1 = stablehlo.dot_general %x, %a, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<61x20xcomplex<f32>>, tensor<61x20x21xcomplex<f32>>) -> tensor<61x21xcomplex<f32>>
    %2 = stablehlo.dot_general %i, %u, contracting_dims = [1] x [0] : (tensor<30x50x20xcomplex<f32>>, tensor<50xcomplex<f32>>) -> tensor<30x20xcomplex<f32>>
    %3 = stablehlo.dot_general %b, %x, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<61x21x20xcomplex<f32>>, tensor<61x20xcomplex<f32>>) -> tensor<61x21xcomplex<f32>>
    %4 = stablehlo.dot_general %y, %t, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<60x50xcomplex<f32>>, tensor<60x50x2xcomplex<f32>>) -> tensor<60x2xcomplex<f32>>
    return %0, %1, %2, %3, %4 : tensor<1x100xcomplex<f32>>, tensor<61x21xcomplex<f32>>, tensor<30x20xcomplex<f32>>, tensor<61x21xcomplex<f32>>, tensor<60x2xcomplex<f32>>
  }
}

// -----

// Nothing meets in a product of one term. Two columns lie apart for the lanes of a sum, which a driver does not mind.
// CHECK: program @thin
// CHECK-NOT: dot_general
// CHECK: multiply
// CHECK: dot_general {{.*}} : f32[96,2]
// CHECK: return
module @thin {
  func.func @main(%h: tensor<79x1x2xf16>, %g: tensor<2x88x1xf16>, %a: tensor<96x96xf32>, %b: tensor<96x2xf32>) -> (tensor<2x88x79xf16>, tensor<96x2xf32>) {
    %0 = stablehlo.dot_general %g, %h, batching_dims = [0] x [2], contracting_dims = [2] x [1] : (tensor<2x88x1xf16>, tensor<79x1x2xf16>) -> tensor<2x88x79xf16>
    %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x2xf32>) -> tensor<96x2xf32>
    return %0, %1 : tensor<2x88x79xf16>, tensor<96x2xf32>
  }
}

// -----

// The gradient of a depthwise convolution's weights is a sum over the image for each of them.
// CHECK: program @weights
// CHECK-NOT: convolution
// CHECK-COUNT-3: reduce {{.*}} dimensions=[0,1] : f32[8]
// CHECK-NOT: convolution
// CHECK: reshape {{.*}} : f32[3,1,8]
// CHECK-NEXT: return
module @weights {
  func.func @main(%x: tensor<1x14x8xf32>, %d: tensor<1x14x8xf32>) -> tensor<3x1x8xf32> {
    %0 = stablehlo.convolution(%x, %d) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 8 : i64}
       : (tensor<1x14x8xf32>, tensor<1x14x8xf32>) -> tensor<3x1x8xf32>
    return %0 : tensor<3x1x8xf32>
  }
}

// -----

// Real matrices whose product is wanted as complex numbers are multiplied as they are.
// CHECK: program @real
// CHECK: dot_general {{.*}} : f32[64,48]
// CHECK-NEXT: convert {{.*}} : c64[64,48]
module @real {
  func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>) -> tensor<64x48xcomplex<f32>> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xcomplex<f32>>
    return %0 : tensor<64x48xcomplex<f32>>
  }
}
