#pragma once

#include <memory>
#include <vector>

#include "tenon/client/execute_options.h"

namespace tenon::client::internal {

/// The C form of an execution's send and receive callbacks. Must live until the execution completes on every device.
class TransferCallbacks {
 public:
  TransferCallbacks(const Api* api, const ExecuteOptions& options);
  /// Points `c` at the callbacks.
  void FillIn(PJRT_ExecuteOptions& c);

 private:
  struct Send {
    const Api* api;
    SendCallback callback;
  };
  struct Recv {
    const Api* api;
    RecvCallback callback;
  };
  static PJRT_Error* OnSend(PJRT_Chunk* chunk, PJRT_CallbackError* error, size_t total, bool done, void* user_arg);
  static void OnRecv(PJRT_CopyToDeviceStream* stream, void* user_arg);

  std::vector<std::unique_ptr<Send>> sends_;
  std::vector<std::unique_ptr<Recv>> recvs_;
  std::vector<std::vector<PJRT_SendCallbackInfo>> send_infos_;  // [device][callback]
  std::vector<std::vector<PJRT_RecvCallbackInfo>> recv_infos_;
  std::vector<PJRT_SendCallbackInfo*> send_lists_;  // [device]
  std::vector<PJRT_RecvCallbackInfo*> recv_lists_;
};

}  // namespace tenon::client::internal
