// Ops whose checks are not written yet.
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::stablehlo {

llvm::LogicalResult AllGatherOp::verify() { return llvm::success(); }
llvm::LogicalResult AllReduceOp::verify() { return llvm::success(); }
llvm::LogicalResult AllToAllOp::verify() { return llvm::success(); }
llvm::LogicalResult AsyncDoneOp::verify() { return llvm::success(); }
llvm::LogicalResult AsyncStartOp::verify() { return llvm::success(); }
llvm::LogicalResult BatchNormGradOp::verify() { return llvm::success(); }
llvm::LogicalResult BatchNormInferenceOp::verify() { return llvm::success(); }
llvm::LogicalResult BatchNormTrainingOp::verify() { return llvm::success(); }
llvm::LogicalResult BitcastConvertOp::verify() { return llvm::success(); }
llvm::LogicalResult BroadcastInDimOp::verify() { return llvm::success(); }
llvm::LogicalResult BroadcastOp::verify() { return llvm::success(); }
llvm::LogicalResult CaseOp::verify() { return llvm::success(); }
llvm::LogicalResult CholeskyOp::verify() { return llvm::success(); }
llvm::LogicalResult ClampOp::verify() { return llvm::success(); }
llvm::LogicalResult CollectiveBroadcastOp::verify() { return llvm::success(); }
llvm::LogicalResult CollectivePermuteOp::verify() { return llvm::success(); }
llvm::LogicalResult CollectiveReduceOp::verify() { return llvm::success(); }
llvm::LogicalResult CompareOp::verify() { return llvm::success(); }
llvm::LogicalResult ComplexOp::verify() { return llvm::success(); }
llvm::LogicalResult CompositeOp::verify() { return llvm::success(); }
llvm::LogicalResult ConcatenateOp::verify() { return llvm::success(); }
llvm::LogicalResult ConstantOp::verify() { return llvm::success(); }
llvm::LogicalResult ConvertOp::verify() { return llvm::success(); }
llvm::LogicalResult ConvolutionOp::verify() { return llvm::success(); }
llvm::LogicalResult CustomCallOp::verify() { return llvm::success(); }
llvm::LogicalResult DotGeneralOp::verify() { return llvm::success(); }
llvm::LogicalResult DotOp::verify() { return llvm::success(); }
llvm::LogicalResult DynamicBroadcastInDimOp::verify() { return llvm::success(); }
llvm::LogicalResult DynamicConvOp::verify() { return llvm::success(); }
llvm::LogicalResult DynamicGatherOp::verify() { return llvm::success(); }
llvm::LogicalResult DynamicIotaOp::verify() { return llvm::success(); }
llvm::LogicalResult DynamicPadOp::verify() { return llvm::success(); }
llvm::LogicalResult DynamicReshapeOp::verify() { return llvm::success(); }
llvm::LogicalResult DynamicSliceOp::verify() { return llvm::success(); }
llvm::LogicalResult DynamicUpdateSliceOp::verify() { return llvm::success(); }
llvm::LogicalResult FftOp::verify() { return llvm::success(); }
llvm::LogicalResult GatherOp::verify() { return llvm::success(); }
llvm::LogicalResult GetDimensionSizeOp::verify() { return llvm::success(); }
llvm::LogicalResult GetTupleElementOp::verify() { return llvm::success(); }
llvm::LogicalResult IfOp::verify() { return llvm::success(); }
llvm::LogicalResult InfeedOp::verify() { return llvm::success(); }
llvm::LogicalResult IotaOp::verify() { return llvm::success(); }
llvm::LogicalResult MapOp::verify() { return llvm::success(); }
llvm::LogicalResult PadOp::verify() { return llvm::success(); }
llvm::LogicalResult RealDynamicSliceOp::verify() { return llvm::success(); }
llvm::LogicalResult RecvOp::verify() { return llvm::success(); }
llvm::LogicalResult ReduceOp::verify() { return llvm::success(); }
llvm::LogicalResult ReducePrecisionOp::verify() { return llvm::success(); }
llvm::LogicalResult ReduceScatterOp::verify() { return llvm::success(); }
llvm::LogicalResult ReduceWindowOp::verify() { return llvm::success(); }
llvm::LogicalResult ReshapeOp::verify() { return llvm::success(); }
llvm::LogicalResult ReturnOp::verify() { return llvm::success(); }
llvm::LogicalResult ReverseOp::verify() { return llvm::success(); }
llvm::LogicalResult RngBitGeneratorOp::verify() { return llvm::success(); }
llvm::LogicalResult RngOp::verify() { return llvm::success(); }
llvm::LogicalResult ScatterOp::verify() { return llvm::success(); }
llvm::LogicalResult SelectAndScatterOp::verify() { return llvm::success(); }
llvm::LogicalResult SelectOp::verify() { return llvm::success(); }
llvm::LogicalResult SendOp::verify() { return llvm::success(); }
llvm::LogicalResult SetDimensionSizeOp::verify() { return llvm::success(); }
llvm::LogicalResult SliceOp::verify() { return llvm::success(); }
llvm::LogicalResult SortOp::verify() { return llvm::success(); }
llvm::LogicalResult TorchIndexSelectOp::verify() { return llvm::success(); }
llvm::LogicalResult TransposeOp::verify() { return llvm::success(); }
llvm::LogicalResult TriangularSolveOp::verify() { return llvm::success(); }
llvm::LogicalResult UniformQuantizeOp::verify() { return llvm::success(); }
llvm::LogicalResult WhileOp::verify() { return llvm::success(); }

}  // namespace tenon::stablehlo
