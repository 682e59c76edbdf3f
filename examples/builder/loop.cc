// loop PLUGIN: regions as lambdas. Newton's square root until it no longer changes, for a whole vector at once.
#include <cstdio>
#include <vector>

#include "tenon/builder/ops.h"
#include "tenon/client/client.h"

using namespace tenon;

void BuildRoot(builder::Module& module) {
  using namespace tenon::builder;
  Function& f = module.AddFunction("main");
  const Value a = f.Parameter({DType::kF64, {3}}, "a");
  const auto change = [](Value x, Value y) { return Reduce(Abs(x - y), Reduction::kMax, {0}); };
  const Values roots = While(
      {a, FullLike(a, 0)},
      [&](Value x, Value last) { return Compare(change(x, last), Full(f, {DType::kF64, {}}, 1e-12), Direction::kGt); },
      [&](Value x, Value) { return Values{(x + a / x) * 0.5, x}; });
  f.Return({roots[0]});
}

Status Run(const char* plugin_name) {
  builder::Module module("root");
  BuildRoot(module);
  TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, client::Plugin::Load(plugin_name));
  TENON_ASSIGN_OR_RETURN(const client::Client client, plugin.CreateClient());
  TENON_ASSIGN_OR_RETURN(const client::LoadedExecutable root, client.Compile(module));
  TENON_ASSIGN_OR_RETURN(const client::Buffer a, client.ToDevice(std::vector<double>{4, 9, 2}, {3}));
  TENON_ASSIGN_OR_RETURN(const std::vector<client::Buffer> out, root.Execute({&a}));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> x, out[0].ToHost<double>());
  std::printf("%.6f %.6f %.6f\n", x[0], x[1], x[2]);
  return OkStatus();
}

int main(int argc, char** argv) {
  const Status status = Run(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
