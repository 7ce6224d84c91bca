// Status line and headers of an HTTP answer, line by line.
#pragma once

#include <string>
#include <string_view>

#include "ptxbench/agent/model/http.h"

namespace ptxbench::agent {

class HeadReader {
 public:
  // false once all lines together are over the limit.
  bool line(std::string_view line, std::size_t max_bytes);
  bool overflowed() const { return overflowed_; }
  HttpHead take() { return std::move(head_); }

 private:
  HttpHead head_;
  std::size_t bytes_ = 0;
  bool overflowed_ = false;
};

}  // namespace ptxbench::agent
