// One program on every device: replicas add up what each of them has. Arguments: the plugin, and options such as
// num_devices=2.
#include <cstdio>

#include "tenon/client/client.h"

using namespace tenon::client;

tenon::Status Run(const char* plugin_name, const char* options_text) {
  TENON_ASSIGN_OR_RETURN(const Plugin plugin, Plugin::Load(plugin_name));
  TENON_ASSIGN_OR_RETURN(const Options options, Options::Parse(options_text));
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient(options));
  TENON_ASSIGN_OR_RETURN(const std::vector<Device> devices, client.AddressableDevices());
  if (devices.size() < 2) return tenon::FailedPrecondition("this example wants two devices");
  constexpr const char* kSum = R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
      return %y : tensor<2xf32>
    })";
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable sum, client.Compile(kSum, CompileOptions().SetReplicas(2)));

  TENON_ASSIGN_OR_RETURN(const Buffer a, client.ToDevice(std::vector<float>{1, 2}, {2}, devices[0]));
  TENON_ASSIGN_OR_RETURN(const Buffer b, client.ToDevice(std::vector<float>{10, 20}, {2}, devices[1]));
  const std::vector<const Buffer*> arguments[] = {{&a}, {&b}};
  TENON_ASSIGN_OR_RETURN(const Execution execution, sum.ExecuteOnDevices(arguments));
  for (const std::vector<Buffer>& outputs : execution.outputs) {
    TENON_ASSIGN_OR_RETURN(const std::vector<float> y, outputs[0].ToHost<float>());
    std::printf("%g %g\n", y[0], y[1]);
  }

  // Copies between devices; Buffer::CopyTo also takes devices of other clients and other plugins.
  TENON_ASSIGN_OR_RETURN(const Buffer moved, a.CopyTo(devices[1]));
  TENON_ASSIGN_OR_RETURN(const std::vector<float> same, moved.ToHost<float>());
  std::printf("%g %g\n", same[0], same[1]);
  return tenon::OkStatus();
}

int main(int argc, char** argv) {
  const tenon::Status status = Run(argc > 1 ? argv[1] : "tenon", argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
