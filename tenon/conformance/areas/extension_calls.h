#pragma once

#include <cstring>
#include <string>

#include "tenon/conformance/env.h"

namespace tenon::conformance {

/// The extension of this type; ends the test as unsupported when the plugin has none, as failed when their chain has no
/// end.
template <class Extension>
const Extension& Find(Env& env, PJRT_Extension_Type type, const char* name) {
  size_t count = 0;
  for (const PJRT_Extension_Base* e = env.api()->extension_start; e != nullptr; e = e->next) {
    env.Expect(++count < 1000, "the chain of extensions has no end");
    // As bytes: others may be of types that the enum does not have.
    if (std::memcmp(&e->type, &type, sizeof(type)) == 0) return *reinterpret_cast<const Extension*>(e);
  }
  env.Unsupported(std::string("the plugin has no ") + name + " extension");
}

/// A slot that the extension's struct_size reaches and that is filled.
template <class Extension, class Slot>
Slot Get(Env& env, const Extension& extension, Slot Extension::* slot, const char* name) {
  size_t offset = reinterpret_cast<const char*>(&(extension.*slot)) - reinterpret_cast<const char*>(&extension);
  if (extension.base.struct_size < offset + sizeof(void*) || extension.*slot == nullptr)
    env.Unsupported(std::string(name) + " is not there");
  return extension.*slot;
}

/// Zeroed arguments of an extension's function.
template <class Args>
Args NewArgs(size_t size) {
  Args args;
  std::memset(static_cast<void*>(&args), 0, sizeof(args));
  args.struct_size = size;
  return args;
}

/// Ends the test unless the call went well; as unsupported when it is not implemented.
inline void Check(Env& env, PJRT_Error* error, const char* name) {
  Status status = env.Take(error);
  if (status.code() == Code::kUnimplemented) env.Unsupported(std::string(name) + ": " + status.ToString());
  env.Expect(status.ok(), std::string(name) + " failed: " + status.ToString());
}

}  // namespace tenon::conformance
