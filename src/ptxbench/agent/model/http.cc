#include "ptxbench/agent/model/http.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "ptxbench/agent/model/http_head.h"
#include "ptxbench/base/check.h"

namespace ptxbench::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxHeadBytes = 64 * 1024;
constexpr milliseconds kLinger{2'000};  // for the end of a stream whose own end mark was seen: saves the connection
constexpr milliseconds kLongestSleep{60'000};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The certificates to trust: $SSL_CERT_FILE, or where this system keeps them. libcurl knows only the place of the
// system that it was built on, and an archive of ptxbench brings its libcurl along.
const char* certificate_file() {
  if (const char* named = std::getenv("SSL_CERT_FILE"); named != nullptr && *named != '\0') return named;
  for (const char* known : {"/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Alpine, Arch
                            "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, RHEL
                            "/etc/ssl/ca-bundle.pem"})             // SUSE
    if (::access(known, R_OK) == 0) return known;
  return nullptr;
}

struct EasyDelete {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDelete {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// One exchange. Lives on the stack of perform(); between submission and `done` only the network's thread touches it,
// `cancelled` apart.
struct Job {
  Job(const HttpRequest& request, HttpSink& sink) : request(request), sink(sink) {}

  const HttpRequest& request;
  HttpSink& sink;
  std::unique_ptr<CURL, EasyDelete> easy;
  std::unique_ptr<curl_slist, ListDelete> headers;
  char error_text[CURL_ERROR_SIZE] = "";
  std::atomic<bool> cancelled{false};

  HttpResult result;
  HeadReader head;
  bool head_delivered = false, stopped = false;
  Clock::time_point started = Clock::now(), last_byte;
  std::optional<Clock::time_point> first_token_at, complete_at;
  std::exception_ptr thrown;
  bool done = false;  // this and the next: under the loop's mutex
  std::condition_variable finished;

  // Runs a piece of the sink's code inside libcurl's C code, which no exception may cross.
  template <class Body>
  bool guarded(Body&& body) {
    try {
      stopped = !body();
    } catch (...) {
      thrown = std::current_exception();
      stopped = true;
    }
    return !stopped;
  }

  bool deliver_head() {
    if (head_delivered) return true;
    head_delivered = true;
    return guarded([&] { return sink.on_head(head.take()); });
  }

  bool take_body(std::string_view bytes) {
    if (!deliver_head()) return false;
    result.received_bytes += bytes.size();
    if (!guarded([&] { return sink.on_body(bytes); })) return false;
    if (!first_token_at && sink.has_token()) {
      first_token_at = last_byte;
      result.first_token_s = seconds_since(started);
    }
    if (!complete_at && sink.is_complete()) complete_at = last_byte;
    return true;
  }
};

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* user) {
  Job& job = *static_cast<Job*>(user);
  job.last_byte = Clock::now();
  if (!job.result.first_byte_s) job.result.first_byte_s = seconds_since(job.started);
  return job.head.line({bytes, size * count}, kMaxHeadBytes) ? size * count : 0;
}

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* user) {
  Job& job = *static_cast<Job*>(user);
  job.last_byte = Clock::now();
  return job.take_body({bytes, size * count}) ? size * count : 0;
}

void prepare(Job& job) {
  CURL* easy = curl_easy_init();
  PTXBENCH_CHECK(easy != nullptr, "curl_easy_init");
  job.easy.reset(easy);
  curl_slist* list = nullptr;
  for (const std::string& header : job.request.headers) list = curl_slist_append(list, header.c_str());
  list = curl_slist_append(list, "Expect:");  // no extra round trip before a large body
  job.headers.reset(list);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &job);
  curl_easy_setopt(easy, CURLOPT_URL, job.request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, job.request.body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(job.request.body.size()));
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "ptxbench");
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(job.request.limits.connect.count()));
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, job.error_text);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &job);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &job);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);  // long silences while a model thinks
  // What is on this machine stays on it, key included, whatever $http_proxy says.
  if (is_loopback(job.request.url)) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (const char* file = certificate_file()) curl_easy_setopt(easy, CURLOPT_CAINFO, file);
}

std::optional<double> time_of(const Job& job, CURLINFO info) {
  curl_off_t microseconds = 0;
  if (curl_easy_getinfo(job.easy.get(), info, &microseconds) != CURLE_OK || microseconds <= 0) return std::nullopt;
  return 1e-6 * static_cast<double>(microseconds);
}

// The next moment at which the job ends by itself, and how.
std::pair<Clock::time_point, HttpEnd> next_deadline(const Job& job) {
  std::pair<Clock::time_point, HttpEnd> next{job.request.deadline, HttpEnd::kTimeoutTotal};
  const auto consider = [&](Clock::time_point at, HttpEnd end) {
    if (at < next.first) next = {at, end};
  };
  const TimeLimits& limits = job.request.limits;
  if (job.complete_at) {
    consider(*job.complete_at + kLinger, HttpEnd::kDone);
  } else if (job.first_token_at) {
    consider(job.last_byte + limits.silence, HttpEnd::kTimeoutSilence);
  } else if (const auto connected = time_of(job, CURLINFO_PRETRANSFER_TIME_T)) {
    consider(job.started + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*connected)) +
                 limits.first_token,
             HttpEnd::kTimeoutFirstToken);
  }
  return next;
}

bool is_tls(CURLcode code) {
  switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_USE_SSL_FAILED: return true;
    default: return false;
  }
}

HttpEnd end_of(const Job& job, CURLcode code) {
  if (job.head.overflowed()) return HttpEnd::kNotHttp;
  if (job.stopped) return HttpEnd::kStopped;
  if (code == CURLE_OK) return HttpEnd::kDone;
  if (is_tls(code)) return HttpEnd::kTls;
  if (code == CURLE_BAD_CONTENT_ENCODING || code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_UNSUPPORTED_PROTOCOL)
    return HttpEnd::kNotHttp;
  const bool connected = job.result.connected_s.has_value();
  if (code == CURLE_OPERATION_TIMEDOUT && !connected) return HttpEnd::kTimeoutConnect;
  return connected ? HttpEnd::kCut : HttpEnd::kNoConnection;
}

}  // namespace

class HttpTransport::Loop {
 public:
  Loop() {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    multi_ = curl_multi_init();
    PTXBENCH_CHECK(multi_ != nullptr, "curl_multi_init");
    thread_ = std::thread([this] { run(); });
  }
  ~Loop() {
    ending_ = true;
    wake();
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  void wake() { curl_multi_wakeup(multi_); }

  void wait_for(Job& job) {
    std::unique_lock lock(mutex_);
    arriving_.push_back(&job);
    wake();
    job.finished.wait(lock, [&] { return job.done; });
  }

 private:
  void run() {
    while (!ending_) {
      accept_arrivals();
      int running = 0;
      curl_multi_perform(multi_, &running);
      collect_ended();
      const milliseconds sleep = enforce_deadlines();
      // Returns at once on traffic, on wake(), and when libcurl has a timer of its own.
      curl_multi_poll(multi_, nullptr, 0, static_cast<int>(sleep.count()), nullptr);
    }
  }

  void accept_arrivals() {
    std::vector<Job*> arrived;
    {
      const std::lock_guard lock(mutex_);
      arrived.swap(arriving_);
    }
    for (Job* job : arrived) {
      jobs_.push_back(job);
      curl_multi_add_handle(multi_, job->easy.get());
    }
  }

  void collect_ended() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      char* user = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
      Job& job = *reinterpret_cast<Job*>(user);
      read_timings(job);
      if (code == CURLE_OK) job.deliver_head();  // an answer without a body
      const HttpEnd end = end_of(job, code);
      finish(job, end, job.error_text[0] != '\0' ? job.error_text : curl_easy_strerror(code));
    }
  }

  // Ends what is cancelled or out of time; how long nothing else is due.
  milliseconds enforce_deadlines() {
    const Clock::time_point now = Clock::now();
    milliseconds sleep = kLongestSleep;
    for (Job* job : std::vector<Job*>(jobs_)) {
      const auto [at, end] = next_deadline(*job);
      if (job->cancelled || at <= now) {
        read_timings(*job);
        finish(*job, job->cancelled ? HttpEnd::kCancelled : end, "");
      } else {
        sleep = std::min(sleep, std::chrono::ceil<milliseconds>(at - now));
      }
    }
    return sleep;
  }

  static void read_timings(Job& job) {
    job.result.connected_s = time_of(job, CURLINFO_PRETRANSFER_TIME_T);
    curl_off_t uploaded = 0;
    curl_easy_getinfo(job.easy.get(), CURLINFO_SIZE_UPLOAD_T, &uploaded);
    if (!job.result.connected_s && uploaded > 0) job.result.connected_s = 0.0;
    job.result.sent = job.result.connected_s && uploaded >= static_cast<curl_off_t>(job.request.body.size());
  }

  void finish(Job& job, HttpEnd end, std::string detail) {
    curl_multi_remove_handle(multi_, job.easy.get());
    std::erase(jobs_, &job);
    job.result.end = end;
    job.result.detail = std::move(detail);
    job.result.duration_s = seconds_since(job.started);
    const std::lock_guard lock(mutex_);
    job.done = true;
    job.finished.notify_one();  // under the lock: the job is gone as soon as its caller gets it
  }

  CURLM* multi_ = nullptr;
  std::vector<Job*> jobs_;  // the network thread's own
  std::mutex mutex_;
  std::vector<Job*> arriving_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

HttpTransport::HttpTransport() : loop_(std::make_unique<Loop>()) {}
HttpTransport::~HttpTransport() = default;

std::shared_ptr<HttpTransport> HttpTransport::shared() {
  static std::mutex mutex;
  static std::weak_ptr<HttpTransport> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<HttpTransport> transport = current.lock();
  if (!transport) current = transport = std::shared_ptr<HttpTransport>(new HttpTransport());
  return transport;
}

HttpResult HttpTransport::perform(const HttpRequest& request, HttpSink& sink, const std::stop_token& cancel) {
  Job job(request, sink);
  prepare(job);
  {
    const std::stop_callback on_cancel(cancel, [&] {
      job.cancelled = true;
      loop_->wake();
    });
    loop_->wait_for(job);
  }
  if (job.thrown) std::rethrow_exception(job.thrown);
  return std::move(job.result);
}

}  // namespace ptxbench::agent
