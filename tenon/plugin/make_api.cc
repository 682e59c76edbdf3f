#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"

namespace tenon::plugin {

namespace bind {

PJRT_Extension_Base* Extensions() {
  static PJRT_Extension_Base* const first = [] {
    PJRT_Extension_Base* chain = CustomPartitionerExtension(ThePlugin().Extensions());
    chain = CallbackExtension(ExecutableMetadataExtension(CrossHostTransfersExtension(chain)));
    chain = AbiVersionExtension(PhaseCompileExtension(HostAllocatorExtensions(RawBufferExtension(chain))));
    chain = ProfilerExtension(SignatureExtension(chain));
    return LayoutsExtension(FfiExtension(ShardingsExtension(MemoryDescriptionsExtension(chain))));
  }();
  return first;
}

}  // namespace bind

namespace {

// The minor version to declare: the header's, or a lower one that TENON_PJRT_MINOR asks for.
int DeclaredMinor() {
  const char* text = std::getenv("TENON_PJRT_MINOR");
  if (text == nullptr) return PJRT_API_MINOR;
  std::string_view view(text);
  int minor = 0;
  auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), minor);
  bool valid = error == std::errc() && end == view.data() + view.size() && minor >= 1 && minor <= PJRT_API_MINOR;
  return valid ? minor : PJRT_API_MINOR;
}

// The size of the table as of a minor version.
size_t TableSize(int minor) {
  size_t entries = 0;
#define PJRT_FN(function, args, since, owner) entries += since <= minor ? 1 : 0;
#include "tenon/abi/api.def"
#undef PJRT_FN
  return offsetof(PJRT_Api, PJRT_Error_Destroy) + entries * sizeof(void*);
}

PJRT_Api MakeTable() {
  int minor = DeclaredMinor();
  PJRT_Api api{};
  api.struct_size = TableSize(minor);
  api.extension_start = bind::Extensions();
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = minor;
#define PJRT_FN(function, args, since, owner) api.function = bind::Bind_##function;
#include "tenon/abi/api.def"
#undef PJRT_FN
  return api;
}

}  // namespace

const PJRT_Api* MakeApi(Plugin& plugin) {
  bind::SetThePlugin(plugin);
  static const PJRT_Api api = MakeTable();
  return &api;
}

}  // namespace tenon::plugin
