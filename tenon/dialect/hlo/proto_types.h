#pragma once

#include "tenon/dialect/hlo/module.h"
#include "tenon/dialect/hlo/proto_fields.h"

namespace tenon::hlo {

// Parts of the protobuf form that stand for themselves.

Result<Shape> ReadShape(Fields f, int depth = 0);
Result<Literal> ReadLiteral(Fields f, int depth = 0);
Result<Sharding> ReadSharding(Fields f, int depth = 0);
/// A serialized xla.OpSharding.
Result<Sharding> ReadShardingProto(std::string_view bytes);
/// Groups as lists, from CollectiveDeviceListProto (87), IotaReplicaGroupListProto (92) or
/// MeshAxesReplicaGroupListProto (93).
Result<std::vector<std::vector<int64_t>>> ReadGroups(Fields f, uint32_t field);

/// Moves elements between the order of `shape`'s layout and row-major order.
std::string Permute(const Shape& shape, std::string_view data, size_t width, bool to_row_major);

}  // namespace tenon::hlo
