// consumer PLUGIN PROGRAM: runs PROGRAM on two vectors of four and prints the first result.
#include <cstdio>

#include "tenon/client/client.h"
#include "tenon/client/discovery.h"
#include "tenon/client/ffi.h"
#include "tenon/client/layouts.h"
#include "tenon/client/log_suppression.h"
#include "tenon/client/profiler.h"
#include "tenon/client/stream.h"

using namespace tenon::client;

static tenon::Status Run(const char* path, const char* program) {
  TENON_ASSIGN_OR_RETURN(const Plugin plugin, Plugin::LoadFile(path));
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient());
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable add, client.Compile(program));
  TENON_ASSIGN_OR_RETURN(const Buffer x, client.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}));
  TENON_ASSIGN_OR_RETURN(const std::vector<Buffer> out, add.Execute({&x, &x}));
  TENON_ASSIGN_OR_RETURN(const std::vector<float> y, out[0].ToHost<float>());
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return tenon::OkStatus();
}

int main(int argc, char** argv) {
  const tenon::Status status = Run(argv[1], argc > 2 ? argv[2] : "add");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
