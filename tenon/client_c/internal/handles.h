#pragma once

/// What the handles of tenon.h are.

#include <memory>
#include <string>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/client/client.h"
#include "tenon/client_c/tenon.h"

struct tenon_status {
  tenon::Status status;
  std::string message;
};
struct tenon_bytes {
  std::string data;
};
struct tenon_plugin {
  tenon::client::Plugin plugin;
  std::string version;
};
struct tenon_client {
  tenon::client::Client client;
};
struct tenon_device {
  tenon::client::Device device;
};
struct tenon_compile_options {
  tenon::client::CompileOptions options;
};
struct tenon_executable {
  tenon::client::LoadedExecutable loaded;
};
struct tenon_buffer {
  tenon::client::Buffer buffer;
};
struct tenon_hold {
  tenon::client::ExternalReference reference;
};
struct tenon_event {
  tenon::client::Event event;
};

namespace tenon::client_c {

/// Null for OK. When there is no memory for a new object, a shared one that tenon_status_free knows.
tenon_status* ToC(Status status) noexcept;

/// Runs what a function of the interface does: statuses and exceptions become a tenon_status.
template <class F>
tenon_status* Guard(const char* function, F&& f) noexcept {
  return ToC(Contain(function, std::forward<F>(f)));
}

/// INVALID_ARGUMENT when one of them is null, by number.
template <class... Pointers>
Status NotNull(const Pointers*... pointers) {
  int index = 0, first = 0;
  ((++index, first = first == 0 && pointers == nullptr ? index : first), ...);
  if (first == 0) return OkStatus();
  return InvalidArgument("pointer " + std::to_string(first) + " of those that must not be NULL is NULL");
}

/// The functions of DLPack that the interface speaks (version 0, which every library reads).
namespace dlpack {
struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  DataType dtype;
  int64_t* dims;
  int64_t* strides;  // in elements; null: dense, row-major
  uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};
inline constexpr int32_t kCpu = 1;

/// UNIMPLEMENTED for types that DLPack lacks.
Result<DataType> FromDType(DType dtype);
Result<DType> ToDType(DataType type);
}  // namespace dlpack

}  // namespace tenon::client_c
