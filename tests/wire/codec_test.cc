#include "ptxbench/wire/codec.h"

#include <gtest/gtest.h>

#include <random>

#include "ptxbench/wire/host_orders.h"
#include "ptxbench/wire/messages.h"

namespace ptxbench::wire {
namespace {

TEST(Codec, LayoutIsLittleEndianWithoutPadding) {
  Launch launch;
  launch.kernel = 0x01020304;
  launch.stream = 5;
  launch.geometry.grid = {1, 2, 3};
  launch.params = "ab";
  const std::string bytes = encode(launch);
  // kernel, stream: 8; grid, block, cluster: 36; shared 4; two bools 2; length 4; text 2
  ASSERT_EQ(bytes.size(), 56u);
  EXPECT_EQ(bytes.substr(0, 4), std::string("\x04\x03\x02\x01", 4));
  EXPECT_EQ(bytes.substr(16, 4), std::string("\x03\0\0\0", 4));
  EXPECT_EQ(bytes.substr(50), std::string("\x02\0\0\0ab", 6));
}

TEST(Codec, RoundTripKeepsEverything) {
  RunReply reply;
  reply.launches.resize(2);
  reply.launches[1].kernel = "k";
  reply.launches[1].families.push_back({"wgmma", 1, 2, 3, 4, 5});
  reply.launches[1].trap.emplace();
  reply.launches[1].trap->address = 7;
  reply.commands.push_back({CommandKind::kFill, 1, 2, 3, 4, 5});
  reply.failures.push_back({1, "why"});
  reply.launches[0].instructions.push_back({});
  reply.launches[0].instructions[0].offset = 0x7f0;
  reply.launches[0].instructions[0].active_instructions = 99;
  reply.times.push_back({1, 1000, 3500, CommandKind::kFill});
  reply.wall_ns = 5000;
  reply.void_reason = "none";
  RunReply back;
  ASSERT_TRUE(decode(encode(reply), back));
  ASSERT_EQ(back.launches.size(), 2u);
  EXPECT_EQ(back.launches[1].kernel, "k");
  EXPECT_EQ(back.launches[1].families[0].flops, 4u);
  EXPECT_EQ(back.launches[1].trap->address, 7u);
  EXPECT_FALSE(back.launches[0].trap);
  EXPECT_EQ(back.commands[0].kind, CommandKind::kFill);
  EXPECT_EQ(back.failures[0].message, "why");
  EXPECT_EQ(back.launches[0].instructions.at(0).offset, 0x7f0u);
  EXPECT_EQ(back.launches[0].instructions.at(0).active_instructions, 99u);
  EXPECT_EQ(back.times.at(0).end_ns, 3500u);
  EXPECT_EQ(back.times.at(0).kind, CommandKind::kFill);
  EXPECT_EQ(back.wall_ns, 5000u);
  EXPECT_EQ(back.void_reason, "none");
}

TEST(Codec, RefusesShortLongAndOutOfRangeBytes) {
  const std::string good = encode(GetKernel{3, "name"});
  GetKernel out;
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode(good.substr(0, n), out)) << n;
  EXPECT_FALSE(decode(good + "x", out));
  // A length that promises more than there is must not allocate for it.
  EXPECT_FALSE(decode(std::string("\x03\0\0\0\xff\xff\xff\xff", 8), out));

  BeginRun run;
  std::string bytes = encode(run);
  bytes[4] = 2;  // Schedule has the values 0 and 1
  EXPECT_FALSE(decode(bytes, run));
  Launch launch;
  bytes = encode(launch);
  bytes[48] = 2;  // bool cooperative
  EXPECT_FALSE(decode(bytes, launch));
}

template <class Message>
void decode_noise(std::mt19937& random) {
  std::string bytes(random() % 300, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
  Message message;
  if (decode(bytes, message)) {
    EXPECT_EQ(encode(message), bytes);
  }
}

TEST(Codec, NoiseEitherFailsOrRoundTrips) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    decode_noise<Launch>(random);
    decode_noise<RunReply>(random);
    decode_noise<AddClient>(random);
    decode_noise<HostOrders>(random);
    decode_noise<HostResult>(random);
    decode_noise<KernelReply>(random);
  }
}

}  // namespace
}  // namespace ptxbench::wire
