// What a machine has of the things that ptxbench uses, found or not (ptxbench.inventory.v1): what `ptxbench doctor` and the
// device processes answer when they are asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::schema {

inline constexpr std::string_view kInventorySchema = "ptxbench.inventory.v1";

// kAbsent: something is then not available, and Piece::without says what still is. kMissing: nothing works without it.
enum class PieceState { kFound, kAbsent, kMissing };
std::string_view to_string(PieceState state);  // "found", "absent", "missing"
std::optional<PieceState> piece_state_from(std::string_view text);

struct Piece {
  std::string group;    // heading that it stands under: "Tools and headers", "GPU libraries"
  std::string name;     // "cuBLASLt"
  std::string purpose;  // "the baseline of GEMM tasks"
  PieceState state = PieceState::kAbsent;
  std::string version, path;       // kFound; empty if there is none or it is not known
  std::vector<std::string> notes;  // what else is to be said of it
  // Not found: why, and where it was looked for; how to get it; what works without it.
  std::string problem, how_to_get, without;
  bool operator==(const Piece&) const = default;
};

struct Inventory {
  std::vector<Piece> pieces;  // those of one group follow each other
  int missing() const;        // pieces that nothing works without
  bool operator==(const Inventory&) const = default;
};

std::string to_json(const Inventory& inventory);
// file_name is for errors.
Result<Inventory> inventory_from_json(std::string_view text, const std::string& file_name);

}  // namespace ptxbench::schema
