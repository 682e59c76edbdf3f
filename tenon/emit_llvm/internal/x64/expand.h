#pragma once

namespace llvm {
class Function;
}

namespace tenon::emit_llvm::x64 {

/// Rewrites vector operations that no instruction does as other vector operations: division by constants as products,
/// counts of bits as sums of them, conversions from f32 to 64 bits by way of f64. The function stays valid IR of the
/// same meaning.
void Expand(llvm::Function& function, bool avx2);

}  // namespace tenon::emit_llvm::x64
