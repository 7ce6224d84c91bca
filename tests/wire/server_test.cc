// The device's side of the protocol: rights, handles, sticky errors, recording, replay, hostile bytes.
#include "ptxbench/wire/server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "fake_device.h"
#include "ptxbench/wire/client.h"

namespace ptxbench::wire {
namespace {

constexpr const char* kPtx =
    ".version 9.0\n.target sm_90a\n.global .u32 counter;\n"
    ".visible .entry add(.param .u64 add_0, .param .u32 add_1, .param .u32 add_2) {}\n"
    ".visible .entry echo(.param .u64 e0, .param .align 64 .b8 e1[128]) {}\n"
    ".visible .entry oob(.param .u64 o0) {}\n.visible .entry spin() {}\n.visible .entry print() {}\n";

template <class T>
std::span<const std::byte> bytes_of(const T& items) {
  return std::as_bytes(std::span(items));
}

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    Connection ours, theirs;
    ASSERT_TRUE(make_pair(ours, theirs));
    control_ = std::make_unique<Client>(std::move(ours));
    server_ = std::thread([this, end = std::move(theirs)]() mutable {
      DeviceServer server(device_);
      served_ = server.serve(std::move(end)).has_value();
    });
  }
  void TearDown() override {
    EXPECT_TRUE(control_->call(Shutdown{}));
    server_.join();
    EXPECT_TRUE(served_);
  }

  // A new host connection, recorded.
  std::unique_ptr<Client> add_host(AddClient rights = {}) {
    Connection ours, theirs;
    EXPECT_TRUE(make_pair(ours, theirs));
    const auto added = control_->call(rights, {}, {}, theirs.fd());
    EXPECT_TRUE(added);
    host_id_ = added->handle;
    EXPECT_TRUE(control_->call(BeginRun{host_id_, Schedule::kLatest, 0, 50}));
    return std::make_unique<Client>(std::move(ours));
  }
  std::uint32_t kernel(Client& host, const char* name) {
    const auto module =
        host.call(LoadModule{std::strlen(kPtx)}, {reinterpret_cast<const std::byte*>(kPtx), std::strlen(kPtx)});
    EXPECT_TRUE(module);
    const auto found = host.call(GetKernel{module->handle, name});
    EXPECT_TRUE(found);
    return found->kernel;
  }
  static std::string add_params(std::uint64_t address, std::int32_t n, std::int32_t v) {
    std::string params(16, '\0');
    std::memcpy(params.data(), &address, 8);
    std::memcpy(params.data() + 8, &n, 4);
    std::memcpy(params.data() + 12, &v, 4);
    return params;
  }
  std::vector<std::int32_t> read_ints(Client& client, std::uint64_t address, std::size_t n) {
    std::vector<std::int32_t> values(n);
    EXPECT_TRUE(client.call(ReadMemory{address, n * 4, 0}, {}, std::as_writable_bytes(std::span(values))));
    return values;
  }

  FakeDevice device_;
  std::unique_ptr<Client> control_;
  std::thread server_;
  bool served_ = false;
  std::uint32_t host_id_ = 0;
};

TEST_F(ServerTest, MemoryRoundTripInChunksAndDirectly) {
  std::vector<std::int32_t> data(300'000);  // larger than a chunk
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::int32_t>(i * 2654435761u);
  for (const bool direct : {false, true}) {
    device_.direct = direct;
    const auto block = control_->call(Alloc{data.size() * 4});
    ASSERT_TRUE(block);
    ASSERT_TRUE(control_->call(WriteMemory{block->address, data.size() * 4, 0}, bytes_of(data)));
    EXPECT_EQ(read_ints(*control_, block->address, data.size()), data);
  }
}

TEST_F(ServerTest, HostTouchesOnlyItsOwnAndGrantedMemory) {
  const auto secret = control_->call(Alloc{256}), tensor = control_->call(Alloc{256});
  AddClient rights;
  rights.grants = {{tensor->address, 256}};
  const auto host = add_host(rights);
  std::vector<std::byte> buffer(256);
  EXPECT_TRUE(host->call(ReadMemory{tensor->address, 256, 0}, {}, buffer));
  EXPECT_EQ(host->call(ReadMemory{secret->address, 256, 0}, {}, buffer).error().code, Code::kInvalidValue);
  EXPECT_EQ(host->call(WriteMemory{secret->address, 256, 0}, buffer).error().code, Code::kInvalidValue);
  EXPECT_EQ(host->call(FillMemory{secret->address, 1, 0, 1, 0}).error().code, Code::kInvalidValue);
  EXPECT_EQ(host->call(CopyMemory{tensor->address, secret->address, 16, 0}).error().code, Code::kInvalidValue);
  EXPECT_EQ(host->call(CopyMemory{secret->address, tensor->address, 16, 0}).error().code, Code::kInvalidValue);
  EXPECT_EQ(host->call(Free{tensor->address}).error().code, Code::kInvalidValue);
  // Past the end, and a length that wraps around.
  EXPECT_EQ(host->call(FillMemory{tensor->address + 250, 8, 0, 1, 0}).error().code, Code::kInvalidValue);
  EXPECT_EQ(host->call(FillMemory{tensor->address + 8, (std::uint64_t{1} << 62) + 1, 0, 4, 0}).error().code,
            Code::kInvalidValue);
  EXPECT_FALSE(host->call(PointerInfo{secret->address})->device);
  EXPECT_EQ(host->call(PointerInfo{tensor->address + 100})->base, tensor->address);
  // Another host's memory is as foreign.
  const auto own = host->call(Alloc{64});
  const auto other = add_host();
  EXPECT_EQ(other->call(Free{own->address}).error().code, Code::kInvalidValue);
  EXPECT_TRUE(host->call(Free{own->address}));
}

TEST_F(ServerTest, LaunchesAreRecordedAndReplayed) {
  const auto tensor = control_->call(Alloc{16});
  AddClient rights;
  rights.grants = {{tensor->address, 16}};
  const auto host = add_host(rights);
  const std::uint32_t add = kernel(*host, "add");
  ASSERT_TRUE(host->call(FillMemory{tensor->address, 4, 10, 4, 0}));
  Launch launch{add, 0, {}, add_params(tensor->address, 4, 3)};
  ASSERT_TRUE(host->call(launch));
  ASSERT_TRUE(host->call(launch));
  EXPECT_EQ(read_ints(*host, tensor->address, 4), std::vector<std::int32_t>(4, 16));

  const auto report = control_->call(EndRun{});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->launches.size(), 2u);
  EXPECT_EQ(report->launches[0].kernel, "add");
  EXPECT_EQ(report->launches[0].params_hash, report->launches[1].params_hash);
  EXPECT_EQ(report->launches[0].families[0].flops, 4u);
  EXPECT_TRUE(report->client_alive);
  std::vector<CommandKind> kinds;
  for (const CommandRecord& command : report->commands) kinds.push_back(command.kind);
  EXPECT_EQ(kinds,
            (std::vector{CommandKind::kFill, CommandKind::kLaunch, CommandKind::kLaunch, CommandKind::kHostRead}));

  // The judge spoils the output; the replay restores it from the recorded commands alone, also when the host is gone.
  host->connection().close();
  ASSERT_TRUE(control_->call(FillMemory{tensor->address, 4, 77, 4, 0}));
  const auto again = control_->call(Replay{});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->launches.size(), 2u);
  EXPECT_EQ(read_ints(*control_, tensor->address, 4), std::vector<std::int32_t>(4, 16));
  EXPECT_EQ(device_.launches, 4);
}

TEST_F(ServerTest, ATimedReplayBringsTimesAndPassesItsOrderOn) {
  const auto tensor = control_->call(Alloc{16});
  AddClient rights;
  rights.grants = {{tensor->address, 16}};
  const auto host = add_host(rights);
  const std::uint32_t add = kernel(*host, "add");
  ASSERT_TRUE(host->call(Launch{add, 0, {}, add_params(tensor->address, 4, 3)}));
  ASSERT_TRUE(host->call(Launch{add, 0, {}, add_params(tensor->address, 4, 3)}));
  device_.measured.report.wall_ns = 4242;
  Replay timed;
  timed.deadline_ms = 70;
  timed.mode = ReplayMode::kTime;
  timed.flush_bytes = 1 << 20;
  const auto reply = control_->call(timed);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(device_.measure.mode, ReplayMode::kTime);
  EXPECT_EQ(device_.measure.flush_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(device_.measure.deadline.count(), 70);
  ASSERT_EQ(reply->times.size(), 2u);
  EXPECT_EQ(reply->times[1].launch, 1u);
  EXPECT_EQ(reply->times[1].end_ns, 150u);
  EXPECT_EQ(reply->times[1].kind, CommandKind::kLaunch);
  EXPECT_EQ(reply->wall_ns, 4242u);
  EXPECT_TRUE(reply->void_reason.empty());

  device_.measured.report.void_reason = "the profiler is busy";
  const auto without = control_->call(timed);
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->times.empty());
  EXPECT_EQ(without->void_reason, "the profiler is busy");
  EXPECT_EQ(without->launches.size(), 2u);
}

TEST_F(ServerTest, ATrapOfATimedReplayIsSticky) {
  const auto host = add_host();
  ASSERT_TRUE(host->call(Launch{kernel(*host, "print"), 0, {}, {}}));
  device_.measured.trap.emplace();
  device_.measured.trap->text = "hung";
  device_.measured.code = Code::kLaunchTimeout;
  Replay timed;
  timed.mode = ReplayMode::kTime;
  const auto reply = control_->call(timed);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->sticky_code, 702);
  EXPECT_NE(reply->sticky_message.find("hung"), std::string::npos);
  ASSERT_EQ(reply->launches.size(), 1u);  // the only kernel: it is to blame
  ASSERT_TRUE(reply->launches[0].trap);
  EXPECT_EQ(reply->launches[0].trap->text, "hung");
  EXPECT_EQ(control_->call(timed).error().code, Code::kLaunchTimeout);
}

// Nobody waited between the kernels, so nobody knows which one it was.
TEST_F(ServerTest, ATrapOfATimedReplayOfSeveralKernelsBlamesNone) {
  const auto tensor = control_->call(Alloc{16});
  AddClient rights;
  rights.grants = {{tensor->address, 16}};
  const auto host = add_host(rights);
  ASSERT_TRUE(host->call(Launch{kernel(*host, "print"), 0, {}, {}}));
  ASSERT_TRUE(host->call(Launch{kernel(*host, "add"), 0, {}, add_params(tensor->address, 4, 3)}));
  device_.measured.trap.emplace();
  device_.measured.trap->text = "hung";
  Replay timed;
  timed.mode = ReplayMode::kTime;
  const auto reply = control_->call(timed);
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->launches.size(), 2u);
  for (const LaunchRecord& launch : reply->launches) EXPECT_FALSE(launch.trap);
  EXPECT_NE(reply->sticky_message.find("one of several kernels"), std::string::npos) << reply->sticky_message;
}

// A device that implements only what it must.
class PlainDevice : public FakeDevice {
 public:
  Answer<void> begin_measure(const MeasureOrder& order) override { return DeviceHandler::begin_measure(order); }
  Answer<SharedBlock> alloc_shared(std::uint64_t n) override { return DeviceHandler::alloc_shared(n); }
};

TEST(DeviceHandler, WhatADeviceCannotDoIsRefusedByName) {
  PlainDevice device;
  EXPECT_TRUE(device.begin_measure({ReplayMode::kCheck, 0, {}}));
  const auto expect_refusal = [](const auto& answer, std::string_view call) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kNotSupported);
    EXPECT_EQ(answer.error().call, call);
    EXPECT_NE(answer.error().message.find("device-fake does not"), std::string::npos) << answer.error().message;
  };
  expect_refusal(device.begin_measure({ReplayMode::kTime, 0, {}}), "Replay(kTime)");
  expect_refusal(device.begin_measure({ReplayMode::kCount, 0, {}}), "Replay(kCount)");
  expect_refusal(device.alloc_shared(1), "AllocShared");
  expect_refusal(device.prepare_baseline({}), "PrepareBaseline");
  expect_refusal(device.run_baseline(0, 0, {}), "RunBaseline");
  expect_refusal(device.telemetry(), "GetTelemetry");
}

TEST_F(ServerTest, SharedBlocksAreTheJudges) {
  const std::uint64_t before = control_->call(MemoryInfo{})->free;
  const auto block = control_->call(AllocShared{100});
  ASSERT_TRUE(block);
  const auto opened = control_->call(OpenShared{block->handle, 100});
  ASSERT_TRUE(opened);
  EXPECT_EQ(device_.opened, 1);
  EXPECT_EQ(control_->call(OpenShared{ShareHandle{}, 100}).error().code, Code::kInvalidValue);
  EXPECT_EQ(control_->call(CloseShared{opened->address + 1}).error().code, Code::kInvalidValue);
  EXPECT_TRUE(control_->call(CloseShared{opened->address}));
  EXPECT_EQ(control_->call(CloseShared{opened->address}).error().code, Code::kInvalidValue);
  EXPECT_EQ(device_.opened, 0);
  EXPECT_TRUE(control_->call(Free{block->address}));
  EXPECT_EQ(control_->call(MemoryInfo{})->free, before);
  EXPECT_EQ(control_->call(RunBaseline{0, 0, ReplayMode::kCount, 0}).error().call, "RunBaseline(kCount)");
}

TEST_F(ServerTest, ABatchIsSeveralCommandsInOrderWithOneAnswer) {
  const auto block = control_->call(Alloc{16});
  ASSERT_TRUE(block);
  const std::uint64_t at = block->address;
  Launch add;  // adds 5 to the first number
  add.kernel = kernel(*control_, "add");
  add.geometry.grid = add.geometry.block = {1, 1, 1};
  const struct {
    std::uint64_t address;
    std::uint32_t count, value;
  } parameters{at, 1, 5};
  add.params.assign(reinterpret_cast<const char*>(&parameters), sizeof parameters);
  const auto done = control_->call(Batch{{FillMemory{at, 4, 1, 4, 0}, InlineWrite{at + 4, std::string(4, '\2')},
                                          InlineRead{at, 8}, add, CopyMemory{at + 8, at, 8, 0}, InlineRead{at, 16}}});
  ASSERT_TRUE(done) << done.error().message;
  const auto words = [](const std::string& bytes) {
    std::vector<std::uint32_t> out(bytes.size() / 4);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  ASSERT_EQ(done->reads.size(), 2u);
  EXPECT_EQ(words(done->reads[0]), (std::vector<std::uint32_t>{1, 0x02020202}));
  EXPECT_EQ(words(done->reads[1]), (std::vector<std::uint32_t>{6, 0x02020202, 6, 0x02020202}));
  EXPECT_EQ(device_.batches, 1);
}

TEST_F(ServerTest, ABatchStopsAtTheFirstRefusal) {
  const auto block = control_->call(Alloc{8});
  const std::uint64_t at = block->address;
  const auto done =
      control_->call(Batch{{FillMemory{at, 1, 1, 4, 0}, CopyMemory{1, at, 4, 0}, FillMemory{at, 1, 2, 4, 0}}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kInvalidValue);
  EXPECT_EQ(device_.batches, 1) << "a batch is ended on the device in any case";
  const auto now = control_->call(Batch{{InlineRead{at, 1}}});
  ASSERT_TRUE(now);
  EXPECT_EQ(now->reads[0], std::string(1, '\1'));
  const auto large = control_->call(Batch{{InlineRead{at, 48u << 20}, InlineRead{at, 48u << 20}}});
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("100663296"), std::string::npos) << large.error().message;
}

TEST_F(ServerTest, AReplayHasCommandsBeforeAndAfterIt) {
  const auto block = control_->call(Alloc{8});
  const std::uint64_t at = block->address;
  const auto host = add_host({{{at, 8}}, false, {}});
  ASSERT_TRUE(host->call(CopyMemory{at + 4, at, 4, 0}));
  ASSERT_TRUE(control_->call(EndRun{}));
  Replay replay;
  replay.before = {FillMemory{at, 1, 7, 4, 0}};
  replay.after = {FillMemory{at, 1, 9, 4, 0}};
  ASSERT_TRUE(control_->call(replay));
  const auto now = control_->call(Batch{{InlineRead{at, 8}}});
  EXPECT_EQ(now->reads[0], std::string("\x9\0\0\0\x7\0\0\0", 8)) << "the copy ran between the two";
  replay.before = {FillMemory{at, 1, 7, 3, 0}};
  EXPECT_EQ(control_->call(replay).error().code, Code::kInvalidValue);
}

TEST_F(ServerTest, AttributesReachTheDevice) {
  const auto host = add_host();
  const std::uint32_t add = kernel(*host, "add");
  ASSERT_TRUE(host->call(SetKernelAttribute{add, KernelAttribute::kSharedCarveout, 100}));
  EXPECT_FALSE(host->call(SetKernelAttribute{add, KernelAttribute::kMaxDynamicShared, 1 << 20}));
  EXPECT_EQ(device_.attributes, (std::map<KernelAttribute, std::int32_t>{{KernelAttribute::kSharedCarveout, 100}}));
}

TEST_F(ServerTest, ADeviceThatKnowsItsOccupancyIsAsked) {
  const auto host = add_host();
  Occupancy ask;
  ask.kernel = kernel(*host, "add");
  ask.geometry.block = {1024, 1, 1};
  EXPECT_EQ(host->call(ask)->blocks, 2u);  // 2048 threads of a multiprocessor
  device_.known_occupancy = OccupancyReply{7, 3};
  EXPECT_EQ(host->call(ask)->blocks, 7u);
  EXPECT_EQ(host->call(ask)->clusters, 3u);
  device_.known_occupancy = refuse(Code::kInvalidValue, "no");
  EXPECT_EQ(host->call(ask).error().code, Code::kInvalidValue);
}

TEST_F(ServerTest, AStagingBufferOfTheDeviceCarriesBulkData) {
  device_.staging_bytes.resize(1'000'000);
  std::vector<std::int32_t> data(600'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::int32_t>(i * 2654435761u);
  const auto block = control_->call(Alloc{data.size() * 4});
  ASSERT_TRUE(control_->call(WriteMemory{block->address, data.size() * 4, 0}, bytes_of(data)));
  // 2.4 MB in pieces of 1 MB: the last 400 kB lie at the front.
  std::int32_t first = 0;
  std::memcpy(&first, device_.staging_bytes.data(), 4);
  EXPECT_EQ(first, data[500'000]);
  EXPECT_EQ(read_ints(*control_, block->address, data.size()), data);
}

TEST_F(ServerTest, ATrapOfTheJudgesOwnKernelIsItsAnswer) {
  const std::uint32_t oob = kernel(*control_, "oob");
  EXPECT_EQ(control_->call(Launch{oob, 0, {}, std::string(8, '\0')}).error().code, Code::kIllegalAddress);
}

TEST_F(ServerTest, ReplayRefusesARunThatFreesItsMemory) {
  const auto host = add_host();
  const auto block = host->call(Alloc{64});
  ASSERT_TRUE(host->call(Free{block->address}));
  const auto again = control_->call(Replay{});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kNotSupported);
  EXPECT_NE(again.error().message.find("frees"), std::string::npos);
}

TEST_F(ServerTest, ATrapIsSticky) {
  const auto host = add_host();
  const std::uint32_t oob = kernel(*host, "oob");
  EXPECT_TRUE(host->call(Launch{oob, 0, {}, std::string(8, '\0')}));  // like a real launch: the error comes later
  EXPECT_EQ(host->call(Synchronize{}).error().code, Code::kIllegalAddress);
  EXPECT_EQ(host->call(Alloc{16}).error().code, Code::kIllegalAddress);
  EXPECT_TRUE(host->call(GetDeviceInfo{}));
  const auto report = control_->call(EndRun{});
  EXPECT_EQ(report->sticky_code, 700);
  EXPECT_EQ(report->launches.at(0).trap->kind, "out_of_bounds");
  EXPECT_TRUE(control_->call(Alloc{16}));  // the judge can still read what there is
}

TEST_F(ServerTest, TheRunsDeadlineEndsAKernel) {
  const auto host = add_host();
  EXPECT_TRUE(host->call(Launch{kernel(*host, "spin"), 0, {}, {}}));
  EXPECT_EQ(host->call(Synchronize{}).error().code, Code::kLaunchTimeout);
}

TEST_F(ServerTest, ModulesMayBeRestrictedToTheArtifacts) {
  AddClient rights;
  rights.restrict_modules = true;
  rights.module_sha256 = {std::string(64, 'a')};
  const auto host = add_host(rights);
  const auto loaded =
      host->call(LoadModule{std::strlen(kPtx)}, {reinterpret_cast<const std::byte*>(kPtx), std::strlen(kPtx)});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kNotPermitted);
  EXPECT_EQ(control_->call(EndRun{})->refusals.at(0).call, kForeignModule);
}

TEST_F(ServerTest, HandlesOfOthersAndMadeUpOnesAreRefused) {
  const auto first = add_host();
  const std::uint32_t add = kernel(*first, "add");
  const auto stream = first->call(StreamCreate{}), event = first->call(EventCreate{});
  const auto second = add_host();
  EXPECT_EQ(second->call(Launch{add, 0, {}, std::string(16, '\0')}).error().code, Code::kInvalidResourceHandle);
  EXPECT_EQ(second->call(SetKernelAttribute{add, KernelAttribute::kMaxDynamicShared, 1}).error().code,
            Code::kInvalidResourceHandle);
  EXPECT_EQ(second->call(StreamDestroy{stream->handle}).error().code, Code::kInvalidResourceHandle);
  EXPECT_EQ(second->call(EventRecord{event->handle, 0}).error().code, Code::kInvalidResourceHandle);
  EXPECT_EQ(first->call(FillMemory{0x1000, 1, 0, 1, 99}).error().code, Code::kInvalidResourceHandle);
  EXPECT_EQ(first->call(EventElapsed{event->handle, event->handle}).error().code, Code::kInvalidResourceHandle);
}

TEST_F(ServerTest, EventsRunOnADeterministicClock) {
  const auto host = add_host();
  const auto a = host->call(EventCreate{}), b = host->call(EventCreate{});
  const std::uint32_t print = kernel(*host, "print");
  ASSERT_TRUE(host->call(EventRecord{a->handle, 0}));
  ASSERT_TRUE(host->call(Launch{print, 0, {}, {}}));
  ASSERT_TRUE(host->call(EventRecord{b->handle, 0}));
  // One launch of 100 warp instructions and one more command.
  EXPECT_FLOAT_EQ(host->call(EventElapsed{a->handle, b->handle})->milliseconds, 0.0021f);
  EXPECT_EQ(host->call(Synchronize{})->printf_output, "hello from print\n");
  EXPECT_EQ(host->call(Synchronize{})->printf_output, "");
}

TEST_F(ServerTest, FailuresAreRecordedWithReasons) {
  const auto host = add_host();
  Launch launch{kernel(*host, "print"), 0, {}, {}};
  launch.geometry.dynamic_shared = 60'000;
  EXPECT_EQ(host->call(launch).error().code, Code::kInvalidValue);
  const auto report = control_->call(EndRun{});
  ASSERT_EQ(report->failures.size(), 1u);
  EXPECT_NE(report->failures[0].message.find("60000"), std::string::npos);
}

// What a restricted client may not say ends its connection; the device and the judge go on.
void expect_ended(Client& host) { EXPECT_TRUE(host.broken()); }

TEST_F(ServerTest, JudgeMessagesEndAHostConnection) {
  const auto host = add_host();
  EXPECT_FALSE(host->call(EndRun{}));
  expect_ended(*host);
  const auto report = control_->call(EndRun{});
  EXPECT_FALSE(report->client_alive);
  EXPECT_NE(report->client_fault.find("belongs to the judge"), std::string::npos);
  for (const auto& send : {+[](Client& c) { return c.call(Replay{}).has_value(); },
                           +[](Client& c) { return c.call(Shutdown{}).has_value(); },
                           +[](Client& c) { return c.call(BeginRun{}).has_value(); },
                           +[](Client& c) { return c.call(AddClient{}).has_value(); },
                           +[](Client& c) { return c.call(AllocShared{64}).has_value(); },
                           +[](Client& c) { return c.call(OpenShared{}).has_value(); },
                           +[](Client& c) { return c.call(CloseShared{}).has_value(); },
                           +[](Client& c) { return c.call(PrepareBaseline{}).has_value(); },
                           +[](Client& c) { return c.call(RunBaseline{}).has_value(); },
                           +[](Client& c) { return c.call(GetTelemetry{}).has_value(); },
                           +[](Client& c) { return c.call(Batch{}).has_value(); },
                           +[](Client& c) { return c.call(DropClient{1}).has_value(); }}) {
    const auto next = add_host();
    EXPECT_FALSE(send(*next));
    expect_ended(*next);
  }
}

TEST_F(ServerTest, HostileBytesNeverReachTheJudge) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const auto host = add_host();
    std::string bytes;
    for (int m = 0; m < 3; ++m) {
      Header header;
      header.type = static_cast<std::uint16_t>(random() % 130);
      header.sequence = random();
      header.bulk_bytes = random() % 8 == 0 ? std::uint64_t{random()} << (random() % 32) : random() % 64;
      if (random() % 6 == 0) header.magic ^= 1u << (random() % 32);
      if (random() % 9 == 0) header.version = static_cast<std::uint16_t>(random());
      std::string payload(random() % 80, '\0');
      for (char& byte : payload) byte = static_cast<char>(random() % 3 == 0 ? random() : 0);
      header.payload_bytes = random() % 10 == 0 ? random() : static_cast<std::uint32_t>(payload.size());
      bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
      bytes += payload;
      bytes.append(random() % 64, 'x');
    }
    static_cast<void>(host->connection().write_all(bytes_of(bytes)));
    ::shutdown(host->connection().fd(), SHUT_WR);
    std::string sink(4096, '\0');
    while (::recv(host->connection().fd(), sink.data(), sink.size(), 0) > 0) {
    }
  }
  EXPECT_TRUE(control_->call(MemoryInfo{}));
}

TEST_F(ServerTest, DroppedClientsGiveTheirMemoryBack) {
  const std::uint64_t before = control_->call(MemoryInfo{})->free;
  auto host = add_host();
  const std::uint32_t id = host_id_;
  ASSERT_TRUE(host->call(Alloc{1 << 20}));
  EXPECT_EQ(host->call(Alloc{FakeDevice::kMemory}).error().code, Code::kMemoryAllocation);
  host.reset();
  ASSERT_TRUE(control_->call(DropClient{id}));
  EXPECT_EQ(control_->call(MemoryInfo{})->free, before);
}

}  // namespace
}  // namespace ptxbench::wire
