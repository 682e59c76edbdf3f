// Custom calls of one's own for JAX, against the header that jaxlib ships (jax.ffi.include_dir()); no part of Tenon.
//
//   headers=$(python -c 'import jax; print(jax.ffi.include_dir())')
//   c++ -std=c++17 -O2 -fPIC -shared -I $headers handlers.cc -o libhandlers.so

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

ffi::Error AxpyImpl(float a, ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> y, ffi::ResultBuffer<ffi::F32> out) {
  if (x.element_count() != y.element_count())
    return ffi::Error::InvalidArgument("axpy: x has " + std::to_string(x.element_count()) + " elements, y has " +
                                       std::to_string(y.element_count()));
  for (size_t i = 0; i < x.element_count(); ++i) out->typed_data()[i] = a * x.typed_data()[i] + y.typed_data()[i];
  return ffi::Error::Success();
}

std::atomic<int64_t> plans_alive{0}, instantiated{0}, prepared{0}, initialized{0};

// What the instantiate stage makes of the attributes, once for each call in a program.
struct Plan {
  explicit Plan(int64_t n) : scale(n) { ++plans_alive; }
  ~Plan() { --plans_alive; }
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  int64_t scale;
};
ffi::TypeId Plan::id = {};
ffi::TypeInfo Plan::info = ffi::MakeTypeInfo<Plan>();

ffi::ErrorOr<std::unique_ptr<Plan>> InstantiateScale(int64_t scale) {
  if (scale < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("scale is negative"));
  ++instantiated;
  return std::make_unique<Plan>(scale);
}

ffi::Error PrepareScale(Plan* plan) {
  ++prepared;
  return plan->scale == 13 ? ffi::Error(ffi::ErrorCode::kAborted, "prepare will not have 13") : ffi::Error::Success();
}

ffi::Error InitializeScale(Plan*) {
  ++initialized;
  return ffi::Error::Success();
}

ffi::Error ExecuteScale(Plan* plan, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  for (size_t i = 0; i < x.element_count(); ++i) out->typed_data()[i] = plan->scale * x.typed_data()[i];
  return ffi::Error::Success();
}

// Ends on a thread of its own.
ffi::Future LaterImpl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  ffi::Promise promise;
  ffi::Future future(promise);
  std::thread([promise = std::move(promise), from = x.typed_data(), to = out->typed_data(),
               n = x.element_count()]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (size_t i = 0; i < n; ++i) to[i] = from[i] + 1;
    promise.SetAvailable();
  }).detach();
  return future;
}

// Shares its work out over the host's threads, with scratch of the host's.
ffi::Error ParallelImpl(ffi::ThreadPool pool, ffi::ScratchAllocator scratch, ffi::RunId run, ffi::Buffer<ffi::F32> x,
                        ffi::ResultBuffer<ffi::F32> out) {
  const size_t n = x.element_count();
  auto copy = scratch.Allocate(n * sizeof(float), 64);
  if (!copy.has_value() || run.run_id <= 0) return ffi::Error::Internal("no scratch or no run id");
  auto* doubled = static_cast<float*>(*copy);
  std::atomic<int> left{4};
  for (int part = 0; part < 4; ++part) {
    pool.Schedule([&, part] {
      for (size_t i = part * n / 4; i < (part + 1) * n / 4; ++i) doubled[i] = 2 * x.typed_data()[i];
      --left;
    });
  }
  while (left.load() > 0) std::this_thread::yield();
  for (size_t i = 0; i < n; ++i) out->typed_data()[i] = doubled[i];
  return ffi::Error::Success();
}

ffi::Error ThrowsImpl(ffi::Buffer<ffi::F32>, ffi::ResultBuffer<ffi::F32>) {
  throw std::runtime_error("from a handler");
}

}  // namespace

#define F32_TO_F32 .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>()

XLA_FFI_DEFINE_HANDLER_SYMBOL(Axpy, AxpyImpl,
                              ffi::Ffi::Bind().Attr<float>("a").Arg<ffi::Buffer<ffi::F32>>() F32_TO_F32);
XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaleInstantiate, InstantiateScale, ffi::Ffi::BindInstantiate().Attr<int64_t>("scale"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(ScalePrepare, PrepareScale,
                              ffi::Ffi::Bind<ffi::ExecutionStage::kPrepare>().Ctx<ffi::State<Plan>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaleInitialize, InitializeScale,
                              ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>().Ctx<ffi::State<Plan>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaleExecute, ExecuteScale, ffi::Ffi::Bind().Ctx<ffi::State<Plan>>() F32_TO_F32);
XLA_FFI_DEFINE_HANDLER_SYMBOL(Later, LaterImpl, ffi::Ffi::Bind() F32_TO_F32);
XLA_FFI_DEFINE_HANDLER_SYMBOL(Parallel, ParallelImpl,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Ctx<ffi::ScratchAllocator>().Ctx<ffi::RunId>()
                                  F32_TO_F32);
XLA_FFI_DEFINE_HANDLER_SYMBOL(Throws, ThrowsImpl, ffi::Ffi::Bind() F32_TO_F32);

extern "C" ffi::TypeId* PlanTypeId() { return &Plan::id; }
extern "C" ffi::TypeInfo* PlanTypeInfo() { return &Plan::info; }
extern "C" void Counts(int64_t* counts) {
  counts[0] = plans_alive, counts[1] = instantiated, counts[2] = prepared, counts[3] = initialized;
}
