#pragma once

#include <string>

#include "tenon/vulkan/instance.h"

namespace tenon::vulkan {

/// The file of a device's compiled kernels, by device and driver, in the folder that TENON_VULKAN_CACHE_DIR names;
/// empty without it. (Many drivers keep such files of their own.)
std::string PipelineCacheFile(const PhysicalDevice& device);

/// What WritePipelineCache left there; empty when there is nothing, or it is damaged: drivers trust these bytes.
std::string ReadPipelineCache(const std::string& file);
/// At once or not at all; logs a warning when it cannot.
void WritePipelineCache(const std::string& file, const std::string& bytes);

}  // namespace tenon::vulkan
