// Functions that exist in the real library and that the shim does not implement: each answers
// cudaErrorNotSupported/CUDA_ERROR_NOT_SUPPORTED and tells the judge its name. They are weak, so that an implementation
// in another file takes their place.
#include "ptxbench/shim/refused.h"

#define PTXBENCH_API(name)                                            \
  extern "C" __attribute__((visibility("default"), weak)) int name(); \
  extern "C" __attribute__((visibility("default"), weak)) int name() { return ptxbench::shim::refused(#name); }
#include PTXBENCH_NAMES
