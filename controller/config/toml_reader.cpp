// The one file of the controller that knows toml++.
#include "controller/config/toml_reader.h"

#include <toml++/toml.h>

#include <algorithm>

#include "base/types/text.h"

namespace muster {

struct TomlDocument::Impl {
  toml::table table;
  std::string path;
  std::vector<std::string> problems;
};

TomlDocument::TomlDocument() : impl_(std::make_unique<Impl>()) {}
TomlDocument::~TomlDocument() = default;

Result<void> TomlDocument::parse(const std::string& text, const std::string& path) {
  impl_->path = path;
  try {
    impl_->table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    return fail(ErrorCode::kInvalid, path + ":" + std::to_string(at.line) + ":" +
                                         std::to_string(at.column) + ": " +
                                         std::string(error.description()));
  }
  return {};
}

const std::vector<std::string>& TomlDocument::problems() const { return impl_->problems; }

void TomlDocument::complain(int line, const std::string& message) {
  impl_->problems.push_back(impl_->path + ":" + std::to_string(line) + ": " + message);
}

namespace {

const toml::table& table_of(const void* table) { return *static_cast<const toml::table*>(table); }
const toml::node& node_of(const void* node) { return *static_cast<const toml::node*>(node); }
int line_of_node(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

}  // namespace

TomlTable::TomlTable(TomlDocument& document, const void* table, std::string name)
    : document_(&document), table_(table), name_(std::move(name)) {}

TomlTable TomlTable::root(TomlDocument& document) {
  return TomlTable(document, &document.impl().table, "");
}

int TomlTable::line() const { return table_ == nullptr ? 0 : line_of_node(table_of(table_)); }

const void* TomlTable::find(const char* key) {
  known_.emplace_back(key);
  return table_ == nullptr ? nullptr : table_of(table_).get(key);
}

int TomlTable::line_of(const char* key) const {
  if (table_ == nullptr) return 0;
  const toml::node* node = table_of(table_).get(key);
  return node == nullptr ? line() : line_of_node(*node);
}

void TomlTable::complain(const char* key, const std::string& message) {
  document_->complain(line_of(key), name_ + key + ": " + message);
}

void TomlTable::read(const char* key, std::string& out) {
  const void* node = find(key);
  if (node == nullptr) return;
  const auto value = node_of(node).value_exact<std::string>();
  if (!value) return complain(key, "must be a string in quotes");
  out = *value;
}

void TomlTable::read(const char* key, bool& out) {
  const void* node = find(key);
  if (node == nullptr) return;
  const auto value = node_of(node).value_exact<bool>();
  if (!value) return complain(key, "must be true or false");
  out = *value;
}

template <class T>
bool TomlTable::read_integer(const char* key, T& out, std::int64_t min, std::int64_t max) {
  const void* node = find(key);
  if (node == nullptr) return false;
  const auto value = node_of(node).value_exact<std::int64_t>();
  if (!value || *value < min || *value > max) {
    complain(key,
             "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return false;
  }
  out = static_cast<T>(*value);
  return true;
}

void TomlTable::read(const char* key, std::uint32_t& out, std::uint32_t min, std::uint32_t max) {
  read_integer(key, out, min, max);
}

void TomlTable::read(const char* key, std::uint64_t& out, std::uint64_t min, std::uint64_t max) {
  read_integer(key, out, static_cast<std::int64_t>(min), static_cast<std::int64_t>(max));
}

void TomlTable::read(const char* key, std::int32_t& out, std::int32_t min, std::int32_t max) {
  read_integer(key, out, min, max);
}

void TomlTable::read(const char* key, Duration& out) {
  const void* node = find(key);
  if (node == nullptr) return;
  const auto value = node_of(node).value_exact<std::string>();
  if (!value)
    return complain(key, "must be a time in quotes, such as \"30s\", \"2h\" or \"1d12h\"");
  const auto duration = parse_duration(*value);
  if (!duration) return complain(key, duration.error().message);
  out = *duration;
}

void TomlTable::read_or_none(const char* key, Duration& out) {
  const toml::node* node = table_ == nullptr ? nullptr : table_of(table_).get(key);
  const bool is_none = node != nullptr && node->value_exact<std::string>() == "0";
  if (!is_none) return read(key, out);
  known_.emplace_back(key);
  out = Duration{};
}

void TomlTable::read(const char* key, std::vector<std::string>& out) {
  const void* node = find(key);
  if (node == nullptr) return;
  const toml::array* array = node_of(node).as_array();
  if (array == nullptr) return complain(key, "must be a list of strings, such as [\"a\", \"b\"]");
  std::vector<std::string> values;
  for (const toml::node& item : *array) {
    const auto value = item.value_exact<std::string>();
    if (!value) return complain(key, "must hold strings only");
    values.push_back(*value);
  }
  out = std::move(values);
}

bool TomlTable::is_none(const char* key) {
  const toml::node* node = table_ == nullptr ? nullptr : table_of(table_).get(key);
  if (node == nullptr || node->value_exact<std::string>() != "none") return false;
  known_.emplace_back(key);
  return true;
}

TomlTable TomlTable::table(const char* key) {
  const void* node = find(key);
  const std::string name = name_ + key + ".";
  if (node == nullptr) return TomlTable(*document_, nullptr, name);
  const toml::table* table = node_of(node).as_table();
  if (table == nullptr) complain(key, "must be a table: [" + name_ + key + "]");
  return TomlTable(*document_, table, name);
}

std::vector<TomlTable> TomlTable::tables(const char* key) {
  std::vector<TomlTable> found;
  const void* node = find(key);
  if (node == nullptr) return found;
  const toml::array* array = node_of(node).as_array();
  if (array == nullptr || !array->is_array_of_tables()) {
    complain(key, std::string("must be given as [[") + key + "]]");
    return found;
  }
  for (const toml::node& item : *array) {
    found.push_back(TomlTable(*document_, item.as_table(), name_ + key + "."));
  }
  return found;
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> keys;
  if (table_ == nullptr) return keys;
  for (const auto& [key, node] : table_of(table_)) keys.emplace_back(key.str());
  return keys;
}

void TomlTable::finish() {
  if (table_ == nullptr) return;
  for (const auto& [key, node] : table_of(table_)) {
    const std::string name(key.str());
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string nearest(nearest_match(name, known_));
    document_->complain(static_cast<int>(key.source().begin.line),
                        "unknown key '" + name_ + escape_for_terminal(name) + "'" +
                            (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
}

}  // namespace muster
