#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/tenon/array.h"
#include "tools/tenon/command.h"

namespace tenon::cli {

/// Where a program's arguments come from.
struct InputFlags {
  std::vector<std::string> inputs;
  bool random = false;
  uint64_t seed = 0;
};
void AddInputFlags(CLI::App& app, InputFlags& flags);

/// What the program expects: by its bytes, else by the compiled program as the plugin shows it, else nothing.
std::optional<std::vector<Shape>> FindParameters(const client::Program& program, const client::Executable* executable);

/// The arguments for device number `device`, checked against `parameters` when they are known. `%d` in file names
/// becomes the number.
Result<std::vector<Array>> MakeInputs(Context& context, const InputFlags& flags,
                                      const std::optional<std::vector<Shape>>& parameters, int device);

/// On the device; the arguments of one execution.
Result<std::vector<client::Buffer>> Upload(const client::Client& client, const client::Device& device,
                                           const std::vector<Array>& arrays);

}  // namespace tenon::cli
