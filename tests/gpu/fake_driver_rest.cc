// The functions of the driver that the fake one does not answer. Under their names stands one function, whatever their
// parameters are; where fake_driver.cc has the name, that one counts.
#include "ptxbench/gpu/driver.h"

extern "C" [[gnu::used]] int ptxbench_not_supported() { return CUDA_ERROR_NOT_SUPPORTED; }

#define PTXBENCH_TEXT(text) #text
#define PTXBENCH_TEXT_OF(name) PTXBENCH_TEXT(name)
#define PTXBENCH_STAND_IN(member, function) \
  asm(".weak " PTXBENCH_TEXT_OF(function) "\n.set " PTXBENCH_TEXT_OF(function) ", ptxbench_not_supported");
PTXBENCH_DRIVER_FUNCTIONS(PTXBENCH_STAND_IN)
