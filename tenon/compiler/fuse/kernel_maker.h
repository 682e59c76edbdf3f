#pragma once

/// A cluster of nodes to a KIR kernel.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/strided_array.h"
#include "tenon/compiler/fuse/cluster.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/kir/kir.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

/// Strided memory that holds a value.
struct View {
  uint32_t buffer = 0;  ///< Index into FusedProgram::buffers.
  int64_t offset_elems = 0;
  DType dtype = DType::kInvalid;
  Dims dims;
  Dims strides;  ///< In elements.
  friend bool operator==(const View&, const View&) = default;
};
View DenseView(uint32_t buffer, const Shape& shape);
inline StridedArray ArrayOf(const View& view) { return {view.dtype, view.dims, view.strides}; }
bool IsDense(const View& view);

/// What a buffer of a made kernel stands for.
struct BoundBuffer {
  enum class Kind : uint8_t { kRead, kWrite, kLocal } kind = Kind::kRead;
  Ref value;          ///< Read or written; nothing for locals.
  Dims strides = {};  ///< Of what is written and not dense.
  /// Of what is read, where it is a constant whose elements differ and lie densely. The program's.
  const Literal* literal = nullptr;
};

/// A kernel with the values that its buffers and parameters have here.
struct MadeKernel {
  kir::Kernel kernel;
  std::vector<BoundBuffer> buffers;  ///< One per kernel buffer.
  std::vector<int64_t> params;
  /// (write, read) indices of buffers that may share memory: every element is read before, and only where, it is
  /// written.
  std::vector<std::pair<kir::Buf, kir::Buf>> in_place;
  target::Work work;
};

/// Where every rewriting of a kernel can be checked, which is what a debug option asks for. The first mistake is kept.
struct KernelChecks {
  bool on = false;
  Status failed;
  /// `step` names what was just done.
  void After(const char* step, const kir::Kernel& kernel);
};

/// What the maker asks its surroundings.
struct MakerEnvironment {
  /// The memory of a value that the kernel reads.
  std::function<const View&(Ref)> view_of;
  /// The strides in which a value is stored, nothing for dense ones; and whether one of several results of a node is
  /// stored at all. Without these all are, densely.
  std::function<const Dims*(NodeId)> layout_of;
  std::function<bool(Ref)> is_used;
  KernelChecks* checks = nullptr;
  /// The kernel as it was traced: whoever asks calls FinishKernel, or makes something else of it.
  bool unfinished = false;
  /// What another step beside the kernel costs (OpCosts).
  double step_ops = policy::kLaunchOps;
};

/// Empty when a member cannot be computed inside, and `blocking` names it: it has to be stored first or, if it is the
/// only root, its operands have to. Empty, too, when `better_stored` is given and the kernel would compute some values
/// so often that they are better stored: then they are named there.
std::optional<MadeKernel> MakeKernel(const Program& program, const Cluster& cluster, const MakerEnvironment& env,
                                     NodeId& blocking, std::vector<NodeId>* better_stored = nullptr);

}  // namespace tenon::compiler
