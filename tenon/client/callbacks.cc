#include "tenon/client/internal/callbacks.h"

#include "tenon/base/contain.h"
#include "tenon/client/stream.h"

namespace tenon::client::internal {

TransferCallbacks::TransferCallbacks(const Api* api, const ExecuteOptions& options) {
  for (const auto& list : options.send) {
    auto& infos = send_infos_.emplace_back();
    for (const SendCallback& callback : list) {
      sends_.push_back(std::make_unique<Send>(Send{api, callback}));
      infos.push_back({callback.channel_id, sends_.back().get(), OnSend});
    }
  }
  for (const auto& list : options.recv) {
    auto& infos = recv_infos_.emplace_back();
    for (const RecvCallback& callback : list) {
      recvs_.push_back(std::make_unique<Recv>(Recv{api, callback}));
      infos.push_back({callback.channel_id, recvs_.back().get(), OnRecv});
    }
  }
  for (auto& infos : send_infos_) send_lists_.push_back(infos.data());
  for (auto& infos : recv_infos_) recv_lists_.push_back(infos.data());
}

void TransferCallbacks::FillIn(PJRT_ExecuteOptions& c) {
  c.send_callbacks = send_lists_.data();
  c.recv_callbacks = recv_lists_.data();
  c.num_send_ops = send_infos_.empty() ? 0 : send_infos_.front().size();
  c.num_recv_ops = recv_infos_.empty() ? 0 : recv_infos_.front().size();
}

PJRT_Error* TransferCallbacks::OnSend(PJRT_Chunk* chunk, PJRT_CallbackError* error, size_t total, bool done,
                                      void* user_arg) {
  const auto* send = static_cast<const Send*>(user_arg);
  const std::span<const std::byte> data(static_cast<const std::byte*>(chunk->data), chunk->size);
  // Nothing may be thrown through the plugin's code.
  const Status status = Contain("a send callback", [&] { return send->callback.receive(data, total, done); });
  if (chunk->deleter != nullptr) chunk->deleter(chunk->data, chunk->deleter_arg);
  if (status.ok()) return nullptr;
  return (*error)(static_cast<PJRT_Error_Code>(status.code()), status.message().data(), status.message().size());
}

void TransferCallbacks::OnRecv(PJRT_CopyToDeviceStream* stream, void* user_arg) {
  const auto* recv = static_cast<const Recv*>(user_arg);
  // The stream goes with whatever is thrown.
  (void)Contain("a receive callback", [&] { recv->callback.supply(CopyToDeviceStream(recv->api, stream)); });
}

}  // namespace tenon::client::internal
