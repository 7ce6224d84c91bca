// A trajectory put together from its events, and the order that a log must keep.
#include "ptxbench/schema/trajectory.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptxbench::schema {

std::string_view Turn::result() const {
  return judged.verdicts.empty() ? std::string_view("NO_KERNEL") : to_string(judged.verdicts.back().status());
}

std::optional<double> Turn::speedup() const {
  std::optional<double> least;
  if (!passed()) return least;
  for (const Verdict& verdict : judged.verdicts) {
    if (!verdict->fast.speedup) return std::nullopt;
    least = std::min(least.value_or(*verdict->fast.speedup), *verdict->fast.speedup);
  }
  return least;
}

namespace {

// Takes the events one by one; each may only follow what the loop (agent/trajectory.h) can have done before it.
class Assembler {
 public:
  explicit Assembler(Trajectory& into) : into_(into) {}

  // Empty when the event fits, else what is wrong with it.
  std::string take(Event&& event) {
    if (into_.finish) return "an event after the finish";
    into_.suspended.reset();
    return std::visit([this](auto& record) { return add(std::move(record)); }, event);
  }
  // A request that is still open at the end was in flight.
  void close() {
    if (request_) lose();
  }

 private:
  int next_turn() const { return static_cast<int>(into_.turns.size()) + 1; }

  std::string wrong_turn(int found) const {
    return found == next_turn() ? "" : fmt::format("turn {} where turn {} is due", found, next_turn());
  }
  void lose() {
    into_.possible_cost_usd += request_->possible_cost_usd.value_or(0);
    into_.lost_requests.push_back(std::move(*request_));
    request_.reset();
  }

  std::string add(StartEvent&& event) {
    if (started_) return "a second start";
    started_ = true;
    if (event.id != into_.plan.id)
      return fmt::format("the log of trajectory '{}', expected '{}'", event.id, into_.plan.id);
    return "";
  }
  std::string add(RequestEvent&& event) {
    if (!started_) return "a request before the start";
    if (into_.open_reply) return "a request, though the last reply is not judged yet";
    if (request_) lose();
    request_ = std::move(event);
    return wrong_turn(request_->turn);
  }
  std::string add(ReplyEvent&& event) {
    if (!request_) return "a reply that nobody asked for";
    request_.reset();
    if (event.cost_usd)
      into_.cost_usd += *event.cost_usd;
    else
      ++into_.unpriced_replies;
    into_.cost_is_lower_bound |= event.cost_is_lower_bound;
    std::string wrong = wrong_turn(event.turn);
    if (event.is_turn)
      into_.open_reply = std::move(event);
    else
      ++into_.failed_requests;
    return wrong;
  }
  std::string add(JudgedEvent&& event) {
    if (!into_.open_reply) return "a judgement without a reply";
    std::string wrong = wrong_turn(event.turn);
    const int turn = event.turn;
    into_.turns.push_back({turn, std::move(*into_.open_reply), std::move(event)});
    into_.open_reply.reset();
    return wrong;
  }
  std::string add(SuspendEvent&& event) {
    if (!started_) return "a suspension before the start";
    into_.suspended = std::move(event);
    return "";
  }
  std::string add(FinishEvent&& event) {
    if (!started_) return "a finish before the start";
    into_.finish = std::move(event);
    return "";
  }

  Trajectory& into_;
  bool started_ = false;
  std::optional<RequestEvent> request_;
};

}  // namespace

Result<Trajectory> assemble(const TrajectoryPlan& plan, std::vector<Event> events, const std::string& file_name) {
  Trajectory trajectory;
  trajectory.plan = plan;
  Assembler assembler(trajectory);
  int line = 0;
  for (Event& event : events) {
    ++line;
    if (std::string wrong = assembler.take(std::move(event)); !wrong.empty())
      return fail(Error{ErrorKind::kInvalidInput,
                        std::move(wrong),
                        "the log is written by ptxbench run only; restore it from a copy",
                        {file_name, line, 0},
                        {}});
  }
  assembler.close();
  return trajectory;
}

}  // namespace ptxbench::schema
