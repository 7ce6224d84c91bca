#include "ptxbench/base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "ptxbench/base/file.h"

namespace ptxbench {

void exit_cleanly_on_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    while (sigwait(&signals, &signal) != 0) {
    }
    remove_live_temp_dirs();
    _exit(128 + signal);
  }).detach();
}

}  // namespace ptxbench
