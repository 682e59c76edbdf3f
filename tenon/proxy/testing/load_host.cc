// A host under load until it is killed: load_host [ADDRESS TOKEN_FILE]. Says "running" once it does.
#include <cstdio>

#include "tenon/proxy/testing/load.h"

int main(int argc, char** argv) {
  using namespace tenon;  // NOLINT(google-build-using-namespace): a main program.
  client::Options options;
  if (argc > 2) {
    options.Set("remote", argv[1]);
    options.Set("remote_token_file", argv[2]);
  }
  const Result<client::Client> client = proxy::testing::IsolatedPlugin().CreateClient(options);
  if (!client.ok()) {
    std::fprintf(stderr, "%s\n", client.status().ToString().c_str());
    return 2;
  }
  proxy::testing::Load load(*client, proxy::testing::Load::kArrays);
  if (!load.StillWorks()) return 3;
  std::puts("running");
  std::fflush(stdout);
  while (load.wrong == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return 4;
}
