// The five kinds of failure, and nothing else, leave the engine. Text comes first and values last, so that equal
// causes read alike: "Label out of range: 12, classes: 10, row 4711 of partition 3".
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace bloomery {

// A text that quotes what somebody gave us may be of any length: beyond this it is cut.
inline constexpr size_t kMaxErrorBytes = 2000;

inline std::string shortened(std::string text) {
  if (text.size() <= kMaxErrorBytes) return text;
  size_t end = kMaxErrorBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
  text.resize(end);
  return text + "...";
}

enum class ErrorKind { kUser, kPeerLost, kCancelled, kResource, kInternal };

class Error : public std::runtime_error {
 public:
  ErrorKind kind() const { return kind_; }

 protected:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(shortened(message)), kind_(kind) {}

 private:
  ErrorKind kind_;
};

// A wrong network, option, schema or value: the user can mend it.
class UserError : public Error {
 public:
  explicit UserError(const std::string& message) : Error(ErrorKind::kUser, message) {}
};

// Another worker died, hung or closed its connection: trying again may help.
class PeerLost : public Error {
 public:
  explicit PeerLost(const std::string& message) : Error(ErrorKind::kPeerLost, message) {}
};

// Somebody asked us to stop.
class Cancelled : public Error {
 public:
  explicit Cancelled(const std::string& message) : Error(ErrorKind::kCancelled, message) {}
};

// Memory or disk ran out.
class ResourceError : public Error {
 public:
  explicit ResourceError(const std::string& message) : Error(ErrorKind::kResource, message) {}
};

// A fault of the engine itself.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error(ErrorKind::kInternal, message) {}
};

// Joins any printable values into one text: message("Label out of range: ", 12).
template <typename... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// For what only a fault of ours can break.
template <typename... Parts>
void check(bool condition, const Parts&... parts) {
  if (!condition) throw InternalError(message(parts...));
}

}  // namespace bloomery
