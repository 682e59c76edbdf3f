#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tenon/client/buffer.h"
#include "tenon/client/event.h"
#include "tenon/client/named_value.h"

namespace tenon::client {

/// Fills buffers piece by piece (0.60). Moves only. Indices are checked. Different indices may be filled from different
/// threads. Every index should be ended by its last transfer or an error before the manager is destroyed; retrieved
/// buffers live on.
class TransferManager {
 public:
  TransferManager(std::shared_ptr<internal::ClientState> client, PJRT_AsyncHostToDeviceTransferManager* manager,
                  size_t count);
  TransferManager(TransferManager&& other) noexcept
      : client_(std::move(other.client_)), manager_(std::exchange(other.manager_, nullptr)), count_(other.count_) {}
  TransferManager& operator=(TransferManager&&) = delete;
  ~TransferManager();

  Result<size_t> BufferCount() const;
  /// Bytes on the device.
  Result<size_t> BufferSize(size_t index) const;
  Result<Device> GetDevice() const;
  /// At most once per index, before or after its transfers.
  Result<Buffer> RetrieveBuffer(size_t index);
  /// Bytes as they lie on the device; `data` must live until the event fires.
  Result<Event> TransferData(size_t index, std::span<const std::byte> data, size_t offset, bool is_last);
  /// A whole array (0.83); ends the index.
  Result<Event> TransferLiteral(size_t index, const HostArray& array, const Layout* layout = nullptr);
  /// Ends the index with an error.
  Status SetBufferError(size_t index, const Status& error);
  /// Texts for debugging.
  Status AddMetadata(std::span<const NamedValue> texts);

 private:
  Status Check(size_t index) const;
  std::shared_ptr<internal::ClientState> client_;
  PJRT_AsyncHostToDeviceTransferManager* manager_;
  size_t count_;
};

}  // namespace tenon::client
