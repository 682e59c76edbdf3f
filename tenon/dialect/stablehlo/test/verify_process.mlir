// Wrong programs: the check of each constraint says what was got and what was wanted. Labels are those of the checks.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// all_reduce_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must not repeat id 0}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_reduce_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must hold ids of at least 0 (or -1), got -2}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_reduce: matrix
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must be a matrix}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[0, 1]> : tensor<2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_reduce: type
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{attribute 'replica_groups' failed to satisfy constraint}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_reduce_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{use_global_device_ids must come with a channel handle above 0, got none}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_reduce_c5
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{computation must take 2 arguments, got 1}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x0: tensor<f32>):
      stablehlo.return %x0 : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_reduce_c6
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{results must have types}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// all_gather_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{all_gather_dim must be in [0, 2), got 2}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

// all_gather_c6
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result dimension 1 must be a multiple of 3}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<2x7xf32>
  return
}

// -----

// all_to_all_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{split_dimension must be in [0, 2), got 2}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 2 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<1x6xf32>
  return
}

// -----

// all_to_all_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension 1 must be a multiple of split_count 2}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<1x6xf32>
  return
}

// -----

// all_to_all_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{concat_dimension must be in [0, 2), got -1}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = -1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<1x6xf32>
  return
}

// -----

// all_to_all_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{split_count must be at least 1, got 0}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<1x6xf32>
  return
}

// -----

// all_to_all_c8
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{split_count must be the group size 2, got 1}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_to_all_c9
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have shape}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_permute_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{source_target_pairs must have shape [N, 2]}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[0, 1]> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_permute_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{sources of source_target_pairs must not repeat a value}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_permute_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{targets of source_target_pairs must not repeat a value}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_permute_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{source_target_pairs must hold ids of at least 0, got -1}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_permute_c5
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

// collective_broadcast_c3
func.func @f() {
  // expected-error@+1 {{expected at least one operand}}
  "stablehlo.collective_broadcast"() {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : () -> ()
  return
}

// -----

// collective_broadcast_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{expected at least one operand before the roots, got 0}}
  "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<2x3xf32>) -> ()
  return
}

// -----

// collective_broadcast_c5
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{results must have types}}
  "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> ()
  return
}

// -----

// reduce_scatter_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension 1 must be a multiple of the group size 2}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_scatter_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{scatter_dimension must be in [0, 2), got 3}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 3 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_scatter_c7
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{computation must return 1 values, got 0}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return
    }) : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

// reduce_scatter_c8
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{results must have types}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// async_start_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{body must hold one op and a return, got 1 ops}}
  %0 = "stablehlo.async_start"(%a) ({
    ^bb0(%x: tensor<2x3xf32>):
      stablehlo.return %x : tensor<2x3xf32>
    }) : (tensor<2x3xf32>) -> !stablehlo.future<tensor<2x3xf32>>
  return
}

// -----

// send_c1
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{source_target_pairs must have shape [N, 2]}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[0, 1]> : tensor<2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// send_c2
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{sources of source_target_pairs must not repeat a value}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// send_c3
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{targets of source_target_pairs must not repeat a value}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// send_c4
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{source_target_pairs must hold ids of at least 0, got -4}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, -4]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// recv_c1
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{source_target_pairs must have shape [N, 2]}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[0, 1]> : tensor<2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// recv_c2
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{sources of source_target_pairs must not repeat a value}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// recv_c3
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{targets of source_target_pairs must not repeat a value}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// recv_c4
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{source_target_pairs must hold ids of at least 0, got -4}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, -4]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// all_gather_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must not repeat id 1}}
  %0 = "stablehlo.all_gather"(%a) <{replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>, all_gather_dim = 0 : i64}>  : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_gather_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must hold ids of at least 0 (or -1), got -9}}
  %0 = "stablehlo.all_gather"(%a) <{replica_groups = dense<[[1, -9]]> : tensor<1x2xi64>, all_gather_dim = 0 : i64}>  : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_to_all_c5
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must not repeat id 1}}
  %0 = "stablehlo.all_to_all"(%a) <{replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64}>  : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_to_all_c7
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must hold ids of at least 0 (or -1), got -9}}
  %0 = "stablehlo.all_to_all"(%a) <{replica_groups = dense<[[1, -9]]> : tensor<1x2xi64>, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64}>  : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_broadcast_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must not repeat id 1}}
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>}>  : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_broadcast_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must hold ids of at least 0 (or -1), got -9}}
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[1, -9]]> : tensor<1x2xi64>}>  : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_reduce_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must not repeat id 1}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_reduce_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must hold ids of at least 0 (or -1), got -9}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[1, -9]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_scatter_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must not repeat id 1}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_scatter_c5
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{replica_groups must hold ids of at least 0 (or -1), got -9}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[1, -9]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_gather_c5
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{use_global_device_ids must come with a channel handle above 0}}
  %0 = "stablehlo.all_gather"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, all_gather_dim = 0 : i64, use_global_device_ids}>  : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_scatter_c6
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{use_global_device_ids must come with a channel handle above 0}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// all_reduce_c7
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{results must have types}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf64>
  return
}

// -----

// reduce_scatter_c9
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{results must have types}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<1x3xf64>
  return
}

// -----

// collective_reduce_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{expected at least one operand before the roots, got 0}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// collective_reduce_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{computation must take 2 arguments, got 1}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x0: tensor<f32>):
      stablehlo.return
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// async_start_c3
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{body and its op must take}}
  %0 = "stablehlo.async_start"(%a, %b) ({
    ^bb0(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>):
      %n = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      stablehlo.return %n : tensor<2x3xf32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> !stablehlo.future<tensor<2x3xf32>>
  return
}

// -----

// async_start_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must be a future of}}
  %0 = "stablehlo.async_start"(%a) ({
    ^bb0(%x: tensor<2x3xf32>):
      %n = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      stablehlo.return %n : tensor<2x3xf32>
    }) : (tensor<2x3xf32>) -> !stablehlo.future<tensor<2xf32>>
  return
}

// -----

// async_start_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{body must hold a collective or a slice}}
  %0 = "stablehlo.async_start"(%a) ({
    ^bb0(%x: tensor<2x3xf32>):
      %n = stablehlo.negate %x : tensor<2x3xf32>
      stablehlo.return %n : tensor<2x3xf32>
    }) : (tensor<2x3xf32>) -> !stablehlo.future<tensor<2x3xf32>>
  return
}

// -----

// async_done_c1
func.func @f(%a: !stablehlo.future<tensor<2xf32>>) {
  // expected-error@+1 {{results must have types}}
  %0 = "stablehlo.async_done"(%a) : (!stablehlo.future<tensor<2xf32>>) -> tensor<3xf32>
  return
}

// -----

// infeed_c1
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{results must be tensors and then one token, got ()}}
  "stablehlo.infeed"(%t) : (!stablehlo.token) -> ()
  return
}

// -----

// infeed_c3
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{results must be tensors and then one token}}
  %0 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> tensor<2xf32>
  return
}

// -----

// recv_c5
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{channel type must be 3, got 2}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// send_c5
func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{channel type must be 2, got 1}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

// custom_call: layouts
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{operand_layouts and result_layouts must both be given or both not}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "x", operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

// custom_call: layouts
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{operand_layouts must not repeat a value}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "x", operand_layouts = [dense<[1, 1]> : tensor<2xindex>], result_layouts = [dense<> : tensor<0xindex>]} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

// custom_call: aliases
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{operand_index of an alias must be in [0, 1), got 4}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "x", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 4, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call: aliases
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{alias must pair an operand with a result of its type}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "x", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// composite_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{name must be NAMESPACE.NAME, got "op"}}
  %0 = "stablehlo.composite"(%a) {name = "op", decomposition = @f} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// composite_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{decomposition @missing is not a function}}
  %0 = "stablehlo.composite"(%a) {name = "my.op", decomposition = @missing} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// composite_c3
func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{operands have types}}
  "stablehlo.composite"() {name = "my.op", decomposition = @f} : () -> ()
  return
}

// -----

// composite_c4
func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{results have types}}
  %0 = "stablehlo.composite"(%a) {name = "my.op", decomposition = @f} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// get_tuple_element_c1
func.func @f(%t: tuple<tensor<f32>>) {
  // expected-error@+1 {{index must be in [0, 1), got 1}}
  %0 = "stablehlo.get_tuple_element"(%t) {index = 1 : i32} : (tuple<tensor<f32>>) -> tensor<f32>
  return
}

// -----

// get_tuple_element_c2
func.func @f(%t: tuple<tensor<f32>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.get_tuple_element"(%t) {index = 0 : i32} : (tuple<tensor<f32>>) -> tensor<i32>
  return
}

// -----

// tuple_c1
func.func @f(%a: tensor<f32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.tuple"(%a) : (tensor<f32>) -> tuple<tensor<i32>>
  return
}

// -----

// optimization_barrier_c1
func.func @f(%a: tensor<f32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.optimization_barrier"(%a) : (tensor<f32>) -> tensor<i32>
  return
}
