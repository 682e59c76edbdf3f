// A client before a device process that a test is.
#include "tenon/proxy/client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tenon/proxy/testing/no_threads.h"

namespace tenon::proxy {
namespace {

// A device process that has one device with one memory, and says no more.
class OneDevice final : public session::Session {
 public:
  OneDevice() : Session(nullptr) {}
  void Announce(const std::shared_ptr<channel::Piece>&) override {}
  void Forget(uint32_t) override {}
  Result<Bytes> MemoryAt(const wire::Place&, uint64_t) override { return DataLoss("no memory"); }
  void End() override {}
  void Kill(const std::string&) override {}

 private:
  bool TrySend(wire::Verb verb, uint64_t number, std::string_view) override {
    if (verb != wire::Verb::kCreateClient) return true;
    wire::ClientText text;
    text.platform_name = "one";
    text.devices.resize(1);
    text.devices[0].addressable = true;
    text.devices[0].text.default_memory_kind = -1;
    text.memories.push_back({0, {"device", 1}, {0}, {0}});
    std::thread([this, number, body = wire::Encode(text)] {
      (void)Deliver({wire::Verb::kAnswer, number, wire::Encode(wire::Answer{{}, body})});
    }).join();
    return true;
  }
  Status Send(wire::Verb verb, uint64_t number, std::string_view message) override {
    (void)TrySend(verb, number, message);
    return OkStatus();
  }
};

// Where no thread for copies can be had one copy fails, and not all that come later.
TEST(ProxyClient, CopiesGoOnWhenThereAreThreadsAgain) {
  Core::Options options;
  options.has_client = true;
  ProxyClient::Cores cores{std::make_shared<Core>(options, std::make_shared<OneDevice>())};
  Result<plugin::Ref<plugin::Client>> client = ProxyClient::Create(std::move(cores));
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  bool lost = false;
  {
    const testing::NoThreads meanwhile;
    EXPECT_ANY_THROW((*client)->Schedule([&lost] { lost = true; }));
  }
  std::promise<void> done;
  (*client)->Schedule([&done] { done.set_value(); });
  ASSERT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_FALSE(lost);
}

}  // namespace
}  // namespace tenon::proxy
