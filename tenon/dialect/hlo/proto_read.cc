#include <algorithm>
#include <unordered_map>

#include "tenon/dialect/hlo/limits.h"
#include "tenon/dialect/hlo/module.h"
#include "tenon/dialect/hlo/proto_fields.h"
#include "tenon/dialect/hlo/proto_types.h"

namespace tenon::hlo {
namespace {

// Ids count by their low 32 bits: newer writers put the computation's id above.
uint32_t Low(int64_t id) { return static_cast<uint32_t>(id); }

struct RawInstruction {
  Instruction instruction;
  uint32_t id = 0;
  std::vector<int64_t> operand_ids, called_ids;
};

struct RawComputation {
  std::string name;
  std::vector<std::string_view> instructions;
  int64_t id = 0, root_id = 0;
  bool is_fusion = false;
};

void ReadMap(Fields f, TextMap& map) {
  while (f.Next()) {
    if (f.tag() != 1) {
      f.Skip();
      continue;
    }
    auto& [key, value] = map.emplace_back();
    for (Fields entry = f.Message(); entry.Next();) {
      if (entry.tag() == 1)
        key = entry.Text();
      else if (entry.tag() == 2)
        value = entry.Text();
      else
        entry.Skip();
    }
  }
  // A map has no order of its own.
  std::sort(map.begin(), map.end());
}

void ReadWindow(Fields f, std::vector<WindowDim>& window) {
  while (f.Next()) {
    if (f.tag() != 1) {
      f.Skip();
      continue;
    }
    WindowDim w{.size = 0, .stride = 0, .window_dilation = 0, .base_dilation = 0};
    for (Fields d = f.Message(); d.Next();) {
      switch (d.tag()) {
        case 1:
          w.size = d.Int();
          break;
        case 2:
          w.stride = d.Int();
          break;
        case 3:
          w.low = d.Int();
          break;
        case 4:
          w.high = d.Int();
          break;
        case 5:
          w.window_dilation = d.Int();
          break;
        case 6:
          w.base_dilation = d.Int();
          break;
        case 7:
          w.reversal = d.Bool();
          break;
        default:
          d.Skip();
      }
    }
    // Absent fields, which mean 1.
    for (int64_t* v : {&w.stride, &w.window_dilation, &w.base_dilation}) *v = *v == 0 ? 1 : *v;
    window.push_back(w);
  }
}

void ReadDot(Fields f, DotDims& dot) {
  while (f.Next()) {
    switch (f.tag()) {
      case 1:
        f.Ints(dot.lhs_contracting);
        break;
      case 2:
        f.Ints(dot.rhs_contracting);
        break;
      case 3:
        f.Ints(dot.lhs_batch);
        break;
      case 4:
        f.Ints(dot.rhs_batch);
        break;
      default:
        f.Skip();
    }
  }
}

void ReadConv(Fields f, ConvDims& conv) {
  while (f.Next()) {
    switch (f.tag()) {
      case 3:
        conv.kernel_input = f.Int();
        break;
      case 4:
        conv.kernel_output = f.Int();
        break;
      case 6:
        f.Ints(conv.kernel_spatial);
        break;
      case 7:
        conv.input_batch = f.Int();
        break;
      case 8:
        conv.input_feature = f.Int();
        break;
      case 9:
        conv.output_batch = f.Int();
        break;
      case 10:
        conv.output_feature = f.Int();
        break;
      case 11:
        f.Ints(conv.input_spatial);
        break;
      case 12:
        f.Ints(conv.output_spatial);
        break;
      default:
        f.Skip();
    }
  }
}

void ReadGather(Fields f, GatherDims& g) {
  while (f.Next()) {
    switch (f.tag()) {
      case 1:
        f.Ints(g.offset_dims);
        break;
      case 2:
        f.Ints(g.collapsed_slice_dims);
        break;
      case 3:
        f.Ints(g.start_index_map);
        break;
      case 4:
        g.index_vector_dim = f.Int();
        break;
      case 5:
        f.Ints(g.operand_batching);
        break;
      case 6:
        f.Ints(g.indices_batching);
        break;
      default:
        f.Skip();
    }
  }
}

void ReadScatter(Fields f, ScatterDims& s) {
  while (f.Next()) {
    switch (f.tag()) {
      case 1:
        f.Ints(s.update_window_dims);
        break;
      case 2:
        f.Ints(s.inserted_window_dims);
        break;
      case 3:
        f.Ints(s.scatter_dims_to_operand_dims);
        break;
      case 4:
        s.index_vector_dim = f.Int();
        break;
      case 5:
        f.Ints(s.input_batching);
        break;
      case 6:
        f.Ints(s.indices_batching);
        break;
      default:
        f.Skip();
    }
  }
}

void ReadAccuracy(Fields f, std::optional<Accuracy>& accuracy) {
  Accuracy a;
  while (f.Next()) {
    if (f.tag() == 1) {
      a.highest = f.Int() == 1;
    } else if (f.tag() == 2) {
      a.tolerance = true;
      for (Fields t = f.Message(); t.Next();) {
        switch (t.tag()) {
          case 1:
            a.atol = t.Double();
            break;
          case 2:
            a.rtol = t.Double();
            break;
          case 3:
            a.ulps = t.Int();
            break;
          default:
            t.Skip();
        }
      }
    } else {
      f.Skip();
    }
  }
  if (a.highest || a.tolerance) accuracy = a;
}

void ReadMetadata(Fields f, Instruction& i) {
  while (f.Next()) {
    switch (f.tag()) {
      case 2:
        i.op_name = f.Text();
        break;
      case 3:
        i.source_file = f.Text();
        break;
      case 4:
        i.source_line = f.Int32();
        break;
      default:
        f.Skip();
    }
  }
}

Status ReadInstruction(Fields f, RawInstruction& raw, Status& error) {
  Instruction& i = raw.instruction;
  bool have_shape = false;
  std::vector<std::vector<int64_t>> old_groups;
  bool largest = false;
  while (f.Next()) {
    const uint32_t tag = f.tag();
    switch (tag) {
      case 1:
        i.name = f.Text();
        break;
      case 2:
        i.opcode = f.Text();
        break;
      case 3: {
        TENON_ASSIGN_OR_RETURN(i.shape, ReadShape(f.Message()));
        have_shape = true;
        break;
      }
      case 7:
        ReadMetadata(f.Message(), i);
        break;
      case 8: {
        TENON_ASSIGN_OR_RETURN(Literal literal, ReadLiteral(f.Message()));
        i.mutable_extras().literal = std::make_shared<const Literal>(std::move(literal));
        break;
      }
      case 9:
      case 13: {
        // Either is written for its own opcode only.
        const int64_t number = f.Int();
        if (number != 0) i.number = number;
        break;
      }
      case 14:
        f.Ints(i.dims);
        break;
      case 15:
        ReadWindow(f.Message(), i.mutable_extras().window);
        break;
      case 16:
        ReadConv(f.Message(), i.mutable_extras().conv.emplace());
        break;
      case 17: {
        SliceDim s{.stride = 0};
        for (Fields d = f.Message(); d.Next();) {
          switch (d.tag()) {
            case 1:
              s.start = d.Int();
              break;
            case 2:
              s.limit = d.Int();
              break;
            case 3:
              s.stride = d.Int();
              break;
            default:
              d.Skip();
          }
        }
        if (s.stride == 0) s.stride = 1;
        i.mutable_extras().slice.push_back(s);
        break;
      }
      case 18:
        i.mutable_extras().exponent_bits = f.Int32();
        break;
      case 19:
        i.mutable_extras().mantissa_bits = f.Int32();
        break;
      case 20:
      case 32:
      case 34:
        f.Ints(i.mutable_extras().sizes);
        break;
      case 21:
        for (Fields config = f.Message(); config.Next();) {
          if (config.tag() != 1) {
            config.Skip();
            continue;
          }
          PadDim p;
          for (Fields d = config.Message(); d.Next();) {
            switch (d.tag()) {
              case 1:
                p.low = d.Int();
                break;
              case 2:
                p.high = d.Int();
                break;
              case 3:
                p.interior = d.Int();
                break;
              default:
                d.Skip();
            }
          }
          i.mutable_extras().padding.push_back(p);
        }
        break;
      case 22:
        i.mutable_extras().outfeed_config = f.Text();
        break;
      case 23:
        i.mutable_extras().distribution = f.Int32();
        break;
      case 24:
        i.mutable_extras().epsilon = f.Float();
        break;
      case 25:
        i.mutable_extras().feature_index = f.Int();
        break;
      case 26:
      case 45: {
        const int64_t channel = f.Int();
        if (channel > 0) i.mutable_extras().channel_id = channel;
        break;
      }
      case 27:
        i.mutable_extras().infeed_config = f.Text();
        break;
      case 28:
        i.mutable_extras().custom_call_target = f.Text();
        break;
      case 30:
        ReadDot(f.Message(), i.mutable_extras().dot.emplace());
        break;
      case 31:
        i.mutable_extras().fft_type = f.Int32();
        break;
      case 33:
        ReadGather(f.Message(), i.mutable_extras().gather.emplace());
        break;
      case 35:
        raw.id = Low(f.Int());
        break;
      case 36:
        f.Ints(raw.operand_ids);
        break;
      case 38:
        f.Ints(raw.called_ids);
        break;
      case 40: {
        TENON_ASSIGN_OR_RETURN(i.mutable_extras().sharding, ReadSharding(f.Message()));
        break;
      }
      case 43:
        i.mutable_extras().backend_config = f.Text();
        break;
      case 47:
        i.mutable_extras().is_host_transfer = f.Bool();
        break;
      case 48:
        ReadScatter(f.Message(), i.mutable_extras().scatter.emplace());
        break;
      case 49: {
        std::vector<int64_t>& group = old_groups.emplace_back();
        for (Fields ids = f.Message(); ids.Next();) ids.tag() == 1 ? ids.Ints(group) : ids.Skip();
        break;
      }
      case 50:
        i.mutable_extras().feature_group_count = f.Int();
        break;
      case 51:
        for (Fields p = f.Message(); p.Next();) {
          if (p.tag() == 1)
            p.Ints([&](int64_t v) { i.mutable_extras().precision.push_back(static_cast<int32_t>(v)); });
          else if (p.tag() == 2)
            i.mutable_extras().algorithm = p.Int32();
          else
            p.Skip();
        }
        break;
      case 52: {
        auto& [source, target] = i.mutable_extras().source_target_pairs.emplace_back();
        for (Fields p = f.Message(); p.Next();) {
          if (p.tag() == 1)
            source = p.Int();
          else if (p.tag() == 2)
            target = p.Int();
          else
            p.Skip();
        }
        break;
      }
      case 56:
        i.mutable_extras().constrain_layout = f.Bool();
        break;
      case 57: {
        TENON_ASSIGN_OR_RETURN(Shape shape, ReadShape(f.Message()));
        i.mutable_extras().operand_shapes.push_back(std::move(shape));
        break;
      }
      case 58:
        i.mutable_extras().batch_group_count = f.Int();
        break;
      case 59:
        for (Fields t = f.Message(); t.Next();) {
          Extras& x = i.mutable_extras();
          switch (t.tag()) {
            case 1:
              x.left_side = t.Bool();
              break;
            case 2:
              x.lower = t.Bool();
              break;
            case 3:
              x.unit_diagonal = t.Bool();
              break;
            case 4:
              x.transpose_a = t.Int32();
              break;
            default:
              t.Skip();
          }
        }
        break;
      case 60:
        i.mutable_extras().is_stable = f.Bool();
        break;
      case 62:
        for (Fields c = f.Message(); c.Next();) c.tag() == 1 ? void(i.mutable_extras().lower = c.Bool()) : c.Skip();
        break;
      case 63:
        i.mutable_extras().comparison_direction = f.Text();
        break;
      case 65:
        i.mutable_extras().has_side_effect = f.Bool();
        break;
      case 67:
        i.mutable_extras().indices_are_sorted = f.Bool();
        break;
      case 68: {
        TextMap map;
        ReadMap(f.Message(), map);
        if (!map.empty()) i.mutable_extras().frontend_attributes = std::move(map);
        break;
      }
      case 69:
        i.mutable_extras().unique_indices = f.Bool();
        break;
      case 70:
        i.mutable_extras().rng_algorithm = f.Int32();
        break;
      case 71:
        i.mutable_extras().use_global_device_ids = f.Bool();
        break;
      case 72:
      case 102: {
        std::string order = f.Text();
        if (!order.empty())
          i.mutable_extras().comparison_type = order == "PARTIAL" ? "FLOAT"
                                               : order == "TOTAL" ? "TOTALORDER"
                                                                  : std::move(order);
        break;
      }
      case 74: {
        OutputAlias& alias = i.mutable_extras().aliases.emplace_back();
        for (Fields a = f.Message(); a.Next();) {
          if (a.tag() == 1)
            a.Ints(alias.output_index);
          else if (a.tag() == 2)
            alias.operand = a.Int();
          else if (a.tag() == 3)
            a.Ints(alias.operand_index);
          else
            a.Skip();
        }
        break;
      }
      case 77:
        i.mutable_extras().api_version = f.Int32();
        break;
      case 81:
        i.mutable_extras().k = f.Int();
        break;
      case 85:
        largest = f.Bool();
        break;
      case 87:
      case 92:
      case 93: {
        TENON_ASSIGN_OR_RETURN(i.mutable_extras().replica_groups, ReadGroups(f.Message(), tag));
        break;
      }
      case 89:
        i.mutable_extras().is_composite = f.Bool();
        break;
      case 90:
        for (Fields r = f.Message(); r.Next();) {
          Extras& x = i.mutable_extras();
          if (!x.dot) x.dot.emplace();
          if (r.tag() == 1)
            ReadDot(r.Message(), *x.dot);
          else if (r.tag() == 2)
            r.Ints(x.dot->lhs_ragged);
          else if (r.tag() == 3)
            r.Ints(x.dot->rhs_group);
          else
            r.Skip();
        }
        break;
      case 91:
        ReadAccuracy(f.Message(), i.mutable_extras().accuracy);
        break;
      case 100:
        i.mutable_extras().has_dynamic_root = f.Bool();
        break;
      default:
        f.Skip();
    }
  }
  TENON_RETURN_IF_ERROR(std::exchange(error, OkStatus()));
  if (!old_groups.empty() && !i.extras().replica_groups) i.mutable_extras().replica_groups = std::move(old_groups);
  if (i.opcode == "topk") i.mutable_extras().largest = largest;
  if (i.opcode.empty()) return InvalidArgument("it has no opcode");
  if (!have_shape) return InvalidArgument("it has no shape");
  return OkStatus();
}

// The elements as the shape wants them, in row-major order.
Status FinishLiteral(Literal& literal, const Shape& shape) {
  if (shape.type == kTuple) {
    if (literal.shape.type != kTuple || literal.members.size() != shape.members.size()) {
      return InvalidArgument(
          fmt::format("its literal has {} members for a tuple of {}", literal.members.size(), shape.members.size()));
    }
    for (size_t m = 0; m < shape.members.size(); ++m)
      TENON_RETURN_IF_ERROR(FinishLiteral(literal.members[m], shape.members[m]));
    return OkStatus();
  }
  if (literal.shape.type != shape.type || literal.shape.dims != shape.dims) {
    return InvalidArgument(
        fmt::format("its literal is {}; the instruction is {}", ToText(literal.shape, false), ToText(shape, false)));
  }
  const TypeInfo* type = FindType(shape.type);
  if (type->bytes == 0) return InvalidArgument(fmt::format("there are no literals of type {}", type->name));
  const auto wanted = static_cast<size_t>(CountElements(shape)) * static_cast<size_t>(type->bytes);
  if (literal.data.size() != wanted) {
    return InvalidArgument(fmt::format("its literal of shape {} has {} bytes of elements; {} wanted",
                                       ToText(shape, false), literal.data.size(), wanted));
  }
  // The order of the literal's own layout is that of the elements.
  if (literal.shape.minor_to_major) {
    std::vector<int64_t> sorted = *literal.shape.minor_to_major;
    std::sort(sorted.begin(), sorted.end());
    for (size_t d = 0; d < sorted.size(); ++d) {
      if (sorted.size() != shape.dims.size() || sorted[d] != static_cast<int64_t>(d))
        return InvalidArgument("the layout of its literal is no permutation");
    }
    if (sorted.size() != shape.dims.size()) return InvalidArgument("the layout of its literal has another rank");
    if (!IsRowMajor(literal.shape))
      literal.data = Permute(literal.shape, literal.data, static_cast<size_t>(type->bytes), true);
  }
  return OkStatus();
}

class ModuleReader {
 public:
  Result<Module> Read(std::string_view bytes) {
    Status status = ReadModule(Open(bytes));
    if (status.ok()) status = std::exchange(error_, OkStatus());
    TENON_RETURN_IF_ERROR(status.WithContext("HloModuleProto"));
    for (size_t c = 0; c < raw_.size(); ++c) TENON_RETURN_IF_ERROR(ReadComputation(c));
    TENON_RETURN_IF_ERROR(Check(module_));
    TENON_RETURN_IF_ERROR(FinishLiterals());
    return std::move(module_);
  }

  Fields Open(std::string_view bytes) { return {protozero::pbf_reader(bytes.data(), bytes.size()), &error_}; }

  Status ReadConfig(Fields f) {
    while (f.Next()) {
      switch (f.tag()) {
        case 1:
          TENON_RETURN_IF_ERROR(ReadSignature(f.Message()));
          break;
        case 4:
          module_.replica_count = std::max<int64_t>(f.Int(), 1);
          break;
        case 5:
          module_.num_partitions = std::max<int64_t>(f.Int(), 1);
          break;
        default:
          f.Skip();
      }
    }
    return std::exchange(error_, OkStatus());
  }
  Module& module() { return module_; }

 private:
  Status ReadSignature(Fields f) {
    Module::Signature s;
    while (f.Next()) {
      if (f.tag() == 1) {
        TENON_ASSIGN_OR_RETURN(Shape shape, ReadShape(f.Message()));
        s.parameters.push_back(std::move(shape));
      } else if (f.tag() == 2) {
        TENON_ASSIGN_OR_RETURN(s.result, ReadShape(f.Message()));
      } else {
        f.Skip();
      }
    }
    // That of the configuration comes later and says more.
    module_.signature = std::move(s);
    return OkStatus();
  }

  Status ReadModule(Fields f) {
    while (f.Next()) {
      switch (f.tag()) {
        case 1:
          module_.name = f.Text();
          break;
        case 3: {
          RawComputation& c = raw_.emplace_back();
          for (Fields m = f.Message(); m.Next();) {
            switch (m.tag()) {
              case 1:
                c.name = m.Text();
                break;
              case 2:
                c.instructions.push_back(m.Bytes());
                break;
              case 5:
                c.id = m.Int();
                break;
              case 6:
                c.root_id = m.Int();
                break;
              case 7:
                c.is_fusion = m.Bool();
                break;
              default:
                m.Skip();
            }
          }
          break;
        }
        case 4:
          TENON_RETURN_IF_ERROR(ReadSignature(f.Message()));
          break;
        case 6:
          entry_id_ = f.Int();
          break;
        case 8:
          for (Fields list = f.Message(); list.Next();) {
            if (list.tag() != 1) {
              list.Skip();
              continue;
            }
            Alias& a = module_.aliases.emplace_back();
            for (Fields e = list.Message(); e.Next();) {
              switch (e.tag()) {
                case 1:
                  e.Ints(a.output_index);
                  break;
                case 2:
                  a.parameter = e.Int();
                  break;
                case 3:
                  e.Ints(a.parameter_index);
                  break;
                case 4:
                  a.must = e.Int() == 2;
                  break;
                default:
                  e.Skip();
              }
            }
          }
          break;
        case 12: {
          TENON_ASSIGN_OR_RETURN(module_.output_sharding, ReadSharding(f.Message()));
          break;
        }
        case 14: {
          TENON_ASSIGN_OR_RETURN(Sharding s, ReadSharding(f.Message()));
          module_.parameter_shardings.push_back(std::move(s));
          break;
        }
        case 18:
          for (Fields list = f.Message(); list.Next();) {
            if (list.tag() != 1) {
              list.Skip();
              continue;
            }
            Donor& d = module_.donors.emplace_back();
            for (Fields e = list.Message(); e.Next();) {
              if (e.tag() == 1)
                d.parameter = e.Int();
              else if (e.tag() == 2)
                e.Ints(d.parameter_index);
              else
                e.Skip();
            }
          }
          break;
        case 19:
          ReadMap(f.Message(), module_.frontend_attributes);
          break;
        default:
          f.Skip();
      }
    }
    TENON_RETURN_IF_ERROR(error_);
    if (raw_.empty()) return InvalidArgument("it has no computations (field 3)");
    for (uint32_t c = 0; c < raw_.size(); ++c) {
      if (!computations_.emplace(Low(raw_[c].id), c).second) {
        return InvalidArgument(fmt::format("computation '{}' has id {}, as another one has", raw_[c].name, raw_[c].id));
      }
    }
    const auto entry = computations_.find(Low(entry_id_));
    if (entry == computations_.end())
      return InvalidArgument(fmt::format("entry_computation_id is {}; no computation has that id", entry_id_));
    module_.entry = entry->second;
    module_.computations.resize(raw_.size());
    return OkStatus();
  }

  Status ReadComputation(size_t index) {
    const RawComputation& raw = raw_[index];
    Computation& c = module_.computations[index];
    c.name = raw.name;
    c.is_fusion = raw.is_fusion;
    std::vector<RawInstruction> instructions(raw.instructions.size());
    std::unordered_map<uint32_t, uint32_t> by_id;
    for (uint32_t n = 0; n < instructions.size(); ++n) {
      RawInstruction& i = instructions[n];
      TENON_RETURN_IF_ERROR(ReadInstruction(Open(raw.instructions[n]), i, error_).WithContext(Where(i, c)));
      if (!by_id.emplace(i.id, n).second)
        return InvalidArgument(fmt::format("{}: another instruction has its id {}", Where(i, c), i.id));
    }
    for (RawInstruction& i : instructions) {
      for (int64_t id : i.operand_ids) {
        const auto at = by_id.find(Low(id));
        if (at == by_id.end())
          return InvalidArgument(
              fmt::format("{}: operand id {} is no instruction of the computation", Where(i, c), id));
        i.instruction.operands.push_back(at->second);
      }
      for (int64_t id : i.called_ids) {
        const auto at = computations_.find(Low(id));
        if (at == computations_.end())
          return InvalidArgument(fmt::format("{}: called computation id {} does not exist", Where(i, c), id));
        i.instruction.called.push_back(at->second);
      }
    }
    const auto root = by_id.find(Low(raw.root_id));
    if (root == by_id.end()) {
      return InvalidArgument(fmt::format("computation '{}': root_id {} is none of its {} instructions", c.name,
                                         raw.root_id, instructions.size()));
    }
    c.root = root->second;
    c.instructions.reserve(instructions.size());
    for (RawInstruction& i : instructions) c.instructions.push_back(std::move(i.instruction));
    return OkStatus();
  }

  Status FinishLiterals() {
    for (Computation& c : module_.computations) {
      for (Instruction& i : c.instructions) {
        if (!i.extras().literal) continue;
        Literal literal = *i.extras().literal;
        if (Status s = FinishLiteral(literal, i.shape); !s.ok()) {
          return s.WithContext(fmt::format("instruction '{}' ({}) of computation '{}'", i.name, i.opcode, c.name));
        }
        i.mutable_extras().literal = std::make_shared<const Literal>(std::move(literal));
      }
    }
    return OkStatus();
  }

  static std::string Where(const RawInstruction& i, const Computation& c) {
    return fmt::format("instruction '{}' ({}) of computation '{}'", i.instruction.name, i.instruction.opcode, c.name);
  }

  Status error_;
  Module module_;
  std::vector<RawComputation> raw_;
  std::unordered_map<uint32_t, uint32_t> computations_;
  int64_t entry_id_ = 0;
};

// What a module inside another message is: HloModuleProtoWithConfig {1 module, 2 config} and HloProto {1 module, 3
// buffers} begin with a field 1 that holds a module, where a bare module has its name.
bool IsWrapped(std::string_view bytes) {
  protozero::pbf_reader outer(bytes.data(), bytes.size());
  if (!outer.next() || outer.tag() != 1 || outer.wire_type() != protozero::pbf_wire_type::length_delimited)
    return false;
  const protozero::data_view inner_bytes = outer.get_view();
  while (outer.next()) {
    // Field 3 of a module is repeated and field 2 its entry's name; a wrapper has its config in 2.
    if (outer.tag() > 3) return false;
    outer.skip();
  }
  // The whole of field 1 must read as a message that has computations.
  protozero::pbf_reader inner(inner_bytes);
  bool computations = false;
  while (inner.next()) {
    if (inner.tag() == 3 && inner.wire_type() == protozero::pbf_wire_type::length_delimited) computations = true;
    inner.skip();
  }
  return computations;
}

bool TryIsWrapped(std::string_view bytes) {
  try {
    return IsWrapped(bytes);
  } catch (const protozero::exception&) {
    return false;  // A name is no message.
  }
}

Result<Module> Read(std::string_view bytes) {
  ModuleReader reader;
  if (!TryIsWrapped(bytes)) return reader.Read(bytes);
  std::string_view module, config;
  Fields outer = reader.Open(bytes);
  while (outer.Next()) {
    if (outer.tag() == 1)
      module = outer.Bytes();
    else if (outer.tag() == 2)
      config = outer.Bytes();
    else
      outer.Skip();
  }
  TENON_ASSIGN_OR_RETURN(Module result, reader.Read(module));
  if (config.empty()) return result;
  ModuleReader configured;
  TENON_RETURN_IF_ERROR(configured.ReadConfig(configured.Open(config)).WithContext("HloModuleConfigProto"));
  Module& c = configured.module();
  if (c.signature) result.signature = std::move(c.signature);
  result.replica_count = c.replica_count;
  result.num_partitions = c.num_partitions;
  TENON_RETURN_IF_ERROR(Check(result));
  return result;
}

}  // namespace

bool LooksLikeProto(std::string_view bytes) {
  // A module begins with the tag of its name, or of a later field where the name is empty. Text never has the control
  // bytes that every module has: tags 0x12 and 0x1A.
  if (bytes.empty() || (bytes[0] != 0x0A && bytes[0] != 0x12 && bytes[0] != 0x1A && bytes[0] != 0x22)) return false;
  return std::any_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte < 0x09 || (byte > 0x0D && byte < 0x20);
  });
}

Result<Module> ReadProto(std::string_view bytes) {
  try {
    return Read(bytes);
  } catch (const protozero::exception& e) {
    return InvalidArgument(fmt::format("the bytes are no serialized HloModuleProto: {}", e.what()));
  }
}

}  // namespace tenon::hlo
