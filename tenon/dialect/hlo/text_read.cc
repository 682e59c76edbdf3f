// HLO text -> Module.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "tenon/dialect/hlo/enum_names.h"
#include "tenon/dialect/hlo/mesh.h"
#include "tenon/dialect/hlo/module.h"
#include "tenon/dialect/hlo/proto_types.h"
#include "tenon/dialect/hlo/text_scanner.h"

namespace tenon::hlo {
namespace {

struct Pending {
  size_t instruction;
  int order;  // Of the attributes that name computations: body before condition, select before scatter ...
  std::string name;
  size_t at;
};

template <size_t n>
int32_t IndexOf(const std::string_view (&names)[n], std::string_view name) {
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<int32_t>(i);
  }
  return -1;
}

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

class TextReader {
 public:
  explicit TextReader(std::string_view text) : s_(text) {}

  Result<Sharding> ReadOnlySharding() {
    Sharding sharding = ReadSharding();
    if (s_.ok() && !s_.AtEnd()) s_.Fail("more than a sharding");
    TENON_RETURN_IF_ERROR(s_.status());
    return sharding;
  }

  Result<Module> Read() {
    ReadHeader();
    bool entry = false;
    while (s_.ok() && !s_.AtEnd()) {
      if (SkipTable()) continue;
      const bool is_entry = s_.AcceptWord("ENTRY");
      if (is_entry && entry) s_.Fail("a second ENTRY");
      if (is_entry) module_.entry = static_cast<uint32_t>(module_.computations.size());
      entry = entry || is_entry;
      ReadComputation();
    }
    TENON_RETURN_IF_ERROR(s_.status());
    if (!entry) return InvalidArgument("HLO text: no computation is marked ENTRY");
    for (const auto& [computation, pending] : calls_) {
      const auto callee = computations_.find(pending.name);
      if (callee == computations_.end()) {
        return InvalidArgument(
            fmt::format("HLO text, {}: there is no computation '{}'", s_.Place(pending.at), pending.name));
      }
      module_.computations[computation].instructions[pending.instruction].called.push_back(callee->second);
    }
    TENON_RETURN_IF_ERROR(Check(module_));
    return std::move(module_);
  }

 private:
  void ReadHeader() {
    s_.Expect("HloModule");
    module_.name = std::string(s_.ExpectName("the module's name"));
    while (s_.ok() && s_.Accept(",")) {
      const std::string_view key = s_.ExpectName("an attribute");
      s_.Expect("=");
      if (key == "entry_computation_layout")
        ReadSignature();
      else if (key == "input_output_alias")
        ReadAliases();
      else if (key == "buffer_donor")
        ReadDonors();
      else if (key == "replica_count")
        module_.replica_count = std::max<int64_t>(s_.Int(), 1);
      else if (key == "num_partitions")
        module_.num_partitions = std::max<int64_t>(s_.Int(), 1);
      else if (key == "frontend_attributes")
        module_.frontend_attributes = s_.ReadTextMap();
      else
        s_.SkipValue();
    }
  }

  // Source positions that newer printers put before the computations: numbered lines under a heading.
  bool SkipTable() {
    for (std::string_view heading : {"FileNames", "FunctionNames", "FileLocations", "StackFrames"}) {
      if (!s_.AcceptWord(heading)) continue;
      s_.RestOfLine();
      while (s_.ok() && !s_.AtEnd()) {
        const size_t before = s_.offset();
        const std::string_view line = s_.RestOfLine();
        if (!line.empty() && line[0] >= '0' && line[0] <= '9') continue;
        s_.Rewind(before);
        break;
      }
      return true;
    }
    return false;
  }

  void ReadSignature() {
    Module::Signature signature;
    s_.Expect("{");
    s_.Expect("(");
    if (!s_.Accept(")")) {
      do signature.parameters.push_back(s_.ReadShape());
      while (s_.ok() && s_.Accept(","));
      s_.Expect(")");
    }
    s_.Expect("->");
    signature.result = s_.ReadShape();
    s_.Expect("}");
    module_.signature = std::move(signature);
  }

  // { {0}: (1, {}, may-alias), {1}: (2, {0}) }
  void ReadAliases() {
    s_.Expect("{");
    while (s_.ok() && !s_.Accept("}")) {
      Alias a;
      a.output_index = s_.Ints();
      s_.Expect(":");
      if (s_.Accept("(")) {
        a.parameter = s_.Int();
        s_.Expect(",");
        a.parameter_index = s_.Ints();
        if (s_.Accept(",")) a.must = s_.ExpectName("may-alias or must-alias") == "must-alias";
        s_.Expect(")");
      } else {
        a.parameter = s_.Int();
      }
      module_.aliases.push_back(std::move(a));
      if (!s_.Accept(",") && !s_.Sees("}")) s_.Fail("',' or '}' is wanted");
    }
  }

  void ReadDonors() {
    s_.Expect("{");
    while (s_.ok() && !s_.Accept("}")) {
      Donor d;
      s_.Expect("(");
      d.parameter = s_.Int();
      s_.Expect(",");
      d.parameter_index = s_.Ints();
      s_.Expect(")");
      module_.donors.push_back(std::move(d));
      if (!s_.Accept(",") && !s_.Sees("}")) s_.Fail("',' or '}' is wanted");
    }
  }

  void ReadComputation() {
    const size_t start = s_.offset();
    Computation c;
    c.name = std::string(s_.ExpectName("a computation"));
    if (!s_.ok()) return;
    const auto index = static_cast<uint32_t>(module_.computations.size());
    if (!computations_.emplace(c.name, index).second) s_.Fail(fmt::format("a second computation '{}'", c.name), start);
    if (s_.Sees("(")) {
      // The instructions say the same again.
      s_.Accept("(");
      while (s_.ok() && !s_.Accept(")")) {
        s_.SkipValue();
        if (!s_.Accept(",") && !s_.Sees(")")) s_.Fail("',' or ')' is wanted");
      }
      s_.Expect("->");
      s_.ReadShape();
    }
    s_.Expect("{");
    names_.clear();
    operands_.clear();
    pending_.clear();
    bool root = false;
    while (s_.ok() && !s_.Accept("}")) {
      if (s_.AtEnd()) s_.Fail(fmt::format("computation '{}' is not closed", c.name));
      const size_t at = s_.offset();
      const bool is_root = s_.AcceptWord("ROOT");
      if (is_root && root) s_.Fail("a second ROOT", at);
      if (is_root || !root) c.root = static_cast<uint32_t>(c.instructions.size());
      root = root || is_root;
      ReadInstruction(c);
    }
    while (s_.ok() && s_.Accept(",")) {
      s_.ExpectName("an attribute");
      s_.Expect("=");
      s_.SkipValue();
    }
    for (size_t n = 0; s_.ok() && n < operands_.size(); ++n) {
      for (const auto& [name, at] : operands_[n]) {
        const auto operand = names_.find(name);
        if (operand == names_.end()) {
          s_.Fail(fmt::format("there is no instruction '{}' in computation '{}'", name, c.name), at);
          return;
        }
        c.instructions[n].operands.push_back(operand->second);
      }
    }
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const Pending& a, const Pending& b) { return a.order < b.order; });
    for (Pending& p : pending_) calls_.emplace_back(index, std::move(p));
    module_.computations.push_back(std::move(c));
  }

  void ReadInstruction(Computation& c) {
    Instruction i;
    const size_t start = s_.offset();
    i.name = std::string(s_.ExpectName("an instruction"));
    s_.Expect("=");
    i.shape = s_.ReadShape();
    i.opcode = std::string(s_.ExpectName("an opcode"));
    if (!s_.ok()) return;
    const auto index = static_cast<uint32_t>(c.instructions.size());
    if (!names_.emplace(i.name, index).second) s_.Fail(fmt::format("a second instruction '{}'", i.name), start);
    operands_.emplace_back();
    s_.Expect("(");
    if (i.opcode == "parameter") {
      i.number = s_.Int();
    } else if (i.opcode == "constant") {
      i.mutable_extras().literal = std::make_shared<const Literal>(s_.ReadLiteral(i.shape));
    } else {
      while (s_.ok() && !s_.Sees(")")) {
        const size_t at = s_.offset();
        // An operand's shape may come before its name.
        if (s_.Sees("(")) {
          s_.ReadShape();
        } else if (const std::string_view word = s_.Name(); FindType(word) != nullptr && s_.Sees("[")) {
          s_.Rewind(at);
          s_.ReadShape();
        } else {
          s_.Rewind(at);
        }
        const std::string_view name = s_.ExpectName("an operand");
        operands_.back().emplace_back(name, at);
        if (!s_.Accept(",") && !s_.Sees(")")) s_.Fail("',' or ')' is wanted");
      }
    }
    s_.Expect(")");
    while (s_.ok() && s_.Accept(",")) {
      const size_t at = s_.offset();
      const std::string_view key = s_.ExpectName("an attribute");
      s_.Expect("=");
      if (s_.ok()) ReadAttribute(i, index, key, at);
    }
    c.instructions.push_back(std::move(i));
  }

  void Calls(size_t instruction, int order) {
    const size_t at = s_.offset();
    pending_.push_back({instruction, order, std::string(s_.ExpectName("a computation")), at});
  }

  int32_t OneOf(std::span<const std::string_view> names, std::string_view what) {
    const size_t at = s_.offset();
    const std::string_view name = s_.ExpectName(what);
    for (size_t n = 0; n < names.size(); ++n) {
      if (names[n] == name) return static_cast<int32_t>(n);
    }
    s_.Fail(fmt::format("'{}' is no {}; one of {} is wanted", name, what, fmt::join(names, ", ")), at);
    return 0;
  }

  void ReadAttribute(Instruction& i, size_t index, std::string_view key, size_t at) {
    const auto& known = Attributes();
    if (const auto reader = known.find(key); reader != known.end()) {
      reader->second(*this, i, index);
      return;
    }
    // Hints and debugging that change no value.
    for (std::string_view skipped : {"metadata",
                                     "control-predecessors",
                                     "origin",
                                     "statistics",
                                     "parameter_replication",
                                     "kind",
                                     "schedule",
                                     "async_execution_thread",
                                     "padding_type",
                                     "sparsity_config",
                                     "block_scaling_config",
                                     "custom_call_schedule",
                                     "domain",
                                     "cross_program_prefetch_index",
                                     "delta",
                                     "original_value",
                                     "backend_config_payload",
                                     "conv_kind",
                                     "outfeed_shape",
                                     "outfeed_config",
                                     "infeed_config"}) {
      if (key == skipped) {
        if (key == "metadata")
          ReadMetadata(i);
        else
          s_.SkipValue();
        return;
      }
    }
    s_.Fail(fmt::format("attribute '{}' of {} is not known", key, i.opcode), at);
  }

  void ReadMetadata(Instruction& i) {
    s_.Expect("{");
    while (s_.ok() && !s_.Accept("}")) {
      const std::string_view key = s_.ExpectName("a field of metadata");
      s_.Expect("=");
      if (key == "op_name")
        i.op_name = s_.String();
      else if (key == "source_file")
        i.source_file = s_.String();
      else if (key == "source_line")
        i.source_line = static_cast<int32_t>(s_.Int());
      else if (s_.Sees("{"))
        s_.SkipValue();
      else if (s_.Sees("\""))
        s_.String();
      else
        s_.Raw();
      s_.Accept(",");
    }
  }

  // {size=2x3 stride=1x1 pad=0_1x0_0 lhs_dilate=1x2 rhs_dilate=1x1 rhs_reversal=0x1}
  void ReadWindow(Instruction& i) {
    std::vector<WindowDim>& window = i.mutable_extras().window;
    s_.Expect("{");
    while (s_.ok() && !s_.Accept("}")) {
      const size_t at = s_.offset();
      const std::string_view key = s_.ExpectName("a field of window");
      s_.Expect("=");
      const std::vector<std::string_view> parts = Split(s_.Raw(), 'x');
      if (window.empty()) window.resize(parts.size());
      if (window.size() != parts.size()) return s_.Fail("fields of a window differ in rank", at);
      for (size_t d = 0; s_.ok() && d < parts.size(); ++d) {
        WindowDim& w = window[d];
        if (key == "size")
          w.size = ToInt(parts[d], at);
        else if (key == "stride")
          w.stride = ToInt(parts[d], at);
        else if (key == "lhs_dilate")
          w.base_dilation = ToInt(parts[d], at);
        else if (key == "rhs_dilate")
          w.window_dilation = ToInt(parts[d], at);
        else if (key == "rhs_reversal")
          w.reversal = ToInt(parts[d], at) != 0;
        else if (key == "pad") {
          const std::vector<std::string_view> pad = Split(parts[d], '_');
          if (pad.size() != 2) return s_.Fail("padding is low_high for each dim", at);
          w.low = ToInt(pad[0], at);
          w.high = ToInt(pad[1], at);
        } else {
          s_.Fail(fmt::format("'{}' is no field of a window", key), at);
        }
        if (std::min({w.stride, w.base_dilation, w.window_dilation}) < 1)
          s_.Fail(fmt::format("{} of a window is at least 1, got {}", key, parts[d]), at);
      }
    }
  }

  int64_t ToInt(std::string_view text, size_t at) {
    Scanner number(text);
    const int64_t value = number.Int();
    if (!number.ok() || !number.AtEnd()) s_.Fail(fmt::format("'{}' is no integer", text), at);
    return value;
  }

  // b01f_01io->b01f
  void ReadDimLabels(Instruction& i) {
    const size_t at = s_.offset();
    const std::string_view text = s_.Raw();
    const size_t bar = text.find('_'), arrow = text.find("->");
    if (bar == std::string_view::npos || arrow == std::string_view::npos || arrow < bar)
      return s_.Fail("dim_labels are input_kernel->output", at);
    ConvDims& c = i.mutable_extras().conv.emplace();
    const auto read = [&](std::string_view labels, char batch, char feature, int64_t& batch_dim, int64_t& feature_dim,
                          std::vector<int64_t>& spatial) {
      spatial.assign(labels.size() >= 2 ? labels.size() - 2 : 0, -1);
      int64_t seen = 0;
      for (size_t d = 0; d < labels.size(); ++d) {
        const auto dim = static_cast<int64_t>(d);
        if (labels[d] == batch) {
          batch_dim = dim;
        } else if (labels[d] == feature) {
          feature_dim = dim;
        } else if (const size_t n = static_cast<size_t>(labels[d] - '0');
                   labels[d] >= '0' && n < spatial.size() && spatial[n] < 0) {
          spatial[n] = dim;
        } else {
          s_.Fail(fmt::format("'{}' is no dimension label of '{}'", labels[d], labels), at);
        }
        ++seen;
      }
      if (std::find(spatial.begin(), spatial.end(), -1) != spatial.end() || seen < 2)
        s_.Fail(fmt::format("'{}' does not label every dim once", labels), at);
    };
    read(text.substr(0, bar), 'b', 'f', c.input_batch, c.input_feature, c.input_spatial);
    read(text.substr(bar + 1, arrow - bar - 1), 'i', 'o', c.kernel_input, c.kernel_output, c.kernel_spatial);
    read(text.substr(arrow + 2), 'b', 'f', c.output_batch, c.output_feature, c.output_spatial);
  }

  // {{0,1},{2,3}}, [2,2]<=[4] or [2,2]<=[2,2]T(1,0)
  void ReadGroups(Instruction& i) {
    auto& groups = i.mutable_extras().replica_groups;
    if (s_.Sees("{")) {
      groups = s_.IntLists();
      return;
    }
    const size_t at = s_.offset();
    if (!s_.Sees("[")) return s_.Fail("replica groups are {{...},...} or [groups,size]<=[devices]");
    std::vector<int64_t> shape;
    Result<std::vector<int64_t>> flat = ReadTiles(shape);
    if (!s_.ok()) return;
    if (!flat.ok() || shape.size() != 2)
      return s_.Fail(flat.ok() ? "replica groups are a matrix" : flat.status().message(), at);
    groups = CutIntoGroups(*flat, shape[1]);
  }

  std::vector<int64_t> Bracketed() {
    std::vector<int64_t> values;
    s_.Expect("[");
    do values.push_back(s_.Int());
    while (s_.ok() && s_.Accept(","));
    s_.Expect("]");
    return values;
  }

  // [2,2]<=[4], [2,2]<=[2,2]T(1,0), or [2,2]0,2,1,3
  Result<std::vector<int64_t>> ReadTiles(std::vector<int64_t>& shape) {
    shape = Bracketed();
    int64_t count = 1;
    for (int64_t n : shape) {
      if (n <= 0 || n > (1 << 14) || count > (1 << 14)) return InvalidArgument("a device list of impossible size");
      count *= n;
    }
    std::vector<int64_t> devices;
    if (!s_.Accept("<=")) {
      do devices.push_back(s_.Int());
      while (s_.ok() && s_.Accept(","));
    } else {
      const std::vector<int64_t> reshape = Bracketed();
      std::vector<int64_t> transpose;
      if (s_.Accept("T(")) {
        do transpose.push_back(s_.Int());
        while (s_.ok() && s_.Accept(","));
        s_.Expect(")");
      }
      if (!s_.ok()) return devices;
      TENON_ASSIGN_OR_RETURN(devices, TransposedIota(reshape, transpose));
    }
    if (s_.ok() && static_cast<int64_t>(devices.size()) != count)
      return InvalidArgument(fmt::format("{} devices for a grid of {}", devices.size(), count));
    return devices;
  }

  // {replicated}, {maximal device=0}, {devices=[2,1]<=[2]}, {devices=[2,1,2]<=[4] last_tile_dim_replicate}, {{...},
  // {...}}
  Sharding ReadSharding(int depth = 0) {
    Sharding s;
    if (depth > 8) s_.Fail("a sharding nests too deeply");
    const size_t at = s_.offset();
    s_.Expect("{");
    if (s_.Sees("{") || s_.Sees("}")) {
      s.kind = Sharding::Kind::kTuple;
      while (s_.ok() && s_.Sees("{")) {
        s.members.push_back(ReadSharding(depth + 1));
        s_.Accept(",");
      }
      s_.Expect("}");
      return s;
    }
    using Kind = Sharding::Kind;
    while (s_.ok() && !s_.Accept("}")) {
      if (s_.Accept("devices=")) {
        s.kind = Kind::kTiled;
        Result<std::vector<int64_t>> devices = ReadTiles(s.tiles);
        if (!devices.ok())
          s_.Fail(devices.status().message(), at);
        else
          s.devices = std::move(*devices);
      } else if (s_.Accept("device=")) {
        s.devices = {s_.Int()};
      } else if (s_.Accept("last_tile_dims={")) {
        while (s_.ok() && !s_.Accept("}")) {
          const std::string_view kind = s_.ExpectName("a kind of subgroup");
          s.trailing.push_back(kind == "manual"      ? Kind::kManual
                               : kind == "unreduced" ? Kind::kUnreduced
                                                     : Kind::kReplicated);
          s_.Accept(",");
        }
      } else if (s_.AcceptWord("last_tile_dim_replicate")) {
        s.trailing = {Kind::kReplicated};
      } else if (s_.AcceptWord("replicated")) {
        s.kind = Kind::kReplicated;
      } else if (s_.AcceptWord("maximal")) {
        s.kind = Kind::kMaximal;
      } else if (s_.AcceptWord("manual")) {
        s.kind = Kind::kManual;
      } else if (s_.AcceptWord("unreduced")) {
        s.kind = Kind::kUnreduced;
      } else if (s_.AcceptWord("unknown")) {
        s.kind = Kind::kUnknown;
      } else if (s_.Accept("metadata=")) {
        s_.SkipValue();
      } else {
        // Forms over named meshes; what they say is a hint unless several partitions are asked for.
        s_.SkipValue();
        if (!s_.Accept(",") && !s_.Sees("}")) s_.Fail("',' or '}' is wanted");
        s.kind = Kind::kUnknown;
      }
    }
    return s;
  }

  // {{0}: (1, {}), {1}: (2, {})}
  void ReadOutputAliases(Instruction& i) {
    s_.Expect("{");
    while (s_.ok() && !s_.Accept("}")) {
      OutputAlias& a = i.mutable_extras().aliases.emplace_back();
      a.output_index = s_.Ints();
      s_.Expect(":");
      s_.Expect("(");
      a.operand = s_.Int();
      s_.Expect(",");
      a.operand_index = s_.Ints();
      s_.Expect(")");
      if (!s_.Accept(",") && !s_.Sees("}")) s_.Fail("',' or '}' is wanted");
    }
  }

  void ReadSlices(Instruction& i) {
    s_.Expect("{");
    while (s_.ok() && !s_.Accept("}")) {
      SliceDim& d = i.mutable_extras().slice.emplace_back();
      s_.Expect("[");
      d.start = s_.Int();
      s_.Expect(":");
      d.limit = s_.Int();
      const size_t at = s_.offset();
      if (s_.Accept(":")) d.stride = s_.Int();
      if (d.stride < 1) s_.Fail(fmt::format("a slice's stride is at least 1, got {}", d.stride), at);
      s_.Expect("]");
      if (!s_.Accept(",") && !s_.Sees("}")) s_.Fail("',' or '}' is wanted");
    }
  }

  // 0_1x2_3_1, one low_high[_interior] for each dim.
  void ReadPadding(Instruction& i) {
    const size_t at = s_.offset();
    for (std::string_view dim : Split(s_.Raw(), 'x')) {
      const std::vector<std::string_view> parts = Split(dim, '_');
      if (parts.size() != 2 && parts.size() != 3)
        return s_.Fail("padding is low_high or low_high_interior for each dim", at);
      i.mutable_extras().padding.push_back(
          {ToInt(parts[0], at), ToInt(parts[1], at), parts.size() == 3 ? ToInt(parts[2], at) : 0});
    }
  }

  void ReadAccuracy(Instruction& i) {
    Accuracy a;
    s_.Expect("{");
    while (s_.ok() && !s_.Accept("}")) {
      if (s_.Accept("mode=")) {
        a.highest = s_.ExpectName("a mode") == "highest";
      } else if (s_.Accept("tolerance=")) {
        s_.Expect("{");
        a.tolerance = true;
        while (s_.ok() && !s_.Accept("}")) {
          if (s_.Accept("atol="))
            a.atol = s_.Number();
          else if (s_.Accept("rtol="))
            a.rtol = s_.Number();
          else if (s_.Accept("ulps="))
            a.ulps = s_.Int();
          else
            s_.Fail("atol, rtol or ulps is wanted");
          s_.Accept(",");
        }
      } else {
        s_.Fail("mode or tolerance is wanted");
      }
      s_.Accept(",");
    }
    if (a.highest || a.tolerance) i.mutable_extras().accuracy = a;
  }

  void ReadAlgorithm(Instruction& i) {
    if (i.opcode == "rng-bit-generator") {
      i.mutable_extras().rng_algorithm = OneOf(kRngAlgorithms, "random algorithm");
    } else {
      i.mutable_extras().algorithm = OneOf(kDotAlgorithms, "dot algorithm");
    }
  }

  using AttributeReader = std::function<void(TextReader&, Instruction&, size_t)>;
  static const std::unordered_map<std::string_view, AttributeReader>& Attributes();

  Scanner s_;
  Module module_;
  std::unordered_map<std::string, uint32_t> computations_;
  std::vector<std::pair<uint32_t, Pending>> calls_;
  // Of the computation being read.
  std::unordered_map<std::string, uint32_t> names_;
  std::vector<std::vector<std::pair<std::string, size_t>>> operands_;
  std::vector<Pending> pending_;
};

const std::unordered_map<std::string_view, TextReader::AttributeReader>& TextReader::Attributes() {
  using R = TextReader;
  using I = Instruction;
  static const auto& attributes = *[] {
    auto* a = new std::unordered_map<std::string_view, AttributeReader>;
    const auto ints = [&](std::string_view key, auto get) {
      a->emplace(key, [get](R& r, I& i, size_t) { get(i) = r.s_.Ints(); });
    };
    const auto number = [&](std::string_view key, auto get) {
      a->emplace(key, [get](R& r, I& i, size_t) {
        get(i) = static_cast<std::remove_reference_t<decltype(get(i))>>(r.s_.Int());
      });
    };
    const auto flag = [&](std::string_view key, auto get) {
      a->emplace(key, [get](R& r, I& i, size_t) { get(i) = r.s_.Bool(); });
    };
    const auto dot = [](I& i) -> DotDims& {
      return i.extras().dot ? *i.mutable_extras().dot : i.mutable_extras().dot.emplace();
    };
    const auto gather = [](I& i) -> GatherDims& {
      return i.extras().gather ? *i.mutable_extras().gather : i.mutable_extras().gather.emplace();
    };
    const auto scatter = [](I& i) -> ScatterDims& {
      return i.extras().scatter ? *i.mutable_extras().scatter : i.mutable_extras().scatter.emplace();
    };

    ints("dimensions", [](I& i) -> auto& { return i.dims; });
    a->emplace("iota_dimension", [](R& r, I& i, size_t) { i.dims = {r.s_.Int()}; });
    number("index", [](I& i) -> auto& { return i.number; });
    ints("dynamic_slice_sizes", [](I& i) -> auto& { return i.mutable_extras().sizes; });
    ints("slice_sizes", [](I& i) -> auto& { return i.mutable_extras().sizes; });
    ints("fft_length", [](I& i) -> auto& { return i.mutable_extras().sizes; });
    ints("lhs_contracting_dims", [dot](I& i) -> auto& { return dot(i).lhs_contracting; });
    ints("rhs_contracting_dims", [dot](I& i) -> auto& { return dot(i).rhs_contracting; });
    ints("lhs_batch_dims", [dot](I& i) -> auto& { return dot(i).lhs_batch; });
    ints("rhs_batch_dims", [dot](I& i) -> auto& { return dot(i).rhs_batch; });
    ints("lhs_ragged_dims", [dot](I& i) -> auto& { return dot(i).lhs_ragged; });
    ints("rhs_group_dims", [dot](I& i) -> auto& { return dot(i).rhs_group; });
    ints("offset_dims", [gather](I& i) -> auto& { return gather(i).offset_dims; });
    ints("collapsed_slice_dims", [gather](I& i) -> auto& { return gather(i).collapsed_slice_dims; });
    ints("start_index_map", [gather](I& i) -> auto& { return gather(i).start_index_map; });
    ints("operand_batching_dims", [gather](I& i) -> auto& { return gather(i).operand_batching; });
    ints("start_indices_batching_dims", [gather](I& i) -> auto& { return gather(i).indices_batching; });
    ints("update_window_dims", [scatter](I& i) -> auto& { return scatter(i).update_window_dims; });
    ints("inserted_window_dims", [scatter](I& i) -> auto& { return scatter(i).inserted_window_dims; });
    ints("scatter_dims_to_operand_dims", [scatter](I& i) -> auto& { return scatter(i).scatter_dims_to_operand_dims; });
    ints("input_batching_dims", [scatter](I& i) -> auto& { return scatter(i).input_batching; });
    ints("scatter_indices_batching_dims", [scatter](I& i) -> auto& { return scatter(i).indices_batching; });
    a->emplace("index_vector_dim", [gather, scatter](R& r, I& i, size_t) {
      (i.opcode == "scatter" ? scatter(i).index_vector_dim : gather(i).index_vector_dim) = r.s_.Int();
    });
    number("channel_id", [](I& i) -> auto& { return i.mutable_extras().channel_id; });
    number("feature_group_count", [](I& i) -> auto& { return i.mutable_extras().feature_group_count; });
    number("batch_group_count", [](I& i) -> auto& { return i.mutable_extras().batch_group_count; });
    number("exponent_bits", [](I& i) -> auto& { return i.mutable_extras().exponent_bits; });
    number("mantissa_bits", [](I& i) -> auto& { return i.mutable_extras().mantissa_bits; });
    number("feature_index", [](I& i) -> auto& { return i.mutable_extras().feature_index; });
    number("k", [](I& i) -> auto& { return i.mutable_extras().k; });
    flag("largest", [](I& i) -> auto& { return i.mutable_extras().largest; });
    flag("is_stable", [](I& i) -> auto& { return i.mutable_extras().is_stable; });
    flag("indices_are_sorted", [](I& i) -> auto& { return i.mutable_extras().indices_are_sorted; });
    flag("unique_indices", [](I& i) -> auto& { return i.mutable_extras().unique_indices; });
    flag("use_global_device_ids", [](I& i) -> auto& { return i.mutable_extras().use_global_device_ids; });
    flag("is_host_transfer", [](I& i) -> auto& { return i.mutable_extras().is_host_transfer; });
    flag("lower", [](I& i) -> auto& { return i.mutable_extras().lower; });
    flag("left_side", [](I& i) -> auto& { return i.mutable_extras().left_side; });
    flag("unit_diagonal", [](I& i) -> auto& { return i.mutable_extras().unit_diagonal; });
    flag("constrain_layout", [](I& i) -> auto& { return i.mutable_extras().constrain_layout; });
    flag("custom_call_has_side_effect", [](I& i) -> auto& { return i.mutable_extras().has_side_effect; });
    flag("is_composite", [](I& i) -> auto& { return i.mutable_extras().is_composite; });
    flag("has_dynamic_root", [](I& i) -> auto& { return i.mutable_extras().has_dynamic_root; });
    a->emplace("epsilon", [](R& r, I& i, size_t) { i.mutable_extras().epsilon = static_cast<float>(r.s_.Number()); });
    a->emplace("direction",
               [](R& r, I& i, size_t) { i.mutable_extras().comparison_direction = r.s_.ExpectName("a direction"); });
    const AttributeReader order = [](R& r, I& i, size_t) {
      const std::string_view type = r.s_.ExpectName("a type of comparison");
      i.mutable_extras().comparison_type = type == "TOTAL" ? "TOTALORDER" : type == "PARTIAL" ? "FLOAT" : type;
    };
    a->emplace("type", order);
    a->emplace("order", order);
    a->emplace("algorithm", [](R& r, I& i, size_t) { r.ReadAlgorithm(i); });
    a->emplace("distribution", [](R& r, I& i, size_t) {
      i.mutable_extras().distribution = r.OneOf(kRngDistributions, "distribution");
    });
    a->emplace("fft_type",
               [](R& r, I& i, size_t) { i.mutable_extras().fft_type = r.OneOf(kFftTypes, "Fourier transform"); });
    a->emplace("transpose_a",
               [](R& r, I& i, size_t) { i.mutable_extras().transpose_a = r.OneOf(kTransposes, "transposition"); });
    a->emplace("operand_precision", [](R& r, I& i, size_t) {
      r.s_.Expect("{");
      do i.mutable_extras().precision.push_back(r.OneOf(kPrecisions, "precision"));
      while (r.s_.ok() && r.s_.Accept(","));
      r.s_.Expect("}");
    });
    a->emplace("window", [](R& r, I& i, size_t) { r.ReadWindow(i); });
    a->emplace("dim_labels", [](R& r, I& i, size_t) { r.ReadDimLabels(i); });
    a->emplace("slice", [](R& r, I& i, size_t) { r.ReadSlices(i); });
    a->emplace("padding", [](R& r, I& i, size_t) { r.ReadPadding(i); });
    a->emplace("replica_groups", [](R& r, I& i, size_t) { r.ReadGroups(i); });
    a->emplace("sharding", [](R& r, I& i, size_t) { i.mutable_extras().sharding = r.ReadSharding(); });
    a->emplace("frontend_attributes",
               [](R& r, I& i, size_t) { i.mutable_extras().frontend_attributes = r.s_.ReadTextMap(); });
    a->emplace("result_accuracy", [](R& r, I& i, size_t) { r.ReadAccuracy(i); });
    a->emplace("output_to_operand_aliasing", [](R& r, I& i, size_t) { r.ReadOutputAliases(i); });
    a->emplace("source_target_pairs", [](R& r, I& i, size_t) {
      const size_t at = r.s_.offset();
      for (const std::vector<int64_t>& pair : r.s_.IntLists()) {
        if (pair.size() != 2) return r.s_.Fail("source_target_pairs are pairs", at);
        i.mutable_extras().source_target_pairs.emplace_back(pair[0], pair[1]);
      }
    });
    a->emplace("custom_call_target", [](R& r, I& i, size_t) { i.mutable_extras().custom_call_target = r.s_.String(); });
    a->emplace("backend_config", [](R& r, I& i, size_t) {
      i.mutable_extras().backend_config = r.s_.Sees("\"") ? r.s_.String() : std::string(r.s_.SkipValue());
    });
    a->emplace("api_version", [](R& r, I& i, size_t) {
      i.mutable_extras().api_version = r.OneOf(kCallVersions, "version of custom calls");
    });
    a->emplace("operand_layout_constraints", [](R& r, I& i, size_t) {
      i.mutable_extras().constrain_layout = true;
      r.s_.Expect("{");
      while (r.s_.ok() && !r.s_.Accept("}")) {
        i.mutable_extras().operand_shapes.push_back(r.s_.ReadShape());
        if (!r.s_.Accept(",") && !r.s_.Sees("}")) r.s_.Fail("',' or '}' is wanted");
      }
    });
    // Computations, in the order in which the protobuf form lists them.
    const std::pair<std::string_view, int> calls[] = {{"to_apply", 0},
                                                      {"calls", 0},
                                                      {"body", 0},
                                                      {"condition", 1},
                                                      {"select", 0},
                                                      {"scatter", 1},
                                                      {"true_computation", 0},
                                                      {"false_computation", 1},
                                                      {"called_computation", 0}};
    for (const auto& [key, position] : calls)
      a->emplace(key, [position = position](R& r, I&, size_t n) { r.Calls(n, position); });
    const AttributeReader list = [](R& r, I&, size_t n) {
      r.s_.Expect("{");
      if (r.s_.Accept("}")) return;
      do r.Calls(n, 0);
      while (r.s_.ok() && r.s_.Accept(","));
      r.s_.Expect("}");
    };
    a->emplace("branch_computations", list);
    a->emplace("called_computations", list);
    return a;
  }();
  return attributes;
}

}  // namespace

bool LooksLikeText(std::string_view bytes) {
  Scanner s(bytes);
  return s.AcceptWord("HloModule");
}

Result<Module> ReadText(std::string_view text) { return TextReader(text).Read(); }

Result<Sharding> ReadSharding(std::string_view bytes) {
  return bytes.starts_with('{') ? TextReader(bytes).ReadOnlySharding() : ReadShardingProto(bytes);
}

}  // namespace tenon::hlo
