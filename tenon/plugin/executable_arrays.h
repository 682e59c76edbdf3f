#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/abi/pjrt_base.h"
#include "tenon/abi/tenon_signature.h"
#include "tenon/plugin/executable.h"

namespace tenon::plugin {

/// A PJRT_Layouts_MemoryLayout.
struct LayoutHandle {
  std::string text;
};

/// The minor-to-major list of a layout: "{1,0}".
std::string LayoutText(const ArraySpec& spec);

/// What the C interface says of an executable, as arrays that live as long as it.
struct Executable::CArrays {
  explicit CArrays(const ExecutableInfo& info);

  struct Texts {
    std::vector<const char*> data;
    std::vector<size_t> sizes;
  };
  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dims;
  std::vector<size_t> output_ranks;
  Texts output_memory_kinds, parameter_memory_kinds;
  Texts output_shardings, parameter_shardings;
  std::vector<std::unique_ptr<LayoutHandle>> output_layouts, parameter_layouts;
  std::vector<LayoutHandle*> output_layout_pointers, parameter_layout_pointers;
  std::vector<Tenon_Parameter> parameters;
  NamedValueArray cost;
};

}  // namespace tenon::plugin
