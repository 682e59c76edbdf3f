#include "tenon/server/hlo_signature.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include "tenon/base/dtype.h"
#include "tenon/base/primitive_type.h"

namespace tenon::server {

namespace {

// Fields of xla.ShapeProto, LayoutProto, ProgramShapeProto, OpSharding and HloModuleProto.
enum : protozero::pbf_tag_type {
  kShapeElementType = 2,
  kShapeDimensions = 3,
  kShapeTuple = 4,
  kShapeLayout = 5,
  kLayoutMinorToMajor = 1,
  kLayoutTiles = 6,
  kProgramParameters = 1,
  kModuleProgramShape = 4,
  kModuleAlias = 8,
  kModuleOutputSharding = 12,
  kModuleParameterSharding = 14,
  kModuleDonors = 18,
  kAliasEntries = 1,
  kAliasParameter = 2,
  kDonorEntries = 1,
  kDonorParameter = 1,
  kConfigModule = 1,
  kShardingType = 1,
  kShardingTuple = 5,
};

// A repeated number, packed or not.
void AddNumbers(protozero::pbf_reader& reader, wire::Numbers& list) {
  if (reader.wire_type() == protozero::pbf_wire_type::varint) {
    list.push_back(reader.get_int64());
    return;
  }
  for (const int64_t n : reader.get_packed_int64()) list.push_back(n);
}

Status ReadShape(protozero::pbf_reader shape, wire::Array& array) {
  DType dtype = DType::kInvalid;
  wire::Numbers order;
  while (shape.next()) {
    switch (shape.tag()) {
      case kShapeElementType:
        dtype = DTypeFromPrimitiveType(shape.get_int64());
        break;
      case kShapeDimensions:
        AddNumbers(shape, array.dims);
        break;
      case kShapeTuple:
        return Unimplemented("a parameter is a tuple");
      case kShapeLayout: {
        protozero::pbf_reader layout = shape.get_message();
        while (layout.next()) {
          if (layout.tag() == kLayoutTiles) return Unimplemented("a parameter has a layout with tiles");
          if (layout.tag() == kLayoutMinorToMajor) {
            AddNumbers(layout, order);
          } else {
            layout.skip();
          }
        }
        break;
      }
      default:
        shape.skip();
    }
  }
  if (dtype == DType::kInvalid) return Unimplemented("a parameter has no element type");
  array.dtype = static_cast<uint8_t>(dtype);
  bool row_major = order.size() != array.dims.size();
  for (size_t i = 0; i < order.size() && !row_major; ++i) {
    if (order[i] != static_cast<int64_t>(order.size() - 1 - i)) break;
    row_major = i + 1 == order.size();
  }
  if (!row_major) array.minor_to_major = std::move(order);
  return OkStatus();
}

// The parameter numbers of a list of entries.
void MarkDonated(protozero::pbf_reader list, protozero::pbf_tag_type entries, protozero::pbf_tag_type parameter,
                 std::vector<wire::Parameter>& parameters) {
  while (list.next()) {
    if (list.tag() != entries) {
      list.skip();
      continue;
    }
    protozero::pbf_reader entry = list.get_message();
    int64_t number = 0;  // Zero is not on the wire.
    while (entry.next()) {
      if (entry.tag() == parameter) {
        number = entry.get_int64();
      } else {
        entry.skip();
      }
    }
    if (number >= 0 && static_cast<size_t>(number) < parameters.size())
      parameters[static_cast<size_t>(number)].donated = true;
  }
}

// The shardings of a tuple's members; of anything else its own.
std::vector<std::string> MemberShardings(const std::string& sharding) {
  constexpr int kTuple = 2;
  std::vector<std::string> members;
  bool is_tuple = false;
  for (protozero::pbf_reader reader(sharding); reader.next();) {
    if (reader.tag() == kShardingType) {
      is_tuple = reader.get_enum() == kTuple;
    } else if (reader.tag() == kShardingTuple) {
      members.push_back(reader.get_string());
    } else {
      reader.skip();
    }
  }
  return is_tuple ? members : std::vector<std::string>{sharding};
}

Status ReadModule(protozero::pbf_reader module, HloSignature& signature) {
  std::vector<wire::Parameter>& parameters = signature.parameters;
  protozero::pbf_reader alias, donors;
  while (module.next()) {
    switch (module.tag()) {
      case kModuleProgramShape: {
        protozero::pbf_reader program = module.get_message();
        while (program.next()) {
          if (program.tag() != kProgramParameters) {
            program.skip();
            continue;
          }
          wire::Parameter parameter;
          TENON_RETURN_IF_ERROR(ReadShape(program.get_message(), parameter.array));
          parameters.push_back(std::move(parameter));
        }
        break;
      }
      case kModuleAlias:
        alias = module.get_message();
        break;
      case kModuleDonors:
        donors = module.get_message();
        break;
      case kModuleOutputSharding:
        signature.output_shardings = MemberShardings(module.get_string());
        break;
      case kModuleParameterSharding:
        signature.parameter_shardings.push_back(module.get_string());
        break;
      default:
        module.skip();
    }
  }
  MarkDonated(alias, kAliasEntries, kAliasParameter, parameters);
  MarkDonated(donors, kDonorEntries, kDonorParameter, parameters);
  return OkStatus();
}

}  // namespace

Result<HloSignature> SignatureOfHlo(std::string_view format, std::string_view bytes) {
  HloSignature signature;
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    if (format == "hlo_with_config") {
      if (!reader.next(kConfigModule)) return DataLoss("an HLO module with its configuration has no module");
      reader = reader.get_message();
    } else if (format != "hlo") {
      return Unimplemented(fmt::format("the program is in the format '{}'", format));
    }
    TENON_RETURN_IF_ERROR(ReadModule(reader, signature));
  } catch (const protozero::exception&) {
    return DataLoss("the plugin's HLO module cannot be read");
  }
  return signature;
}

}  // namespace tenon::server
