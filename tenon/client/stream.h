#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tenon/client/event.h"

namespace tenon::client {

/// The way of data into a running program (RecvCallback). Moves only; one that was moved from answers
/// FAILED_PRECONDITION. Destroying it ends the stream.
class CopyToDeviceStream {
 public:
  CopyToDeviceStream(const Api* api, PJRT_CopyToDeviceStream* stream);
  CopyToDeviceStream(CopyToDeviceStream&& other) noexcept
      : api_(other.api_), stream_(std::exchange(other.stream_, nullptr)) {}
  CopyToDeviceStream& operator=(CopyToDeviceStream&&) = delete;
  ~CopyToDeviceStream();

  /// Appends a copy of `data`.
  Result<Event> AddChunk(std::span<const std::byte> data);
  /// Appends `data` itself; `release` is called once when the plugin is done with it, also on failure.
  Result<Event> AddChunk(std::span<const std::byte> data, std::function<void()> release);
  /// Bytes that the stream expects, that each chunk must be a multiple of, and that arrived.
  Result<int64_t> TotalBytes() const;
  Result<int64_t> GranuleSize() const;
  Result<int64_t> CurrentBytes() const;

 private:
  Status Check() const;
  const Api* api_;
  PJRT_CopyToDeviceStream* stream_;
};

}  // namespace tenon::client
