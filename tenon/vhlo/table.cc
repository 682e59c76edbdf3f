#include "tenon/vhlo/table.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace tenon::vhlo {
namespace {

using enum AttrKind;
using enum Special;

constexpr Version V(int major, int minor) { return {major, minor, 0}; }
constexpr Version kNow{INT32_MAX, 0, 0};
constexpr Count Exactly(uint16_t n) { return {n, false}; }
constexpr Count AtLeast(uint16_t n) { return {n, true}; }

constexpr Attr kAllGather[] = {
    {"all_gather_dim", kCopy}, {"channel_id", kChannelId}, {"replica_groups", kCopy}, {"use_global_device_ids", kUnit}};
constexpr Attr kAllReduce[] = {{"channel_id", kChannelId}, {"replica_groups", kCopy}, {"use_global_device_ids", kUnit}};
constexpr Attr kAllToAll[] = {{"channel_id", kChannelId},
                              {"concat_dimension", kCopy},
                              {"replica_groups", kCopy},
                              {"split_count", kCopy},
                              {"split_dimension", kCopy}};
constexpr Attr kBatchNorm[] = {{"epsilon", kCopy}, {"feature_index", kCopy}};
constexpr Attr kBroadcastInDim[] = {{"broadcast_dimensions", kDenseArray}};
constexpr Attr kBroadcast[] = {{"broadcast_sizes", kDenseArray}};
constexpr Attr kCall[] = {{"callee", kSymbol}};
constexpr Attr kAccuracyOnly[] = {{"result_accuracy", kAccuracy}};
constexpr Attr kCholesky[] = {{"lower", kFalse}};
constexpr Attr kCollectiveBroadcastV1[] = {{"channel_id", kChannelId}, {"replica_groups", kCopy}};
constexpr Attr kCollectiveBroadcastV2[] = {
    {"channel_id", kChannelId}, {"has_dynamic_root", kUnit}, {"replica_groups", kCopy}};
constexpr Attr kCollectivePermute[] = {{"channel_id", kChannelId}, {"source_target_pairs", kCopy}};
constexpr Attr kCollectiveReduce[] = {{"channel_id", kChannelId},
                                      {"has_dynamic_root", kUnit},
                                      {"replica_groups", kCopy},
                                      {"use_global_device_ids", kUnit}};
constexpr Attr kCompare[] = {{"compare_type", kNoType}, {"comparison_direction", kCopy}};
constexpr Attr kComposite[] = {
    {"composite_attributes", kNoDictionary}, {"decomposition", kSymbol}, {"name", kCopy}, {"version", kVersion}};
constexpr Attr kConcatenate[] = {{"dimension", kCopy}};
constexpr Attr kConstant[] = {{"value", kCopy}};
constexpr Attr kConvolutionAttrs[] = {{"batch_group_count", kCopy},
                                      {"feature_group_count", kCopy},
                                      {"input_batch_dimension", kField},
                                      {"input_feature_dimension", kField},
                                      {"input_spatial_dimensions", kField},
                                      {"kernel_input_feature_dimension", kField},
                                      {"kernel_output_feature_dimension", kField},
                                      {"kernel_spatial_dimensions", kField},
                                      {"lhs_dilation", kOnes},
                                      {"output_batch_dimension", kField},
                                      {"output_feature_dimension", kField},
                                      {"output_spatial_dimensions", kField},
                                      {"padding", kZeroPadding},
                                      {"precision_config", kPrecision},
                                      {"rhs_dilation", kOnes},
                                      {"window_reversal", kFalses},
                                      {"window_strides", kOnes}};
constexpr Attr kCrossReplicaSum[] = {{"replica_groups", kCopy}};
constexpr Attr kCustomCallV1[] = {{"api_version", kApiVersion},         {"backend_config", kBackendConfig},
                                  {"call_target_name", kCopy},          {"called_computations", kSymbols},
                                  {"has_side_effect", kFalse},          {"operand_layouts", kLayouts},
                                  {"output_operand_aliases", kNoArray}, {"result_layouts", kLayouts}};
constexpr Attr kCustomCallV2[] = {
    {"api_version", kApiVersion},         {"backend_config", kBackendConfig}, {"call_target_name", kCopy},
    {"called_computations", kSymbols},    {"has_side_effect", kFalse},        {"operand_layouts", kLayouts},
    {"output_operand_aliases", kNoArray}, {"result_layouts", kLayouts},       {"result_tilings", kNoArray}};
constexpr Attr kDotGeneralV1[] = {{"lhs_batching_dimensions", kField},
                                  {"lhs_contracting_dimensions", kField},
                                  {"precision_config", kPrecision},
                                  {"rhs_batching_dimensions", kField},
                                  {"rhs_contracting_dimensions", kField}};
constexpr Attr kDotGeneralV2[] = {
    {"accumulation_type", kField},        {"allow_imprecise_accumulation", kField}, {"lhs_batching_dimensions", kField},
    {"lhs_component_count", kField},      {"lhs_contracting_dimensions", kField},   {"lhs_precision_type", kField},
    {"num_primitive_operations", kField}, {"precision_config", kPrecision},         {"rhs_batching_dimensions", kField},
    {"rhs_component_count", kField},      {"rhs_contracting_dimensions", kField},   {"rhs_precision_type", kField}};
constexpr Attr kDot[] = {{"precision_config", kPrecision}};
constexpr Attr kDynamicBroadcastInDim[] = {{"broadcast_dimensions", kDenseArray},
                                           {"known_expanding_dimensions", kNoDenseArray},
                                           {"known_nonexpanding_dimensions", kNoDenseArray}};
constexpr Attr kDynamicConvV1[] = {{"batch_group_count", kCopy},
                                   {"feature_group_count", kCopy},
                                   {"input_batch_dimension", kField},
                                   {"input_feature_dimension", kField},
                                   {"input_spatial_dimensions", kField},
                                   {"kernel_input_feature_dimension", kField},
                                   {"kernel_output_feature_dimension", kField},
                                   {"kernel_spatial_dimensions", kField},
                                   {"lhs_dilation", kOnes},
                                   {"output_batch_dimension", kField},
                                   {"output_feature_dimension", kField},
                                   {"output_spatial_dimensions", kField},
                                   {"padding", kOldPadding},
                                   {"precision_config", kPrecision},
                                   {"rhs_dilation", kOnes},
                                   {"window_reversal", kFalses},
                                   {"window_strides", kOnes}};
constexpr Attr kDynamicConvV2[] = {{"batch_group_count", kCopy},
                                   {"feature_group_count", kCopy},
                                   {"input_batch_dimension", kField},
                                   {"input_feature_dimension", kField},
                                   {"input_spatial_dimensions", kField},
                                   {"kernel_input_feature_dimension", kField},
                                   {"kernel_output_feature_dimension", kField},
                                   {"kernel_spatial_dimensions", kField},
                                   {"lhs_dilation", kOnes},
                                   {"output_batch_dimension", kField},
                                   {"output_feature_dimension", kField},
                                   {"output_spatial_dimensions", kField},
                                   {"precision_config", kPrecision},
                                   {"rhs_dilation", kOnes},
                                   {"window_reversal", kFalses},
                                   {"window_strides", kOnes}};
constexpr Attr kDynamicGatherV1[] = {{"collapsed_slice_dims", kField},
                                     {"index_vector_dim", kField},
                                     {"indices_are_sorted", kFalse},
                                     {"offset_dims", kField},
                                     {"start_index_map", kField}};
constexpr Attr kDynamicGatherV2[] = {{"collapsed_slice_dims", kField},       {"index_vector_dim", kField},
                                     {"indices_are_sorted", kFalse},         {"offset_dims", kField},
                                     {"operand_batching_dims", kField},      {"start_index_map", kField},
                                     {"start_indices_batching_dims", kField}};
constexpr Attr kDynamicIota[] = {{"iota_dimension", kCopy}};
constexpr Attr kDynamicSlice[] = {{"slice_sizes", kDenseArray}};
constexpr Attr kEinsum[] = {{"einsum_config", kCopy}};
constexpr Attr kFft[] = {{"fft_length", kDenseArray}, {"fft_type", kCopy}};
constexpr Attr kFunc[] = {{"arg_attrs", kNoArray},
                          {"function_type", kCopy},
                          {"res_attrs", kNoArray},
                          {"sym_name", kCopy},
                          {"sym_visibility", kNoString}};
constexpr Attr kGatherV1[] = {{"collapsed_slice_dims", kField}, {"index_vector_dim", kField},
                              {"indices_are_sorted", kFalse},   {"offset_dims", kField},
                              {"slice_sizes", kDenseArray},     {"start_index_map", kField}};
constexpr Attr kGatherV2[] = {{"collapsed_slice_dims", kField},  {"index_vector_dim", kField},
                              {"indices_are_sorted", kFalse},    {"offset_dims", kField},
                              {"operand_batching_dims", kField}, {"slice_sizes", kDenseArray},
                              {"start_index_map", kField},       {"start_indices_batching_dims", kField}};
constexpr Attr kGetTupleElement[] = {{"index", kCopy}};
constexpr Attr kInfeed[] = {{"infeed_config", kNoString}, {"layout", kNoArray}};
constexpr Attr kMap[] = {{"dimensions", kDenseArray}};
constexpr Attr kOutfeed[] = {{"outfeed_config", kNoString}};
constexpr Attr kPad[] = {
    {"edge_padding_high", kDenseArray}, {"edge_padding_low", kDenseArray}, {"interior_padding", kDenseArray}};
constexpr Attr kRecvV1[] = {{"channel_id", kField}, {"channel_type", kField}, {"is_host_transfer", kFalse}};
constexpr Attr kRecvV2[] = {
    {"channel_id", kField}, {"channel_type", kField}, {"is_host_transfer", kFalse}, {"source_target_pairs", kNoTensor}};
constexpr Attr kReducePrecision[] = {{"exponent_bits", kCopy}, {"mantissa_bits", kCopy}};
constexpr Attr kReduceScatter[] = {{"channel_id", kChannelId},
                                   {"replica_groups", kCopy},
                                   {"scatter_dimension", kCopy},
                                   {"use_global_device_ids", kUnit}};
constexpr Attr kReduceWindow[] = {{"base_dilations", kOnes},
                                  {"padding", kZeroPadding},
                                  {"window_dilations", kOnes},
                                  {"window_dimensions", kDenseArray},
                                  {"window_strides", kOnes}};
constexpr Attr kRngBitGenerator[] = {{"rng_algorithm", kCopy}};
constexpr Attr kRng[] = {{"rng_distribution", kCopy}};
constexpr Attr kScatterV1[] = {{"index_vector_dim", kField},     {"indices_are_sorted", kFalse},
                               {"inserted_window_dims", kField}, {"scatter_dims_to_operand_dims", kField},
                               {"unique_indices", kFalse},       {"update_window_dims", kField}};
constexpr Attr kScatterV2[] = {{"index_vector_dim", kField},
                               {"indices_are_sorted", kFalse},
                               {"input_batching_dims", kField},
                               {"inserted_window_dims", kField},
                               {"scatter_dims_to_operand_dims", kField},
                               {"scatter_indices_batching_dims", kField},
                               {"unique_indices", kFalse},
                               {"update_window_dims", kField}};
constexpr Attr kSelectAndScatter[] = {
    {"padding", kZeroPadding}, {"window_dimensions", kDenseArray}, {"window_strides", kOnes}};
constexpr Attr kSlice[] = {{"limit_indices", kDenseArray}, {"start_indices", kDenseArray}, {"strides", kDenseArray}};
constexpr Attr kSort[] = {{"dimension", kMinusOne}, {"is_stable", kFalse}};
constexpr Attr kTorchIndexSelect[] = {{"batch_dims", kCopy}, {"dim", kCopy}};
constexpr Attr kTranspose[] = {{"permutation", kDenseArray}};
constexpr Attr kTriangularSolve[] = {
    {"left_side", kCopy}, {"lower", kCopy}, {"transpose_a", kCopy}, {"unit_diagonal", kCopy}};

constexpr Op kOps[] = {
    {"abs_v1", "stablehlo.abs", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"add_v1", "stablehlo.add", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"after_all_v1", "stablehlo.after_all", V(0, 9), kNow, AtLeast(0), Exactly(1), Exactly(0), kPlain, {}},
    {"all_gather_v1", "stablehlo.all_gather", V(0, 9), V(1, 4), Exactly(1), Exactly(1), Exactly(0), kPlain, kAllGather},
    {"all_gather_v2", "stablehlo.all_gather", V(1, 5), kNow, AtLeast(0), AtLeast(0), Exactly(0), kPlain, kAllGather},
    {"all_reduce_v1", "stablehlo.all_reduce", V(0, 9), V(1, 4), Exactly(1), Exactly(1), Exactly(1), kPlain, kAllReduce},
    {"all_reduce_v2", "stablehlo.all_reduce", V(1, 5), kNow, AtLeast(0), AtLeast(0), Exactly(1), kPlain, kAllReduce},
    {"all_to_all_v1", "stablehlo.all_to_all", V(0, 9), V(1, 4), Exactly(1), Exactly(1), Exactly(0), kPlain, kAllToAll},
    {"all_to_all_v2", "stablehlo.all_to_all", V(1, 5), kNow, AtLeast(0), AtLeast(0), Exactly(0), kPlain, kAllToAll},
    {"and_v1", "stablehlo.and", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"async_done_v1", "stablehlo.async_done", V(1, 15), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"async_start_v1", "stablehlo.async_start", V(1, 15), kNow, AtLeast(0), Exactly(1), Exactly(1), kPlain, {}},
    {"atan2_v1", "stablehlo.atan2", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"batch_norm_grad_v1", "stablehlo.batch_norm_grad", V(0, 9), kNow, Exactly(5), Exactly(3), Exactly(0), kPlain,
     kBatchNorm},
    {"batch_norm_inference_v1", "stablehlo.batch_norm_inference", V(0, 9), kNow, Exactly(5), Exactly(1), Exactly(0),
     kPlain, kBatchNorm},
    {"batch_norm_training_v1", "stablehlo.batch_norm_training", V(0, 9), kNow, Exactly(3), Exactly(3), Exactly(0),
     kPlain, kBatchNorm},
    {"bitcast_convert_v1", "stablehlo.bitcast_convert", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"broadcast_in_dim_v1", "stablehlo.broadcast_in_dim", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kBroadcastInDim},
    {"broadcast_v1", "stablehlo.broadcast", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kBroadcast},
    {"call_v1", "func.call", V(0, 9), kNow, AtLeast(0), AtLeast(0), Exactly(0), kPlain, kCall},
    {"case_v1", "stablehlo.case", V(0, 9), kNow, Exactly(1), AtLeast(0), AtLeast(0), kPlain, {}},
    {"cbrt_v1", "stablehlo.cbrt", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"cbrt_v2", "stablehlo.cbrt", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"ceil_v1", "stablehlo.ceil", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"cholesky_v1", "stablehlo.cholesky", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kCholesky},
    {"clamp_v1", "stablehlo.clamp", V(0, 9), kNow, Exactly(3), Exactly(1), Exactly(0), kPlain, {}},
    {"collective_broadcast_v1", "stablehlo.collective_broadcast", V(0, 16), V(1, 19), Exactly(1), Exactly(1),
     Exactly(0), kPlain, kCollectiveBroadcastV1},
    {"collective_broadcast_v2", "stablehlo.collective_broadcast", V(1, 20), kNow, AtLeast(0), AtLeast(0), Exactly(0),
     kPlain, kCollectiveBroadcastV2},
    {"collective_permute_v1", "stablehlo.collective_permute", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kCollectivePermute},
    {"collective_reduce_v1", "stablehlo.collective_reduce", V(1, 19), kNow, AtLeast(0), AtLeast(0), Exactly(1), kPlain,
     kCollectiveReduce},
    {"compare_v1", "stablehlo.compare", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, kCompare},
    {"complex_v1", "stablehlo.complex", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"composite_v1", "stablehlo.composite", V(0, 19), V(1, 13), AtLeast(0), AtLeast(0), Exactly(0), kPlain, kComposite},
    {"composite_v2", "stablehlo.composite", V(1, 14), kNow, AtLeast(0), AtLeast(0), AtLeast(0), kPlain, kComposite},
    {"concatenate_v1", "stablehlo.concatenate", V(0, 9), kNow, AtLeast(0), Exactly(1), Exactly(0), kPlain,
     kConcatenate},
    {"constant_v1", "stablehlo.constant", V(0, 9), kNow, Exactly(0), Exactly(1), Exactly(0), kPlain, kConstant},
    {"convert_v1", "stablehlo.convert", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"convolution_v1", "stablehlo.convolution", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kConvolution,
     kConvolutionAttrs},
    {"cosine_v1", "stablehlo.cosine", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"cosine_v2", "stablehlo.cosine", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"count_leading_zeros_v1",
     "stablehlo.count_leading_zeros",
     V(0, 9),
     kNow,
     Exactly(1),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"create_token_v1", "stablehlo.create_token", V(0, 9), kNow, Exactly(0), Exactly(1), Exactly(0), kPlain, {}},
    {"cross-replica-sum_v1", "stablehlo.cross-replica-sum", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kCrossReplicaSum},
    {"custom_call_v1", "stablehlo.custom_call", V(0, 9), V(1, 17), AtLeast(0), AtLeast(0), Exactly(0), kPlain,
     kCustomCallV1},
    {"custom_call_v2", "stablehlo.custom_call", V(1, 18), kNow, AtLeast(0), AtLeast(0), Exactly(0), kPlain,
     kCustomCallV2},
    {"divide_v1", "stablehlo.divide", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"dot_general_v1", "stablehlo.dot_general", V(0, 9), V(1, 5), Exactly(2), Exactly(1), Exactly(0), kDotGeneral,
     kDotGeneralV1},
    {"dot_general_v2", "stablehlo.dot_general", V(1, 6), kNow, Exactly(2), Exactly(1), Exactly(0), kDotGeneral,
     kDotGeneralV2},
    {"dot_v1", "stablehlo.dot", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, kDot},
    {"dynamic_broadcast_in_dim_v1", "stablehlo.dynamic_broadcast_in_dim", V(0, 9), kNow, Exactly(2), Exactly(1),
     Exactly(0), kPlain, kDynamicBroadcastInDim},
    {"dynamic_conv_v1", "stablehlo.dynamic_conv", V(0, 9), V(0, 19), Exactly(3), Exactly(1), Exactly(0), kConvolution,
     kDynamicConvV1},
    {"dynamic_conv_v2", "stablehlo.dynamic_conv", V(0, 20), kNow, Exactly(3), Exactly(1), Exactly(0), kConvolution,
     kDynamicConvV2},
    {"dynamic_gather_v1", "stablehlo.dynamic_gather", V(0, 9), V(1, 0), Exactly(3), Exactly(1), Exactly(0), kGather,
     kDynamicGatherV1},
    {"dynamic_gather_v2", "stablehlo.dynamic_gather", V(1, 1), kNow, Exactly(3), Exactly(1), Exactly(0), kGather,
     kDynamicGatherV2},
    {"dynamic_iota_v1", "stablehlo.dynamic_iota", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kDynamicIota},
    {"dynamic_pad_v1", "stablehlo.dynamic_pad", V(0, 9), kNow, Exactly(5), Exactly(1), Exactly(0), kPlain, {}},
    {"dynamic_reshape_v1", "stablehlo.dynamic_reshape", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"dynamic_slice_v1", "stablehlo.dynamic_slice", V(0, 9), kNow, AtLeast(1), Exactly(1), Exactly(0), kPlain,
     kDynamicSlice},
    {"dynamic_update_slice_v1",
     "stablehlo.dynamic_update_slice",
     V(0, 9),
     kNow,
     AtLeast(2),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"einsum_v1", "stablehlo.einsum", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, kEinsum},
    {"exponential_minus_one_v1",
     "stablehlo.exponential_minus_one",
     V(0, 9),
     V(1, 9),
     Exactly(1),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"exponential_minus_one_v2", "stablehlo.exponential_minus_one", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0),
     kPlain, kAccuracyOnly},
    {"exponential_v1", "stablehlo.exponential", V(0, 9), V(1, 8), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"exponential_v2", "stablehlo.exponential", V(1, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kAccuracyOnly},
    {"fft_v1", "stablehlo.fft", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kFft},
    {"floor_v1", "stablehlo.floor", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"func_v1", "func.func", V(0, 9), kNow, Exactly(0), Exactly(0), Exactly(1), kPlain, kFunc},
    {"gather_v1", "stablehlo.gather", V(0, 9), V(1, 0), Exactly(2), Exactly(1), Exactly(0), kGather, kGatherV1},
    {"gather_v2", "stablehlo.gather", V(1, 1), kNow, Exactly(2), Exactly(1), Exactly(0), kGather, kGatherV2},
    {"get_dimension_size_v1", "stablehlo.get_dimension_size", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kConcatenate},
    {"get_tuple_element_v1", "stablehlo.get_tuple_element", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kGetTupleElement},
    {"if_v1", "stablehlo.if", V(0, 9), kNow, Exactly(1), AtLeast(0), Exactly(2), kPlain, {}},
    {"imag_v1", "stablehlo.imag", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"infeed_v1", "stablehlo.infeed", V(0, 9), kNow, Exactly(1), AtLeast(0), Exactly(0), kPlain, kInfeed},
    {"iota_v1", "stablehlo.iota", V(0, 9), kNow, Exactly(0), Exactly(1), Exactly(0), kPlain, kDynamicIota},
    {"is_finite_v1", "stablehlo.is_finite", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"log_plus_one_v1", "stablehlo.log_plus_one", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"log_plus_one_v2", "stablehlo.log_plus_one", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kAccuracyOnly},
    {"log_v1", "stablehlo.log", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"log_v2", "stablehlo.log", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"logistic_v1", "stablehlo.logistic", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"logistic_v2", "stablehlo.logistic", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"map_v1", "stablehlo.map", V(0, 9), kNow, AtLeast(0), Exactly(1), Exactly(1), kPlain, kMap},
    {"maximum_v1", "stablehlo.maximum", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"minimum_v1", "stablehlo.minimum", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"multiply_v1", "stablehlo.multiply", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"negate_v1", "stablehlo.negate", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"not_v1", "stablehlo.not", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"optimization_barrier_v1",
     "stablehlo.optimization_barrier",
     V(0, 9),
     kNow,
     AtLeast(0),
     AtLeast(0),
     Exactly(0),
     kPlain,
     {}},
    {"or_v1", "stablehlo.or", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"outfeed_v1", "stablehlo.outfeed", V(0, 9), kNow, AtLeast(1), Exactly(1), Exactly(0), kPlain, kOutfeed},
    {"pad_v1", "stablehlo.pad", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, kPad},
    {"partition_id_v1", "stablehlo.partition_id", V(0, 9), kNow, Exactly(0), Exactly(1), Exactly(0), kPlain, {}},
    {"popcnt_v1", "stablehlo.popcnt", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"power_v1", "stablehlo.power", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"real_dynamic_slice_v1",
     "stablehlo.real_dynamic_slice",
     V(0, 9),
     kNow,
     Exactly(4),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"real_v1", "stablehlo.real", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"recv_v1", "stablehlo.recv", V(0, 9), V(1, 11), Exactly(1), AtLeast(0), Exactly(0), kTransfer, kRecvV1},
    {"recv_v2", "stablehlo.recv", V(1, 12), kNow, Exactly(1), AtLeast(0), Exactly(0), kTransfer, kRecvV2},
    {"reduce_precision_v1", "stablehlo.reduce_precision", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain,
     kReducePrecision},
    {"reduce_scatter_v1", "stablehlo.reduce_scatter", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(1), kPlain,
     kReduceScatter},
    {"reduce_v1", "stablehlo.reduce", V(0, 9), kNow, AtLeast(0), AtLeast(0), Exactly(1), kPlain, kMap},
    {"reduce_window_v1", "stablehlo.reduce_window", V(0, 9), kNow, AtLeast(0), AtLeast(0), Exactly(1), kPlain,
     kReduceWindow},
    {"remainder_v1", "stablehlo.remainder", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"replica_id_v1", "stablehlo.replica_id", V(0, 9), kNow, Exactly(0), Exactly(1), Exactly(0), kPlain, {}},
    {"reshape_v1", "stablehlo.reshape", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"return_v1", "func.return", V(0, 9), kNow, AtLeast(0), Exactly(0), Exactly(0), kPlain, {}},
    {"reverse_v1", "stablehlo.reverse", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kMap},
    {"rng_bit_generator_v1", "stablehlo.rng_bit_generator", V(0, 9), kNow, Exactly(1), Exactly(2), Exactly(0), kPlain,
     kRngBitGenerator},
    {"rng_v1", "stablehlo.rng", V(0, 9), kNow, Exactly(3), Exactly(1), Exactly(0), kPlain, kRng},
    {"round_nearest_afz_v1",
     "stablehlo.round_nearest_afz",
     V(0, 9),
     kNow,
     Exactly(1),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"round_nearest_even_v1",
     "stablehlo.round_nearest_even",
     V(0, 9),
     kNow,
     Exactly(1),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"rsqrt_v1", "stablehlo.rsqrt", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"rsqrt_v2", "stablehlo.rsqrt", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"scatter_v1", "stablehlo.scatter", V(0, 9), V(1, 0), AtLeast(1), AtLeast(0), Exactly(1), kScatter, kScatterV1},
    {"scatter_v2", "stablehlo.scatter", V(1, 1), kNow, AtLeast(1), AtLeast(0), Exactly(1), kScatter, kScatterV2},
    {"select_and_scatter_v1", "stablehlo.select_and_scatter", V(0, 9), kNow, Exactly(3), Exactly(1), Exactly(2), kPlain,
     kSelectAndScatter},
    {"select_v1", "stablehlo.select", V(0, 9), kNow, Exactly(3), Exactly(1), Exactly(0), kPlain, {}},
    {"send_v1", "stablehlo.send", V(0, 9), V(1, 11), AtLeast(1), Exactly(1), Exactly(0), kTransfer, kRecvV1},
    {"send_v2", "stablehlo.send", V(1, 12), kNow, AtLeast(1), Exactly(1), Exactly(0), kTransfer, kRecvV2},
    {"set_dimension_size_v1", "stablehlo.set_dimension_size", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain,
     kConcatenate},
    {"shift_left_v1", "stablehlo.shift_left", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"shift_right_arithmetic_v1",
     "stablehlo.shift_right_arithmetic",
     V(0, 9),
     kNow,
     Exactly(2),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"shift_right_logical_v1",
     "stablehlo.shift_right_logical",
     V(0, 9),
     kNow,
     Exactly(2),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"sign_v1", "stablehlo.sign", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"sine_v1", "stablehlo.sine", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"sine_v2", "stablehlo.sine", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"slice_v1", "stablehlo.slice", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kSlice},
    {"sort_v1", "stablehlo.sort", V(0, 9), kNow, AtLeast(0), AtLeast(0), Exactly(1), kPlain, kSort},
    {"sqrt_v1", "stablehlo.sqrt", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"sqrt_v2", "stablehlo.sqrt", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"subtract_v1", "stablehlo.subtract", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
    {"tan_v1", "stablehlo.tan", V(1, 4), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"tan_v2", "stablehlo.tan", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"tanh_v1", "stablehlo.tanh", V(0, 9), V(1, 9), Exactly(1), Exactly(1), Exactly(0), kPlain, {}},
    {"tanh_v2", "stablehlo.tanh", V(1, 10), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kAccuracyOnly},
    {"torch_index_select_v1", "stablehlo.torch_index_select", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain,
     kTorchIndexSelect},
    {"transpose_v1", "stablehlo.transpose", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kTranspose},
    {"triangular_solve_v1", "stablehlo.triangular_solve", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain,
     kTriangularSolve},
    {"tuple_v1", "stablehlo.tuple", V(0, 9), kNow, AtLeast(0), Exactly(1), Exactly(0), kPlain, {}},
    {"unary_einsum_v1", "stablehlo.unary_einsum", V(0, 9), kNow, Exactly(1), Exactly(1), Exactly(0), kPlain, kEinsum},
    {"uniform_dequantize_v1",
     "stablehlo.uniform_dequantize",
     V(0, 9),
     kNow,
     Exactly(1),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"uniform_quantize_v1",
     "stablehlo.uniform_quantize",
     V(0, 9),
     kNow,
     Exactly(1),
     Exactly(1),
     Exactly(0),
     kPlain,
     {}},
    {"while_v1", "stablehlo.while", V(0, 9), kNow, AtLeast(0), AtLeast(0), Exactly(2), kPlain, {}},
    {"xor_v1", "stablehlo.xor", V(0, 9), kNow, Exactly(2), Exactly(1), Exactly(0), kPlain, {}},
};

struct AttrRow {
  AttrCode code;
  std::string_view name;
  Version since;
};
constexpr AttrRow kAttrs[] = {
    {AttrCode(1), "array_v1", V(0, 9)},
    {AttrCode(2), "bool_v1", V(0, 9)},
    {AttrCode(3), "comparison_direction_v1", V(0, 9)},
    {AttrCode(4), "comparison_type_v1", V(0, 9)},
    {AttrCode(5), "api_version_v1", V(0, 9)},
    {AttrCode(6), "dict_v1", V(0, 9)},
    {AttrCode(7), "fft_type_v1", V(0, 9)},
    {AttrCode(8), "float_v1", V(0, 9)},
    {AttrCode(9), "integer_v1", V(0, 9)},
    {AttrCode(10), "output_operand_alias_v1", V(0, 9)},
    {AttrCode(11), "precision_v1", V(0, 9)},
    {AttrCode(12), "rng_algorithm_v1", V(0, 9)},
    {AttrCode(13), "rng_distribution_v1", V(0, 9)},
    {AttrCode(14), "string_v1", V(0, 9)},
    {AttrCode(15), "tensor_v1", V(0, 9)},
    {AttrCode(16), "transpose_v1", V(0, 9)},
    {AttrCode(17), "type_v1", V(0, 9)},
    {AttrCode(18), "type_extensions_v1", V(0, 9)},
    {AttrCode(19), "result_accuracy_mode_v1", V(1, 9)},
    {AttrCode(20), "result_accuracy_v1", V(1, 9)},
    {AttrCode(21), "sub_axis_info_v1", V(1, 16)},
    {AttrCode(22), "axis_ref_v1", V(1, 16)},
    {AttrCode(23), "replica_group_mesh_axes_v1", V(1, 16)},
    {AttrCode(24), "mesh_axis_v1", V(1, 16)},
    {AttrCode(25), "mesh_v1", V(1, 16)},
};

struct TypeRow {
  TypeCode code;
  std::string_view name;
  Version since;
};
constexpr TypeRow kTypes[] = {
    {TypeCode(0), "bool_v1", V(0, 9)},
    {TypeCode(1), "complex_v1", V(0, 9)},
    {TypeCode(2), "bf16_v1", V(0, 9)},
    {TypeCode(3), "f16_v1", V(0, 9)},
    {TypeCode(4), "f32_v1", V(0, 9)},
    {TypeCode(5), "f64_v1", V(0, 9)},
    {TypeCode(6), "f8E4M3FN_v1", V(0, 9)},
    {TypeCode(7), "f8E5M2_v1", V(0, 9)},
    {TypeCode(8), "func_v1", V(0, 9)},
    {TypeCode(9), "index_v1", V(0, 9)},
    {TypeCode(10), "i4_v1", V(0, 9)},
    {TypeCode(11), "i8_v1", V(0, 9)},
    {TypeCode(12), "i16_v1", V(0, 9)},
    {TypeCode(13), "i32_v1", V(0, 9)},
    {TypeCode(14), "i64_v1", V(0, 9)},
    {TypeCode(15), "ui4_v1", V(0, 9)},
    {TypeCode(16), "ui8_v1", V(0, 9)},
    {TypeCode(17), "ui16_v1", V(0, 9)},
    {TypeCode(18), "ui32_v1", V(0, 9)},
    {TypeCode(19), "ui64_v1", V(0, 9)},
    {TypeCode(20), "tensor_v1", V(0, 9)},
    {TypeCode(21), "tensor_v1", V(0, 9)},
    {TypeCode(22), "token_v1", V(0, 9)},
    {TypeCode(23), "tuple_v1", V(0, 9)},
    {TypeCode(24), "quant_v1", V(0, 9)},
    {TypeCode(25), "unranked_tensor_v1", V(0, 9)},
    {TypeCode(26), "witness_v1", V(0, 9)},
    {TypeCode(27), "f8E4M3FNUZ_v1", V(0, 10)},
    {TypeCode(28), "f8E5M2FNUZ_v1", V(0, 10)},
    {TypeCode(29), "f8E4M3B11FNUZ_v1", V(0, 11)},
    {TypeCode(30), "quant_per_axis_v1", V(0, 18)},
    {TypeCode(31), "i2_v1", V(1, 2)},
    {TypeCode(32), "ui2_v1", V(1, 2)},
    {TypeCode(33), "none_v1", V(1, 6)},
    {TypeCode(34), "tf31_v1", V(1, 6)},
    {TypeCode(35), "f8E4M3_v1", V(1, 7)},
    {TypeCode(36), "f8E3M4_v1", V(1, 7)},
    {TypeCode(37), "f4E2M1FN_v1", V(1, 8)},
    {TypeCode(38), "f6E2M3FN_v1", V(1, 8)},
    {TypeCode(39), "f6E3M2FN_v1", V(1, 8)},
    {TypeCode(40), "f8E8M0FNU_v1", V(1, 8)},
    {TypeCode(41), "buffer_v1", V(1, 13)},
    {TypeCode(42), "future_v1", V(1, 15)},
};

// The codes are dense, so a code is an index.
constexpr uint64_t kFirstAttr = 1;

const AttrRow* FindAttr(AttrCode code) {
  const uint64_t i = static_cast<uint64_t>(code) - kFirstAttr;
  return i < std::size(kAttrs) ? &kAttrs[i] : nullptr;
}
const TypeRow* FindType(TypeCode code) {
  const uint64_t i = static_cast<uint64_t>(code);
  return i < std::size(kTypes) ? &kTypes[i] : nullptr;
}

constexpr bool CodesAreIndices() {
  for (size_t i = 0; i < std::size(kAttrs); ++i) {
    if (static_cast<uint64_t>(kAttrs[i].code) != i + kFirstAttr) return false;
  }
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (static_cast<uint64_t>(kTypes[i].code) != i) return false;
  }
  return true;
}
static_assert(CodesAreIndices());

constexpr bool OpsAreSorted() {
  for (size_t i = 1; i < std::size(kOps); ++i) {
    if (!(kOps[i - 1].name < kOps[i].name)) return false;
  }
  for (const Op& op : kOps) {
    for (size_t i = 1; i < op.attrs.size(); ++i) {
      if (!(op.attrs[i - 1].name < op.attrs[i].name)) return false;
    }
  }
  return true;
}
static_assert(OpsAreSorted());

// The forms of each StableHLO op, all versions of it.
const std::unordered_multimap<std::string_view, const Op*>& FormsByName() {
  static const auto forms = [] {
    std::unordered_multimap<std::string_view, const Op*> map;
    for (const Op& op : kOps) map.emplace(op.stablehlo, &op);
    return map;
  }();
  return forms;
}

}  // namespace

std::span<const Op> Ops() { return kOps; }

const Op* FindOp(std::string_view name) {
  const auto* it = std::lower_bound(std::begin(kOps), std::end(kOps), name,
                                    [](const Op& op, std::string_view n) { return op.name < n; });
  return it != std::end(kOps) && it->name == name ? it : nullptr;
}

const Op* FindForm(std::string_view stablehlo, Version target) {
  if (stablehlo == "stablehlo.return") stablehlo = "func.return";
  auto [first, last] = FormsByName().equal_range(stablehlo);
  for (; first != last; ++first) {
    if (first->second->ValidAt(target)) return first->second;
  }
  return nullptr;
}

bool HasForm(std::string_view stablehlo) {
  return stablehlo == "stablehlo.return" || FormsByName().contains(stablehlo);
}

Version Since(AttrCode code) {
  const AttrRow* row = FindAttr(code);
  return row ? row->since : kNow;
}
Version Since(TypeCode code) {
  const TypeRow* row = FindType(code);
  return row ? row->since : kNow;
}
std::string_view Name(AttrCode code) {
  const AttrRow* row = FindAttr(code);
  return row ? row->name : std::string_view();
}
std::string_view Name(TypeCode code) {
  const TypeRow* row = FindType(code);
  return row ? row->name : std::string_view();
}

std::optional<uint64_t> EnumLast(AttrCode code) {
  switch (code) {
    case AttrCode::kComparisonDirection:
      return 5;
    case AttrCode::kComparisonType:
      return 4;
    case AttrCode::kApiVersion:
      return 4;
    case AttrCode::kFftType:
      return 3;
    case AttrCode::kPrecision:
      return 2;
    case AttrCode::kResultAccuracyMode:
      return 2;
    case AttrCode::kRngAlgorithm:
      return 2;
    case AttrCode::kRngDistribution:
      return 2;
    case AttrCode::kTranspose:
      return 3;
    default:
      return std::nullopt;
  }
}
uint64_t EnumFirst(AttrCode code) { return code == AttrCode::kRngDistribution ? 1 : 0; }

int BytecodeVersion(Version target) {
  if (target < V(0, 10)) return 0;
  if (target < V(0, 12)) return 1;
  if (target < V(0, 14)) return 3;
  if (target < V(0, 15)) return 4;
  return 6;
}

std::string Version::ToString() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::optional<Version> Version::Parse(std::string_view text) {
  Version version;
  int32_t* const parts[] = {&version.major, &version.minor, &version.patch};
  for (int i = 0; i < 3; ++i) {
    if (i > 0) {
      if (text.empty() || text.front() != '.') return std::nullopt;
      text.remove_prefix(1);
    }
    size_t digits = 0;
    int32_t value = 0;
    while (digits < text.size() && digits < 9 && text[digits] >= '0' && text[digits] <= '9') {
      value = value * 10 + (text[digits++] - '0');
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    *parts[i] = value;
  }
  if (!text.empty()) return std::nullopt;
  return version;
}

}  // namespace tenon::vhlo
