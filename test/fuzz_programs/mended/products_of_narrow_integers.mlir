// fuzz: data=7 specials=0 tolerance=0z
func.func @main(%x: tensor<2x9x8x5xi8>, %w: tensor<3x3x5x7xi8>, %y: tensor<2x9x8x5xui16>, %v: tensor<3x3x5x7xui16>, %p: tensor<100x7x13xui8>, %q: tensor<100x13x5xui8>) -> (tensor<2x9x8x7xi8>, tensor<2x9x8x7xui16>, tensor<100x7x5xui8>) {
 %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x8x5xi8>, tensor<3x3x5x7xi8>) -> tensor<2x9x8x7xi8>
 %1 = stablehlo.convolution(%y, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x8x5xui16>, tensor<3x3x5x7xui16>) -> tensor<2x9x8x7xui16>
 %2 = stablehlo.dot_general %p, %q, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<100x7x13xui8>, tensor<100x13x5xui8>) -> tensor<100x7x5xui8>
 return %0, %1, %2 : tensor<2x9x8x7xi8>, tensor<2x9x8x7xui16>, tensor<100x7x5xui8>
}
