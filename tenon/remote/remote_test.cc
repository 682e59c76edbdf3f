// Devices at a server, as a client sees them: programs, arrays, deaths, cut connections; and what becomes of strangers.
#include "tenon/session/remote.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tenon/client/client.h"
#include "tenon/proxy/testing/children.h"
#include "tenon/proxy/testing/isolated.h"
#include "tenon/proxy/testing/load.h"
#include "tenon/proxy/testing/no_threads.h"
#include "tenon/remote/listener.h"

namespace tenon::remote {
namespace {

using channel::NowMs;
using client::Buffer;
using client::Client;
using client::LoadedExecutable;
using client::Options;
using proxy::testing::Compile;
using proxy::testing::Floats;
using proxy::testing::IsolatedPlugin;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "a token of thirty-two bytes, or more";

std::string WriteFile(const std::string& name, const std::string& text, mode_t mode) {
  const std::string path = ::testing::TempDir() + "/tenon_remote_" + std::to_string(::getpid()) + "_" + name;
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}
const std::string& TokenFile() {
  static const std::string& path = *new std::string(WriteFile("token", std::string(kToken) + "\n", 0600));
  return path;
}

// Certificates of two authorities, made by the program openssl.
struct Certificates {
  std::string folder = ::testing::TempDir() + "/tenon_remote_certificates_" + std::to_string(::getpid());
  Certificates() {
    const std::string script = "set -e; mkdir -p " + folder + "; cd " + folder +
                               "; for a in ours theirs; do openssl req -x509 -newkey ec -pkeyopt "
                               "ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=$a -keyout $a.key -out $a.pem; done; "
                               "make() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$1 "
                               "-keyout $1.key -out $1.csr; printf \"$3\" >$1.ext; openssl x509 -req -in $1.csr -CA "
                               "$2.pem -CAkey $2.key -CAcreateserial -days $4 -extfile $1.ext -out $1.pem; }; "
                               "make server ours 'subjectAltName=IP:127.0.0.1\\n' 2; make elsewhere ours "
                               "'subjectAltName=DNS:elsewhere.example\\n' 2; make client ours '' 2; make stranger "
                               "theirs '' 2";
    works = std::system(("(" + script + ") >/dev/null 2>&1").c_str()) == 0;
  }
  ~Certificates() { (void)!std::system(("rm -rf " + folder).c_str()); }
  channel::Credentials Of(const std::string& who, const std::string& authority = "ours") const {
    return {folder + "/" + who + ".pem", folder + "/" + who + ".key", folder + "/" + authority + ".pem", {}};
  }
  bool works = false;
};

// A server in this process: its device processes are children of it.
class Served {
 public:
  explicit Served(ListenOptions options = {}) {
    if (options.address.empty()) options.address = "127.0.0.1:0";
    if (options.plugin.empty()) options.plugin = TENON_FAKE_PLUGIN;
    if (options.credentials.token.empty() && options.credentials.certificate.empty())
      options.credentials.token = kToken;
    options.log = [this](const std::string& line) {
      std::lock_guard lock(mutex_);
      log_ += line + "\n";
    };
    Result<std::unique_ptr<Listener>> started = Listener::Start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    if (!started.ok()) return;
    listener_ = std::move(*started);
    thread_ = std::thread([this] { EXPECT_TRUE(listener_->Run().ok()); });
  }
  ~Served() {
    if (listener_ == nullptr) return;
    listener_->Stop();
    thread_.join();
  }
  std::string address() const { return listener_ == nullptr ? "" : "127.0.0.1:" + std::to_string(listener_->port()); }
  std::string log() {
    std::lock_guard lock(mutex_);
    return log_;
  }
  size_t Count(const std::string& text) {
    const std::string all = log();
    size_t n = 0;
    for (size_t at = all.find(text); at != all.npos; at = all.find(text, at + 1)) ++n;
    return n;
  }
  bool WaitFor(const std::string& text) {
    for (int wait = 0; wait < 500; ++wait) {
      if (Count(text) != 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::string log_;
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

Options RemoteAt(const std::string& address) {
  Options options;
  options.Set("remote", address);
  options.Set("remote_token_file", TokenFile());
  return options;
}

TEST(Remote, RunsPrograms) {
  Served served;
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  EXPECT_EQ(c.PlatformName().value(), "fake");
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable add, Compile(c, "add"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c, {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const Buffer y, Floats(c, {10, 20, 30, 40}));
  EXPECT_FALSE(x.IsOnCpu().value());
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, add.Execute({&x, &y}));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(x.ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable pair, Compile(c, "pair"));
  ASSERT_OK_AND_ASSIGN(out, pair.Execute(std::span<const Buffer* const>()));
  EXPECT_EQ(out[1].ToScalar<int32_t>().value(), 7);
}

TEST(Remote, ErrorsCrossAsTheyAre) {
  Served served;
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  const Status unknown = Compile(c, "nonsense").status();
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("unknown program 'nonsense'"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable refuse, Compile(c, "refuse"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c, {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, refuse.Execute({&x}));
  EXPECT_THAT(std::string(out[0].Await().message()), HasSubstr("refused on purpose"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c, "increment"));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> next, increment.Execute({&out[0]}));
  EXPECT_THAT(std::string(next[0].Await().message()), HasSubstr("refused on purpose"));
}

TEST(Remote, LargeArraysCrossBothWays) {
  Served served;
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  std::vector<Buffer> kept;
  for (const size_t n : {size_t{1}, size_t{5000}, size_t{300000}, size_t{9} << 20}) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 1.0F);
    ASSERT_OK_AND_ASSIGN(Buffer x, Floats(c, values));
    ASSERT_OK_AND_ASSIGN(const std::vector<float> back, x.ToHost<float>());
    ASSERT_TRUE(back == values) << n;
    kept.push_back(std::move(x));
  }
  ASSERT_OK_AND_ASSIGN(const Buffer copy, kept[2].CopyTo(c.Devices()->front()));
  EXPECT_EQ(copy.ToHost<float>()->at(299999), 300000.0F);
  ASSERT_OK_AND_ASSIGN(const Buffer empty, Floats(c, {}));
  EXPECT_TRUE(empty.ToHost<float>()->empty());
}

TEST(Remote, OutputsAreArgumentsBeforeTheyAreThere) {
  Served served;
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c, "increment"));
  ASSERT_OK_AND_ASSIGN(Buffer x, Floats(c, {0, 1, 2, 3}));
  for (int i = 0; i < 1000; ++i) {
    client::ExecuteOptions options;
    if (i % 2 == 0) options.donate = client::Donate::All();
    ASSERT_OK_AND_ASSIGN(std::vector<Buffer> out, increment.Execute({&x}, options));
    x = std::move(out[0]);
  }
  EXPECT_THAT(x.ToHost<float>().value(), ElementsAre(1000, 1001, 1002, 1003));
}

// A crash of the device process costs what was under way: the session and its arrays go on.
TEST(Remote, CrashLeavesArrays) {
  Served served;
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c, "increment"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable crash, Compile(c, "crash"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c, {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> ready, increment.Execute({&x}));
  ASSERT_TRUE(ready[0].Await().ok());
  ASSERT_OK_AND_ASSIGN(std::vector<Buffer> lost, crash.Execute({&x}));
  const Status death = lost[0].Await();
  EXPECT_EQ(death.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(death.message()), AllOf(HasSubstr("signal 11 (SIGSEGV)"), HasSubstr("crashing on purpose")));
  EXPECT_THAT(ready[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
  Result<std::vector<Buffer>> again = increment.Execute({&ready[0]});
  for (int wait = 0; wait < 100 && !(again.ok() && (*again)[0].Await().ok()); ++wait) {
    // The news of the death may still be on its way.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    again = increment.Execute({&ready[0]});
  }
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_THAT((*again)[0].ToHost<float>().value(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(served.Count(": a session"), 1u);
}

TEST(Remote, WithoutAServerThereIsAnError) {
  const Status status = IsolatedPlugin().CreateClient(RemoteAt("127.0.0.1:1")).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot connect to 127.0.0.1:1"));
}

client::CompileOptions OnDevices(std::vector<int> ids) {
  client::DeviceAssignment assignment;
  assignment.num_replicas = static_cast<int>(ids.size());
  assignment.num_partitions = 1;
  assignment.ids = std::move(ids);
  return client::CompileOptions().SetDeviceAssignment(std::move(assignment));
}

// The devices of all servers are one client's, numbered one after another.
TEST(Remote, SeveralServersAreOneClient) {
  Served a, b;
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(a.address() + ", " + b.address())));
  ASSERT_OK_AND_ASSIGN(const std::vector<client::Device> devices, c.Devices());
  ASSERT_EQ(devices.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const client::Device& device = devices[static_cast<size_t>(i)];
    EXPECT_EQ(device.id().value(), i);
    EXPECT_THAT(device.ToString().value(), HasSubstr(" at " + (i < 2 ? a : b).address()));
    ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, c.Compile("increment", OnDevices({i})));
    ASSERT_OK_AND_ASSIGN(const Buffer x, c.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}, device));
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, increment.Execute({&x}));
    EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
    EXPECT_EQ(out[0].GetDevice()->id().value(), i);
    EXPECT_TRUE(device.GetMemoryStats().ok() || device.GetMemoryStats().status().code() == Code::kUnimplemented);
    // From everywhere to everywhere.
    for (const client::Device& to : devices) {
      ASSERT_OK_AND_ASSIGN(const Buffer copy, out[0].CopyTo(to));
      EXPECT_THAT(copy.ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
    }
  }
  EXPECT_EQ(a.Count(": a session"), 1u);
  EXPECT_EQ(b.Count(": a session"), 1u);
}

TEST(Remote, ProgramsRunAtOneOfSeveralServers) {
  Served a, b;
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(a.address() + "," + b.address())));
  ASSERT_OK_AND_ASSIGN(const std::vector<client::Device> devices, c.Devices());
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable both, c.Compile("everywhere increment", OnDevices({3, 2})));
  ASSERT_OK_AND_ASSIGN(const Buffer x, c.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}, devices[3]));
  ASSERT_OK_AND_ASSIGN(const Buffer y, c.ToDevice(std::vector<float>{5, 6, 7, 8}, {4}, devices[2]));
  const std::vector<std::vector<const Buffer*>> arguments = {{&x}, {&y}};
  ASSERT_OK_AND_ASSIGN(const client::Execution run, both.ExecuteOnDevices(arguments));
  EXPECT_THAT(run.outputs[0][0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(run.outputs[1][0].ToHost<float>().value(), ElementsAre(6, 7, 8, 9));
  EXPECT_EQ(run.outputs[0][0].GetDevice()->id().value(), 3);
  const Status across = c.Compile("everywhere increment", OnDevices({1, 2})).status();
  EXPECT_EQ(across.code(), Code::kUnimplemented);
  EXPECT_THAT(std::string(across.message()),
              AllOf(HasSubstr("device 1 is at " + a.address()), HasSubstr("device 2 at " + b.address())));
  // What is bound to no device goes where its execution is.
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable anywhere, c.Compile("increment", client::CompileOptions().SetPortable()));
  for (const client::Device& device : devices) {
    ASSERT_OK_AND_ASSIGN(const Buffer z, c.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}, device));
    client::ExecuteOptions options;
    options.device = device;
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, anywhere.Execute({&z}, options));
    EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
  }
}

TEST(Remote, ErrorsNameTheServerOfSeveral) {
  ListenOptions options;
  options.limits.grace_ms = 1000;
  Served a;
  auto b = std::make_unique<Served>(options);
  const std::string address = b->address();
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(a.address() + "," + address)));
  ASSERT_OK_AND_ASSIGN(const std::vector<client::Device> devices, c.Devices());
  EXPECT_THAT(std::string(c.Compile("nonsense", OnDevices({2})).status().message()),
              AllOf(HasSubstr("at " + address), HasSubstr("unknown program 'nonsense'")));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable refuse, c.Compile("refuse", OnDevices({3})));
  ASSERT_OK_AND_ASSIGN(const Buffer x, c.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}, devices[3]));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> refused, refuse.Execute({&x}));
  EXPECT_THAT(std::string(refused[0].Await().message()),
              AllOf(HasSubstr("at " + address), HasSubstr("refused on purpose")));
  // One that goes takes its own devices along.
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable here, c.Compile("increment", OnDevices({0})));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable there, c.Compile("increment", OnDevices({2})));
  ASSERT_OK_AND_ASSIGN(const Buffer y, c.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}, devices[2]));
  b = nullptr;
  Status lost;
  for (int wait = 0; wait < 500 && lost.ok(); ++wait) {
    const Result<std::vector<Buffer>> out = there.Execute({&y});
    lost = out.ok() ? (*out)[0].Await() : out.status();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(lost.message()), HasSubstr(address));
  ASSERT_OK_AND_ASSIGN(const Buffer z, c.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}, devices[0]));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, here.Execute({&z}));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
  // Nor can a client be made of those that are not all there, or of one that is named twice.
  const Status missing = IsolatedPlugin().CreateClient(RemoteAt(a.address() + "," + address)).status();
  EXPECT_EQ(missing.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("cannot connect to " + address));
  EXPECT_THAT(std::string(IsolatedPlugin().CreateClient(RemoteAt(a.address() + "," + a.address())).status().message()),
              HasSubstr("is named twice"));
  EXPECT_THAT(std::string(IsolatedPlugin().CreateClient(RemoteAt(a.address() + ",,")).status().message()),
              HasSubstr("an empty one"));
}

// The end of the server's session is an error for what was there, and the next use begins a new one.
TEST(Remote, SessionThatIsOverCostsItsArrays) {
  ListenOptions options;
  options.limits.session_s = 1;
  Served served(options);
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c, "increment"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c, std::vector<float>(4, 1.0F)));
  ASSERT_TRUE(served.WaitFor("its 1 s are over"));
  Status lost;
  for (int wait = 0; wait < 500; ++wait) {
    Result<std::vector<Buffer>> out = increment.Execute({&x});
    lost = out.ok() ? (*out)[0].Await() : out.status();
    if (!lost.ok()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(lost.code(), Code::kUnavailable) << lost.ToString();
  Status fresh = Unavailable("not tried");
  for (int wait = 0; wait < 20 && !fresh.ok(); ++wait) {
    Result<Buffer> y = Floats(c, {5, 6, 7, 8});
    if (!y.ok()) continue;
    Result<std::vector<Buffer>> out = increment.Execute({&*y});
    fresh = out.ok() ? (*out)[0].Await() : out.status();
  }
  EXPECT_TRUE(fresh.ok()) << fresh.ToString();
  EXPECT_EQ(x.ToHost<float>().status().code(), Code::kUnavailable);
}

TEST(Remote, LimitsHold) {
  ListenOptions options;
  options.limits.array_bytes = 1 << 20;
  options.max_sessions = 1;
  Served served(options);
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  const Status second = IsolatedPlugin().CreateClient(RemoteAt(served.address())).status();
  EXPECT_EQ(second.code(), Code::kResourceExhausted);
  EXPECT_THAT(std::string(second.message()), HasSubstr("there are 1 sessions"));
  ASSERT_OK_AND_ASSIGN(const Buffer large, Floats(c, std::vector<float>(1 << 20, 1.0F)));
  const Status full = large.ToHost<float>().status();
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("out of memory"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c, "increment"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c, {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, increment.Execute({&x}));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
}

TEST(Remote, LongMessagesAreRefusedAndArraysComeInPieces) {
  ListenOptions options;
  options.limits.max_message_bytes = 1 << 20;
  Served served(options);
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  const Status refused = Compile(c, std::string(2 << 20, 'x')).status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted) << refused.ToString();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the most that crosses to a device process is 1048576"));
  std::vector<float> values(600000);
  std::iota(values.begin(), values.end(), 1.0F);
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c, values));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> back, x.ToHost<float>());
  EXPECT_TRUE(back == values);
  EXPECT_EQ(served.Count(": a session"), 1u);
}

// --- Who is let in.

TEST(Remote, WrongTokenIsRefused) {
  Served served;
  Options options = RemoteAt(served.address());
  options.Set("remote_token_file", WriteFile("wrong", std::string(40, 'x'), 0600));
  const Status status = IsolatedPlugin().CreateClient(options).status();
  EXPECT_EQ(status.code(), Code::kUnauthenticated) << status.ToString();
  EXPECT_THAT(std::string(status.message()), HasSubstr("the token is wrong"));
  EXPECT_TRUE(served.WaitFor("refused: UNAUTHENTICATED"));
  EXPECT_TRUE(IsolatedPlugin().CreateClient(RemoteAt(served.address())).ok());
}

TEST(Remote, TokensOfOthersAndShortOnesAreRefused) {
  Options options = RemoteAt("127.0.0.1:1");
  options.Set("remote_token_file", WriteFile("open", std::string(40, 'x'), 0644));
  EXPECT_EQ(IsolatedPlugin().CreateClient(options).status().code(), Code::kPermissionDenied);
  options.Set("remote_token_file", WriteFile("short", "short", 0600));
  EXPECT_THAT(IsolatedPlugin().CreateClient(options).status().ToString(), HasSubstr("has 5 bytes, wanted 32"));
  Options none;
  none.Set("remote", "127.0.0.1:1");
  EXPECT_THAT(IsolatedPlugin().CreateClient(none).status().ToString(), HasSubstr("wants a token, or a certificate"));
  EXPECT_EQ(Listener::Start({.address = "127.0.0.1:0", .credentials = {}, .plugin = {}, .limits = {}}).status().code(),
            Code::kInvalidArgument);
}

TEST(Remote, CertificatesOfBothSides) {
  const Certificates made;
  if (!made.works) GTEST_SKIP() << "no program openssl";
  ListenOptions options;
  options.credentials = made.Of("server");
  options.max_failures = 100;
  Served served(options);
  const auto connect = [&](const channel::Credentials& credentials) {
    session::RemoteOptions remote;
    remote.address = served.address();
    remote.credentials = credentials;
    const Result<std::shared_ptr<session::Remote>> connected = session::Remote::Connect(remote);
    if (connected.ok()) (*connected)->Close(Cancelled("done"));
    return connected.status();
  };
  EXPECT_TRUE(connect(made.Of("client")).ok()) << connect(made.Of("client")).ToString();
  // Of another authority, on either side; and none at all.
  EXPECT_EQ(connect(made.Of("stranger")).code(), Code::kUnauthenticated) << connect(made.Of("stranger")).ToString();
  EXPECT_TRUE(served.WaitFor("refused: UNAUTHENTICATED"));
  const Status distrusted = connect(made.Of("client", "theirs"));
  EXPECT_EQ(distrusted.code(), Code::kUnauthenticated) << distrusted.ToString();
  channel::Credentials none;
  none.token = kToken;
  EXPECT_EQ(connect(none).code(), Code::kUnauthenticated) << connect(none).ToString();
  // A server that is certified as another one.
  ListenOptions other;
  other.credentials = made.Of("elsewhere");
  Served elsewhere(other);
  session::RemoteOptions remote;
  remote.address = elsewhere.address();
  remote.credentials = made.Of("client");
  const Status misnamed = session::Remote::Connect(remote).status();
  EXPECT_EQ(misnamed.code(), Code::kUnauthenticated);
  EXPECT_THAT(std::string(misnamed.message()), HasSubstr("mismatch"));
}

// A connection as strangers make it.
struct Stranger {
  explicit Stranger(const Served& served, const std::string& token = kToken) {
    Result<std::shared_ptr<channel::Tls>> made = channel::Tls::Make({{}, {}, {}, token}, false);
    EXPECT_TRUE(made.ok());
    tls = *made;
    Result<channel::Fd> socket = channel::Connect(*channel::ParseAddress(served.address()), NowMs() + 5000, 20000);
    EXPECT_TRUE(socket.ok());
    Result<std::unique_ptr<channel::SecureStream>> wrapped =
        tls->Wrap(std::move(*socket), {}, "server", NowMs() + 5000);
    EXPECT_TRUE(wrapped.ok()) << wrapped.status().ToString();
    stream = std::move(*wrapped);
  }
  wire::Attach Hello() {
    wire::Attach attach;
    attach.magic = wire::kAttachMagic;
    attach.oldest = wire::kOldestProtocol;
    attach.newest = wire::kNewestProtocol;
    attach.build = "stranger";
    attach.proof = stream->Prove(kToken, false).value();
    return attach;
  }
  // What the server says to it.
  Status Say(wire::Verb verb, const std::string& message) {
    TENON_RETURN_IF_ERROR(channel::WriteFully(*stream, channel::EncodeFrame(verb, 0, message), NowMs() + 5000));
    channel::Ring::Frame frame;
    TENON_RETURN_IF_ERROR(channel::ReadFrame(*stream, 10000, frame, NowMs() + 5000));
    TENON_ASSIGN_OR_RETURN(answer, wire::Decode<wire::Attached>(frame.message));
    return wire::ToStatus(answer.error);
  }
  std::shared_ptr<channel::Tls> tls;
  std::unique_ptr<channel::SecureStream> stream;
  wire::Attached answer;
};

// The session that was begun when the plugin was loaded is for those who come as the environment says.
TEST(Remote, SessionsAreOfThoseWhoBeganThem) {
  Served served;
  const client::Plugin plugin = IsolatedPlugin();
  (void)plugin.CreateClient();  // Takes the process that is there already.
  ::setenv("TENON_REMOTE", served.address().c_str(), 1);
  ::setenv("TENON_REMOTE_TOKEN_FILE", TokenFile().c_str(), 1);
  auto initialize = client::MakeArgs<PJRT_Plugin_Initialize_Args>();
  EXPECT_OK(plugin.api().Call(initialize));
  EXPECT_TRUE(served.WaitFor("a session"));
  Options options = RemoteAt(served.address());
  options.Set("remote_token_file", WriteFile("other_token", std::string(40, 'o'), 0600));
  EXPECT_EQ(plugin.CreateClient(options).status().code(), Code::kUnauthenticated);
  const Status theirs = plugin.CreateClient(RemoteAt(served.address())).status();
  ::unsetenv("TENON_REMOTE");
  ::unsetenv("TENON_REMOTE_TOKEN_FILE");
  EXPECT_OK(theirs);
  EXPECT_EQ(served.Count(": a session ("), 1u);
}

TEST(Remote, ReplayedProofIsRefused) {
  Served served;
  Stranger first(served), second(served);
  wire::Attach attach = first.Hello();  // As somebody could have recorded it.
  const Status status = second.Say(wire::Verb::kAttach, wire::Encode(attach));
  EXPECT_EQ(status.code(), Code::kUnauthenticated) << status.ToString();
  EXPECT_TRUE(first.Say(wire::Verb::kAttach, wire::Encode(attach)).ok());
  // Nor is the server's proof worth anything as a client's.
  Stranger third(served);
  attach.proof = third.stream->Prove(kToken, true).value();
  EXPECT_EQ(third.Say(wire::Verb::kAttach, wire::Encode(attach)).code(), Code::kUnauthenticated);
  // The session of another is not had by its number alone.
  Stranger fourth(served);
  wire::Attach stolen = fourth.Hello();
  stolen.session = first.answer.session;
  stolen.secret = std::string(32, 'x');
  EXPECT_EQ(fourth.Say(wire::Verb::kAttach, wire::Encode(stolen)).code(), Code::kNotFound);
}

// A session that cannot be made, for want of threads or of memory, leaves its place to the next.
TEST(Remote, SessionsThatCannotBeMadeTakeNoPlace) {
  ListenOptions options;
  options.max_sessions = 1;
  Served served(options);
  for (int i = 0; i < 3; ++i) {
    Stranger refused(served);  // The server's thread for it is there.
    const proxy::testing::NoThreads meanwhile;
    EXPECT_FALSE(refused.Say(wire::Verb::kAttach, wire::Encode(refused.Hello())).ok());
  }
  Stranger next(served);
  const Status status = next.Say(wire::Verb::kAttach, wire::Encode(next.Hello()));
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(Remote, FirstMessagesAreChecked) {
  ListenOptions options;
  options.max_failures = 100;
  Served served(options);
  EXPECT_FALSE(Stranger(served).Say(wire::Verb::kAttach, std::string(5000, 'x')).ok());  // Too long.
  EXPECT_TRUE(served.WaitFor("a frame announces 5000 bytes, at most 1024 are taken"));
  EXPECT_FALSE(Stranger(served).Say(wire::Verb::kCompile, "x").ok());
  EXPECT_TRUE(served.WaitFor("the first message is Compile"));
  EXPECT_FALSE(Stranger(served).Say(wire::Verb::kAttach, "rubbish").ok());
  Stranger old(served);
  wire::Attach attach = old.Hello();
  attach.oldest = attach.newest = 77;
  attach.build = "str\nanger";
  const Status version = old.Say(wire::Verb::kAttach, wire::Encode(attach));
  EXPECT_EQ(version.code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(version.message()), HasSubstr("speaks protocols 77 to 77, this server"));
  EXPECT_TRUE(served.WaitFor("(str.anger)"));
  Stranger swapped(served);
  attach = swapped.Hello();
  attach.magic = __builtin_bswap64(attach.magic);
  EXPECT_EQ(swapped.Say(wire::Verb::kAttach, wire::Encode(attach)).code(), Code::kDataLoss);
  // Not even TLS.
  Result<channel::Fd> socket = channel::Connect(*channel::ParseAddress(served.address()), NowMs() + 5000, 20000);
  ASSERT_TRUE(socket.ok());
  const auto plain = channel::MakeSocketStream(std::move(*socket), "server");
  ASSERT_TRUE(channel::WriteFully(*plain, "GET / HTTP/1.1\r\n\r\n", NowMs() + 1000).ok());
  EXPECT_TRUE(served.WaitFor("the TLS handshake failed"));
  EXPECT_TRUE(IsolatedPlugin().CreateClient(RemoteAt(served.address())).ok());
}

// Those who connect and say nothing go in time, and do not keep others out for longer.
TEST(Remote, SilentStrangersGo) {
  ListenOptions options;
  options.stranger_ms = 500;
  options.max_strangers = options.max_strangers_per_host = 4;
  options.max_failures = 100;
  Served served(options);
  std::vector<channel::Fd> silent;
  for (int i = 0; i < 8; ++i) {
    Result<channel::Fd> socket = channel::Connect(*channel::ParseAddress(served.address()), NowMs() + 5000, 20000);
    ASSERT_TRUE(socket.ok());
    silent.push_back(std::move(*socket));
  }
  EXPECT_TRUE(served.WaitFor("others have not shown yet who they are"));
  EXPECT_TRUE(served.WaitFor("did not finish the TLS handshake in time"));
  Status status = Unavailable("not tried");
  for (int wait = 0; wait < 50 && !status.ok(); ++wait) {
    status = IsolatedPlugin().CreateClient(RemoteAt(served.address())).status();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// Those of one address do not take all places, however many they are.
TEST(Remote, StrangersOfOneAddressLeaveRoomForOthers) {
  ListenOptions options;
  options.address = "0.0.0.0:0";
  options.stranger_ms = 60000;
  options.max_strangers = 4;
  options.max_strangers_per_host = 2;
  Served served(options);
  const std::string port = served.address().substr(served.address().rfind(':') + 1);
  std::vector<channel::Fd> silent;
  for (int i = 0; i < 8; ++i) {
    Result<channel::Fd> socket = channel::Connect(*channel::ParseAddress("127.0.0.1:" + port), NowMs() + 5000, 20000);
    ASSERT_TRUE(socket.ok());
    silent.push_back(std::move(*socket));
  }
  EXPECT_TRUE(served.WaitFor("2 others of that address have not shown yet who they are"));
  // From another address: whoever connects to 127.0.0.2 comes from there when told so.
  channel::Fd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in from{}, to{};
  from.sin_family = to.sin_family = AF_INET;
  ::inet_pton(AF_INET, "127.0.0.2", &from.sin_addr);
  ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<sockaddr*>(&from), sizeof(from)), 0);
  ASSERT_EQ(::connect(other.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  channel::Credentials credentials;
  credentials.token = kToken;
  Result<std::shared_ptr<channel::Tls>> tls = channel::Tls::Make(credentials, /*is_server=*/false);
  ASSERT_TRUE(tls.ok());
  Result<std::unique_ptr<channel::SecureStream>> stream = (*tls)->Wrap(std::move(other), {}, "server", NowMs() + 20000);
  EXPECT_TRUE(stream.ok()) << stream.status().ToString();
}

TEST(Remote, WhoFailsTooOftenWaits) {
  ListenOptions options;
  options.max_failures = 3;
  options.failures_ms = 700;
  Served served(options);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Stranger(served).Say(wire::Verb::kCompile, "x").ok());
  ASSERT_TRUE(served.WaitFor("refused"));
  Status status;
  for (int wait = 0; wait < 50 && status.ok(); ++wait)
    status = IsolatedPlugin().CreateClient(RemoteAt(served.address())).status();
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
  for (int wait = 0; wait < 100 && !status.ok(); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    status = IsolatedPlugin().CreateClient(RemoteAt(served.address())).status();
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// A key is left after so many bytes also when that moment comes while a record has left in part.
TEST(Remote, KeysAreLeftInTime) {
  constexpr uint64_t kPerKey = 1 << 20, kBytes = 40 << 20;
  int ends[2] = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  std::unique_ptr<channel::SecureStream> server, client;
  channel::Credentials credentials;
  credentials.token = kToken;
  credentials.bytes_per_key = kPerKey;
  const auto open = [&](int fd, bool is_server, std::unique_ptr<channel::SecureStream>& stream) {
    const Result<std::shared_ptr<channel::Tls>> tls = channel::Tls::Make(credentials, is_server);
    ASSERT_TRUE(tls.ok());
    auto made = (*tls)->Wrap(channel::Fd(fd), {}, "other", NowMs() + 20000);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    stream = std::move(*made);
  };
  std::thread accepting([&] { open(ends[0], true, server); });
  open(ends[1], false, client);
  accepting.join();
  ASSERT_TRUE(server != nullptr && client != nullptr);
  uint64_t read = 0;
  std::thread reading([&] {
    std::vector<char> bytes(1 << 20);
    while (read < kBytes) {
      Result<size_t> n = server->TryRead(bytes.data(), bytes.size());
      ASSERT_TRUE(n.ok()) << n.status().ToString();
      read += *n;
      if (*n == 0) (void)server->WaitReadable(1000);
    }
  });
  // Each piece is longer than what the socket takes, so that it is nearly always full.
  EXPECT_TRUE(channel::WriteFully(*client, std::string(kBytes, 'x'), NowMs() + 60000).ok());
  reading.join();
  EXPECT_GE(client->keys(), kBytes / kPerKey / 2);
  EXPECT_LE(client->keys(), kBytes / kPerKey + 1);
}

// Who says goodbye does not come back to a session that is over, and whose connection is cut has shown nothing.
TEST(Remote, FriendsThatComeAndGoAreNotKeptOut) {
  ListenOptions options;
  options.max_failures = 1;
  Served served(options);
  for (int i = 0; i < 30; ++i) {
    const Status status = IsolatedPlugin().CreateClient(RemoteAt(served.address())).status();
    ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
  }
  EXPECT_EQ(served.Count("refused"), 0) << served.log();
  ASSERT_TRUE(channel::Connect(*channel::ParseAddress(served.address()), NowMs() + 5000, 20000).ok());
  EXPECT_TRUE(served.WaitFor("closed the connection during the handshake"));
  EXPECT_TRUE(IsolatedPlugin().CreateClient(RemoteAt(served.address())).ok());
}

// Stands between clients and a server: cuts connections, and takes new ones or not.
class Cable {
 public:
  explicit Cable(const std::string& to) : to_(*channel::ParseAddress(to)) {
    Result<channel::Fd> socket = channel::Listen({"127.0.0.1", "0"}, &port_);
    EXPECT_TRUE(socket.ok());
    listening_ = std::move(*socket);
    accepting_ = std::thread([this] { Accept(); });
  }
  ~Cable() {
    stopped_ = true;
    accepting_.join();
    Cut();
    for (std::thread& thread : threads_) thread.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void SetOpen(bool open) { open_ = open; }
  void Cut() {
    std::lock_guard lock(mutex_);
    for (const auto& stream : streams_) stream->Shutdown();
    streams_.clear();
  }

 private:
  void Accept() {
    while (!stopped_) {
      std::string peer;
      Result<channel::Fd> accepted = channel::Accept(listening_.get(), 20, 20000, &peer);
      if (!accepted.ok() || !*accepted || !open_) continue;
      Result<channel::Fd> onward = channel::Connect(to_, NowMs() + 2000, 20000);
      if (!onward.ok()) continue;
      const std::shared_ptr<channel::Stream> a = channel::MakeSocketStream(std::move(*accepted), "client");
      const std::shared_ptr<channel::Stream> b = channel::MakeSocketStream(std::move(*onward), "server");
      std::lock_guard lock(mutex_);
      streams_.push_back(a);
      streams_.push_back(b);
      threads_.emplace_back([a, b] { Forward(*a, *b); });
      threads_.emplace_back([a, b] { Forward(*b, *a); });
    }
  }
  static void Forward(channel::Stream& from, channel::Stream& to) {
    char bytes[20000];
    for (;;) {
      const Result<size_t> n = from.TryRead(bytes, sizeof(bytes));
      if (!n.ok() || !channel::WriteFully(to, std::string_view(bytes, *n), NowMs() + 10000).ok()) break;
      if (*n == 0) (void)from.WaitReadable(100);
    }
    from.Shutdown();
    to.Shutdown();
  }
  const channel::Address to_;
  channel::Fd listening_;
  int port_ = 0;
  std::atomic<bool> stopped_{false}, open_{true};
  std::mutex mutex_;
  std::vector<std::shared_ptr<channel::Stream>> streams_;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

// Connections that break cost time and nothing else, whatever crosses them.
TEST(Remote, CutConnectionsAreMadeAgain) {
  Served served;
  Cable cable(served.address());
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(cable.address())));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c, "increment"));
  std::atomic<bool> done{false};
  std::atomic<int> cuts{0};
  std::thread cutting([&] {
    std::mt19937 random(3);
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 60));
      cable.Cut();
      ++cuts;
    }
  });
  std::vector<float> large(1 << 20);
  std::iota(large.begin(), large.end(), 0.0F);
  for (int round = 0; round < 3 || cuts < 4; ++round) {
    Result<Buffer> x = Floats(c, {0, 1, 2, 3});
    ASSERT_TRUE(x.ok()) << x.status().ToString();
    for (int i = 0; i < 50; ++i) {
      Result<std::vector<Buffer>> out = increment.Execute({&*x});
      ASSERT_TRUE(out.ok()) << out.status().ToString();
      *x = std::move((*out)[0]);
    }
    const auto data = x->ToHost<float>();
    ASSERT_TRUE(data.ok()) << data.status().ToString();
    EXPECT_THAT(*data, ElementsAre(50, 51, 52, 53));
    const Result<Buffer> big = Floats(c, large);
    ASSERT_TRUE(big.ok()) << big.status().ToString();
    const auto back = big->ToHost<float>();
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_TRUE(*back == large);
  }
  done = true;
  cutting.join();
  EXPECT_EQ(served.Count(": a session"), 1u);
}

// A cable that stays cut is the end of the session, at both ends and in time.
TEST(Remote, AwayForTooLongIsTheEnd) {
  ListenOptions options;
  options.limits.grace_ms = 1000;
  Served served(options);
  Cable cable(served.address());
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(cable.address())));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable later, Compile(c, "later echo"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c, {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, later.Execute({&x}));
  cable.SetOpen(false);
  cable.Cut();
  const Status lost = out[0].Await();
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(lost.message()),
              AllOf(HasSubstr("the session with 127.0.0.1"), HasSubstr("1 execution is lost")));
  EXPECT_TRUE(served.WaitFor("nobody made the connection again within 1 s"));
  EXPECT_EQ(x.ToHost<float>().status().code(), Code::kUnavailable);
}

// The program that serves, at a port that it keeps when it is started again.
class ServerProgram {
 public:
  ServerProgram()
      : program_({TENON_SERVER, "--listen", "0", "--plugin", TENON_FAKE_PLUGIN, "--token-file", TokenFile(),
                  "--grace-seconds", "1", "--max-sessions", "256"}) {
    Start();
  }
  void Start() {
    const std::string line = program_.Start();
    ASSERT_THAT(line, HasSubstr("listening at port "));
    program_.command()[2] = line.substr(line.rfind(' ') + 1);
  }
  std::string address() { return "127.0.0.1:" + program_.command()[2]; }
  int End(int signal) { return program_.End(signal); }
  std::vector<int> Processes() const { return proxy::testing::ChildrenOf(program_.pid()); }

 private:
  proxy::testing::Program program_;
};

// The program itself, killed in mid work; another one takes its place.
TEST(Remote, KilledServerIsAnError) {
  ServerProgram server;
  ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(server.address())));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable later, Compile(c, "later echo"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(c, "increment"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(c, {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> pending, later.Execute({&x}));
  server.End(SIGKILL);
  EXPECT_EQ(pending[0].Await().code(), Code::kUnavailable);
  EXPECT_EQ(increment.Execute({&x}).status().code(), Code::kUnavailable);
  server.Start();
  Status status = Unavailable("not tried");
  for (int wait = 0; wait < 300 && !status.ok(); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Result<Buffer> y = Floats(c, {5, 6, 7, 8});
    if (!y.ok()) continue;
    const Result<std::vector<Buffer>> ran = increment.Execute({&*y});
    status = ran.ok() ? (*ran)[0].Await() : ran.status();
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
  const int how = server.End(SIGTERM);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

// Device processes die at random moments under load: no array goes. TENON_KILL_ROUNDS: how often.
TEST(Remote, ProcessesKilledAtRandom) {
  const int rounds = proxy::testing::KillRounds(10);
  ServerProgram server;
  {
    ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(server.address())));
    proxy::testing::Load load(c, proxy::testing::Load::kArrays);
    std::mt19937 random(5);
    for (int round = 0; round < rounds; ++round) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
      const std::vector<int> processes = server.Processes();
      if (!processes.empty()) ::kill(processes[random() % processes.size()], SIGKILL);
    }
    EXPECT_TRUE(load.StillWorks());
    load.Stop();
    EXPECT_EQ(load.wrong, 0);
    EXPECT_EQ(proxy::testing::ArrayBytes(c), 0);
    load.Report(rounds);
  }
  EXPECT_TRUE(proxy::testing::AllEnd(server.Processes()));
}

// And so do servers, with all that they have.
TEST(Remote, ServersKilledAtRandom) {
  const int rounds = proxy::testing::KillRounds(4);
  ServerProgram server;
  {
    ASSERT_OK_AND_ASSIGN(const Client c, IsolatedPlugin().CreateClient(RemoteAt(server.address())));
    proxy::testing::Load load(c, proxy::testing::Load::kNothing);
    std::mt19937 random(6);
    for (int round = 0; round < rounds; ++round) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 200000));
      const std::vector<int> processes = server.Processes();
      server.End(SIGKILL);
      EXPECT_TRUE(proxy::testing::AllEnd(processes));
      server.Start();
    }
    EXPECT_TRUE(load.StillWorks());
    load.Stop();
    EXPECT_EQ(load.wrong, 0);
    EXPECT_EQ(proxy::testing::ArrayBytes(c), 0);
    load.Report(rounds);
  }
  EXPECT_TRUE(proxy::testing::AllEnd(server.Processes()));
}

// Hosts that are killed leave nothing at the server.
TEST(Remote, HostsKilledAtRandom) {
  const int rounds = proxy::testing::KillRounds(10) / 10;
  ServerProgram server;
  std::mt19937 random(8);
  for (int round = 0; round < rounds; ++round) {
    proxy::testing::Program host({TENON_LOAD_HOST, server.address(), TokenFile()});
    ASSERT_EQ(host.Start(), "running");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
    EXPECT_EQ(host.End(SIGKILL), SIGKILL);
  }
  EXPECT_TRUE(proxy::testing::AllEnd(server.Processes()));
  const int how = server.End(SIGTERM);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

// A client that was let in and sends rubbish costs its session.
TEST(Remote, MalformedMessagesCostTheSession) {
  Served served;
  ASSERT_OK_AND_ASSIGN(const Client other, IsolatedPlugin().CreateClient(RemoteAt(served.address())));
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    Stranger one(served);
    ASSERT_TRUE(one.Say(wire::Verb::kAttach, wire::Encode(one.Hello())).ok());
    // Messages that are well-formed and say what is not so, on both connections, then rubbish.
    Stranger bytes(served);
    wire::Attach second = bytes.Hello();
    second.lane = 1;
    second.session = one.answer.session;
    second.secret = one.answer.secret;
    ASSERT_TRUE(bytes.Say(wire::Verb::kAttach, wire::Encode(second)).ok());
    const auto say = [&](Stranger& to, wire::Verb verb, const std::string& message) {
      (void)channel::WriteFully(*to.stream, channel::EncodeFrame(verb, random() % 4, message), NowMs() + 1000);
    };
    const auto few = [&] { return random() % 4; };
    if (round % 4 == 0) {
      const wire::Hello hello{wire::kOldestProtocol, wire::kNewestProtocol, {}};
      say(one, wire::Verb::kHello, wire::Encode(hello));
    }
    for (int i = 0; i < 30; ++i) {
      switch (random() % 7) {
        case 0:
          say(one, wire::Verb::kUpload, wire::Encode(wire::Upload{few(), few(), few(), few(), {}}));
          break;
        case 1:
          say(one, wire::Verb::kUpload, wire::Encode(wire::Upload{few(), 4, 0, 4, "abcd"}));
          break;
        case 2: {
          wire::Execute m;
          wire::DeviceRun run;
          run.arguments.push_back({few(), {}, 0, few() == 0});
          run.outputs.push_back({few() + 4 * (random() % 2), {}, few()});
          m.devices.push_back(run);
          say(one, wire::Verb::kExecute, wire::Encode(m));
          break;
        }
        case 3:
          say(one, wire::Verb::kDrop, wire::Encode(wire::Drop{{few(), few()}}));
          break;
        case 4:
          say(bytes, wire::Verb::kFetch,
              wire::Encode(wire::Fetch{few(), few() == 0 ? UINT64_MAX : few(), few(), few()}));
          break;
        case 5:
          say(bytes, wire::Verb::kChunk, wire::Encode(wire::Chunk{few(), std::string(few(), 'x')}));
          break;
        default:
          say(one, wire::Verb::kHandlerDone, wire::Encode(wire::HandlerDone{}));
      }
    }
    for (int i = 0; i < 20; ++i) {
      std::string message(random() % 100, '\0');
      for (char& c : message) c = static_cast<char>(random());
      auto verb = static_cast<wire::Verb>(random() % 103);
      if (verb == wire::Verb::kHello) verb = wire::Verb::kExecute;  // Starting processes is not what is tested.
      say(random() % 2 == 0 ? one : bytes, verb, message);
    }
  }
  EXPECT_TRUE(served.WaitFor("the session is over"));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable increment, Compile(other, "increment"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, Floats(other, {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, increment.Execute({&x}));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
}

// A server that is a test: it lets one client in and then says and hears what the test wants.
class StageServer {
 public:
  StageServer() {
    channel::Credentials credentials;
    credentials.token = kToken;
    tls_ = *channel::Tls::Make(credentials, /*is_server=*/true);
    Result<channel::Fd> socket = channel::Listen({"127.0.0.1", "0"}, &port_);
    EXPECT_TRUE(socket.ok());
    socket_ = std::move(*socket);
    for (auto& lane : lanes_) lane = std::make_unique<channel::Pipe>(channel::PipeOptions{});
    accepting_ = std::thread([this] {
      for (int i = 0; i < wire::kLanes; ++i) Admit();
    });
  }
  ~StageServer() {
    if (accepting_.joinable()) accepting_.join();
  }
  Result<std::shared_ptr<session::Remote>> Connect(std::shared_ptr<session::HandlerHost> handlers = nullptr) {
    session::RemoteOptions options;
    options.handlers = std::move(handlers);
    options.address = "127.0.0.1:" + std::to_string(port_);
    options.credentials.token = kToken;
    Result<std::shared_ptr<session::Remote>> remote = session::Remote::Connect(options);
    accepting_.join();
    return remote;
  }
  channel::Pipe& control() { return *lanes_[0]; }

 private:
  void Admit() {
    std::string peer;
    Result<channel::Fd> socket = channel::Accept(socket_.get(), 20000, 20000, &peer);
    ASSERT_TRUE(socket.ok() && *socket);
    Result<std::unique_ptr<channel::SecureStream>> stream = tls_->Wrap(std::move(*socket), {}, peer, NowMs() + 20000);
    ASSERT_TRUE(stream.ok());
    channel::Ring::Frame frame;
    ASSERT_TRUE(channel::ReadFrame(**stream, 1024, frame, NowMs() + 20000).ok());
    const Result<wire::Attach> attach = wire::Decode<wire::Attach>(frame.message);
    ASSERT_TRUE(attach.ok());
    wire::Attached attached;
    attached.session = 7;
    attached.grace_s = 60;
    attached.max_message_bytes = wire::kMaxMessageBytes;
    attached.proof = (*stream)->Prove(kToken, /*as_server=*/true).value();
    const std::string answer = channel::EncodeFrame(wire::Verb::kAttached, 0, wire::Encode(attached));
    ASSERT_TRUE(channel::WriteFully(**stream, answer, NowMs() + 20000).ok());
    ASSERT_TRUE(lanes_[attach->lane]->Resume(std::move(*stream), 0).ok());
  }
  std::shared_ptr<channel::Tls> tls_;
  channel::Fd socket_;
  int port_ = 0;
  std::array<std::unique_ptr<channel::Pipe>, wire::kLanes> lanes_;
  std::thread accepting_;
};

// A device process dies while messages to it wait for the connection: the next one gets none of them, but what concerns
// arrays, which are the server's, gets there, however late.
TEST(Remote, MessagesToTheDeadDoNotReachTheNext) {
  StageServer server;
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<session::Remote> remote, server.Connect());
  channel::Ring::Frame frame;
  const auto greet = [&](std::shared_ptr<session::Session>& made) {
    std::thread starting([&] {
      Result<std::shared_ptr<session::Session>> started = session::RemoteSession::Start(remote);
      ASSERT_TRUE(started.ok()) << started.status().ToString();
      made = std::move(*started);
    });
    std::vector<channel::Ring::Frame> before;
    while (server.control().Receive(frame).ok() && frame.verb != wire::Verb::kHello) before.push_back(frame);
    const wire::Answer answer{{}, wire::Encode(wire::Welcome{})};
    EXPECT_TRUE(server.control().Send(wire::Verb::kAnswer, frame.number, wire::Encode(answer)).ok());
    starting.join();
    return before;
  };
  std::shared_ptr<session::Session> first, second;
  EXPECT_TRUE(greet(first).empty());
  // Nobody receives: the window closes, and what is posted then waits.
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) first->Post(wire::Verb::kCompile, 1, large);
  first->Post(wire::Verb::kExecute, 2, "to the dead");
  first->Post(wire::Verb::kUpload, 3, "an array");
  first->DropLater(50, 1);  // Waits for the next message.
  const wire::Gone gone{wire::FromStatus(Unavailable("it died"))};
  ASSERT_TRUE(server.control().Send(wire::Verb::kGone, 0, wire::Encode(gone)).ok());
  while (first->state().ok()) std::this_thread::yield();
  first->DropLater(51, 1);
  size_t compiles = 0;
  std::vector<uint64_t> dropped;
  std::vector<wire::Verb> others;
  for (const channel::Ring::Frame& one : greet(second)) {
    if (one.verb == wire::Verb::kCompile) {
      ++compiles;
    } else if (one.verb == wire::Verb::kDrop) {
      const Result<wire::Drop> drop = wire::Decode<wire::Drop>(one.message);
      ASSERT_TRUE(drop.ok());
      dropped.insert(dropped.end(), drop->arrays.begin(), drop->arrays.end());
    } else {
      others.push_back(one.verb);
    }
  }
  EXPECT_LT(compiles, 20u);
  EXPECT_THAT(others, ElementsAre(wire::Verb::kUpload));
  EXPECT_THAT(dropped, ElementsAre(50, 51));
  first->Post(wire::Verb::kExecute, 4, "to the dead");
  second->Post(wire::Verb::kExecute, 5, "to the living");
  ASSERT_TRUE(server.control().Receive(frame).ok());
  EXPECT_EQ(frame.number, 5u);
  remote->Close(Cancelled("done"));
}

// A server that calls handlers without end and takes no outcomes has its client keep only so many.
TEST(Remote, ServersCallOnlySoOften) {
  class Refusing final : public session::HandlerHost {
   public:
    void Tell(const std::shared_ptr<session::Session>&) override {}
    void Run(std::shared_ptr<session::Session> session, uint64_t number, wire::CallHandler,
             std::shared_ptr<session::PendingExecution>) override {
      session->EndCall(number, {wire::FromStatus(NotFound("no such handler")), {}});
    }
  };
  StageServer server;
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<session::Remote> remote, server.Connect(std::make_shared<Refusing>()));
  std::thread greeting([&] {
    channel::Ring::Frame frame;
    ASSERT_TRUE(server.control().Receive(frame).ok());
    const wire::Answer answer{{}, wire::Encode(wire::Welcome{})};
    ASSERT_TRUE(server.control().Send(wire::Verb::kAnswer, frame.number, wire::Encode(answer)).ok());
  });
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<session::Session> session, session::RemoteSession::Start(remote));
  greeting.join();
  // Nobody receives: the window closes.
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) session->Post(wire::Verb::kCompile, 1, large);
  const std::string call = wire::Encode(wire::CallHandler{});
  for (size_t i = 0; i < 2 * session::Session::kMaxCalls; ++i) {
    if (!server.control().Send(wire::Verb::kCallHandler, i, call).ok()) break;
  }
  for (int wait = 0; wait < 1000 && remote->state().ok(); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(std::string(remote->state().message()), HasSubstr("not taken the outcomes"));
  remote->Close(Cancelled("done"));
}

}  // namespace
}  // namespace tenon::remote
