#include "tenon/base/code_file.h"

#include <dlfcn.h>
#ifdef __linux__
#include <link.h>
#endif

#include <filesystem>
#include <system_error>

namespace tenon {

std::string FileOfCode(const void* address) {
  Dl_info info{};
#ifdef __linux__
  // A program goes by what its starter called it, which is no path when PATH found it.
  void* map = nullptr;
  if (::dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  const char* const name = static_cast<const link_map*>(map)->l_name;
  const char* const file = name == nullptr || *name == '\0' ? "/proc/self/exe" : info.dli_fname;
#else
  if (::dladdr(address, &info) == 0) return {};
  const char* const file = info.dli_fname;
#endif
  if (file == nullptr) return {};
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  return error ? std::string(file) : real.string();
}

std::string FolderOfCode(const void* address) {
  return std::filesystem::path(FileOfCode(address)).parent_path().string();
}

std::string FileBeside(const void* address, std::string_view name) {
  const std::string folder = FolderOfCode(address);
  return folder.empty() ? std::string() : folder + "/" + std::string(name);
}

}  // namespace tenon
