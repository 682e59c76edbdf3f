#pragma once

#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenon {

/// Error codes; the numbers equal PJRT_Error_Code (and absl::StatusCode).
enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// "INVALID_ARGUMENT" and so on; "UNKNOWN_CODE" for a number outside the list.
std::string_view CodeName(Code code);

/// The result of an operation that yields no value. One pointer wide; OK is the null pointer. Copies share the error.
/// An error holds a code, a message that names what was got and what was wanted, and the place that made it.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::source_location where = std::source_location::current());

  bool ok() const { return rep_ == nullptr; }
  Code code() const;
  /// Empty for OK. Lives as long as any copy of this Status.
  std::string_view message() const;
  /// File and line that made the error; empty file name for OK.
  std::source_location where() const;

  /// A copy whose message begins with `context` and a colon, with the same payloads. OK stays OK.
  Status WithContext(std::string_view context) const;

  /// What hangs on an error for programs to read: bytes under a key, which says what they are.
  struct Payload {
    std::string key;
    std::string value;
    friend bool operator==(const Payload&, const Payload&) = default;
  };
  /// In the order in which they were added; no key twice. Lives as long as any copy of this Status.
  std::span<const Payload> payloads() const;
  /// A copy with one more, in place of what the key had. OK stays OK.
  Status WithPayload(std::string key, std::string value) const;
  /// "INVALID_ARGUMENT: message", or "OK".
  std::string ToString() const;

 private:
  struct Rep;
  explicit Status(Rep rep);
  std::shared_ptr<const Rep> rep_;
};

inline Status OkStatus() { return Status(); }

// One function per code. `message` says what was wrong, what was got and what was wanted.
#define TENON_STATUS_FUNCTION(Name)                                                                       \
  inline Status Name(std::string message, std::source_location where = std::source_location::current()) { \
    return Status(Code::k##Name, std::move(message), where);                                              \
  }
TENON_STATUS_FUNCTION(Cancelled)
TENON_STATUS_FUNCTION(Unknown)
TENON_STATUS_FUNCTION(InvalidArgument)
TENON_STATUS_FUNCTION(DeadlineExceeded)
TENON_STATUS_FUNCTION(NotFound)
TENON_STATUS_FUNCTION(AlreadyExists)
TENON_STATUS_FUNCTION(PermissionDenied)
TENON_STATUS_FUNCTION(ResourceExhausted)
TENON_STATUS_FUNCTION(FailedPrecondition)
TENON_STATUS_FUNCTION(Aborted)
TENON_STATUS_FUNCTION(OutOfRange)
TENON_STATUS_FUNCTION(Unimplemented)
TENON_STATUS_FUNCTION(Internal)
TENON_STATUS_FUNCTION(Unavailable)
TENON_STATUS_FUNCTION(DataLoss)
TENON_STATUS_FUNCTION(Unauthenticated)
#undef TENON_STATUS_FUNCTION

/// A T or a non-OK Status.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;` must work.
  /// An OK status carries no T; it becomes INTERNAL.
  Result(Status status)  // NOLINT(google-explicit-constructor): `return InvalidArgument(...)` must work.
      : status_(status.ok() ? Internal("a Result was made from an OK status") : std::move(status)) {}
  template <class U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::decay_t<U>, T> &&
             !std::is_same_v<std::decay_t<U>, Status> && !std::is_same_v<std::decay_t<U>, Result<T>>)
  Result(U&& value) : value_(std::forward<U>(value)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // Require ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

namespace internal {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
inline Status ToStatus(Status s) { return s; }
template <class T>
Status ToStatus(Result<T>&& r) {
  return std::move(r).status();
}
}  // namespace internal

}  // namespace tenon

#define TENON_CONCAT_INNER_(a, b) a##b
#define TENON_CONCAT_(a, b) TENON_CONCAT_INNER_(a, b)

/// Returns from the enclosing function when `expr` (a Status) is not OK.
#define TENON_RETURN_IF_ERROR(expr)                                                        \
  do {                                                                                     \
    if (::tenon::Status tenon_status_ = (expr); !tenon_status_.ok()) return tenon_status_; \
  } while (false)

/// TENON_ASSIGN_OR_RETURN(Shape shape, ParseShape(text));
#define TENON_ASSIGN_OR_RETURN(lhs, expr) TENON_ASSIGN_OR_RETURN_(TENON_CONCAT_(tenon_result_, __LINE__), lhs, expr)
#define TENON_ASSIGN_OR_RETURN_(result, lhs, expr)     \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  lhs = std::move(result).value()

/// Throws std::logic_error when one of our own invariants is broken, which the nearest Contain turns into INTERNAL: a
/// mistake of ours costs a call, not the process. Never for anything that a caller can cause.
#define TENON_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::tenon::internal::CheckFailed(#condition, __FILE__, __LINE__))
#ifdef NDEBUG
#define TENON_DCHECK(condition) void(0)
#else
#define TENON_DCHECK(condition) TENON_CHECK(condition)
#endif
