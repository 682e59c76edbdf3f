#include "tenon/dialect/hlo/proto_types.h"

#include <cstring>

#include "tenon/dialect/hlo/limits.h"
#include "tenon/dialect/hlo/mesh.h"

namespace tenon::hlo {
namespace {

// Elements of one literal field, brought to the form of Literal::data.
void AppendElements(const TypeInfo& type, Fields& f, std::string& data) {
  const auto put = [&](int64_t v) { data.append(reinterpret_cast<const char*>(&v), static_cast<size_t>(type.bytes)); };
  switch (type.number) {
    case kPred:
      f.Ints([&](int64_t v) { data.push_back(v != 0 ? 1 : 0); });
      return;
    case kS32:
    case kS64:
    case kU32:
    case kU64:
      f.Ints(put);
      return;
    case kF32:
    case kC64:
      f.Fixed(4, data);
      return;
    case kF64:
    case kC128:
      f.Fixed(8, data);
      return;
    default:
      break;
  }
  const std::string_view raw = f.Bytes();
  if (type.bits >= 8) {
    data.append(raw);
    return;
  }
  // One byte per element, of which the low bits count.
  const int unused = 8 - type.bits;
  for (char c : raw) {
    const auto shifted = static_cast<uint8_t>(static_cast<uint8_t>(c) << unused);
    data.push_back(type.kind == TypeKind::kSigned ? static_cast<char>(static_cast<int8_t>(shifted) >> unused)
                                                  : static_cast<char>(shifted >> unused));
  }
}

Mesh ReadMesh(Fields f) {
  Mesh mesh;
  while (f.Next()) {
    if (f.tag() == 1) {
      int64_t size = 0;
      for (Fields axis = f.Message(); axis.Next();) axis.tag() == 2 ? void(size = axis.Int()) : axis.Skip();
      mesh.sizes.push_back(size);
    } else if (f.tag() == 2) {
      f.Ints(mesh.devices);
    } else if (f.tag() == 3) {
      for (Fields iota = f.Message(); iota.Next();) {
        if (iota.tag() == 1)
          iota.Ints(mesh.reshape);
        else if (iota.tag() == 2)
          iota.Ints(mesh.transpose);
        else
          iota.Skip();
      }
    } else {
      f.Skip();
    }
  }
  return mesh;
}

Mesh::AxisRef ReadAxisRef(Fields f) {
  Mesh::AxisRef ref;
  while (f.Next()) {
    if (f.tag() == 1) {
      ref.axis = f.Int();
    } else if (f.tag() == 2) {
      for (Fields sub = f.Message(); sub.Next();) {
        if (sub.tag() == 1)
          ref.pre = sub.Int();
        else if (sub.tag() == 2)
          ref.size = sub.Int();
        else
          sub.Skip();
      }
    } else {
      f.Skip();
    }
  }
  return ref;
}

Result<Sharding> ReadNamedSharding(Fields f) {
  Mesh mesh;
  std::vector<std::vector<Mesh::AxisRef>> dims;
  std::vector<Mesh::AxisRef> replicated, unreduced, manual;
  while (f.Next()) {
    switch (f.tag()) {
      case 2:
        mesh = ReadMesh(f.Message());
        break;
      case 3: {
        std::vector<Mesh::AxisRef>& axes = dims.emplace_back();
        for (Fields dim = f.Message(); dim.Next();)
          dim.tag() == 1 ? void(axes.push_back(ReadAxisRef(dim.Message()))) : dim.Skip();
        break;
      }
      case 4:
        replicated.push_back(ReadAxisRef(f.Message()));
        break;
      case 5:
        unreduced.push_back(ReadAxisRef(f.Message()));
        break;
      case 7:
        manual.push_back(ReadAxisRef(f.Message()));
        break;
      default:
        f.Skip();
    }
  }
  Sharding s;
  if (mesh.sizes.empty()) {
    if (mesh.devices.size() == 1) {
      s.kind = Sharding::Kind::kMaximal;
      s.devices = mesh.devices;
    }
    return s;
  }
  s.kind = Sharding::Kind::kTiled;
  dims.push_back(manual);
  dims.push_back(unreduced);
  TENON_ASSIGN_OR_RETURN(Mesh::Laid laid, mesh.Lay(dims));
  s.tiles = std::move(laid.sizes);
  s.devices = std::move(laid.devices);
  s.trailing = {Sharding::Kind::kManual, Sharding::Kind::kUnreduced, Sharding::Kind::kReplicated};
  return s;
}

}  // namespace

std::string Permute(const Shape& shape, std::string_view data, size_t width, bool to_row_major) {
  const size_t rank = shape.dims.size(), count = width == 0 ? 0 : data.size() / width;
  std::string out(data.size(), '\0');
  // Strides, in elements, of the logical dims in the layout's order; walked in row-major order.
  std::vector<size_t> stride(rank, 1), index(rank, 0);
  size_t next = 1;
  for (int64_t d : *shape.minor_to_major) {
    stride[static_cast<size_t>(d)] = next;
    next *= static_cast<size_t>(shape.dims[static_cast<size_t>(d)]);
  }
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t from = to_row_major ? at : i, to = to_row_major ? i : at;
    std::memcpy(out.data() + to * width, data.data() + from * width, width);
    for (size_t d = rank; d-- > 0;) {
      at += stride[d];
      if (++index[d] < static_cast<size_t>(shape.dims[d])) break;
      at -= stride[d] * index[d];
      index[d] = 0;
    }
  }
  return out;
}

Result<Shape> ReadShape(Fields f, int depth) {
  if (depth > kMaxNesting) return InvalidArgument(fmt::format("a shape nests more than {} tuples", kMaxNesting));
  Shape shape;
  while (f.Next()) {
    switch (f.tag()) {
      case 2:
        shape.type = f.Int32();
        break;
      case 3:
        f.Ints(shape.dims);
        break;
      case 4: {
        TENON_ASSIGN_OR_RETURN(Shape member, ReadShape(f.Message(), depth + 1));
        shape.members.push_back(std::move(member));
        break;
      }
      case 5: {
        shape.minor_to_major.emplace();
        for (Fields layout = f.Message(); layout.Next();) {
          switch (layout.tag()) {
            case 1:
              layout.Ints(*shape.minor_to_major);
              break;
            case 6:
              shape.tiled = true;
              layout.Skip();
              break;
            case 8:
              shape.memory_space = layout.Int();
              break;
            case 16:
              shape.tiled = layout.Int() > 1 || shape.tiled;
              break;
            default:
              layout.Skip();
          }
        }
        break;
      }
      case 6:
        f.Ints([&](int64_t v) { shape.dynamic.push_back(v != 0); });
        break;
      default:
        f.Skip();
    }
  }
  // Writers of tokens and tuples may add an empty layout, and one for every dim that none is.
  if (!shape.is_array()) shape.minor_to_major.reset();
  bool any = false;
  for (bool d : shape.dynamic) any = any || d;
  if (!any) shape.dynamic.clear();
  return shape;
}

Result<Literal> ReadLiteral(Fields f, int depth) {
  if (depth > kMaxNesting) return InvalidArgument(fmt::format("a literal nests more than {} tuples", kMaxNesting));
  Literal literal;
  // The shape says which field holds the elements, and comes first from every writer.
  const TypeInfo* type = nullptr;
  bool have_shape = false;
  while (f.Next()) {
    if (f.tag() == 1) {
      TENON_ASSIGN_OR_RETURN(literal.shape, ReadShape(f.Message(), depth));
      have_shape = true;
      type = FindType(literal.shape.type);
      if (type == nullptr)
        return InvalidArgument(
            fmt::format("a literal has element type {}, which there is none of", literal.shape.type));
    } else if (f.tag() == 10) {
      TENON_ASSIGN_OR_RETURN(Literal member, ReadLiteral(f.Message(), depth + 1));
      literal.members.push_back(std::move(member));
    } else if (f.tag() == 14 || f.tag() > 36 || f.tag() == 34) {
      f.Skip();
    } else if (type == nullptr) {
      return InvalidArgument("a literal has elements before its shape");
    } else if (f.tag() == type->literal_field) {
      AppendElements(*type, f, literal.data);
    } else {
      return InvalidArgument(fmt::format("a literal of type {} has elements in field {}; they belong in {}", type->name,
                                         f.tag(), type->literal_field));
    }
  }
  if (!have_shape) return InvalidArgument("a literal has no shape");
  return literal;
}

Result<Sharding> ReadSharding(Fields f, int depth) {
  if (depth > kMaxNesting) return InvalidArgument(fmt::format("a sharding nests more than {} tuples", kMaxNesting));
  Sharding s;
  int64_t type = 0;
  std::vector<int64_t> reshape, transpose, last;
  bool replicate_last = false;
  while (f.Next()) {
    switch (f.tag()) {
      case 1:
        type = f.Int();
        break;
      case 3:
        f.Ints(s.tiles);
        break;
      case 4:
        f.Ints(s.devices);
        break;
      case 5: {
        TENON_ASSIGN_OR_RETURN(Sharding member, ReadSharding(f.Message(), depth + 1));
        s.members.push_back(std::move(member));
        break;
      }
      case 6:
        replicate_last = f.Bool();
        break;
      case 8:
        f.Ints(last);
        break;
      case 9:
        f.Ints(reshape);
        break;
      case 10:
        f.Ints(transpose);
        break;
      case 14:
        return ReadNamedSharding(f.Message());
      default:
        f.Skip();
    }
  }
  using Kind = Sharding::Kind;
  constexpr Kind kKinds[] = {Kind::kReplicated, Kind::kMaximal, Kind::kTuple,    Kind::kTiled,
                             Kind::kManual,     Kind::kUnknown, Kind::kUnreduced};
  if (type < 0 || type > 6) return InvalidArgument(fmt::format("a sharding of type {}; 0 to 6 are known", type));
  s.kind = kKinds[type];
  if (s.kind != Kind::kTiled) return s;
  if (!reshape.empty()) {
    TENON_ASSIGN_OR_RETURN(s.devices, TransposedIota(reshape, transpose));
  }
  if (replicate_last) s.trailing = {Kind::kReplicated};
  if (!last.empty()) s.trailing.clear();
  for (int64_t l : last) {
    if (l < 0 || l > 6) return InvalidArgument(fmt::format("a sharding's subgroup of type {}", l));
    s.trailing.push_back(kKinds[l]);
  }
  return s;
}

Result<std::vector<std::vector<int64_t>>> ReadGroups(Fields f, uint32_t field) {
  std::vector<std::vector<int64_t>> groups;
  if (field == 87) {
    while (f.Next()) {
      if (f.tag() != 1) {
        f.Skip();
        continue;
      }
      std::vector<int64_t>& group = groups.emplace_back();
      for (Fields ids = f.Message(); ids.Next();) ids.tag() == 1 ? ids.Ints(group) : ids.Skip();
    }
    return groups;
  }
  if (field == 92) {
    int64_t count = 0, size = 0;
    std::vector<int64_t> reshape, transpose;
    while (f.Next()) {
      switch (f.tag()) {
        case 1:
          count = f.Int();
          break;
        case 2:
          size = f.Int();
          break;
        case 3:
          f.Ints(reshape);
          break;
        case 4:
          f.Ints(transpose);
          break;
        default:
          f.Skip();
      }
    }
    if (reshape.empty()) return groups;
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> flat, TransposedIota(reshape, transpose));
    if (count <= 0 || size <= 0 || count > static_cast<int64_t>(flat.size()) ||
        size * count != static_cast<int64_t>(flat.size())) {
      return InvalidArgument(fmt::format("{} groups of {} from a list of {} devices", count, size, flat.size()));
    }
    return CutIntoGroups(flat, size);
  }
  Mesh mesh;
  std::vector<Mesh::AxisRef> axes;
  while (f.Next()) {
    if (f.tag() == 1)
      mesh = ReadMesh(f.Message());
    else if (f.tag() == 2)
      axes.push_back(ReadAxisRef(f.Message()));
    else
      f.Skip();
  }
  TENON_ASSIGN_OR_RETURN(const Mesh::Laid laid, mesh.Lay({axes}));
  groups.resize(static_cast<size_t>(laid.sizes[1]));
  for (size_t i = 0; i < laid.devices.size(); ++i) groups[i % groups.size()].push_back(laid.devices[i]);
  return groups;
}

Result<Sharding> ReadShardingProto(std::string_view bytes) {
  try {
    Status error;
    Result<Sharding> sharding = ReadSharding(Fields(protozero::pbf_reader(bytes.data(), bytes.size()), &error));
    TENON_RETURN_IF_ERROR(error);
    return sharding;
  } catch (const protozero::exception& e) {
    return InvalidArgument(fmt::format("the bytes are no serialized OpSharding: {}", e.what()));
  }
}

}  // namespace tenon::hlo
