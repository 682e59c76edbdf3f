// train PLUGIN: builds a training step with its gradient, compiles it once, and runs it until a line is learnt.
#include <cstdio>
#include <vector>

#include "tenon/builder/ops.h"
#include "tenon/client/client.h"
#include "tenon/gradient/gradient.h"

using namespace tenon;

// step(w, b, x, y) -> new w, new b, loss: one step of gradient descent on mean((x w + b - y)^2).
void BuildStep(builder::Module& module) {
  using namespace tenon::builder;
  Function& f = module.AddFunction("main");
  const Value w = f.Parameter({DType::kF32, {2}}, "w");
  const Value b = f.Parameter(DType::kF32, "b");
  const Value x = f.Parameter({DType::kF32, {4, 2}}, "x");
  const Value y = f.Parameter({DType::kF32, {4}}, "y");

  const Value error = MatMul(x, w) + b - y;
  const Value loss = Reduce(error * error, Reduction::kSum, {0}) / 4.0;
  const Values g = gradient::Gradients(loss, {w, b});
  f.Return({w - g[0] * 0.1, b - g[1] * 0.1, loss});
}

Status Run(const char* plugin_name) {
  builder::Module module("step");
  BuildStep(module);
  TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, client::Plugin::Load(plugin_name));
  TENON_ASSIGN_OR_RETURN(const client::Client client, plugin.CreateClient());
  TENON_ASSIGN_OR_RETURN(const client::LoadedExecutable step, client.Compile(module));

  TENON_ASSIGN_OR_RETURN(client::Buffer w, client.ToDevice(std::vector<float>{0, 0}, {2}));
  TENON_ASSIGN_OR_RETURN(client::Buffer b, client.ScalarToDevice(0.0f));
  TENON_ASSIGN_OR_RETURN(const client::Buffer x, client.ToDevice(std::vector<float>{0, 0, 1, 0, 0, 1, 1, 1}, {4, 2}));
  TENON_ASSIGN_OR_RETURN(const client::Buffer y, client.ToDevice(std::vector<float>{1, 3, 0, 2}, {4}));
  float loss = 0;
  for (int i = 0; i < 500; ++i) {
    TENON_ASSIGN_OR_RETURN(std::vector<client::Buffer> out, step.Execute({&w, &b, &x, &y}));
    w = std::move(out[0]);
    b = std::move(out[1]);
    TENON_ASSIGN_OR_RETURN(loss, out[2].ToScalar<float>());
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<float> learnt, w.ToHost<float>());
  TENON_ASSIGN_OR_RETURN(const float offset, b.ToScalar<float>());
  std::printf("%.2f %.2f %.2f, loss %.4f\n", learnt[0], learnt[1], offset, loss);
  return OkStatus();
}

int main(int argc, char** argv) {
  const Status status = Run(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
