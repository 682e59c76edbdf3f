#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/xla_ffi.h"
#include "tenon/base/status.h"
#include "tenon/ffi_host/call_site.h"
#include "tenon/plan/plan.h"

// The types that the FFI leaves to its host.
struct XLA_FFI_Error {
  explicit XLA_FFI_Error(tenon::Status s)
      : code_of_host(static_cast<uint64_t>(s.code()) << 2 | 1), status(std::move(s)) {}

  /// What some of jaxlib's handlers, which take errors for their own host's, read and then delete: the code, as
  /// absl::Status spells one without a message.
  uint64_t code_of_host;
  tenon::Status status;
};

struct XLA_FFI_Future {
  std::mutex mutex;
  std::condition_variable done;
  bool ready = false;
  tenon::Status status;
};

namespace tenon::ffi_host {

/// What tasks threw that a handler scheduled; they may outlast the call.
class TaskErrors {
 public:
  void Add(Status error) {
    std::lock_guard lock(mutex_);
    if (first_.ok()) first_ = std::move(error);
  }
  Status first() const {
    std::lock_guard lock(mutex_);
    return first_;
  }

 private:
  mutable std::mutex mutex_;
  Status first_;
};

}  // namespace tenon::ffi_host

struct XLA_FFI_InvokeContext {
  const tenon::ffi_host::Invocation* invocation = nullptr;
  tenon::ffi_host::CallSite* site = nullptr;
  tenon::ffi_host::StageStates* states = nullptr;  ///< Of the execution; null outside of one.
  XLA_FFI_ExecutionStage stage = XLA_FFI_ExecutionStage_EXECUTE;
  std::shared_ptr<tenon::ffi_host::TaskErrors> task_errors;
};

namespace tenon::ffi_host {

/// The functions that this host offers; static.
const XLA_FFI_Api& ApiTable();

/// Takes `error` (null: OK) and returns what it says.
Status TakeError(XLA_FFI_Error* error);

/// XLA's number of an element type.
XLA_FFI_DataType ToFfi(DType type);

/// The C form of a list of attributes, sorted by name. Owns everything; does not move.
class AttributeFrame {
 public:
  explicit AttributeFrame(const std::vector<plan::Attribute>& attributes);
  AttributeFrame(const AttributeFrame&) = delete;
  AttributeFrame& operator=(const AttributeFrame&) = delete;
  XLA_FFI_Attrs c() const;

 private:
  void Add(const plan::Attribute& attribute);

  std::deque<std::string> texts_;
  std::deque<XLA_FFI_ByteSpan> spans_;
  std::deque<XLA_FFI_Scalar> scalars_;
  std::deque<XLA_FFI_Array> arrays_;
  std::deque<AttributeFrame> dictionaries_;
  std::deque<XLA_FFI_Attrs> dictionary_attrs_;
  mutable std::vector<XLA_FFI_AttrType> types_;
  mutable std::vector<XLA_FFI_ByteSpan*> names_;
  mutable std::vector<void*> values_;
};

}  // namespace tenon::ffi_host
