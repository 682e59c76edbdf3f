// A step that updates its state in place: the program marks the argument, the call allows it.
#include <cstdio>

#include "tenon/client/client.h"

using namespace tenon::client;

tenon::Status Run(const char* plugin_name) {
  TENON_ASSIGN_OR_RETURN(const Plugin plugin, Plugin::Load(plugin_name));
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient());
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable step, client.Compile(R"(
    func.func @main(%state: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2xf32> {
      %next = stablehlo.add %state, %state : tensor<2xf32>
      return %next : tensor<2xf32>
    })"));
  TENON_ASSIGN_OR_RETURN(Buffer state, client.ToDevice(std::vector<float>{1, 3}, {2}));

  ExecuteOptions in_place;
  in_place.donate = Donate::All();  // Donate::Only({0}) names arguments; by default all of them survive
  for (int i = 0; i < 3; ++i) {
    TENON_ASSIGN_OR_RETURN(std::vector<Buffer> out, step.Execute({&state}, in_place));
    TENON_ASSIGN_OR_RETURN(const bool gone, state.IsDeleted());
    if (!gone) return tenon::Internal("the state was not consumed");
    state = std::move(out[0]);
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<float> y, state.ToHost<float>());
  std::printf("%g %g\n", y[0], y[1]);
  return tenon::OkStatus();
}

int main(int argc, char** argv) {
  const tenon::Status status = Run(argc > 1 ? argv[1] : "tenon");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
