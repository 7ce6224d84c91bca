#include "ptxbench/ptx/scopes.h"

#include <fmt/format.h>

#include <charconv>

namespace ptxbench::ptx {

std::vector<LabelReference> Scopes::close() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  std::vector<LabelReference> open;
  for (const LabelReference& reference : scope.references) {
    const auto found = scope.names.find(reference.name);
    if (found != scope.names.end() && found->second.name.kind == NameKind::kLabel) {
      function_.operand_pool[reference.pool_index].value = found->second.name.index;
    } else if (scopes_.empty()) {
      open.push_back(reference);
    } else {
      scopes_.back().references.push_back(reference);
    }
  }
  return open;
}

bool Scopes::declare_register(std::string_view name, isa::Type type) {
  if (range_of(scopes_.back(), name) != nullptr) return false;
  return scopes_.back().names.emplace(name, Entry{{NameKind::kRegister, kNone}, type}).second;
}

bool Scopes::declare_range(std::string_view prefix, std::uint32_t count, isa::Type type) {
  for (const Range& range : scopes_.back().ranges) {
    if (range.prefix == prefix) return false;
  }
  scopes_.back().ranges.push_back({prefix, count, type});
  return true;
}

bool Scopes::declare(std::string_view name, Name what) {
  if (range_of(scopes_.back(), name) != nullptr) return false;
  return scopes_.back().names.emplace(name, Entry{what, isa::Type::kNone}).second;
}

bool Scopes::define_label(std::string_view name) {
  const auto place = static_cast<std::uint32_t>(function_.instructions.size());
  if (!declare(name, {NameKind::kLabel, place})) return false;
  function_.labels.push_back({unique(name), place});
  return true;
}

const Scopes::Range* Scopes::range_of(const Scope& scope, std::string_view name) {
  if (scope.ranges.empty()) return nullptr;
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  for (const Range& range : scope.ranges) {
    // The prefix itself may end in digits: '%r1<4>' declares %r10 to %r13.
    if (range.prefix.size() < digits || range.prefix.size() >= name.size() || !name.starts_with(range.prefix)) continue;
    const std::string_view number = name.substr(range.prefix.size());
    if (number.size() > 1 && number[0] == '0') continue;
    std::uint32_t index = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error == std::errc() && end == number.data() + number.size() && index < range.count) return &range;
  }
  return nullptr;
}

std::uint32_t Scopes::new_register(std::string_view name, isa::Type type) {
  function_.registers.push_back({unique(name), type});
  return static_cast<std::uint32_t>(function_.registers.size() - 1);
}

std::optional<Name> Scopes::find(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->names.find(name); found != scope->names.end()) {
      Entry& entry = found->second;
      if (entry.name.kind == NameKind::kRegister && entry.name.index == kNone)
        entry.name.index = new_register(name, entry.type);
      return entry.name;
    }
    if (const Range* range = range_of(*scope, name)) {
      const Name result{NameKind::kRegister, new_register(name, range->type)};
      scope->names.emplace(name, Entry{result, range->type});
      return result;
    }
  }
  return std::nullopt;
}

std::string Scopes::unique(std::string_view name) {
  std::string candidate(name);
  std::uint32_t& count = taken_[candidate];
  ++count;
  if (count == 1 && !is_global_(name)) return candidate;
  if (count == 1) count = 2;
  // The numbered name may itself be one that the text uses.
  std::uint32_t number = count;
  while (true) {
    candidate = fmt::format("{}${}", name, number);
    const auto [place, is_new] = taken_.try_emplace(candidate, 1);
    if (is_new && !is_global_(candidate)) break;
    ++number;
  }
  taken_[std::string(name)] = number;
  return candidate;
}

}  // namespace ptxbench::ptx
