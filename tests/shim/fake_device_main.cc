// ptxbench-device-fake: the device of tests/wire/fake_device.h as a process, for tests of the shim and the runner.
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "../wire/fake_device.h"
#include "ptxbench/cli/emu_device.h"
#include "ptxbench/wire/server.h"

namespace {

class UnpackingDevice : public ptxbench::wire::FakeDevice {
  ptxbench::wire::Answer<std::string> text_of(std::span<const std::byte> image) override {
    return ptxbench::cli::choose_ptx(image, ptxbench::emu::Target::kHopper);
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int fd = -1;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--control-fd") == 0) fd = std::atoi(argv[i + 1]);
  }
  UnpackingDevice device;
  device.direct = true;
  ptxbench::wire::DeviceServer server(device);
  return server.serve(ptxbench::wire::Connection(fd)) ? 0 : 3;
}
