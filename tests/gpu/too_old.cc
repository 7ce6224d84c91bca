// Built as libcuda.so.1 and libcupti.so.13: libraries that open but have nothing in them that we need.
extern "C" int ptxbench_nothing() { return 0; }
