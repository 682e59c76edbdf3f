// Host memory that a program reads in place, and results that the host reads in place.
#include <cstdio>

#include "tenon/client/client.h"

using namespace tenon::client;

tenon::Status Run(const char* plugin_name) {
  TENON_ASSIGN_OR_RETURN(const Plugin plugin, Plugin::Load(plugin_name));
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient());
  TENON_ASSIGN_OR_RETURN(const Device device, client.device(0));
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable sum, client.Compile(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.multiply %x, %x : tensor<4xf32>
      return %y : tensor<4xf32>
    })"));

  // A buffer and host memory that are one and the same: fill it, run, fill it again.
  TENON_ASSIGN_OR_RETURN(const SharedBuffer shared, client.NewSharedBuffer({tenon::DType::kF32, {4}}, device));
  TENON_ASSIGN_OR_RETURN(const std::span<float> data, shared.As<float>());
  for (int step = 1; step <= 2; ++step) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(step * static_cast<int>(i));
    TENON_ASSIGN_OR_RETURN(const std::vector<Buffer> out, sum.Execute({&shared.buffer}));
    // The result where it lies. The view pins it.
    TENON_ASSIGN_OR_RETURN(const HostView<float> view, ViewOnHost<float>(out[0]));
    std::printf("%g %g %g %g\n", view.elements()[0], view.elements()[1], view.elements()[2], view.elements()[3]);
  }

  // Memory of one's own: the plugin may read it in place as long as the buffer lives, and keeps it alive until then.
  auto mine = std::make_shared<std::vector<float>>(4, 5.0f);
  const HostArray array{mine->data(), tenon::DType::kF32, {4}, {}};
  TENON_ASSIGN_OR_RETURN(const Buffer x, client.ViewOfHost(array, mine, device));
  TENON_ASSIGN_OR_RETURN(const std::vector<Buffer> out, sum.Execute({&x}));
  TENON_ASSIGN_OR_RETURN(const std::vector<float> y, out[0].ToHost<float>());
  std::printf("%g\n", y[0]);
  return tenon::OkStatus();
}

int main(int argc, char** argv) {
  const tenon::Status status = Run(argc > 1 ? argv[1] : "tenon");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
