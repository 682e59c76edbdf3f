#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "fuzz/backend.h"
#include "fuzz/byte_input.h"

namespace tenon::fuzz {

enum class Outcome { kOk, kError, kTooSmall };

/// Checks what every error must be (code, text), destroys it. True when there was one.
bool TakeError(PJRT_Error* error, std::string_view function);

/// A struct_size that some caller since 0.54 sends for a struct, sometimes one of a later caller than this header.
/// `oldest` receives the smallest. `current` where the struct is not in the list.
size_t CallerSize(std::string_view struct_name, size_t current, ByteInput& in, size_t* oldest);

/// Calls a function of the table with args of some caller's size (`in` decides), in memory of exactly that size, so
/// that AddressSanitizer sees who touches a field that the caller does not have. Rarely with a struct that is too
/// small, which must be refused. Outputs are copied back.
template <class Args>
Outcome CallSized(std::string_view function, std::string_view struct_name, PJRT_Error* (*fn)(Args*), Args& args,
                  ByteInput& in) {
  size_t oldest = 0;
  size_t size = CallerSize(struct_name, args.struct_size, in, &oldest);
  const bool too_small = in.OneIn(64);
  if (too_small) size = in.Below(oldest);
  // One struct is larger than the size that old callers give for it.
  size_t allocated = std::max(size, sizeof(size_t));
  if (struct_name == "PJRT_Plugin_Attributes_Args" && !too_small) allocated = std::max(allocated, sizeof(Args));
  std::unique_ptr<void, decltype(&std::free)> memory(std::malloc(allocated), &std::free);
  std::memset(memory.get(), 0x5a, allocated);
  auto* exact = static_cast<Args*>(memory.get());
  const size_t shared = std::min(allocated, sizeof(Args));
  std::memcpy(memory.get(), &args, shared);
  std::memcpy(memory.get(), &size, sizeof(size));
  const bool failed = TakeError(fn(exact), function);
  std::memcpy(&args, memory.get(), shared);
  if (too_small && !failed) {
    std::fprintf(stderr, "%.*s accepts a struct of %zu bytes, its oldest has %zu\n", static_cast<int>(function.size()),
                 function.data(), size, oldest);
    std::abort();
  }
  if (too_small) return Outcome::kTooSmall;
  return failed ? Outcome::kError : Outcome::kOk;
}

/// Args of a function, zeroed, with the size of this header.
template <class Args>
Args ZeroArgs(size_t struct_size) {
  Args args;
  std::memset(&args, 0, sizeof(args));
  args.struct_size = struct_size;
  return args;
}

#define FUZZ_ARGS(function, name) auto name = ::tenon::fuzz::ZeroArgs<function##_Args>(function##_Args_STRUCT_SIZE)
/// Outcome of a function of the table, called as some caller would.
#define FUZZ_CALL(function, args, in) \
  ::tenon::fuzz::CallSized(#function, #function "_Args", ::tenon::fuzz::Api()->function, args, in)
/// As this header's own caller would; true when there was no error.
#define FUZZ_PLAIN(function, args) (!::tenon::fuzz::TakeError(::tenon::fuzz::Api()->function(&(args)), #function))

}  // namespace tenon::fuzz
