#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/MLIRContext.h"
#include "tenon/base/fork.h"
#include "tenon/dialect/check/dialect.h"
#include "tenon/dialect/chlo/dialect.h"
#include "tenon/dialect/context_impl.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::dialect {
namespace {

// Attributes and types stay in a context for good, so one is ended after this many programs, or bytes of programs.
constexpr size_t kMaxParses = 2000;
constexpr size_t kMaxBytes = size_t{64} << 20;
// Contexts that lie ready; a process compiles on few threads at once.
constexpr size_t kMaxIdle = 8;

class Pool {
 public:
  std::unique_ptr<Context::Impl> Take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto context = std::move(idle_.back());
        idle_.pop_back();
        return context;
      }
    }
    return std::make_unique<Context::Impl>();
  }

  void Give(std::unique_ptr<Context::Impl> context) {
    if (context->parses >= kMaxParses || context->bytes >= kMaxBytes) return;
    std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(context));
  }

  size_t size() {
    std::lock_guard lock(mutex_);
    return idle_.size();
  }

  void Clear() {
    std::vector<std::unique_ptr<Context::Impl>> doomed;
    std::lock_guard lock(mutex_);
    doomed.swap(idle_);
  }

 private:
  ForkSafeMutex mutex_;
  std::vector<std::unique_ptr<Context::Impl>> idle_;
};

Pool& ThePool() {
  // Never destroyed: a thread may give a context back while the process ends.
  static Pool& pool = *new Pool;
  return pool;
}

}  // namespace

Context::Impl::Impl() : mlir(mlir::MLIRContext::Threading::DISABLED) {
  mlir::DialectRegistry registry;
  RegisterDialects(registry);
  mlir.appendDialectRegistry(registry);
  mlir.loadAllAvailableDialects();
  mlir.printOpOnDiagnostic(false);
  mlir.printStackTraceOnDiagnostic(false);
  // Whatever nobody captures is dropped: nothing of ours may reach stderr.
  mlir.getDiagEngine().registerHandler([](mlir::Diagnostic&) { return mlir::success(); });
}

Context::Context() : impl_(ThePool().Take()) {}
Context::~Context() {
  if (!impl_) return;
  // MLIR cannot be left by an exception: its context may be locked, or half changed.
  if (std::uncaught_exceptions() > 0)
    (void)impl_.release();
  else
    ThePool().Give(std::move(impl_));
}
Context::Context(Context&& other) noexcept = default;
Context& Context::operator=(Context&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

mlir::MLIRContext& Context::mlir() const { return impl_->mlir; }

void WarmContexts(size_t count) {
  count = std::min(count, kMaxIdle);
  while (ThePool().size() < count) ThePool().Give(std::make_unique<Context::Impl>());
}

void DropIdleContexts() { ThePool().Clear(); }

void RegisterDialects(mlir::DialectRegistry& registry) {
  registry.insert<mlir::func::FuncDialect, mlir::quant::QuantDialect, sdy::SdyDialect>();
  stablehlo::RegisterStablehlo(registry);
  chlo::RegisterChlo(registry);
  check::RegisterCheck(registry);
}

}  // namespace tenon::dialect
