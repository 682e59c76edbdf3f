#include "tenon/base/contain.h"

#include <exception>
#include <new>
#include <string>

namespace tenon {
namespace {

// Leaked: threads that outlive static destruction may still run out of memory.
const Status* const kOutOfMemory = new Status(ResourceExhausted("out of host memory"));

}  // namespace

const Status& OutOfMemory() noexcept { return *kOutOfMemory; }

Status CurrentException(std::string_view where) noexcept {
  try {
    const std::string prefix = std::string(where) + ": ";
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return OutOfMemory();
    } catch (const std::exception& e) {
      return Internal(prefix + e.what());
    } catch (...) {
      return Internal(prefix + "an exception that is no std::exception");
    }
  } catch (...) {
    return OutOfMemory();  // Not even for the text of what was thrown.
  }
}

}  // namespace tenon
