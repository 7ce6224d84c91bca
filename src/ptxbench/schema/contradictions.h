// Internal to schema: what is wrong with a record, one sentence each.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ptxbench::schema {

struct VerdictFields;

class Contradictions {
 public:
  void require(bool holds, std::string sentence) {
    if (!holds) notes_.push_back(std::move(sentence));
  }
  std::vector<std::string> take() { return std::move(notes_); }

 private:
  std::vector<std::string> notes_;
};

void check_executed(const VerdictFields& fields, Contradictions& found);
void check_fast(const VerdictFields& fields, Contradictions& found);

}  // namespace ptxbench::schema
