#include "tenon/client/kv_store.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

#include "tenon/base/contain.h"
#include "tenon/client/internal/kv_callbacks.h"

namespace tenon::client {
namespace {

constexpr std::chrono::hours kForEver{24 * 365 * 100};

class InProcessStore final : public KeyValueStore {
 public:
  Result<std::string> Get(std::string_view key, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return values_.find(key) != values_.end(); };
    // As nanoseconds from now on, which do not hold every timeout.
    const auto wait = std::clamp<std::chrono::milliseconds>(timeout, std::chrono::milliseconds(0), kForEver);
    if (!changed_.wait_for(lock, wait, there)) {
      return DeadlineExceeded("no value for the key '" + std::string(key) + "' after " +
                              std::to_string(timeout.count()) + " ms");
    }
    return values_.find(key)->second;
  }
  Result<std::string> TryGet(std::string_view key) override {
    std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return NotFound("no value for the key '" + std::string(key) + "'");
    return found->second;
  }
  Status Put(std::string_view key, std::string_view value) override {
    {
      std::lock_guard lock(mutex_);
      values_.insert_or_assign(std::string(key), std::string(value));
    }
    changed_.notify_all();
    return OkStatus();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string, std::less<>> values_;
};

PJRT_Error* ToError(PJRT_CallbackError* make, const Status& status) {
  return (*make)(static_cast<PJRT_Error_Code>(status.code()), status.message().data(), status.message().size());
}

void DeleteValue(char* value) { delete[] value; }

// Gives `value` to the plugin, which copies and deletes it.
template <class Args>
PJRT_Error* Answer(Args* args, const Result<std::string>& value) {
  if (!value.ok()) return ToError(args->callback_error, value.status());
  args->value = new char[value->size() + 1];
  std::memcpy(args->value, value->data(), value->size());
  args->value[value->size()] = '\0';
  args->value_size = value->size();
  args->value_deleter_callback = DeleteValue;
  return nullptr;
}

// Answers with what `ask` gives. Nothing may be thrown through the plugin's code.
template <class Args, class Ask>
PJRT_Error* AnswerWith(Args* args, const Ask& ask) {
  PJRT_Error* error = nullptr;
  const Status thrown = Contain("the key-value store", [&] { error = Answer(args, ask()); });
  return thrown.ok() ? error : ToError(args->callback_error, thrown);
}

KeyValueStore* StoreOf(void* user_arg) { return static_cast<KeyValueStore*>(user_arg); }

// struct_size of these arguments is not tested: some plugins leave it undefined.
PJRT_Error* Get(PJRT_KeyValueGetCallback_Args* args) {
  return AnswerWith(args, [args] {
    return StoreOf(args->user_arg)->Get({args->key, args->key_size}, std::chrono::milliseconds(args->timeout_in_ms));
  });
}
PJRT_Error* TryGet(PJRT_KeyValueTryGetCallback_Args* args) {
  return AnswerWith(args, [args] { return StoreOf(args->user_arg)->TryGet({args->key, args->key_size}); });
}
PJRT_Error* Put(PJRT_KeyValuePutCallback_Args* args) {
  const Status status = Contain("the key-value store", [args] {
    return StoreOf(args->user_arg)->Put({args->key, args->key_size}, {args->value, args->value_size});
  });
  return status.ok() ? nullptr : ToError(args->callback_error, status);
}

}  // namespace

std::shared_ptr<KeyValueStore> MakeInProcessKeyValueStore() { return std::make_shared<InProcessStore>(); }

void internal::SetKeyValueCallbacks(PJRT_Client_Create_Args& args, KeyValueStore* store) {
  args.kv_get_callback = Get;
  args.kv_get_user_arg = store;
  args.kv_put_callback = Put;
  args.kv_put_user_arg = store;
  args.kv_try_get_callback = TryGet;
  args.kv_try_get_user_arg = store;
}

}  // namespace tenon::client
