// bench_model_client [REQUESTS] [PARALLEL]: what a model client costs, against the tests' server (python3): memory and
// processor time of PARALLEL requests at once that each take about a second, then time per request beside the server's.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "ptxbench/agent/model/client.h"
#include "server.h"

namespace {

using namespace ptxbench::agent;

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// VmRSS or VmHWM, in MiB.
double memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) / 1024;
  return 0;
}

void load(const testing::MisbehavingServer& server, const char* scenario, int parallel, int requests) {
  ModelConfig config;
  config.model = "m";
  config.base_url = server.url(scenario);
  config.limits.silence = std::chrono::seconds(5);
  config.retry.attempts = 1;
  auto client = make_client(config).value();
  // A prompt as large as a late turn's: 100 kB.
  const ModelRequest request{{{Role::kUser, std::string(100'000, 'p')}}, {}};
  std::atomic<int> next{0}, answers{0};
  std::vector<double> times(static_cast<std::size_t>(requests));
  const double cpu = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < parallel; ++t)
      threads.emplace_back([&] {
        for (int i; (i = next++) < requests;) {
          const ModelReply reply = client->complete(request);
          answers += is_turn(reply.outcome);
          times[static_cast<std::size_t>(i)] = reply.timings.total_s;
        }
      });
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::sort(times.begin(), times.end());
  fmt::print(
      "{:<18} {} requests, {} at once: {} answers in {:.2f} s; a request {:.2f} ms median, {:.2f} ms longest\n"
      "{:<18} processor {:.1f} ms a request, {:.1f} % of one core; memory {:.1f} MiB now, {:.1f} MiB at most\n",
      scenario, requests, parallel, answers.load(), wall, 1e3 * times[times.size() / 2], 1e3 * times.back(), "",
      1e3 * (processor_seconds() - cpu) / requests, 100 * (processor_seconds() - cpu) / wall, memory("VmRSS"),
      memory("VmHWM"));
}

}  // namespace

int main(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 256;
  const int parallel = argc > 2 ? std::atoi(argv[2]) : 64;
  const testing::MisbehavingServer server;
  if (server.port() == 0) return 3;
  fmt::print("before             memory {:.1f} MiB\n", memory("VmRSS"));
  load(server, "ok", 1, requests);
  load(server, "slow", parallel, requests);
  load(server, "silent_after_a_token", parallel, parallel);  // ends after five seconds: waiting should cost nothing
  load(server, "five_megabytes", parallel, parallel);
  return 0;
}
