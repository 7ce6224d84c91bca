#include "ptxbench/base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "ptxbench/base/file.h"

namespace ptxbench {

namespace {

struct Handler {
  std::mutex mutex;
  std::function<bool()> function;
};
// Leaked on purpose: the waiting thread outlives static destructors.
Handler& handler() {
  static auto* instance = new Handler;
  return *instance;
}

bool handled() {
  const std::lock_guard lock(handler().mutex);
  return handler().function && handler().function();
}

}  // namespace

void set_interrupt_handler(std::function<bool()> function) {
  const std::lock_guard lock(handler().mutex);
  handler().function = std::move(function);
}

void exit_cleanly_on_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    do {
      while (sigwait(&signals, &signal) != 0) {
      }
    } while (handled());
    remove_live_temp_dirs();
    _exit(128 + signal);
  }).detach();
}

}  // namespace ptxbench
