// Operations that reach outside of one device's array program.
#include <algorithm>

#include "tenon/builder/internal/state.h"
#include "tenon/builder/ops.h"

namespace tenon::builder {

using namespace internal;

namespace {

std::vector<Type> TypesOf(const Values& values) {
  std::vector<Type> types;
  for (const Value v : values) types.push_back(v.type());
  return types;
}

bool SetGroups(Make& m, const std::vector<std::vector<int64_t>>& ids) {
  AttrMatrix matrix{static_cast<int64_t>(ids.size()), 0, {}};
  std::vector<int64_t> seen;
  for (const std::vector<int64_t>& group : ids) {
    matrix.columns = static_cast<int64_t>(group.size());
    if (group.size() != ids[0].size())
      return m.Fail("groups must be of one length, filled with -1, got {} and {}", ids[0].size(), group.size());
    for (const int64_t id : group) {
      if (id < -1) return m.Fail("ids must be at least 0, or -1 as filler, got {}", id);
      if (id >= 0 && std::find(seen.begin(), seen.end(), id) != seen.end()) return m.Fail("id {} is in two groups", id);
      seen.push_back(id);
      matrix.values.push_back(id);
    }
  }
  m.Set("replica_groups", matrix);
  return true;
}

std::string ChannelText(int64_t handle, int64_t type) {
  return fmt::format("#stablehlo.channel_handle<handle = {}, type = {}>", handle, type);
}

bool SetGroups(Make& m, const Groups& groups, bool global_ids = true) {
  if (!m.ok() || !SetGroups(m, groups.ids)) return false;
  if (groups.channel < 0) return m.Fail("the channel must be at least 0, got {}", groups.channel);
  if (groups.use_global_device_ids && groups.channel == 0)
    return m.Fail("use_global_device_ids needs a channel above 0, got {}", groups.channel);
  if (groups.use_global_device_ids && !global_ids) return m.Fail("this operation has no use_global_device_ids");
  if (groups.channel > 0) m.Set("channel_handle", AttrText{ChannelText(groups.channel, 1)});
  if (groups.use_global_device_ids) m.Set("use_global_device_ids", AttrUnit{});
  return true;
}

bool SetPairs(Make& m, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].first < 0 || pairs[i].second < 0)
      return m.Fail("sources and targets must be at least 0, got ({}, {})", pairs[i].first, pairs[i].second);
    for (size_t j = 0; j < i; ++j) {
      if (pairs[i].first == pairs[j].first) return m.Fail("the source {} is named twice", pairs[i].first);
      if (pairs[i].second == pairs[j].second) return m.Fail("the target {} is named twice", pairs[i].second);
    }
  }
  m.Set("source_target_pairs", MatrixOf(pairs));
  return true;
}

bool SetChannel(Make& m, const Channel& channel) {
  if (!m.ok()) return false;
  if (!channel.is_host_transfer && channel.type != 1)
    return m.Fail("a channel between devices has type 1, got {}", channel.type);
  m.Set("channel_handle", AttrText{ChannelText(channel.handle, channel.type)})
      .Set("is_host_transfer", channel.is_host_transfer);
  return channel.source_target_pairs.empty() || SetPairs(m, channel.source_target_pairs);
}

bool Arrays(Make& m, size_t end) {
  for (size_t i = 0; i < end; ++i) {
    if (!m.Tensor(i, "an operand")) return false;
  }
  return m.ok();
}

// Multiplies an extent that is known.
bool Scale(Make& m, int64_t* extent, int64_t by) {
  if (*extent != kDynamic && __builtin_mul_overflow(*extent, by, extent)) return m.Fail("an extent leaves 64 bits");
  return true;
}

std::vector<Type> WithToken(std::vector<Type> types) {
  types.push_back(Type::Token());
  return types;
}

Values ReduceAll(OpKind kind, const Values& x, const Groups& groups, const Body& body, Location where) {
  Make m(kind, x, where);
  if (m.ok() && x.empty()) m.Fail("wants at least one operand");
  if (!Arrays(m, x.size()) || !SetGroups(m, groups)) return Make::Invalid(x.size());
  const Type scalar = m.type().WithDims({}).WithBounds({});
  for (size_t i = 1; i < x.size(); ++i) {
    if (!m.SameElements(0, i, "operands")) return Make::Invalid(x.size());
  }
  if (!m.RegionOf("the body", {scalar, scalar}, body, {scalar})) return Make::Invalid(x.size());
  return m.Results(TypesOf(x));
}

}  // namespace

//===--- Collectives ---===//

Value AllGather(Value x, int64_t dim, int64_t group_size, const Groups& groups, Location where) {
  Make m(OpKind::kAllGather, {x}, where);
  if (!m.Tensor(0, "operand") || !m.DimIndex("the dim", dim, m.rank())) return {};
  if (group_size < 1) m.Fail("a group has at least 1 member, got {}", group_size);
  m.Set("all_gather_dim", dim);
  if (!SetGroups(m, groups)) return {};
  Dims dims = m.dims();
  if (!Scale(m, &dims[static_cast<size_t>(dim)], group_size)) return {};
  return m.Result(m.type().WithDims(dims));
}

Values AllReduce(const Values& x, const Groups& groups, const Body& body, Location where) {
  return ReduceAll(OpKind::kAllReduce, x, groups, body, where);
}
Values CollectiveReduce(const Values& x, const Groups& groups, const Body& body, Location where) {
  return ReduceAll(OpKind::kCollectiveReduce, x, groups, body, where);
}

Value AllToAll(Value x, int64_t split_dim, int64_t concat_dim, int64_t split_count, const Groups& groups,
               Location where) {
  Make m(OpKind::kAllToAll, {x}, where);
  if (!m.Tensor(0, "operand") || !m.DimIndex("split_dim", split_dim, m.rank()) ||
      !m.DimIndex("concat_dim", concat_dim, m.rank()))
    return {};
  Dims dims = m.dims();
  int64_t& split = dims[static_cast<size_t>(split_dim)];
  if (split_count < 1 || (split != kDynamic && split % split_count != 0)) {
    m.Fail("split_count must be at least 1 and divide the extent of dim {} of {}, got {}", split_dim,
           m.type().ToString(), split_count);
    return {};
  }
  if (!groups.ids.empty() &&
      !m.Count("members of a group, as many as split_count,", groups.ids[0].size(), static_cast<size_t>(split_count)))
    return {};
  m.Set("split_dimension", split_dim).Set("concat_dimension", concat_dim).Set("split_count", split_count);
  if (!SetGroups(m, groups, false)) return {};
  if (split != kDynamic) split /= split_count;
  if (!Scale(m, &dims[static_cast<size_t>(concat_dim)], split_count)) return {};
  return m.Result(m.type().WithDims(dims));
}

Value CollectiveBroadcast(Value x, const Groups& groups, Location where) {
  Make m(OpKind::kCollectiveBroadcast, {x}, where);
  if (!m.Tensor(0, "operand") || !SetGroups(m, groups, false)) return {};
  return m.Result(m.type());
}

Value CollectivePermute(Value x, const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs, int64_t channel,
                        Location where) {
  Make m(OpKind::kCollectivePermute, {x}, where);
  if (!m.Tensor(0, "operand") || !SetPairs(m, source_target_pairs)) return {};
  if (channel < 0) m.Fail("the channel must be at least 0, got {}", channel);
  if (channel > 0) m.Set("channel_handle", AttrText{ChannelText(channel, 1)});
  return m.Result(m.type());
}

Value ReduceScatter(Value x, int64_t dim, int64_t group_size, const Groups& groups, const Body& body, Location where) {
  Make m(OpKind::kReduceScatter, {x}, where);
  if (!m.Tensor(0, "operand") || !m.DimIndex("the dim", dim, m.rank())) return {};
  Dims dims = m.dims();
  int64_t& extent = dims[static_cast<size_t>(dim)];
  if (group_size < 1 || (extent != kDynamic && extent % group_size != 0)) {
    m.Fail("the group's {} members must divide the extent of dim {} of {}", group_size, dim, m.type().ToString());
    return {};
  }
  m.Set("scatter_dimension", dim);
  const Type scalar = m.type().WithDims({}).WithBounds({});
  if (!SetGroups(m, groups) || !m.RegionOf("the body", {scalar, scalar}, body, {scalar})) return {};
  if (extent != kDynamic) extent /= group_size;
  return m.Result(m.type().WithDims(dims));
}

Value CrossReplicaSum(Value x, const std::vector<std::vector<int64_t>>& groups, Location where) {
  Make m(OpKind::kCrossReplicaSum, {x}, where);
  if (!m.Tensor(0, "operand") || !SetGroups(m, groups)) return {};
  return m.Result(m.type());
}

Value PartitionId(Function& f, Location where) { return Make(OpKind::kPartitionId, f, where).Result(DType::kU32); }
Value ReplicaId(Function& f, Location where) { return Make(OpKind::kReplicaId, f, where).Result(DType::kU32); }

Value AsyncStart(const Values& operands, const Body& body, Location where) {
  Make m(OpKind::kAsyncStart, operands, where);
  std::vector<Type> results;
  if (!Arrays(m, operands.size()) || !m.Region("the body", TypesOf(operands), body, &results)) return {};
  return m.Result(Type::Future(std::move(results)));
}

Values AsyncDone(Value future, Location where) {
  Make m(OpKind::kAsyncDone, {future}, where);
  if (!m.ok()) return {};
  if (m.type().kind() != Type::Kind::kFuture) {
    m.Fail("wants what AsyncStart gives, got {}", m.type().ToString());
    return {};
  }
  return m.Results(m.type().elements());
}

Value ShardingConstraint(Value x, const Sharding& sharding, Location where) {
  Make m(OpKind::kShardingConstraint, {x}, where);
  if (!m.Tensor(0, "operand")) return {};
  if (sharding.name != "sdy.sharding") {
    m.Fail("wants a sharding of Shardy (Sharding::Sdy), got '{}'", sharding.name);
    return {};
  }
  return m.Set("sharding", AttrText{"#sdy.sharding" + sharding.text}).Result(m.type());
}

//===--- Tokens and channels ---===//

Value CreateToken(Function& f, Location where) { return Make(OpKind::kCreateToken, f, where).Result(Type::Token()); }

Value AfterAll(Function& f, const Values& tokens, Location where) {
  if (tokens.empty()) return Make(OpKind::kAfterAll, f, where).Result(Type::Token());
  Make m(OpKind::kAfterAll, tokens, where);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!m.Token(i, "an operand")) return {};
  }
  return m.Result(Type::Token());
}

Value Send(const Values& inputs, Value token, const Channel& channel, Location where) {
  Values operands = inputs;
  operands.push_back(token);
  Make m(OpKind::kSend, operands, where);
  if (!Arrays(m, inputs.size()) || !m.Token(inputs.size(), "the last operand")) return {};
  if (channel.is_host_transfer && channel.type != 2) {
    m.Fail("a channel to the host has type 2, got {}", channel.type);
    return {};
  }
  if (!SetChannel(m, channel)) return {};
  return m.Result(Type::Token());
}

Values Recv(Value token, const std::vector<Type>& types, const Channel& channel, Location where) {
  Make m(OpKind::kRecv, {token}, where);
  if (!m.Token(0, "the operand")) return Make::Invalid(types.size() + 1);
  if (channel.is_host_transfer && channel.type != 3) {
    m.Fail("a channel from the host has type 3, got {}", channel.type);
  }
  if (!SetChannel(m, channel)) return Make::Invalid(types.size() + 1);
  return m.Results(WithToken(types));
}

Values Infeed(Value token, const std::vector<Type>& types, std::string_view config, Location where) {
  Make m(OpKind::kInfeed, {token}, where);
  if (!m.Token(0, "the operand")) return Make::Invalid(types.size() + 1);
  return m.Set("infeed_config", AttrString{std::string(config)}).Results(WithToken(types));
}

Value Outfeed(const Values& inputs, Value token, std::string_view config, Location where) {
  Values operands = inputs;
  operands.push_back(token);
  Make m(OpKind::kOutfeed, operands, where);
  if (!Arrays(m, inputs.size()) || !m.Token(inputs.size(), "the last operand")) return {};
  return m.Set("outfeed_config", AttrString{std::string(config)}).Result(Type::Token());
}

//===--- Calls and tuples ---===//

namespace {

// Whether `callee` is finished and takes what is given.
bool CheckCall(Make& m, const Function& callee) {
  if (!m.ok()) return false;
  if (&callee.module() != m.function()->module->handle)
    return m.Fail("function {} belongs to another module", callee.name());
  if (!callee.finished())
    return m.Fail("function {} has no Return yet, so that its results are not known", callee.name());
  const Values parameters = callee.parameters();
  if (m.size() != parameters.size())
    return m.Fail("function {} takes {} arguments, got {}", callee.name(), parameters.size(), m.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!Compatible(parameters[i].type(), m.type(i)))
      return m.Fail("argument {} of function {} must be {}, got {}", i, callee.name(), parameters[i].type().ToString(),
                    m.type(i).ToString());
  }
  return true;
}

}  // namespace

Values Call(Function& callee, const Values& arguments, Location where) {
  // Without operands nothing says which function calls.
  if (arguments.empty()) {
    callee.module().Fail(InvalidArgument(
        fmt::format("call: function {} takes no arguments, so that its caller is not known; give the caller",
                    callee.name()),
        where));
    return Make::Invalid(callee.results().size());
  }
  return Call(arguments[0].valid() ? arguments[0].function() : callee, callee, arguments, where);
}

Values Call(Function& caller, Function& callee, const Values& arguments, Location where) {
  Make m = arguments.empty() ? Make(OpKind::kCall, caller, where) : Make(OpKind::kCall, arguments, where);
  if (!CheckCall(m, callee)) return Make::Invalid(callee.results().size());
  return m.Set("callee", AttrSymbol{callee.name()}).Results(TypesOf(callee.results()));
}

Values Composite(std::string_view name, const Values& inputs, Function& decomposition,
                 const std::vector<std::pair<std::string, std::string>>& attributes, int32_t version, Location where) {
  Make m(OpKind::kComposite, inputs, where);
  const size_t count = decomposition.results().size();
  if (m.ok() && name.empty()) m.Fail("wants a name");
  if (m.ok() && version < 0) m.Fail("the version must be at least 0, got {}", version);
  if (!CheckCall(m, decomposition)) return Make::Invalid(count);
  std::string dictionary;
  for (const auto& [key, value] : attributes)
    dictionary += fmt::format("{}{} = {}", dictionary.empty() ? "" : ", ", key, value);
  m.Set("name", AttrString{std::string(name)}).Set("composite_attributes", AttrText{"{" + dictionary + "}"});
  m.Set("decomposition", AttrSymbol{decomposition.name()}).Set("version", AttrInt32{version});
  return m.Results(TypesOf(decomposition.results()));
}

Values CustomCall(Function& f, std::string_view target, const Values& operands, const std::vector<Type>& results,
                  const CustomCallOptions& o, Location where) {
  Make m = operands.empty() ? Make(OpKind::kCustomCall, f, where) : Make(OpKind::kCustomCall, operands, where);
  const auto layouts = [&](const char* name, const std::vector<Dims>& list) {
    std::string text;
    for (const Dims& layout : list) {
      text += fmt::format("{}dense<{}> : tensor<{}xindex>", text.empty() ? "" : ", ",
                          layout.empty() ? "" : DimsToString(layout), layout.size());
    }
    m.Set(name, AttrText{"[" + text + "]"});
  };
  if (!m.ok()) return Make::Invalid(results.size());
  if (target.empty()) m.Fail("wants the name of a target");
  if (o.api_version < 1 || o.api_version > 4) m.Fail("api_version must be 1 to 4, got {}", o.api_version);
  if (o.operand_layouts.empty() != o.result_layouts.empty() && !results.empty() && !operands.empty()) {
    m.Fail("layouts must be given for operands and results, or for neither");
  }
  if (!o.operand_layouts.empty())
    m.Count("operand layouts, one per operand", o.operand_layouts.size(), operands.size());
  if (!o.result_layouts.empty()) m.Count("result layouts, one per result", o.result_layouts.size(), results.size());
  if (!m.ok()) return Make::Invalid(results.size());
  m.Set("call_target_name", AttrString{std::string(target)})
      .Set("has_side_effect", o.has_side_effect)
      .Set("api_version", AttrInt32{o.api_version});
  if (!o.backend_config.empty()) {
    if (o.api_version == 4) {
      m.Set("backend_config", AttrText{o.backend_config});
    } else {
      m.Set("backend_config", AttrString{o.backend_config});
    }
  }
  if (!o.called.empty()) {
    std::string names;
    for (const Function* called : o.called) names += (names.empty() ? "@" : ", @") + called->name();
    m.Set("called_computations", AttrText{"[" + names + "]"});
  }
  if (!o.operand_layouts.empty() || !o.result_layouts.empty()) {
    layouts("operand_layouts", o.operand_layouts);
    layouts("result_layouts", o.result_layouts);
  }
  if (!o.output_operand_aliases.empty()) {
    std::string text;
    for (const auto& [result, operand] : o.output_operand_aliases) {
      text += fmt::format(
          "{}#stablehlo.output_operand_alias<output_tuple_indices = [{}], operand_index = {}, operand_tuple_indices = "
          "[]>",
          text.empty() ? "" : ", ", result < 0 ? "" : fmt::format("{}", result), operand);
    }
    m.Set("output_operand_aliases", AttrText{"[" + text + "]"});
  }
  return m.Results(results);
}

Values OptimizationBarrier(const Values& x, Location where) {
  Make m(OpKind::kOptimizationBarrier, x, where);
  if (!m.ok()) return Make::Invalid(x.size());
  return m.Results(TypesOf(x));
}

Value Tuple(Function& f, const Values& elements, Location where) {
  Make m = elements.empty() ? Make(OpKind::kTuple, f, where) : Make(OpKind::kTuple, elements, where);
  return m.Result(Type::Tuple(TypesOf(elements)));
}

Value GetTupleElement(Value tuple, int64_t index, Location where) {
  Make m(OpKind::kGetTupleElement, {tuple}, where);
  if (!m.ok()) return {};
  if (m.type().kind() != Type::Kind::kTuple || index < 0 || index >= static_cast<int64_t>(m.type().elements().size())) {
    m.Fail("wants a tuple and the index of an element, got {} and {}", m.type().ToString(), index);
    return {};
  }
  return m.Set("index", AttrInt32{static_cast<int32_t>(index)}).Result(m.type().elements()[static_cast<size_t>(index)]);
}

//===--- Random numbers ---===//

Values RngBitGenerator(Value state, RngAlgorithm algorithm, const Shape& shape, Location where) {
  Make m(OpKind::kRngBitGenerator, {state}, where);
  if (!m.Tensor(0, "the state", kUnsigned)) return Make::Invalid(2);
  if (m.rank() != 1 || m.type().dtype() != DType::kU64) {
    m.Fail("the state must be a vector of ui64, got {}", m.type().ToString());
    return Make::Invalid(2);
  }
  const int64_t n = m.dims()[0];
  const bool fits = algorithm == RngAlgorithm::kThreeFry ? n == 2
                    : algorithm == RngAlgorithm::kPhilox ? n == 2 || n == 3
                                                         : true;
  if (!fits) m.Fail("ThreeFry has a state of 2 elements, Philox of 2 or 3, got {}", m.type().ToString());
  if (const Type bits(shape); (ClassOf(bits) & (kInteger | kFloat)) == 0)
    m.Fail("gives integers or floats, got {}", bits.ToString());
  static constexpr std::string_view kNames[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
  m.Set("rng_algorithm", AttrEnum{"rng_algorithm", kNames[static_cast<int>(algorithm)]});
  return m.Results({m.type(), shape});
}

Value Rng(Value a, Value b, RngDistribution distribution, const Dims& dims, Location where) {
  const unsigned classes = distribution == RngDistribution::kNormal ? unsigned{kFloat} : kBool | kInteger | kFloat;
  {
    Make check(OpKind::kRng, {a, b}, where);
    if (!check.Scalar(0, "a", classes) || !check.Scalar(1, "b", classes) || !check.SameTypes(0, 1, "a and b") ||
        !check.AtLeast("extents", dims, 0))
      return {};
  }
  // The extents are an operand, a constant.
  const Value extents = Constant(a.function(), std::span<const int64_t>(dims.data(), dims.size()),
                                 {static_cast<int64_t>(dims.size())}, where);
  Make m(OpKind::kRng, {a, b, extents}, where);
  if (!m.ok()) return {};
  m.Set("rng_distribution",
        AttrEnum{"rng_distribution", distribution == RngDistribution::kNormal ? "NORMAL" : "UNIFORM"});
  return m.Result(m.type().WithDims(dims));
}

}  // namespace tenon::builder
