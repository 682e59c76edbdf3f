#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/abi/pjrt_custom_partitioner.h"
#include "tenon/base/partitioned_call.h"
#include "tenon/base/status.h"

namespace tenon::plugin {

/// How custom calls of one name are cut over devices, as whoever made the program says it (JAX's custom_partitioning).
/// Functions run the caller's code on the calling thread, which may be any one; errors are the caller's. `config` is
/// the call's backend_config. A call of one result has one entry in `results`, one of several as many.
class CustomPartitioner {
 public:
  /// Takes over `callbacks`, which is not null: calls their dtor in the end. INVALID_ARGUMENT (and nothing is taken)
  /// for a table without a function that this class calls.
  static Status Check(const JAX_CustomCallPartitioner_Callbacks& callbacks);
  explicit CustomPartitioner(JAX_CustomCallPartitioner_Callbacks* callbacks) : callbacks_(callbacks) {}
  ~CustomPartitioner();
  CustomPartitioner(const CustomPartitioner&) = delete;
  CustomPartitioner& operator=(const CustomPartitioner&) = delete;

  Result<PartitionedCall> Partition(std::span<const PartitionedArray> operands,
                                    std::span<const PartitionedArray> results, std::string_view config) const;
  /// How the results lie when the operands lie so; nothing when that does not follow. The results' own shardings are
  /// not looked at.
  Result<std::optional<std::string>> InferSharding(std::span<const PartitionedArray> operands,
                                                   std::span<const PartitionedArray> results,
                                                   std::string_view config) const;
  /// How the results shall lie when whoever reads them wants `sharding`.
  Result<std::string> PropagateUserSharding(std::span<const PartitionedArray> results, std::string_view config,
                                            std::string_view sharding) const;
  /// Whether calls with effects may be run by every device alike.
  bool effects_may_be_replicated() const { return callbacks_->can_side_effecting_have_replicated_sharding; }

 private:
  JAX_CustomCallPartitioner_Callbacks* const callbacks_;
};

}  // namespace tenon::plugin
