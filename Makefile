# The two commands of the README, and the rest of a developer's day.
PRESET ?= release
BUILD  := build/$(PRESET)
STEP   := scripts/step

.PHONY: demo test bench dist build setup format check clean help

help:   ## this list
	@grep -hE '^[a-z]+: .*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup:  ## install what is missing (apt packages; CUDA compiler from PyPI if there is no nvcc >= 13.0)
	@scripts/setup

build: setup  ## configure and build (PRESET=release|dev|asan-ubsan|tsan|fuzz)
	@$(STEP) "configure ($(PRESET))" cmake --preset $(PRESET)
	@$(STEP) "build ($(PRESET))" cmake --build --preset $(PRESET)

PROGRAMS := ptxbench ptxbench-host ptxbench-device-emu ptxbench-supervisor ptxbench_shim_libraries

demo: setup  ## judge the bundled Hopper GEMM on the emulated GPU
	@$(STEP) "configure ($(PRESET))" cmake --preset $(PRESET)
	@$(STEP) "build the programs ($(PRESET))" cmake --build --preset $(PRESET) --target $(PROGRAMS)
	@$(STEP) --show "evaluate kernels/hopper/gemm.cu" $(BUILD)/bin/ptxbench eval kernels/hopper/gemm.cu --task gemm_n7168_k5120 --workload emu --device emu

test:   ## all tests (the dev preset: warnings are errors)
	@$(MAKE) --no-print-directory PRESET=dev build
	@$(STEP) --show "check layers and format" scripts/check
	@$(STEP) --show "tests" scripts/run_tests dev

bench:  build  ## whole-process figures of the emulator and of reports
	@$(STEP) --show "bench" scripts/bench $(BUILD)
	@$(STEP) --show "bench of reports" bench/report_bench.py $(BUILD)

dist:   build  ## one archive that runs on other machines: dist/ptxbench-VERSION-linux-x86_64.tar.gz
	@$(STEP) --show "pack" scripts/dist $(BUILD)

format: ## clang-format in place
	@git ls-files '*.h' '*.cc' '*.cu' | xargs clang-format -i

clean:  ## remove the build folders and the archive (not the installed toolchain)
	rm -rf build dist
