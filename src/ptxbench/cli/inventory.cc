#include "ptxbench/cli/inventory.h"

#include <fmt/format.h>

namespace ptxbench::cli {
namespace {

using schema::Piece;
using schema::PieceState;

std::string_view mark(PieceState state) {
  switch (state) {
    case PieceState::kFound: return "ok";
    case PieceState::kAbsent: return "absent";
    case PieceState::kMissing: return "MISSING";
  }
  return "";
}

void add(std::string& text, std::string_view label, const std::string& what) {
  if (!what.empty()) text += fmt::format("          {}{}\n", label, what);
}

void add(std::string& text, const Piece& piece) {
  text += fmt::format("  {:<7} {:<17} {}\n", mark(piece.state), piece.name, piece.purpose);
  const char* between = piece.path.empty() || piece.version.empty() ? "" : ", ";
  add(text, "", piece.path + between + (piece.version.empty() ? "" : "version " + piece.version));
  for (const std::string& note : piece.notes) add(text, "", note);
  add(text, "", piece.problem);
  add(text, "get it: ", piece.how_to_get);
  add(text, "without it: ", piece.without);
}

}  // namespace

std::string render(const schema::Inventory& inventory) {
  std::string text, group;
  for (const Piece& piece : inventory.pieces) {
    if (piece.group != group) text += piece.group + "\n";
    group = piece.group;
    add(text, piece);
  }
  return text;
}

}  // namespace ptxbench::cli
