#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/c_call.h"

namespace tenon::fuzz {

/// A shape as a caller would name it, possibly one that no plugin can accept.
struct ShapeChoice {
  int type = PJRT_Buffer_Type_F32;
  std::vector<int64_t> dims;
  /// Bytes of the dense array on the host; 0 for shapes that must be refused.
  size_t size_bytes = 0;
  int width = 0;
};

/// A layout that lives as long as this object; `get` may be NULL.
struct LayoutChoice {
  std::vector<int64_t> numbers;
  size_t tile_rank = 1;
  PJRT_Buffer_MemoryLayout layout;
  bool none = true;
  PJRT_Buffer_MemoryLayout* get() { return none ? nullptr : &layout; }
};

/// Plays calls of the PJRT C interface that an input decodes to. Keeps what was made, so that calls are mostly
/// meaningful: a handle is used until the caller has destroyed it, never afterwards; a caller's memory is exactly as
/// large as the contract wants and is freed as soon as the plugin says that it is done with it. Everything else may be
/// wrong: NULL, sizes, orders, objects of another client.
class Machine {
 public:
  explicit Machine(ByteInput& in) : in_(in) {}
  /// Plays the input to its end, then fulfils all promises, destroys everything in an order that the input chose, and
  /// aborts when something lives on.
  void Run();

 private:
  struct ClientSlot {
    PJRT_Client* client;
    std::vector<PJRT_Device*> devices;
    std::vector<PJRT_Memory*> memories;
  };
  struct BufferSlot {
    PJRT_Buffer* buffer;
    int external_references = 0;
  };
  /// A callback that the plugin handed out, which must be called once.
  struct Future {
    void* data;
    void (*ready)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args*);
    size_t size_bytes;
    PJRT_Event* event;
  };
  struct Dependency {
    void* data;
    void (*ready)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*);
  };
  using Op = void (Machine::*)();
  static constexpr size_t kMaxPool = 24;

  // api_machine.cc: choices.
  PJRT_Client* AnyClient();
  PJRT_Device* AnyDevice();
  PJRT_Memory* AnyMemory();
  PJRT_Buffer* AnyBuffer();
  PJRT_LoadedExecutable* AnyLoaded();
  PJRT_Executable* AnyExecutable();
  ShapeChoice ChooseShape();
  LayoutChoice ChooseLayout(size_t rank);
  std::string ChooseOptions();
  PJRT_Error_Code ChooseCode();
  void Keep(PJRT_Buffer* buffer);
  void Keep(PJRT_Event* event);
  void FreeWhenReady(PJRT_Event* event, void* block);
  void End();
  /// Removes and returns one element.
  template <class T>
  T TakeOne(std::vector<T>& pool) {
    const size_t i = in_.Below(pool.size());
    T taken = pool[i];
    pool[i] = pool.back();
    pool.pop_back();
    return taken;
  }

  // api_buffers.cc
  void CreateClient();
  void DestroyClient();
  void Upload();
  void CreateUninitialized();
  void CreateError();
  void CreateView();
  void CreateAlias();
  void Fulfill();
  void DestroyBuffer();
  void DeleteBuffer();
  void Download();
  void DownloadRaw();
  void DownloadRawFuture();
  void CompleteFuture();
  void CopyToDevice();
  void CopyToMemory();
  void Bitcast();
  void Donate();
  void CompleteDependency();
  void ChangeExternalReferences();
  void DestroyBuffer(BufferSlot slot);
  void Complete(Future future, PJRT_Error_Code code);
  void Complete(Dependency dependency, PJRT_Error_Code code);
  void Fulfill(PJRT_FulfillAliasBufferCallback* promise, PJRT_Buffer* with);
  bool IsReady(PJRT_Buffer* buffer);

  // api_transfers.cc
  void CreateTransfer();
  void Transfer();
  void TransferLiteral();
  void RetrieveTransfer();
  void EndTransfer();
  void DmaMap();
  void UserData();
  void CreateContext();
  void DestroyContext();

  // api_programs.cc
  void Compile();
  void CompileForTopology();
  void CreateTopology();
  void CopyTopology();
  void DestroyTopology();
  void LoadExecutable();
  void CopyExecutable();
  void GetExecutable();
  void DestroyExecutable();
  void DestroyLoaded();
  void DeleteLoaded();
  void Execute();

  // api_inspect.cc
  void InspectBuffer();
  void InspectClient();
  void InspectDevice();
  void InspectMemory();
  void InspectExecutable();
  void InspectLoaded();
  void InspectTopology();
  void InspectLayouts();
  void CreateEvent();
  void SetEvent();
  void SetOwnEvent();
  void QueryEvent();
  void CallBackEvent();
  void DestroyEvent();
  void RunWork();

  ByteInput& in_;
  std::vector<ClientSlot> clients_;
  std::vector<BufferSlot> buffers_;
  std::vector<PJRT_FulfillAliasBufferCallback*> promises_;
  std::vector<Future> futures_;
  std::vector<Dependency> dependencies_;
  std::vector<PJRT_Event*> events_;
  /// Events that the caller made and has not set; not all are in events_ any more: some are destroyed by their own
  /// callback.
  std::vector<PJRT_Event*> unset_;
  std::vector<PJRT_AsyncHostToDeviceTransferManager*> transfers_;
  std::vector<PJRT_ExecuteContext*> contexts_;
  std::vector<PJRT_TopologyDescription*> topologies_;
  std::vector<PJRT_Executable*> executables_;
  std::vector<PJRT_LoadedExecutable*> loaded_;
  std::vector<void*> mapped_;
};

}  // namespace tenon::fuzz
