// ptxbench serve-report: the page of run folders on this machine's loopback, made anew when a run has gone on.
#include <fmt/format.h>
#include <httplib.h>

#include <mutex>

#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"
#include "ptxbench/base/interrupt.h"
#include "ptxbench/cli/command.h"
#include "ptxbench/report/from_run.h"
#include "ptxbench/report/page.h"

namespace ptxbench::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kPage[] = "report.html";

// The page of the folders as they are now, in a temporary folder.
class LivePage {
 public:
  static Result<std::unique_ptr<LivePage>> create(std::vector<std::string> folders) {
    PTXBENCH_TRY(TempDir place, TempDir::create("ptxbench-page"));
    return std::unique_ptr<LivePage>(new LivePage(std::move(folders), std::move(place)));
  }

  // Sizes and times of everything that a page is made of.
  std::string version() const {
    std::string seen;
    for (const std::string& folder : folders_) {
      std::error_code ignored;
      for (auto at = fs::recursive_directory_iterator(folder, ignored); at != fs::recursive_directory_iterator();
           at.increment(ignored)) {
        if (ignored) break;
        if (at->path().extension() != ".jsonl" && at->path().extension() != ".json") continue;
        seen += fmt::format("{} {} {}\n", at->path().string(), fs::file_size(at->path(), ignored),
                            fs::last_write_time(at->path(), ignored).time_since_epoch().count());
      }
    }
    return sha256_hex(seen);
  }

  // The page's file, made when something has changed.
  Result<fs::path> page() {
    const std::lock_guard lock(mutex_);
    const std::string now = version();
    if (now == made_) return place_.path() / kPage;
    PTXBENCH_TRY(const report::Loaded loaded, report::load(folders_));
    PTXBENCH_TRY_STATUS(report::write_page(loaded, place_.path() / kPage));
    made_ = now;
    return place_.path() / kPage;
  }

  fs::path details() const { return place_.path() / (std::string(kPage) + "_data"); }

 private:
  LivePage(std::vector<std::string> folders, TempDir place) : folders_(std::move(folders)), place_(std::move(place)) {}

  const std::vector<std::string> folders_;
  const TempDir place_;
  std::mutex mutex_;
  std::string made_;
};

void answer_file(const Result<std::string>& text, const char* type, httplib::Response& response) {
  if (text) return response.set_content(*text, type);
  response.status = 404;
  response.set_content(text.error().format() + "\n", "text/plain");
}

Status serve(const std::vector<std::string>& folders, int port) {
  PTXBENCH_TRY(const std::unique_ptr<LivePage> live, LivePage::create(folders));
  PTXBENCH_TRY_STATUS(live->page());  // what is wrong with the folders is said now
  httplib::Server server;
  // A page of another origin whose name was made to lead here gets nothing.
  server.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
    const std::string host = request.get_header_value("Host");
    const std::string name = host.substr(0, host.find(':'));
    if (name == "127.0.0.1" || name == "localhost") return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    response.set_content("this page is for this machine only: ask for 127.0.0.1\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Get("/", [&](const httplib::Request&, httplib::Response& response) {
    const Result<fs::path> file = live->page();
    answer_file(file ? read_file(*file) : Result<std::string>(fail(file.error())), "text/html; charset=utf-8",
                response);
  });
  server.Get("/version", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(live->version(), "text/plain");
  });
  server.Get(R"(/report\.html_data/(\d+|highlight\.min)\.js)",
             [&](const httplib::Request& request, httplib::Response& response) {
               answer_file(read_file(live->details() / (request.matches[1].str() + ".js")),
                           "text/javascript; charset=utf-8", response);
             });
  const int bound = port == 0                                ? server.bind_to_any_port("127.0.0.1")
                    : server.bind_to_port("127.0.0.1", port) ? port
                                                             : -1;
  if (bound < 0)
    return fail(ErrorKind::kUnavailable, fmt::format("port {} of 127.0.0.1 cannot be had", port),
                "name another --port");
  fmt::print("http://127.0.0.1:{}/  (Ctrl-C ends it)\n", bound);
  std::fflush(stdout);
  set_interrupt_handler([&server] {
    server.stop();
    return true;
  });
  server.listen_after_bind();
  set_interrupt_handler({});
  return {};
}

}  // namespace

void add_serve_report(CLI::App& app, int& exit_code) {
  CLI::App* command =
      add_command(app, "serve-report", "Serves the page of a report on this machine, live while a run goes on",
                  "ptxbench serve-report my-run");
  auto folders = std::make_shared<std::vector<std::string>>();
  auto port = std::make_shared<int>(0);
  command->add_option("RUN", *folders, "Folders made by `ptxbench run` or `ptxbench import-paper`")->required();
  command->add_option("--port", *port, "Port on 127.0.0.1; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->callback([&exit_code, folders, port] {
    const Status done = serve(*folders, *port);
    exit_code = done ? kExitPassed : report(done.error());
  });
}

}  // namespace ptxbench::cli
