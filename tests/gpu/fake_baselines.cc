// Built as libcublasLt.so.13 and libcudnn.so.9: libraries that know their versions and nothing else.
#include <cstddef>

extern "C" {
std::size_t cublasLtGetVersion() { return 130102; }
std::size_t cudnnGetVersion() { return 91403; }
}
