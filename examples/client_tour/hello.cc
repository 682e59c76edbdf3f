// Loads a plugin, compiles a program, runs it. Argument: the plugin's name or path.
#include <cstdio>

#include "tenon/client/client.h"

using namespace tenon::client;

tenon::Status Run(const char* plugin_name) {
  TENON_ASSIGN_OR_RETURN(const Plugin plugin, Plugin::Load(plugin_name));
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient());
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable twice, client.Compile(R"(
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %y = stablehlo.add %x, %x : tensor<3xf32>
      return %y : tensor<3xf32>
    })"));
  TENON_ASSIGN_OR_RETURN(const Buffer x, client.ToDevice(std::vector<float>{1, 2, 3}, {3}));
  TENON_ASSIGN_OR_RETURN(const std::vector<Buffer> out, twice.Execute({&x}));
  TENON_ASSIGN_OR_RETURN(const std::vector<float> y, out[0].ToHost<float>());
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
  return tenon::OkStatus();
}

int main(int argc, char** argv) {
  const tenon::Status status = Run(argc > 1 ? argv[1] : "tenon");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
