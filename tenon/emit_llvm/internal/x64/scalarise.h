#pragma once

namespace llvm {
class Function;
}

namespace tenon::emit_llvm::x64 {

/// Rewrites vector operations that no instruction does (division, shifts of bytes, shuffles of odd forms, ...) as code
/// that goes through memory lane by lane. They are rare; what is common has its own selection. The function stays
/// valid IR of the same meaning.
void Scalarise(llvm::Function& function, bool avx2);

}  // namespace tenon::emit_llvm::x64
