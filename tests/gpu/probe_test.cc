// What the device program says of a machine: with made-up libraries, with ones that are too old, and with none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_program.h"
#include "ptxbench/schema/inventory.h"

namespace ptxbench::gpu {
namespace {

using schema::Piece;
using schema::PieceState;
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::string> kFake = {"PTXBENCH_NVIDIA_LIBRARIES=" FAKE_FOLDER};

Piece piece_of(const Finished& probe, std::string_view name) {
  const auto inventory = schema::inventory_from_json(probe.out.bytes, "probe");
  EXPECT_TRUE(inventory) << inventory.error().format() << probe.out.bytes;
  for (const Piece& piece : inventory->pieces)
    if (piece.name == name) return piece;
  ADD_FAILURE() << "no piece " << name << " in\n" << probe.out.bytes;
  return {};
}

TEST(Probe, EveryDeviceIsListedWithItsIdentityAndState) {
  const Finished probe = run_device({"--probe", "--json"}, kFake);
  EXPECT_EQ(probe.exit.code, 0) << probe.exit.describe() << probe.err.bytes;
  const Piece driver = piece_of(probe, "driver");
  EXPECT_EQ(driver.version, "CUDA 13.0");
  EXPECT_EQ(driver.path, FAKE_FOLDER "/libcuda.so.1");
  EXPECT_THAT(driver.notes, testing::ElementsAre("2 devices to be seen; CUDA_VISIBLE_DEVICES is not set"));
  const Piece card = piece_of(probe, "gpu:0"), slice = piece_of(probe, "gpu:1");
  EXPECT_EQ(card.purpose, "NVIDIA H200, sm_90, 132 multiprocessors, 143155 MiB");
  EXPECT_THAT(card.notes, testing::ElementsAre("UUID 00000000-0000-0000-0000-000000000041, bus 0000:41:00.0",
                                               "driver 580.1, 410 MHz, 410 W, 36 degrees"));
  EXPECT_EQ(slice.purpose, "NVIDIA H200 MIG 1g.18gb, sm_90, 16 multiprocessors, 16384 MiB");
  EXPECT_THAT(slice.notes[1], StartsWith("a MIG slice of a card: driver 580.1, 610 MHz"));
  EXPECT_EQ(piece_of(probe, "NVML").version, "13.580.1");
}

TEST(Probe, LibrariesOfOtherVersionsAreReadByTheirOwnNumbers) {
  const Finished probe = run_device({"--probe", "--json"}, kFake);
  const Piece cublas = piece_of(probe, "cuBLASLt"), cudnn = piece_of(probe, "cuDNN");
  EXPECT_EQ(cublas.version, "13.1.2");
  EXPECT_EQ(cublas.path, FAKE_FOLDER "/libcublasLt.so.13");
  EXPECT_EQ(cudnn.version, "9.14.3");
}

TEST(Probe, WhatIsAbsentHasItsPlacesItsPackageAndWhatWorksWithoutIt) {
  // No variable that names a folder; the machine itself may have the one or the other library.
  const Finished probe = run_device({"--probe", "--json"});
  for (const char* name : {"CUPTI", "NVML", "cuBLASLt", "cuDNN", "NVRTC"}) {
    const Piece piece = piece_of(probe, name);
    if (piece.state == PieceState::kFound) {
      EXPECT_FALSE(piece.path.empty()) << name;
      continue;
    }
    EXPECT_THAT(piece.problem, HasSubstr("cannot be opened")) << name;
    EXPECT_THAT(piece.problem, HasSubstr("/usr/local/cuda")) << name;
    EXPECT_FALSE(piece.how_to_get.empty()) << name;
    EXPECT_FALSE(piece.without.empty()) << name;
  }
}

TEST(Probe, ACuptiThatIsTooOldIsNamed) {
  const Finished probe = run_device({"--probe"}, {"PTXBENCH_NVIDIA_LIBRARIES=" TOO_OLD_FOLDER "/cupti"});
  EXPECT_THAT(probe.out.bytes, HasSubstr("absent  CUPTI"));
  EXPECT_THAT(probe.out.bytes, HasSubstr(TOO_OLD_FOLDER "/cupti/libcupti.so.13 is too old: it has no cupti"));
  EXPECT_THAT(probe.out.bytes, HasSubstr("get it: pip install nvidia-cuda-cupti"));
}

TEST(Usable, ANumberThatDoesNotExistIsAnsweredWithHowManyThereAre) {
  EXPECT_EQ(run_device({"--usable", "--device", "1"}, kFake).exit.code, 0);
  const Finished wrong = run_device({"--usable", "--device", "2"}, kFake);
  EXPECT_EQ(wrong.exit.code, 3);
  EXPECT_THAT(wrong.out.bytes, StartsWith("there is no GPU 2: CUDA sees 2, gpu:0 to gpu:1\n"));
  std::vector<std::string> environment = kFake;
  environment.push_back("CUDA_VISIBLE_DEVICES=GPU-6f1c");
  EXPECT_THAT(run_device({"--usable", "--device", "2"}, environment).out.bytes,
              HasSubstr("CUDA_VISIBLE_DEVICES is 'GPU-6f1c'"));
}

TEST(Usable, WithoutADriverItSaysWhatIsNeeded) {
  const Finished old = run_device({"--usable"}, {"PTXBENCH_NVIDIA_LIBRARIES=" TOO_OLD_FOLDER "/cuda"});
  EXPECT_EQ(old.exit.code, 3);
  EXPECT_THAT(old.out.bytes, HasSubstr("is too old: it has no cuInit\ninstall NVIDIA's driver"));
}

}  // namespace
}  // namespace ptxbench::gpu
