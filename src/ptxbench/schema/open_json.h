// Internal to schema: reading the shared, open FlashInfer Trace formats. Known fields are checked one by one; what is
// left over is kept as UnknownField and written back.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/json_io.h"

namespace ptxbench::schema {

// Collects what one file's reading finds.
struct OpenReading {
  std::string file_name;
  int line = 0;
  std::vector<std::string> errors;
  std::vector<UnknownField> unknown;

  void error(const std::string& path, const std::string& what) {
    errors.push_back(path.empty() ? what : fmt::format("{}: {}", path, what));
  }
  // The first error with the file's name in front, the others as notes. Only when there is one.
  Error take_error();
};

// One JSON object. Every accessor notes the key as known; leave() reports the rest.
class OpenObject {
 public:
  OpenObject(const Json& json, std::string path, std::string pointer, OpenReading& reading);

  bool valid() const { return json_.is_object(); }
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const;

  const Json* take(std::string_view key);                     // nullptr when absent
  const Json* require(std::string_view key);                  // the same, with an error when absent
  std::string string(std::string_view key);                   // required
  std::string optional_string(std::string_view key);          // "" when absent or null
  std::vector<std::string> strings(std::string_view key);     // empty when absent or null
  std::optional<std::int64_t> integer(std::string_view key);  // none when absent; an error when it is no integer
  bool boolean(std::string_view key, bool otherwise);
  // A nested object; an invalid one (with an error) when absent or no object.
  OpenObject object(std::string_view key);
  void wrong(std::string_view key, std::string_view expected, const Json& found);
  void leave();

 private:
  const Json& json_;
  std::string path_, pointer_;
  OpenReading& reading_;
  std::set<std::string, std::less<>> known_;
};

// Puts kept fields back where they were.
void restore_unknown(Json& json, const std::vector<UnknownField>& unknown);

}  // namespace ptxbench::schema
