// A TOML table read key by key: wrong types and keys nobody asked for become errors with file and
// line. The heavy parser stays in toml_reader.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// Collects the problems of one document. Not thread-safe.
class TomlDocument {
 public:
  TomlDocument();
  ~TomlDocument();
  TomlDocument(const TomlDocument&) = delete;
  TomlDocument& operator=(const TomlDocument&) = delete;

  // kInvalid with file:line:column when it is not TOML at all.
  Result<void> parse(const std::string& text, const std::string& path);
  const std::vector<std::string>& problems() const;
  // Adds "path:line: message".
  void complain(int line, const std::string& message);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// One table of a document. Values stay as they are where a key is absent. Every read marks its key
// as known; finish() reports the others, with the nearest known name.
class TomlTable {
 public:
  static TomlTable root(TomlDocument& document);
  bool exists() const { return table_ != nullptr; }
  int line() const;

  void read(const char* key, std::string& out);
  void read(const char* key, bool& out);
  void read(const char* key, std::uint32_t& out, std::uint32_t min, std::uint32_t max);
  void read(const char* key, std::uint64_t& out, std::uint64_t min, std::uint64_t max);
  void read(const char* key, std::int32_t& out, std::int32_t min, std::int32_t max);
  void read(const char* key, Duration& out);          // A string: "30s", "2h".
  void read_or_none(const char* key, Duration& out);  // "0" as well.
  void read(const char* key, std::vector<std::string>& out);
  bool is_none(const char* key);                   // It is there and says "none".
  TomlTable table(const char* key);                // Absent: exists() is false.
  std::vector<TomlTable> tables(const char* key);  // [[key]]
  std::vector<std::string> keys() const;           // Sorted. Read ones are known all the same.
  int line_of(const char* key) const;              // Of the value; the table's own when absent.
  void complain(const char* key, const std::string& message);
  void finish();

 private:
  TomlTable(TomlDocument& document, const void* table, std::string name);
  const void* find(const char* key);
  template <class T>
  bool read_integer(const char* key, T& out, std::int64_t min, std::int64_t max);

  TomlDocument* document_;
  const void* table_;  // toml::table
  std::string name_;
  std::vector<std::string_view> known_;  // Literals of the callers.
};

}  // namespace muster
