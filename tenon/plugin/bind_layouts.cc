#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/executable_arrays.h"
#include "tenon/plugin/transfers.h"

namespace tenon::plugin::bind {

namespace {

LayoutHandle* FromC(PJRT_Layouts_MemoryLayout* layout) { return reinterpret_cast<LayoutHandle*>(layout); }
PJRT_Layouts_MemoryLayout* NewLayout(const ArraySpec& spec) {
  return reinterpret_cast<PJRT_Layouts_MemoryLayout*>(new LayoutHandle{LayoutText(spec)});
}
PJRT_Layouts_MemoryLayout** ToC(const std::vector<LayoutHandle*>& layouts) {
  return reinterpret_cast<PJRT_Layouts_MemoryLayout**>(const_cast<LayoutHandle**>(layouts.data()));
}

}  // namespace

TENON_BIND_EXTENSION(PJRT_Layouts_MemoryLayout_Destroy) {
  delete FromC(args.layout);
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Layouts_MemoryLayout_Serialize) {
  TENON_REQUIRE(layout);
  args.serialized_layout = NewHolder<PJRT_Layouts_SerializedLayout>(FromC(args.layout)->text, &args.serialized_bytes,
                                                                    &args.serialized_bytes_size);
  args.serialized_layout_deleter = DeleteHolder<PJRT_Layouts_SerializedLayout>;
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Layouts_PJRT_Buffer_MemoryLayout) {
  TENON_REQUIRE(buffer);
  args.layout = NewLayout(bind::FromC(args.buffer)->spec());
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Layouts_PJRT_Client_GetDefaultLayout) {
  TENON_REQUIRE(client);
  TENON_ASSIGN_OR_RETURN(Shape shape, MakeShape(CallerValue(args.type), args.dims, args.num_dims));
  args.layout = NewLayout(ArraySpec{.shape = std::move(shape)});
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Layouts_PJRT_Topology_GetDefaultLayout) {
  TENON_REQUIRE(topology_description);
  TENON_ASSIGN_OR_RETURN(Shape shape, MakeShape(CallerValue(args.type), args.dims, args.num_dims));
  args.layout = NewLayout(ArraySpec{.shape = std::move(shape)});
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Layouts_PJRT_Executable_GetOutputLayouts) {
  TENON_REQUIRE(executable);
  const Executable::CArrays& arrays = bind::FromC(args.executable)->c_arrays();
  args.num_outputs = arrays.output_layout_pointers.size();
  args.layouts = ToC(arrays.output_layout_pointers);
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Layouts_PJRT_Executable_GetParameterLayouts) {
  TENON_REQUIRE(executable);
  const Executable::CArrays& arrays = bind::FromC(args.executable)->c_arrays();
  args.num_parameters = arrays.parameter_layout_pointers.size();
  args.layouts = ToC(arrays.parameter_layout_pointers);
  return OkStatus();
}

PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next) {
  static PJRT_Layouts_Extension extension = {
      .base = {.struct_size = PJRT_Layouts_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_Layouts, .next = next},
      .PJRT_Layouts_MemoryLayout_Destroy = Bind_PJRT_Layouts_MemoryLayout_Destroy,
      .PJRT_Layouts_MemoryLayout_Serialize = Bind_PJRT_Layouts_MemoryLayout_Serialize,
      .PJRT_Layouts_PJRT_Client_GetDefaultLayout = Bind_PJRT_Layouts_PJRT_Client_GetDefaultLayout,
      .PJRT_Layouts_PJRT_Buffer_MemoryLayout = Bind_PJRT_Layouts_PJRT_Buffer_MemoryLayout,
      .PJRT_Layouts_PJRT_Topology_GetDefaultLayout = Bind_PJRT_Layouts_PJRT_Topology_GetDefaultLayout,
      .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = Bind_PJRT_Layouts_PJRT_Executable_GetOutputLayouts,
      .PJRT_Layouts_PJRT_Executable_GetParameterLayouts = Bind_PJRT_Layouts_PJRT_Executable_GetParameterLayouts,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
