#include "ptxbench/schema/inventory.h"

#include <algorithm>
#include <concepts>

#include "ptxbench/schema/enum_text.h"
#include "ptxbench/schema/json_io.h"

namespace ptxbench::schema {
namespace {

constexpr std::pair<PieceState, std::string_view> kStates[] = {
    {PieceState::kFound, "found"}, {PieceState::kAbsent, "absent"}, {PieceState::kMissing, "missing"}};

}  // namespace

std::string_view to_string(PieceState state) { return enum_to_text(kStates, state); }
std::optional<PieceState> piece_state_from(std::string_view text) { return enum_from_text(kStates, text); }

template <>
struct EnumFromText<PieceState> {
  static auto parse(std::string_view text) { return piece_state_from(text); }
};

template <class Archive, class Record>
requires std::same_as<std::remove_const_t<Record>, Piece>
void describe(Archive& archive, Record& piece) {
  archive.field("group", piece.group);
  archive.field("name", piece.name);
  archive.field("purpose", piece.purpose);
  archive.field("state", piece.state);
  archive.field("version", piece.version);
  archive.field("path", piece.path);
  archive.field("notes", piece.notes);
  archive.field("problem", piece.problem);
  archive.field("how_to_get", piece.how_to_get);
  archive.field("without", piece.without);
}

int Inventory::missing() const {
  return static_cast<int>(
      std::ranges::count_if(pieces, [](const Piece& piece) { return piece.state == PieceState::kMissing; }));
}

std::string to_json(const Inventory& inventory) {
  Json json;
  JsonWriter writer(json);
  writer.field("schema", std::string(kInventorySchema));
  writer.field("pieces", inventory.pieces);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Inventory> inventory_from_json(std::string_view text, const std::string& file_name) {
  PTXBENCH_TRY(const Json json, parse_json(text, file_name));
  Inventory inventory;
  std::string schema;
  std::vector<std::string> errors;
  JsonReader reader(json, "", errors);
  reader.field("schema", schema);
  reader.field("pieces", inventory.pieces);
  reader.refuse_unknown();
  if (errors.empty() && schema != kInventorySchema)
    errors.push_back("schema: found '" + schema + "', expected '" + std::string(kInventorySchema) + "'");
  if (errors.empty()) return inventory;
  Error error{
      ErrorKind::kInvalidInput, errors.front(), "use programs of the same ptxbench version", {file_name, 0, 0}, {}};
  error.notes.assign(errors.begin() + 1, errors.end());
  return fail(std::move(error));
}

}  // namespace ptxbench::schema
