#include "tenon/compiler/partition/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tenon/compiler/partition/collectives.h"
#include "tenon/compiler/partition/policy.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

int64_t Integer(mlir::Operation* op, llvm::StringRef name) {
  return op->getAttrOfType<mlir::IntegerAttr>(name).getInt();
}

int64_t Bytes(mlir::RankedTensorType type) { return type.getNumElements() * ElementBytes(type.getElementType()); }

}  // namespace

ProcessCollectives::ProcessCollectives(Exchanger& exchanger, Instances all, std::vector<int> process_of)
    : x_(exchanger), all_(std::move(all)), process_of_(std::move(process_of)) {
  for (size_t i = 0; i < process_of_.size(); ++i) {
    if (process_of_[i] == x_.self()) own_.push_back(static_cast<int64_t>(i));
  }
}

Instances ProcessCollectives::Own() {
  Instances own;
  own.num_replicas = all_.num_replicas;
  own.num_partitions = all_.num_partitions;
  own.remote = this;
  for (const int64_t i : own_) own.devices.push_back(all_.devices[static_cast<size_t>(i)]);
  return own;
}

mlir::Value ProcessCollectives::LaneOf(const Lanes& lanes, int64_t instance) const {
  const auto at = std::find(own_.begin(), own_.end(), instance);
  return at == own_.end() ? mlir::Value() : lanes[static_cast<size_t>(at - own_.begin())];
}

Result<std::vector<Lanes>> ProcessCollectives::Expand(mlir::OpBuilder& b, mlir::Operation* op,
                                                      const std::vector<Lanes>& operands) {
  if (op->hasAttr("has_dynamic_root"))
    return Unimplemented(fmt::format("{} with a dynamic root", op->getName().getStringRef().str()));
  std::vector<Lanes> results;
  if (mlir::isa<stablehlo::CollectivePermuteOp>(op)) {
    TENON_ASSIGN_OR_RETURN(Lanes lanes, Permute(b, op, operands[0]));
    results.push_back(std::move(lanes));
    return results;
  }
  TENON_ASSIGN_OR_RETURN(const Groups groups, InstanceGroups(op, all_));
  for (const Lanes& lanes : operands) {
    if (mlir::isa<stablehlo::AllGatherOp, stablehlo::CollectiveBroadcastOp>(op))
      results.push_back(Gather(b, op, lanes, groups));
    else if (mlir::isa<stablehlo::AllToAllOp>(op))
      results.push_back(Exchange(b, op, lanes, groups));
    else
      results.push_back(Reduce(b, op, lanes, groups));
  }
  return results;
}

mlir::Value ProcessCollectives::Any(mlir::OpBuilder& b, mlir::Location loc, mlir::Value own) {
  // Processes without an instance have no loop either.
  std::set<int> processes(process_of_.begin(), process_of_.end());
  const mlir::Value flat = Flat(b, loc, own);
  std::vector<Transfer> transfers;
  for (const int to : processes) {
    for (const int from : processes) {
      if (from != to) transfers.push_back({from, to, 1, flat, 0});
    }
  }
  const mlir::Value buffer = x_.Run(b, loc, TypeOf(own).getElementType(), transfers);
  mlir::Value any = own;
  for (int64_t i = 0; i + 1 < static_cast<int64_t>(processes.size()); ++i)
    any = stablehlo::OrOp::create(b, loc, any, Reshape(b, loc, FlatPart(b, loc, buffer, i, 1), {})).getResult();
  return any;
}

std::vector<mlir::Value> ProcessCollectives::Fetch(mlir::OpBuilder& b, mlir::Location loc, const Lanes& lanes,
                                                   const std::vector<std::vector<int64_t>>& wanted) {
  const mlir::RankedTensorType type = TypeOf(lanes[0]);
  std::vector<mlir::Value> flat(all_.size()), values(all_.size());
  for (const int64_t i : own_) {
    values[static_cast<size_t>(i)] = LaneOf(lanes, i);
    flat[static_cast<size_t>(i)] = Flat(b, loc, LaneOf(lanes, i));
  }
  std::vector<Transfer> transfers;
  for (int p = 0; p < x_.count(); ++p) {
    for (const int64_t i : wanted[static_cast<size_t>(p)]) {
      const int from = process_of_[static_cast<size_t>(i)];
      if (from != p) transfers.push_back({from, p, type.getNumElements(), flat[static_cast<size_t>(i)], 0});
    }
  }
  const mlir::Value buffer = x_.Run(b, loc, type.getElementType(), transfers);
  int64_t at = 0;
  for (const int64_t i : wanted[static_cast<size_t>(x_.self())]) {
    if (process_of_[static_cast<size_t>(i)] == x_.self()) continue;
    values[static_cast<size_t>(i)] =
        Reshape(b, loc, FlatPart(b, loc, buffer, at, type.getNumElements()), type.getShape());
    at += type.getNumElements();
  }
  return values;
}

Result<Lanes> ProcessCollectives::Permute(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes) {
  TENON_ASSIGN_OR_RETURN(const Groups pairs, ProcessGroups(op, all_));
  std::map<int64_t, int64_t> source_of;
  std::vector<std::set<int64_t>> sets(static_cast<size_t>(x_.count()));
  for (const auto& pair : pairs) {
    TENON_ASSIGN_OR_RETURN(const auto ends, EndsOf(pair, all_));
    const auto [source, target] = ends;
    source_of[target] = source;
    sets[static_cast<size_t>(process_of_[static_cast<size_t>(target)])].insert(source);
  }
  std::vector<std::vector<int64_t>> wanted;
  for (const auto& s : sets) wanted.emplace_back(s.begin(), s.end());
  const std::vector<mlir::Value> values = Fetch(b, op->getLoc(), lanes, wanted);
  Lanes out;
  for (const int64_t i : own_) {
    const auto source = source_of.find(i);
    out.push_back(source == source_of.end() ? Zeros(b, op->getLoc(), TypeOf(lanes[0]))
                                            : values[static_cast<size_t>(source->second)]);
  }
  return out;
}

Lanes ProcessCollectives::Gather(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes, const Groups& groups) {
  const bool all = mlir::isa<stablehlo::AllGatherOp>(op);
  std::vector<std::set<int64_t>> sets(static_cast<size_t>(x_.count()));
  for (const auto& group : groups) {
    for (const int64_t i : group) {
      std::set<int64_t>& wanted = sets[static_cast<size_t>(process_of_[static_cast<size_t>(i)])];
      wanted.insert(group.begin(), all ? group.end() : group.begin() + 1);
    }
  }
  std::vector<std::vector<int64_t>> wanted;
  for (const auto& s : sets) wanted.emplace_back(s.begin(), s.end());
  const std::vector<mlir::Value> values = Fetch(b, op->getLoc(), lanes, wanted);
  Lanes out(own_.size());
  for (const auto& group : groups) {
    mlir::Value shared;
    for (size_t k = 0; k < own_.size(); ++k) {
      if (std::find(group.begin(), group.end(), own_[k]) == group.end()) continue;
      if (!shared) {
        Lanes members;
        for (const int64_t i : group) members.push_back(values[static_cast<size_t>(i)]);
        shared = all ? Concatenate(b, op->getLoc(), members, Integer(op, "all_gather_dim")) : members[0];
      }
      out[k] = shared;
    }
  }
  for (mlir::Value& v : out) v = v ? v : Zeros(b, op->getLoc(), TypeOf(lanes[0]));
  return out;
}

// Each instance of a group sends each other one a part.
Lanes ProcessCollectives::Exchange(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes, const Groups& groups) {
  const mlir::Location loc = op->getLoc();
  const int64_t split = Integer(op, "split_dimension"), join = Integer(op, "concat_dimension");
  std::vector<Transfer> transfers;
  std::map<std::pair<int64_t, int64_t>, mlir::Value> parts;  // Of (instance, number), where this process has it.
  const auto part = [&](int64_t instance, int64_t number, int64_t size) -> mlir::Value {
    mlir::Value& v = parts[{instance, number}];
    if (!v) v = Part(b, loc, LaneOf(lanes, instance), split, number, size);
    return v;
  };
  std::vector<std::pair<int64_t, int64_t>> arriving;  // (instance, number), in the order of the buffer.
  int64_t count = 0;
  llvm::SmallVector<int64_t> shape(TypeOf(lanes[0]).getShape());
  for (int p = 0; p < x_.count(); ++p) {
    for (const auto& group : groups) {
      const auto size = static_cast<int64_t>(group.size());
      for (int64_t number = 0; number < size; ++number) {
        if (process_of_[static_cast<size_t>(group[static_cast<size_t>(number)])] != p) continue;
        for (const int64_t source : group) {
          const int from = process_of_[static_cast<size_t>(source)];
          if (from == p) continue;
          Transfer t{from, p, TypeOf(lanes[0]).getNumElements() / size, {}, 0};
          if (from == x_.self()) t.source = Flat(b, loc, part(source, number, size));
          if (p == x_.self()) arriving.emplace_back(source, number);
          transfers.push_back(t);
        }
      }
    }
  }
  const mlir::Value buffer = x_.Run(b, loc, TypeOf(lanes[0]).getElementType(), transfers);
  Lanes out(own_.size());
  int64_t at = 0;
  std::map<std::pair<int64_t, int64_t>, mlir::Value> arrived;
  for (const auto& [source, number] : arriving) {
    for (const auto& group : groups) {
      if (std::find(group.begin(), group.end(), source) == group.end()) continue;
      llvm::SmallVector<int64_t> dims = shape;
      dims[static_cast<size_t>(split)] /= static_cast<int64_t>(group.size());
      count = TypeOf(lanes[0]).getNumElements() / static_cast<int64_t>(group.size());
      arrived[{source, number}] = Reshape(b, loc, FlatPart(b, loc, buffer, at, count), dims);
      at += count;
    }
  }
  for (const auto& group : groups) {
    for (size_t number = 0; number < group.size(); ++number) {
      const auto k = std::find(own_.begin(), own_.end(), group[number]);
      if (k == own_.end()) continue;
      Lanes members;
      for (const int64_t source : group) {
        const bool own = process_of_[static_cast<size_t>(source)] == x_.self();
        members.push_back(own ? part(source, static_cast<int64_t>(number), static_cast<int64_t>(group.size()))
                              : arrived.at({source, static_cast<int64_t>(number)}));
      }
      out[static_cast<size_t>(k - own_.begin())] = Concatenate(b, loc, members, join);
    }
  }
  return out;
}

Lanes ProcessCollectives::Reduce(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes, const Groups& groups) {
  const mlir::Location loc = op->getLoc();
  const mlir::RankedTensorType type = TypeOf(lanes[0]);
  const bool scatters = mlir::isa<stablehlo::ReduceScatterOp>(op);
  const int64_t n = type.getNumElements();
  struct Sum {
    std::vector<int> processes;  // Ascending.
    mlir::Value own;             // This process's summand, where it has a part.
    mlir::Value total;
  };
  std::vector<Sum> sums;
  for (const auto& group : groups) {
    Sum s;
    for (const int64_t i : group) {
      const int p = process_of_[static_cast<size_t>(i)];
      if (std::find(s.processes.begin(), s.processes.end(), p) == s.processes.end()) s.processes.push_back(p);
      if (const mlir::Value lane = LaneOf(lanes, i)) s.own = s.own ? Combine(b, op, s.own, lane) : lane;
    }
    std::sort(s.processes.begin(), s.processes.end());
    sums.push_back(std::move(s));
  }
  const auto index = [&](const Sum& s, int p) {
    return std::find(s.processes.begin(), s.processes.end(), p) - s.processes.begin();
  };
  Lanes out(own_.size());
  if (scatters) {
    // The part of each of a process's instances, of every process's summand.
    const int64_t dim = Integer(op, "scatter_dimension");
    std::vector<Transfer> transfers;
    for (int p = 0; p < x_.count(); ++p) {
      for (size_t g = 0; g < groups.size(); ++g) {
        const auto size = static_cast<int64_t>(groups[g].size());
        for (int64_t number = 0; number < size; ++number) {
          if (process_of_[static_cast<size_t>(groups[g][static_cast<size_t>(number)])] != p) continue;
          for (const int q : sums[g].processes) {
            if (q == p) continue;
            Transfer t{q, p, n / size, {}, 0};
            if (q == x_.self()) t.source = Flat(b, loc, Part(b, loc, sums[g].own, dim, number, size));
            transfers.push_back(t);
          }
        }
      }
    }
    const mlir::Value buffer = x_.Run(b, loc, type.getElementType(), transfers);
    int64_t at = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      const auto size = static_cast<int64_t>(groups[g].size());
      for (int64_t number = 0; number < size; ++number) {
        const auto k = std::find(own_.begin(), own_.end(), groups[g][static_cast<size_t>(number)]);
        if (k == own_.end()) continue;
        const mlir::Value own = Part(b, loc, sums[g].own, dim, number, size);
        mlir::Value total;
        for (const int q : sums[g].processes) {
          mlir::Value summand = own;
          if (q != x_.self()) {
            summand = Reshape(b, loc, FlatPart(b, loc, buffer, at, n / size), TypeOf(own).getShape());
            at += n / size;
          }
          total = total ? Combine(b, op, total, summand) : summand;
        }
        out[static_cast<size_t>(k - own_.begin())] = total;
      }
    }
    return out;
  }
  // Small sums are made by everybody. Of large ones each process makes a part, and all exchange the parts.
  const bool small = Bytes(type) <= policy::kSmallSumBytes;
  const auto start = [&](const Sum& s, int64_t j) {
    return small ? (j == 0 ? 0 : n) : j * n / static_cast<int64_t>(s.processes.size());
  };
  const auto part = [&](const Sum& s, int p) { return small ? int64_t{0} : static_cast<int64_t>(index(s, p)); };
  const auto takes_part = [&](const Sum& s, int p) { return index(s, p) < static_cast<int64_t>(s.processes.size()); };
  std::vector<Transfer> scatter, gather;
  for (int p = 0; p < x_.count(); ++p) {
    for (const Sum& s : sums) {
      if (s.processes.size() < 2 || !takes_part(s, p)) continue;
      const int64_t j = part(s, p);
      for (const int q : s.processes) {
        if (q == p) continue;
        Transfer t{q, p, start(s, j + 1) - start(s, j), {}, start(s, j)};
        if (q == x_.self()) t.source = Flat(b, loc, s.own);
        scatter.push_back(t);
      }
    }
  }
  const mlir::Value buffer = x_.Run(b, loc, type.getElementType(), scatter);
  int64_t at = 0;
  for (Sum& s : sums) {
    if (s.processes.size() < 2 || !takes_part(s, x_.self())) {
      s.total = s.own;
      continue;
    }
    const int64_t j = part(s, x_.self()), count = start(s, j + 1) - start(s, j);
    for (const int q : s.processes) {
      mlir::Value summand;
      if (q == x_.self()) {
        summand = FlatPart(b, loc, Flat(b, loc, s.own), start(s, j), count);
      } else {
        summand = FlatPart(b, loc, buffer, at, count);
        at += count;
      }
      s.total = s.total ? Combine(b, op, s.total, summand) : summand;
    }
    if (small) s.total = Reshape(b, loc, s.total, type.getShape());
  }
  if (!small) {
    for (int p = 0; p < x_.count(); ++p) {
      for (const Sum& s : sums) {
        if (s.processes.size() < 2 || !takes_part(s, p)) continue;
        for (size_t j = 0; j < s.processes.size(); ++j) {
          const auto k = static_cast<int64_t>(j);
          gather.push_back({s.processes[j], p, start(s, k + 1) - start(s, k), s.total, 0});
        }
      }
    }
    const mlir::Value sum = x_.Run(b, loc, type.getElementType(), gather);
    at = 0;
    for (Sum& s : sums) {
      if (s.processes.size() < 2 || !takes_part(s, x_.self())) continue;
      s.total = Reshape(b, loc, FlatPart(b, loc, sum, at, n), type.getShape());
      at += n;
    }
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t k = 0; k < own_.size(); ++k) {
      if (std::find(groups[g].begin(), groups[g].end(), own_[k]) != groups[g].end()) out[k] = sums[g].total;
    }
  }
  return out;
}

}  // namespace tenon::compiler
