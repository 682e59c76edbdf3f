#include "tools/tenon/inputs.h"

#include <fmt/format.h>

#include "tenon/abi/tenon_signature.h"
#include "tools/tenon/bridge.h"
#include "tools/tenon/npy.h"
#include "tools/tenon/signature.h"

namespace tenon::cli {
namespace {

constexpr const char* kForms =
    "an input is FILE.npy, FILE.npz (all of its arrays), FILE.npz:NAME, a literal such as f32[3]:1,2,3, or random, "
    "zeros, ones, iota, "
    "each with a shape as in random:f32[3] unless the program shows it";

std::string WithDevice(std::string text, int device) {
  for (size_t at; (at = text.find("%d")) != text.npos;) text.replace(at, 2, std::to_string(device));
  return text;
}

std::optional<Fill> FillNamed(std::string_view name) {
  if (name == "random") return Fill::kRandom;
  if (name == "zeros") return Fill::kZeros;
  if (name == "ones") return Fill::kOnes;
  if (name == "iota") return Fill::kIota;
  return std::nullopt;
}

// What one text says; several arrays for a whole .npz.
Result<std::vector<Array>> MakeInput(const std::string& text, const std::optional<std::vector<Shape>>& parameters,
                                     size_t index, uint64_t seed) {
  const bool known = parameters && index < parameters->size();
  std::vector<Array> arrays;
  const size_t colon = text.find(':');
  if (const std::optional<Fill> fill = FillNamed(text.substr(0, colon))) {
    Shape shape;
    if (colon != text.npos) {
      TENON_ASSIGN_OR_RETURN(shape, ParseShape(text.substr(colon + 1)));
    } else if (known) {
      shape = (*parameters)[index];
    } else {
      return InvalidArgument(
          fmt::format("'{}' needs a shape, as in {}:f32[2,3]: the program does not show it", text, text));
    }
    TENON_ASSIGN_OR_RETURN(Array array, MakeFilled(shape, *fill, seed + index));
    arrays.push_back(std::move(array));
    return arrays;
  }
  std::string file = text;
  DType wanted = known ? (*parameters)[index].dtype : DType::kInvalid;
  if (const size_t at = text.find('@'); at != text.npos) {
    if (const Result<DType> type = ParseDType(text.substr(0, at)); type.ok()) {
      wanted = *type;
      file = text.substr(at + 1);
    }
  }
  std::string member;
  if (const size_t npz = file.rfind(".npz:"); npz != file.npos) {
    member = file.substr(npz + 5);
    file.resize(npz + 4);
  }
  if (file.ends_with(".npz")) {
    TENON_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
    auto members = ParseNpz(bytes);
    if (!members.ok()) return members.status().WithContext(file);
    std::string names;
    for (const auto& [name, content] : *members) {
      names += (names.empty() ? "" : ", ") + name;
      if (!member.empty() && name != member) continue;
      const size_t at = index + arrays.size();
      const DType type = parameters && at < parameters->size() ? (*parameters)[at].dtype : wanted;
      Result<Array> array = ParseNpy(content, type);
      if (!array.ok()) return array.status().WithContext(fmt::format("{}:{}", file, name));
      arrays.push_back(std::move(array).value());
    }
    if (arrays.empty())
      return NotFound(fmt::format("{} has no array '{}'; it has {}", file, member, names.empty() ? "none" : names));
    return arrays;
  }
  if (file.ends_with(".npy") || file != text) {
    TENON_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
    Result<Array> array = ParseNpy(bytes, wanted);
    if (!array.ok()) return array.status().WithContext(file);
    arrays.push_back(std::move(array).value());
    return arrays;
  }
  std::string literal = text;
  // A bare value takes the parameter's type.
  if (colon == text.npos && known) literal = fmt::format("{}:{}", ToString((*parameters)[index]), text);
  Result<Array> array = ParseLiteral(literal);
  if (!array.ok()) return array.status();
  arrays.push_back(std::move(array).value());
  return arrays;
}

}  // namespace

void AddInputFlags(CLI::App& app, InputFlags& flags) {
  app.add_option("-i,--input", flags.inputs,
                 "an argument, in order: FILE.npy, FILE.npz[:NAME], TYPE[DIMS]:VALUES, random, zeros, ones or iota")
      ->type_name("INPUT");
  app.add_flag("-r,--random", flags.random, "random values for the arguments that are not given");
  app.add_option("--seed", flags.seed, "of random values")->type_name("N");
}

namespace {

// What plugins on Tenon's SDK say that an executable takes.
std::optional<std::vector<Shape>> SignatureOf(const client::Executable& executable) {
  const auto* extension = reinterpret_cast<const Tenon_Signature_Extension*>(executable.api().FindExtension(
      static_cast<PJRT_Extension_Type>(TENON_EXTENSION_TYPE_SIGNATURE), Tenon_Signature_Extension_STRUCT_SIZE));
  if (extension == nullptr) return std::nullopt;
  Tenon_Executable_Parameters_Args args{};
  args.struct_size = Tenon_Executable_Parameters_Args_STRUCT_SIZE;
  args.executable = executable.get();
  if (!executable.api().TakeError(extension->Tenon_Executable_Parameters(&args), "Tenon_Executable_Parameters").ok())
    return std::nullopt;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < args.num_parameters; ++i) {
    const Tenon_Parameter& p = args.parameters[i];
    shapes.push_back({static_cast<DType>(p.type), Dims(p.dims, p.dims + p.rank)});
  }
  return shapes;
}

// What the program expects: by its bytes, else by what the plugin says of the compiled program, else nothing.
std::optional<std::vector<Shape>> FindParameters(const client::Program& program, const client::Executable* executable) {
  if (std::optional<std::vector<Shape>> shapes = ReadParameters(program)) return shapes;
  if (program.format == "mlir") {
    if (const Result<std::string> text = Convert(program.code, {}); text.ok()) {
      if (std::optional<std::vector<Shape>> shapes = ReadTextParameters(*text)) return shapes;
    }
  }
  if (executable == nullptr) return std::nullopt;
  const Result<client::Program> optimized = executable->OptimizedProgram();
  if (!optimized.ok()) return std::nullopt;
  if (std::optional<std::vector<Shape>> shapes = ReadParameters(*optimized)) return shapes;
  // An artifact: only the plugin can tell.
  return optimized->format == "mlir" ? SignatureOf(*executable) : std::nullopt;
}

// The arguments for device number `device`, checked against `parameters` when they are known. `%d` in file names
// becomes the number.
Result<std::vector<Array>> MakeInputs(Context& context, const InputFlags& flags,
                                      const std::optional<std::vector<Shape>>& parameters, int device) {
  context.stage = kBadInput;
  context.advice = kForms;
  std::vector<Array> arrays;
  std::vector<std::string> names;
  for (const std::string& input : flags.inputs) {
    const std::string text = WithDevice(input, device);
    Result<std::vector<Array>> some =
        MakeInput(text, parameters, arrays.size(), flags.seed + 1000 * static_cast<uint64_t>(device));
    if (!some.ok()) return some.status().WithContext(fmt::format("input {}", arrays.size()));
    for (Array& array : *some) {
      arrays.push_back(std::move(array));
      names.push_back(text);
    }
  }
  if (parameters) {
    while (flags.random && arrays.size() < parameters->size()) {
      TENON_ASSIGN_OR_RETURN(Array array,
                             MakeFilled((*parameters)[arrays.size()], Fill::kRandom,
                                        flags.seed + 1000 * static_cast<uint64_t>(device) + arrays.size()));
      arrays.push_back(std::move(array));
      names.push_back("random");
    }
    if (arrays.size() != parameters->size()) {
      std::string wanted;
      for (const Shape& shape : *parameters) wanted += (wanted.empty() ? "" : ", ") + ToString(shape);
      context.advice = flags.random ? "" : "--random fills in those that are missing";
      return InvalidArgument(
          fmt::format("{} inputs were given, the program takes {}: {}", arrays.size(), parameters->size(), wanted));
    }
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].shape == (*parameters)[i]) continue;
      context.advice = "numpy's astype and reshape make arrays fit";
      return InvalidArgument(fmt::format("input {} ({}) is {}, the program wants {}", i, names[i],
                                         ToString(arrays[i].shape), ToString((*parameters)[i])));
    }
  } else if (flags.random) {
    context.advice = "name the shapes, as in -i random:f32[2,3], or give the program as text";
    return InvalidArgument("--random: neither the program nor the plugin shows what the program takes");
  }
  context.advice.clear();
  context.stage = kFailed;
  return arrays;
}

}  // namespace

Result<Arguments> MakeArguments(Context& context, const InputFlags& flags, const CompileFlags& compile,
                                const client::Program& program, const client::Client& client,
                                const client::LoadedExecutable& executable) {
  std::optional<std::vector<Shape>> parameters;
  // A partitioned program takes pieces, which the program as it was written does not show.
  if (compile.partitions == 1) parameters = FindParameters(program, &executable.executable());
  Arguments arguments;
  const std::vector<client::Device> devices = executable.AddressableDevices();
  for (size_t d = 0; d < devices.size(); ++d) {
    TENON_ASSIGN_OR_RETURN(const std::vector<Array> inputs,
                           MakeInputs(context, flags, parameters, static_cast<int>(d)));
    std::vector<client::Buffer>& buffers = arguments.buffers.emplace_back();
    for (const Array& array : inputs) {
      TENON_ASSIGN_OR_RETURN(client::Buffer buffer, client.ToDevice(array.View(), devices[d]));
      TENON_RETURN_IF_ERROR(buffer.Await());
      buffers.push_back(std::move(buffer));
    }
  }
  for (const std::vector<client::Buffer>& buffers : arguments.buffers) {
    std::vector<const client::Buffer*>& list = arguments.lists.emplace_back();
    for (const client::Buffer& buffer : buffers) list.push_back(&buffer);
  }
  return arguments;
}

Result<std::vector<std::vector<Array>>> FetchOutputs(const client::Execution& execution) {
  std::vector<std::vector<Array>> outputs;
  for (const std::vector<client::Buffer>& buffers : execution.outputs) {
    std::vector<Array>& arrays = outputs.emplace_back();
    for (const client::Buffer& buffer : buffers) {
      TENON_ASSIGN_OR_RETURN(Array array, buffer.ToHostCopy());
      arrays.push_back(std::move(array));
    }
  }
  return outputs;
}

}  // namespace tenon::cli
