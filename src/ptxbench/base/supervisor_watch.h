// Watches a payload: its end, its limits, forbidden calls, and the death of the process that asked for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "ptxbench/base/subprocess.h"

namespace ptxbench::supervisor {

// Opens /proc while it is still visible; process numbers below it are the outer ones in every case.
void open_process_folder();

class Watch {
 public:
  // control: the candidate's control socket or -1. signals: a signalfd of SIGCHLD.
  Watch(pid_t payload, int control, int signals, const SandboxLimits& limits);

  // Returns when the payload has ended or must end; then it has been killed and reaped, its descendants may still live.
  Exit run();

  // Kills and reaps every descendant of this process.
  void kill_tree();

 private:
  struct Usage {
    std::uint64_t processes = 0;  // threads count
    std::uint64_t resident_bytes = 0;
  };
  Usage measure() const;
  bool reap();              // true: the payload has ended
  void receive_listener();  // the candidate locks itself and hands over its filter's announcements
  void check_limits();
  void end_payload(Ending how, std::string detail);

  pid_t payload_;
  int control_, signals_, listener_ = -1;
  SandboxLimits limits_;
  Exit exit_;
  bool verdict_ = false;  // exit_.how is already decided; the signal that follows is ours
};

}  // namespace ptxbench::supervisor
