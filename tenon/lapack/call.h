#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "tenon/abi/xla_ffi.h"
#include "tenon/base/status.h"

namespace tenon::lapack {

/// A handler under its name.
struct Entry {
  std::string_view name;
  XLA_FFI_Handler* handler;
};

// The families, one per source file.
std::span<const Entry> QrEntries();
std::span<const Entry> TriangularEntries();
std::span<const Entry> TridiagonalEntries();
std::span<const Entry> SymmetricEntries();
std::span<const Entry> SchurEntries();
std::span<const Entry> SvdEntries();

template <class T>
inline constexpr XLA_FFI_DataType kDataType = XLA_FFI_DataType_INVALID;
template <>
inline constexpr XLA_FFI_DataType kDataType<bool> = XLA_FFI_DataType_PRED;
template <>
inline constexpr XLA_FFI_DataType kDataType<uint8_t> = XLA_FFI_DataType_U8;
template <>
inline constexpr XLA_FFI_DataType kDataType<int32_t> = XLA_FFI_DataType_S32;
template <>
inline constexpr XLA_FFI_DataType kDataType<float> = XLA_FFI_DataType_F32;
template <>
inline constexpr XLA_FFI_DataType kDataType<double> = XLA_FFI_DataType_F64;
template <>
inline constexpr XLA_FFI_DataType kDataType<std::complex<float>> = XLA_FFI_DataType_C64;
template <>
inline constexpr XLA_FFI_DataType kDataType<std::complex<double>> = XLA_FFI_DataType_C128;

/// Extents of a matrix.
struct Extents {
  int64_t rows = 0, cols = 0;
};

/// Equally large matrices one behind the other, each column-major.
template <class T>
struct Stack {
  T* data = nullptr;
  int64_t rows = 0, cols = 0;

  T* at(int64_t i) const { return data + i * rows * cols; }
};

/// Operands, results and attributes of one call, checked as they are asked for: the first that is not as wanted is the
/// error that ForEach returns. All arrays have the leading extents, the batch, of the one that Matrices names.
class Call {
 public:
  explicit Call(const XLA_FFI_CallFrame& frame) : frame_(frame) {}

  /// Asks for so many operands and results, and takes the batch from operand `of`. Returns the extents of its matrices.
  Extents Matrices(int64_t operands, int64_t results, int64_t of = 0);
  /// The last extent of operand i; 0 when there is none.
  int64_t InnerExtent(int64_t i) const;
  /// The element type of operand i; INVALID when there is none.
  XLA_FFI_DataType data_type(int64_t i) const;

  template <class T>
  Stack<const T> MatrixIn(int64_t i, int64_t rows, int64_t cols) {
    return {static_cast<const T*>(Array(false, i, kDataType<T>, std::array{rows, cols})), rows, cols};
  }
  template <class T>
  Stack<const T> VectorIn(int64_t i, int64_t size) {
    return {static_cast<const T*>(Array(false, i, kDataType<T>, std::array{size})), size, 1};
  }
  template <class T>
  Stack<T> MatrixOut(int64_t i, int64_t rows, int64_t cols) {
    return {static_cast<T*>(Array(true, i, kDataType<T>, std::array{rows, cols})), rows, cols};
  }
  template <class T>
  Stack<T> VectorOut(int64_t i, int64_t size) {
    return {static_cast<T*>(Array(true, i, kDataType<T>, std::array{size})), size, 1};
  }
  /// A number per matrix of the batch.
  int32_t* InfoOut(int64_t i) { return static_cast<int32_t*>(Array(true, i, XLA_FFI_DataType_S32, {})); }

  /// An attribute that is a letter, which must be among `known`.
  char Letter(std::string_view name, std::string_view known);
  template <class T>
  T Scalar(std::string_view name) {
    const void* value = Attribute(name, kDataType<T>);
    return value == nullptr ? T() : *static_cast<const T*>(value);
  }

  /// Refuses the call for a reason of the routine's own.
  void Refuse(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  /// Calls f(i) for each matrix of the batch, unless the call was not as wanted.
  template <class F>
  Status ForEach(F&& f) {
    TENON_RETURN_IF_ERROR(status_);
    for (int64_t i = 0; i < batch_; ++i) f(i);
    return OkStatus();
  }

 private:
  const XLA_FFI_Buffer* Buffer(bool result, int64_t i) const;
  void* Array(bool result, int64_t i, XLA_FFI_DataType dtype, std::span<const int64_t> inner);
  const void* Attribute(std::string_view name, XLA_FFI_DataType dtype);

  const XLA_FFI_CallFrame& frame_;
  std::span<const int64_t> batch_dims_;
  int64_t batch_ = 1;
  Status status_;
};

/// What every handler does: says what it is when asked, and calls `routine` otherwise. What that throws is an error.
XLA_FFI_Error* Handle(XLA_FFI_CallFrame* frame, Status (*routine)(Call&));

template <Status (*kRoutine)(Call&)>
XLA_FFI_Error* Handler(XLA_FFI_CallFrame* frame) {
  return Handle(frame, kRoutine);
}

// Rows of a table of entries: a routine for both real types, or both complex ones.
#define TENON_LAPACK_REAL(name, Routine) \
  {"lapack_s" name "_ffi", &Handler<&Routine<float>>}, { "lapack_d" name "_ffi", &Handler<&Routine<double>> }
#define TENON_LAPACK_COMPLEX(name, Routine)                            \
  {"lapack_c" name "_ffi", &Handler<&Routine<std::complex<float>>>}, { \
    "lapack_z" name "_ffi", &Handler<&Routine<std::complex<double>>>   \
  }

}  // namespace tenon::lapack
