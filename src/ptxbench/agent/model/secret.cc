#include "ptxbench/agent/model/secret.h"

#include <algorithm>

namespace ptxbench::agent {
namespace {

constexpr std::size_t kShortestSecret = 12, kPiece = 8;
constexpr std::string_view kMark = "[key]";

}  // namespace

std::string Secret::redact(std::string text) const {
  if (value_.size() < kShortestSecret) return text;
  for (std::size_t at = text.find(value_); at != std::string::npos; at = text.find(value_, at + kMark.size()))
    text.replace(at, value_.size(), kMark);
  return text;
}

std::string Secret::redact_pieces(std::string_view text) const {
  if (value_.size() < kShortestSecret) return std::string(text);
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t length = 0;  // of the longest piece of the key that starts here
    if (text.size() - i >= kPiece)
      for (std::size_t at = value_.find(text.substr(i, kPiece)); at != std::string::npos;
           at = value_.find(text.substr(i, kPiece), at + 1)) {
        std::size_t same = kPiece;
        while (at + same < value_.size() && i + same < text.size() && value_[at + same] == text[i + same]) ++same;
        length = std::max(length, same);
      }
    if (length > 0) {
      out += kMark;
      i += length;
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace ptxbench::agent
