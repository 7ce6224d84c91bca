# What `cmake --install` and scripts/dist lay out: bin/, lib/ptxbench/, share/ptxbench/, in a folder that can be moved.
#
# The programs bring every shared library that they need except the C and C++ runtimes, so that one archive runs on other
# distributions. NVIDIA's libraries are opened when a GPU is used and are never linked.
set(PTXBENCH_PROGRAMS ptxbench ptxbench-host ptxbench-supervisor ptxbench-device-emu ptxbench-device-gpu)
foreach(program IN LISTS PTXBENCH_PROGRAMS)
  if(TARGET ${program})
    # RPATH and not RUNPATH: it also holds for what the libraries themselves need.
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/ptxbench")
    target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
    list(APPEND present_programs ${program})
  endif()
endforeach()

install(TARGETS ${present_programs} RUNTIME_DEPENDENCY_SET ptxbench_dependencies RUNTIME DESTINATION bin)
install(RUNTIME_DEPENDENCY_SET ptxbench_dependencies
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|stdc\\+\\+|gcc_s)\\.so"
  LIBRARY DESTINATION lib/ptxbench)
install(TARGETS ptxbench_shim_cuda ptxbench_shim_cudart LIBRARY DESTINATION lib/ptxbench/shim)

install(DIRECTORY suites/definitions suites/workloads DESTINATION share/ptxbench/suites)
install(DIRECTORY knowledge DESTINATION share/ptxbench)
install(DIRECTORY kernels include DESTINATION share/ptxbench)
install(FILES models.toml DESTINATION share/ptxbench)
install(DIRECTORY experiments DESTINATION share/ptxbench)
if(EXISTS ${CMAKE_SOURCE_DIR}/.toolchain/tvm-ffi/include)
  install(DIRECTORY .toolchain/tvm-ffi/ DESTINATION share/ptxbench/tvm-ffi PATTERN .pins EXCLUDE)
endif()
install(DIRECTORY docs DESTINATION share/doc/ptxbench)
install(FILES README.md LICENSE DESTINATION share/doc/ptxbench)
# Repeats our measurements on a machine with a GPU: the script, and what it judges, as they lie in the source tree.
install(PROGRAMS scripts/hardware DESTINATION share/ptxbench/hardware/scripts)
install(DIRECTORY kernels DESTINATION share/ptxbench/hardware)
install(DIRECTORY tests/kernels tests/hardware DESTINATION share/ptxbench/hardware/tests PATTERN __pycache__ EXCLUDE)
