// Ctrl-C and SIGTERM: leave nothing behind.
#pragma once

#include <functional>

namespace ptxbench {

// From now on SIGINT, SIGTERM and SIGHUP remove this process's TempDirs and end it with 128 + signal. Call
// once, first thing in main, before any thread starts: the signals are blocked in every thread but one that
// waits for them. Child processes die with their parent (subprocess.h); they must start with an unblocked
// signal mask.
void exit_cleanly_on_signals();

// While set, the function is called (in the waiting thread) for every such signal; true: it is taken care of, the process
// goes on. Empty: as above.
void set_interrupt_handler(std::function<bool()> handler);

}  // namespace ptxbench
