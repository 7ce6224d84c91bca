// A provider's key: in memory only, and taken out of whatever is kept or shown.
#pragma once

#include <string>
#include <string_view>

namespace ptxbench::agent {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  const std::string& reveal() const { return value_; }
  bool empty() const { return value_.empty(); }

  // The text with the key, and in diagnostics every piece of at least eight of its characters (servers quote the
  // beginning and the end of a wrong key), replaced by "[key]". A key of fewer than twelve characters is a
  // placeholder such as "EMPTY", which local servers want; it stays.
  std::string redact(std::string text) const;
  std::string redact_pieces(std::string_view text) const;

 private:
  std::string value_;
};

}  // namespace ptxbench::agent
