// Compiles once, keeps the bytes, loads them later without compiling.
#include <cstdio>

#include "tenon/client/client.h"

using namespace tenon::client;

// For a topology where the plugin can compile without devices ("v5e:2x2" of libtpu), else by a client.
tenon::Result<std::string> CompileAhead(const Plugin& plugin, const Program& program, const char* topology_name) {
  if (*topology_name != '\0') {
    TENON_ASSIGN_OR_RETURN(const Topology topology, plugin.CreateTopology(topology_name));
    TENON_ASSIGN_OR_RETURN(const Executable compiled, topology.Compile(program));
    return compiled.Serialize();
  }
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient());
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable compiled, client.Compile(program));
  return compiled.executable().Serialize();
}

tenon::Status Run(const char* plugin_name, const char* topology_name) {
  TENON_ASSIGN_OR_RETURN(const Plugin plugin, Plugin::Load(plugin_name));
  const Program program = Program::Mlir(R"(
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %y = stablehlo.multiply %x, %x : tensor<f32>
      return %y : tensor<f32>
    })");
  TENON_ASSIGN_OR_RETURN(const std::string bytes, CompileAhead(plugin, program, topology_name));
  // ... write the bytes to a file; later, in another process with the same plugin:
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient());
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable square, client.DeserializeAndLoad(bytes));
  TENON_ASSIGN_OR_RETURN(const Buffer x, client.ScalarToDevice(7.0f));
  TENON_ASSIGN_OR_RETURN(const std::vector<Buffer> out, square.Execute({&x}));
  TENON_ASSIGN_OR_RETURN(const float y, out[0].ToScalar<float>());
  std::printf("%g\n", y);
  return tenon::OkStatus();
}

int main(int argc, char** argv) {
  const tenon::Status status = Run(argc > 1 ? argv[1] : "tenon", argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
