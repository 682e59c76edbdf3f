#include "tenon/host/saved_program.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace tenon::host {
namespace {

void PutTexts(ByteWriter& out, const std::vector<std::string>& texts) {
  out.Put<uint64_t>(texts.size());
  for (const std::string& t : texts) out.PutText(t);
}

void PutDims(ByteWriter& out, const Dims& dims) {
  out.Put<uint64_t>(dims.size());
  for (const int64_t d : dims) out.Put(d);
}

Dims GetDims(ByteReader& in) {
  Dims dims(in.GetCount(8));
  for (int64_t& d : dims) d = in.Get<int64_t>();
  return dims;
}

void PutLayouts(ByteWriter& out, const std::vector<Dims>& layouts) {
  out.Put<uint64_t>(layouts.size());
  for (const Dims& order : layouts) PutDims(out, order);
}

std::vector<Dims> GetLayouts(ByteReader& in) {
  std::vector<Dims> layouts(in.GetCount(8));
  for (Dims& order : layouts) order = GetDims(in);
  return layouts;
}

/// Whether the layouts are those that the plan's strides follow from.
Status CheckLayouts(const compiler::CompiledProgram& about) {
  const auto check = [&](const std::vector<Dims>& layouts, const auto& ports, std::string_view what) -> Status {
    if (layouts.size() != ports.size())
      return InvalidArgument(fmt::format("{} layouts for {} {}s", layouts.size(), ports.size(), what));
    for (size_t i = 0; i < ports.size(); ++i) {
      const Dims& dims = ports[i].shape.dims;
      if (!plan::IsOrderOf(layouts[i], dims.size()) ||
          plan::StridesOfLayout(dims, layouts[i]) != ports[i].stride_elems) {
        return InvalidArgument(fmt::format("the layout of {} {} does not fit {}", what, i, ToString(ports[i].shape)));
      }
    }
    return OkStatus();
  };
  TENON_RETURN_IF_ERROR(check(about.parameter_layouts, about.plan.inputs, "parameter"));
  return check(about.result_layouts, about.plan.outputs, "result");
}

void PutTilings(ByteWriter& out, const std::vector<compiler::Tiling>& tilings) {
  out.Put<uint64_t>(tilings.size());
  for (const compiler::Tiling& t : tilings) {
    PutDims(out, t.tiles);
    out.Put<uint64_t>(t.stacked ? 1 : 0);
    out.Put<uint64_t>(t.tile_of_device.size());
    for (const Dims& position : t.tile_of_device) PutDims(out, position);
  }
}

std::vector<compiler::Tiling> GetTilings(ByteReader& in) {
  std::vector<compiler::Tiling> tilings(in.GetCount(16));
  for (compiler::Tiling& t : tilings) {
    t.tiles = GetDims(in);
    t.stacked = in.Get<uint64_t>() != 0;
    t.tile_of_device.resize(in.GetCount(8));
    for (Dims& position : t.tile_of_device) position = GetDims(in);
  }
  return tilings;
}

/// Whether the parts lie in the whole arrays, for every device alike.
Status CheckTilings(const compiler::CompiledProgram& about) {
  if (about.parameter_tilings.empty() && about.result_tilings.empty()) return OkStatus();
  size_t devices = 0;
  const auto check = [&](const std::vector<compiler::Tiling>& tilings, const auto& ports,
                         std::string_view what) -> Status {
    if (tilings.size() != ports.size())
      return InvalidArgument(fmt::format("{} tilings for {} {}s", tilings.size(), ports.size(), what));
    for (size_t i = 0; i < ports.size(); ++i) {
      const compiler::Tiling& t = tilings[i];
      const Shape& shape = ports[i].shape;
      if (devices == 0) devices = t.tile_of_device.size();
      bool ok = t.tiles.size() == shape.rank() && (!t.stacked || shape.rank() > 0) &&
                t.tile_of_device.size() == devices && devices > 0;
      for (size_t d = 0; ok && d < shape.rank(); ++d) ok = t.tiles[d] > 0 && shape.dims[d] % t.tiles[d] == 0;
      for (size_t k = 0; ok && k < devices; ++k) {
        ok = t.tile_of_device[k].size() == shape.rank();
        for (size_t d = 0; ok && d < shape.rank(); ++d)
          ok = t.tile_of_device[k][d] >= 0 && t.tile_of_device[k][d] < t.tiles[d];
      }
      if (!ok) return InvalidArgument(fmt::format("the tiling of {} {} does not fit {}", what, i, ToString(shape)));
    }
    return OkStatus();
  };
  TENON_RETURN_IF_ERROR(check(about.parameter_tilings, about.plan.inputs, "parameter"));
  return check(about.result_tilings, about.plan.outputs, "result");
}

std::vector<std::string> GetTexts(ByteReader& in) {
  std::vector<std::string> texts(in.GetCount(8));
  for (std::string& t : texts) t = in.GetText();
  return texts;
}

}  // namespace

void PutProgram(ByteWriter& out, const compiler::CompiledProgram& about, const plan::Plan& plan) {
  out.PutText(about.name);
  PutTexts(out, about.parameter_shardings);
  PutTexts(out, about.output_shardings);
  PutLayouts(out, about.parameter_layouts);
  PutLayouts(out, about.result_layouts);
  PutTilings(out, about.parameter_tilings);
  PutTilings(out, about.result_tilings);
  out.Put<uint64_t>(about.donated.size());
  for (const bool donated : about.donated) out.Put<uint8_t>(donated ? 1 : 0);
  out.Put(about.flops);
  out.Put(about.transcendentals);
  out.Put(about.bytes_accessed);
  out.PutText(plan::Serialize(plan));
}

Status GetProgram(ByteReader& in, compiler::CompiledProgram& about) {
  about.name = in.GetText();
  about.parameter_shardings = GetTexts(in);
  about.output_shardings = GetTexts(in);
  about.parameter_layouts = GetLayouts(in);
  about.result_layouts = GetLayouts(in);
  about.parameter_tilings = GetTilings(in);
  about.result_tilings = GetTilings(in);
  about.donated.resize(in.GetCount(1));
  for (size_t i = 0; i < about.donated.size(); ++i) about.donated[i] = in.Get<uint8_t>() != 0;
  about.flops = in.Get<double>();
  about.transcendentals = in.Get<double>();
  about.bytes_accessed = in.Get<double>();
  const std::string_view plan = in.GetText();
  TENON_RETURN_IF_ERROR(in.status());
  TENON_ASSIGN_OR_RETURN(about.plan, plan::Deserialize(plan));
  TENON_RETURN_IF_ERROR(CheckLayouts(about));
  return CheckTilings(about);
}

}  // namespace tenon::host
