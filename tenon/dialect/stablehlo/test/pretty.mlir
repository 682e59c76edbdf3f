// Pretty forms: each line is printed as it stands here, and means the same in generic form.
// RUN: tenon-opt %s | FileCheck %s
// RUN: tenon-opt --round-trip %s
// RUN: tenon-opt --generic %s | tenon-opt - | FileCheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: tensor<2xf32>, %b: tensor<?xf32>, %c: tensor<2xcomplex<f32>>, %p: tensor<2xi1>, %s: tensor<i1>) {
  // CHECK: stablehlo.add %arg0, %arg0 : tensor<2xf32>
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  // CHECK: stablehlo.add %arg0, %arg1 : (tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  %1 = stablehlo.add %a, %b : (tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  // CHECK: stablehlo.abs %arg2 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %2 = stablehlo.abs %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // CHECK: stablehlo.complex %arg0, %arg0 : tensor<2xcomplex<f32>>
  %3 = stablehlo.complex %a, %a : tensor<2xcomplex<f32>>
  // CHECK: stablehlo.compare LT, %arg0, %arg0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %4 = stablehlo.compare  LT, %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: stablehlo.compare EQ, %arg0, %arg0, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %5 = stablehlo.compare  EQ, %a, %a,  TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: stablehlo.select %arg4, %arg0, %arg0 : tensor<i1>, tensor<2xf32>
  %6 = stablehlo.select %s, %a, %a : tensor<i1>, tensor<2xf32>
  // CHECK: stablehlo.select %arg3, %arg0, %arg1 : (tensor<2xi1>, tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  %7 = stablehlo.select %p, %a, %b : (tensor<2xi1>, tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  // CHECK: stablehlo.clamp %arg0, %arg0, %arg0 : tensor<2xf32>
  %8 = stablehlo.clamp %a, %a, %a : tensor<2xf32>
  // CHECK: stablehlo.convert %arg0 : (tensor<2xf32>) -> tensor<2xbf16>
  %9 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<2xbf16>
  // CHECK: stablehlo.reduce_precision %arg0, format = e5m10 : tensor<2xf32>
  %10 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2xf32>
  // CHECK: stablehlo.is_finite %arg0 : (tensor<2xf32>) -> tensor<2xi1>
  %11 = stablehlo.is_finite %a : (tensor<2xf32>) -> tensor<2xi1>
  // CHECK: stablehlo.tanh %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e+00, ulps = 5, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  %12 = stablehlo.tanh %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e+00, ulps = 5, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%a: tensor<3x4xi32>, %i: tensor<i64>, %z: tensor<i32>) {
  // CHECK: %c = stablehlo.constant dense<1> : tensor<2xi64>
  %c = stablehlo.constant dense<1> : tensor<2xi64>
  // CHECK: %cst = stablehlo.constant {mhlo.sharding = "{replicated}"} dense<1.000000e+00> : tensor<f32>
  %f = stablehlo.constant {mhlo.sharding = "{replicated}"} dense<1.0> : tensor<f32>
  // CHECK: stablehlo.constant() <{value = dense<7> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>
  %q = stablehlo.constant() <{value = dense<7> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  // CHECK: stablehlo.iota dim = 1 : tensor<3x4xi32>
  %0 = stablehlo.iota dim = 1 : tensor<3x4xi32>
  // CHECK: stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<i32>) -> tensor<3xi32>
  %1 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<i32>) -> tensor<3xi32>
  // CHECK: stablehlo.broadcast %arg2, sizes = [2] : (tensor<i32>) -> tensor<2xi32>
  %2 = stablehlo.broadcast %z, sizes = [2] : (tensor<i32>) -> tensor<2xi32>
  // CHECK: stablehlo.reshape %arg0 : (tensor<3x4xi32>) -> tensor<12xi32>
  %3 = stablehlo.reshape %a : (tensor<3x4xi32>) -> tensor<12xi32>
  // CHECK: stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x4xi32>) -> tensor<4x3xi32>
  %4 = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x4xi32>) -> tensor<4x3xi32>
  // CHECK: stablehlo.reverse %arg0, dims = [0] : tensor<3x4xi32>
  %5 = stablehlo.reverse %a, dims = [0] : tensor<3x4xi32>
  // CHECK: stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<6x4xi32>
  %6 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<6x4xi32>
  // CHECK: stablehlo.slice %arg0 [1:2, 0:4:2] : (tensor<3x4xi32>) -> tensor<1x2xi32>
  %7 = stablehlo.slice %a [1:2, 0:4:2] : (tensor<3x4xi32>) -> tensor<1x2xi32>
  // CHECK: stablehlo.slice %arg2 [] : (tensor<i32>) -> tensor<i32>
  %8 = stablehlo.slice %z [] : (tensor<i32>) -> tensor<i32>
  // CHECK: stablehlo.pad %arg0, %arg2, low = [0, -1], high = [2, 0], interior = [1, 0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<7x3xi32>
  %9 = stablehlo.pad %a, %z, low = [0, -1], high = [2, 0], interior = [1, 0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<7x3xi32>
  // CHECK: stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [1, 4] : (tensor<3x4xi32>, tensor<i64>, tensor<i64>) -> tensor<1x4xi32>
  %10 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 4] : (tensor<3x4xi32>, tensor<i64>, tensor<i64>) -> tensor<1x4xi32>
  // CHECK: stablehlo.dynamic_slice %arg2, sizes = [] : (tensor<i32>) -> tensor<i32>
  %11 = stablehlo.dynamic_slice %z, sizes = [] : (tensor<i32>) -> tensor<i32>
  // CHECK: stablehlo.dynamic_update_slice %arg0, %{{.*}}, %arg1, %arg1 : (tensor<3x4xi32>, tensor<1x4xi32>, tensor<i64>, tensor<i64>) -> tensor<3x4xi32>
  %12 = stablehlo.dynamic_update_slice %a, %10, %i, %i : (tensor<3x4xi32>, tensor<1x4xi32>, tensor<i64>, tensor<i64>) -> tensor<3x4xi32>
  // CHECK: stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<3x4xi32>) -> tensor<i32>
  %13 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<3x4xi32>) -> tensor<i32>
  // CHECK: stablehlo.set_dimension_size %arg0, %arg2, dim = 0 : (tensor<3x4xi32>, tensor<i32>) -> tensor<?x4xi32, #stablehlo.bounds<3, ?>>
  %14 = stablehlo.set_dimension_size %a, %z, dim = 0 : (tensor<3x4xi32>, tensor<i32>) -> tensor<?x4xi32, #stablehlo.type_extensions<bounds = [3, ?]>>
  // CHECK: "stablehlo.gather"(%arg0, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
  %15 = "stablehlo.gather"(%a, %c) {slice_sizes = array<i64: 1, 4>, dimension_numbers = #stablehlo.gather<index_vector_dim = 1, start_index_map = [0], collapsed_slice_dims = [0], offset_dims = [1]>} : (tensor<3x4xi32>, tensor<2xi64>) -> tensor<2x4xi32>
  return
}

// CHECK-LABEL: func.func @linalg
func.func @linalg(%a: tensor<2x3x4xf32>, %b: tensor<2x3x5xf32>, %m: tensor<4x4xf32>, %l: tensor<1x8x8x2xf32>, %k: tensor<3x3x2x6xf32>, %s: tensor<2xui64>, %f: tensor<f32>) {
  // CHECK: stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  // CHECK: stablehlo.dot_general %arg2, %arg2, contracting_dims = [] x [], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4x4x4xf32>
  %1 = stablehlo.dot_general %m, %m, contracting_dims = [] x [], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4x4x4xf32>
  // CHECK: stablehlo.dot %arg2, %arg2, precision = [HIGH] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.dot %m, %m, precision = [HIGH] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.convolution(%arg3, %arg4) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = {{\[\[}}0, 1], [-1, 1]], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x2xf32>, tensor<3x3x2x6xf32>) -> tensor<1x4x4x6xf32>
  %3 = stablehlo.convolution(%l, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 1], [-1, 1]], stride = [2, 1], reverse = [0, 1], rhs_dilate = [1, 2],} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x2xf32>, tensor<3x3x2x6xf32>) -> tensor<1x4x4x6xf32>
  // CHECK: stablehlo.cholesky %arg2, lower = true : tensor<4x4xf32>
  %4 = stablehlo.cholesky %m, lower = true : tensor<4x4xf32>
  // CHECK: stablehlo.fft %arg2, type = RFFT, length = [4] : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
  %5 = stablehlo.fft %m, type = RFFT, length = [4] : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
  // CHECK: %output_state, %output = stablehlo.rng_bit_generator %arg5, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %6:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %c = stablehlo.constant dense<7> : tensor<1xi64>
  // CHECK: stablehlo.rng %arg6, %arg6, %c, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<7xf32>
  %7 = stablehlo.rng %f, %f, %c, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<7xf32>
  // CHECK: stablehlo.einsum %arg2, %arg2, config = "ab,bc->ac" : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %8 = stablehlo.einsum %m, %m, config = "ab,bc->ac" : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%a: tensor<2x3xf32>, %i: tensor<2x3xi32>, %z: tensor<f32>, %n: tensor<i32>) {
  // CHECK: stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  // CHECK-NEXT: reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>) {
  %1:2 = stablehlo.reduce(%a init: %z), (%i init: %n) across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%l: tensor<f32>, %r: tensor<f32>) (%lj: tensor<i32>, %rj: tensor<i32>) {
    // CHECK: stablehlo.return %arg4, %arg7 : tensor<f32>, tensor<i32>
    stablehlo.return %l, %rj : tensor<f32>, tensor<i32>
  }
  // A subtraction is not commutative: it needs the long form.
  // CHECK: stablehlo.reduce(%arg0 init: %arg2) across dimensions = [1]
  // CHECK-NEXT: reducer(%arg4: tensor<f32>, %arg5: tensor<f32>) {
  %2 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %d = stablehlo.subtract %l, %r : tensor<f32>
    stablehlo.return %d : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: %[[W:.*]]:2 = stablehlo.while(%iterArg = %arg3, %iterArg_{{.*}} = %arg2) : tensor<i32>, tensor<f32> attributes {frontend = "x"}
  // CHECK-NEXT: cond {
  %3:2 = stablehlo.while(%iterArg = %n, %iterArg_0 = %z) : tensor<i32>, tensor<f32> attributes {frontend = "x"}
   cond {
    %c = stablehlo.compare LT, %iterArg, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %iterArg, %iterArg_0 : tensor<i32>, tensor<f32>
  }
  // CHECK: stablehlo.while()
  stablehlo.while()
   cond {
    %c = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    // CHECK: } do {
    // CHECK-NEXT: stablehlo.return
    stablehlo.return
  }
  // CHECK: "stablehlo.case"(%arg3) ({
  // CHECK-NEXT: stablehlo.return %arg2 : tensor<f32>
  %4 = "stablehlo.case"(%n) ({
    stablehlo.return %z : tensor<f32>
  }, {
    stablehlo.return %z : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return
}

func.func private @first(%a: tensor<f32>) -> tensor<f32>

// CHECK-LABEL: func.func @process
func.func @process(%a: tensor<f32>, %t: !stablehlo.token) -> !stablehlo.future<tensor<16xf32>> {
  // CHECK: stablehlo.create_token : !stablehlo.token
  %0 = stablehlo.create_token : !stablehlo.token
  // CHECK: stablehlo.after_all %{{.*}}, %arg1 : !stablehlo.token
  %1 = stablehlo.after_all %0, %t : !stablehlo.token
  // CHECK: stablehlo.after_all : !stablehlo.token
  %2 = stablehlo.after_all  : !stablehlo.token
  // CHECK: stablehlo.partition_id : tensor<ui32>
  %3 = stablehlo.partition_id : tensor<ui32>
  // CHECK: stablehlo.custom_call @foo(%arg0) {api_version = 4 : i32, backend_config = {a = 1 : i32}, has_side_effect = true} : (tensor<f32>) -> tensor<f32>
  %4 = stablehlo.custom_call @foo(%a) {has_side_effect = true, api_version = 4 : i32, backend_config = {a = 1 : i32}} : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.custom_call @"odd name"() : () -> ()
  stablehlo.custom_call @"odd name"() : () -> ()
  // CHECK: stablehlo.composite "my.op" %arg0 {composite_attributes = {n = 1 : i64}, decomposition = @first, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
  %5 = stablehlo.composite "my.op" %a {composite_attributes = {n = 1 : i64}, decomposition = @first, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.optimization_barrier %arg0, %arg1 : tensor<f32>, !stablehlo.token
  %6:2 = stablehlo.optimization_barrier %a, %t : tensor<f32>, !stablehlo.token
  // CHECK: stablehlo.optimization_barrier()
  stablehlo.optimization_barrier ()
  // CHECK: stablehlo.tuple %arg0, %arg1 : tuple<tensor<f32>, !stablehlo.token>
  %7 = stablehlo.tuple %a, %t : tuple<tensor<f32>, !stablehlo.token>
  // CHECK: stablehlo.get_tuple_element %{{.*}}[1] : (tuple<tensor<f32>, !stablehlo.token>) -> !stablehlo.token
  %8 = stablehlo.get_tuple_element %7[1] : (tuple<tensor<f32>, !stablehlo.token>) -> !stablehlo.token
  // CHECK: "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[#stablehlo.mesh_axis<name = "x", size = 4>]>, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>, use_global_device_ids}> ({
  %9 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<type = 0, handle = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 4>]>, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>, use_global_device_ids}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  %x = stablehlo.constant dense<0.0> : tensor<16xf32>
  // CHECK: "stablehlo.async_start"
  %10 = "stablehlo.async_start"(%x) ({
  ^bb0(%y: tensor<16xf32>):
    %b = "stablehlo.collective_broadcast"(%y) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    stablehlo.return %b : tensor<16xf32>
  }) : (tensor<16xf32>) -> !stablehlo.future<tensor<16xf32>>
  return %10 : !stablehlo.future<tensor<16xf32>>
}

// go-xla ends functions with the dialect's own return.
// CHECK-LABEL: func.func @go
func.func @go(%a: tensor<f32>) -> tensor<f32> {
  // CHECK: stablehlo.return %arg0 : tensor<f32>
  "stablehlo.return"(%a) : (tensor<f32>) -> ()
}
