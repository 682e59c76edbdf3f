#include "tenon/compiler/fuse/layouts.h"

#include "tenon/base/strided_array.h"
#include "tenon/compiler/fuse/cluster.h"
#include "tenon/compiler/ir/uses.h"

namespace tenon::compiler {

std::optional<Dims> ReshapedStrides(const Dims& dims, const Dims& strides, const Dims& to) {
  Dims made(to.size(), 0);
  if (NumElements(to) == 0) return made;
  // Groups of equal size; inside one, the dims must form one run.
  size_t i = 0;
  size_t j = 0;
  while (i < dims.size() || j < to.size()) {
    size_t i_end = i;
    size_t j_end = j;
    int64_t a = i_end < dims.size() ? dims[i_end++] : 1;
    int64_t b = j_end < to.size() ? to[j_end++] : 1;
    while (a != b) {
      if (a < b) {
        if (i_end == dims.size()) return std::nullopt;
        a *= dims[i_end++];
      } else {
        if (j_end == to.size()) return std::nullopt;
        b *= to[j_end++];
      }
    }
    std::optional<int64_t> run;  // Stride of the innermost dim of the run; may be 0 (a broadcast).
    int64_t expect = 0;
    for (size_t k = i_end; k-- > i;) {
      if (dims[k] == 1) continue;
      if (!run) {
        run = strides[k];
      } else if (strides[k] != expect) {
        return std::nullopt;
      }
      expect = strides[k] * dims[k];
    }
    int64_t stride = run.value_or(0);
    for (size_t k = j_end; k-- > j;) {
      made[k] = stride;
      stride *= to[k];
    }
    i = i_end;
    j = j_end;
  }
  return made;
}

WantedLayouts::WantedLayouts(const Program& program, const Captures& captures)
    : p_(program), uses_(CountUses(program)) {
  // What is used in another block than its own keeps its place.
  for (NodeId id = 0; id < program.nodes.size(); ++id) {
    for (NodeId captured : captures.Of(id)) ++uses_[captured];
  }
}

void WantedLayouts::Want(Ref value, Dims strides) {
  for (Ref at = value; uses_[at.node] == 1; at = p_[at.node].in[0]) {
    const GraphNode& node = p_[at.node];
    if (node.op == OpCode::kTranspose) {
      Dims below(strides.size(), 0);
      for (size_t d = 0; d < strides.size(); ++d)
        below[static_cast<size_t>(node.attrs<TransposeAttrs>().permutation[d])] = strides[d];
      strides = std::move(below);
    } else if (node.op == OpCode::kReshape) {
      std::optional<Dims> below = ReshapedStrides(node.shape().dims, strides, p_.shape(node.in[0]).dims);
      if (!below) return;
      strides = *std::move(below);
    } else {
      const bool dense = strides == RowMajorStridesElems(node.shape().dims);
      if (node.out.size() == 1 && !IsPureView(p_, node) && !dense && NumElements(node.shape().dims) > 1)
        layouts_.emplace(at.node, std::move(strides));
      return;
    }
  }
}

const Dims* WantedLayouts::Of(NodeId node) const {
  const auto it = layouts_.find(node);
  return it == layouts_.end() ? nullptr : &it->second;
}

std::unordered_set<Ref, RefHasher> UsedResults(const Program& program) {
  std::unordered_set<Ref, RefHasher> used;
  const auto use = [&](Ref r) {
    if (program[r.node].out.size() > 1) used.insert(r);
  };
  for (const GraphNode& node : program.nodes) {
    for (Ref r : node.in) use(r);
    for (const Block& block : node.blocks) {
      for (Ref r : block.results) use(r);
    }
  }
  for (Ref r : program.main.results) use(r);
  return used;
}

}  // namespace tenon::compiler
