#include "tenon/vulkan/pipeline_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "tenon/base/bytes.h"
#include "tenon/base/log.h"

namespace tenon::vulkan {
namespace {

constexpr std::string_view kMagic = "TENONVC1";

/// FNV-1a: finds what a disk or a full file system did to the bytes.
uint64_t Sum(std::string_view bytes) {
  uint64_t sum = 0xcbf29ce484222325;
  for (const char c : bytes) sum = (sum ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return sum;
}

}  // namespace

std::string PipelineCacheFile(const PhysicalDevice& device) {
  const char* folder = std::getenv("TENON_VULKAN_CACHE_DIR");
  if (folder == nullptr || *folder == '\0') return "";
  std::string name;
  for (const auto* uuid : {&device.device_uuid, &device.driver_uuid}) {
    name += name.empty() ? "" : "-";
    for (const uint8_t byte : *uuid) name += fmt::format("{:02x}", byte);
  }
  return (std::filesystem::path(folder) / (name + ".pipelines")).string();
}

std::string ReadPipelineCache(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (file.empty() || !in) return "";
  const std::string all(std::istreambuf_iterator<char>(in), {});
  ByteReader reader(all);
  const std::string_view magic = reader.GetText();
  const auto sum = reader.Get<uint64_t>();
  const std::string_view bytes = reader.GetText();
  if (!reader.status().ok() || !reader.at_end() || magic != kMagic || sum != Sum(bytes)) {
    Log(LogLevel::kWarning, fmt::format("{} is damaged and not used: kernels are compiled anew", file));
    return "";
  }
  return std::string(bytes);
}

void WritePipelineCache(const std::string& file, const std::string& bytes) {
  ByteWriter writer;
  writer.PutText(kMagic);
  writer.Put(Sum(bytes));
  writer.PutText(bytes);
  const std::string all = std::move(writer).Take();
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  // Other processes, and other devices of this one, may write theirs meanwhile.
  static std::atomic<int> next{0};
  const std::string part = fmt::format("{}.{}.{}", file, getpid(), next.fetch_add(1));
  std::ofstream out(part, std::ios::binary);
  out.write(all.data(), static_cast<std::streamsize>(all.size()));
  out.close();
  if (out) std::filesystem::rename(part, file, error);
  if (out && !error) return;
  std::filesystem::remove(part, error);
  Log(LogLevel::kWarning, fmt::format("compiled kernels could not be kept in {}", file));
}

}  // namespace tenon::vulkan
