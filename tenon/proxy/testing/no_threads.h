#pragma once

#include <pthread.h>

#include <cstddef>

namespace tenon::proxy::testing {

/// While it lives no thread can be started in this process: none has a stack of 64 TiB.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&usual_);
    pthread_attr_t large;
    ::pthread_attr_init(&large);
    ::pthread_attr_setstacksize(&large, size_t{1} << 46);
    ::pthread_setattr_default_np(&large);
    ::pthread_attr_destroy(&large);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    ::pthread_setattr_default_np(&usual_);
    ::pthread_attr_destroy(&usual_);
  }

 private:
  pthread_attr_t usual_;
};

}  // namespace tenon::proxy::testing
