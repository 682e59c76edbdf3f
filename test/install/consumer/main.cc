// consumer PLUGIN [PROGRAM]: adds a vector to itself on a plugin, by name or file, and prints the sum.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tenon/client/client.h"

using namespace tenon::client;

static tenon::Status Run(const char* name, const char* file) {
  TENON_ASSIGN_OR_RETURN(const Plugin plugin, Plugin::Load(name));
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient());
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable add, client.Compile(text.str()));
  TENON_ASSIGN_OR_RETURN(const Buffer x, client.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}));
  TENON_ASSIGN_OR_RETURN(const std::vector<Buffer> out, add.Execute({&x, &x}));
  TENON_ASSIGN_OR_RETURN(const std::vector<float> y, out[0].ToHost<float>());
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return tenon::OkStatus();
}

int main(int argc, char** argv) {
  const tenon::Status status = Run(argc > 1 ? argv[1] : "tenon", argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
