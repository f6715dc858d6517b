#include "checkpoint/Safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"

// The format: eight bytes with the length of the header, little-endian; the header, a JSON object from tensor names to
// {"dtype", "shape", "data_offsets": [begin, end]} with an optional "__metadata__" from texts to texts, padded with
// spaces; then the tensors, row-major, one after another without a gap.

namespace bloomery::checkpoint {

namespace {

static_assert(std::endian::native == std::endian::little, "Safetensors are little-endian");

constexpr size_t kLengthBytes = 8;
constexpr size_t kAlignment = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr const char* kMetadata = "__metadata__";

struct Entry {
  std::string name;
  std::string dtype;
  Shape shape;
  size_t begin;
  size_t end;
};

// Where a tensor of a file goes.
struct Target {
  const Slice* slice;
  float* values;
  bool finite;
};

std::map<std::string, Target> targetsOf(const ArenaLayout& layout, std::span<const TensorPart> parts) {
  std::map<std::string, Target> targets;
  for (const TensorPart& part : parts) {
    check(part.values.size() >= layout.numFloats(), "Part is smaller than its layout: '", part.prefix, "'");
    for (const Slice& slice : layout.slices()) {
      targets[part.prefix + slice.name] = {&slice, part.values.data() + slice.offset, part.prefix.empty()};
    }
  }
  return targets;
}

std::vector<std::string> namesOf(const std::map<std::string, Target>& targets) {
  std::vector<std::string> names;
  for (const auto& [name, target] : targets) names.push_back(name);
  return names;
}

Json readHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) {
    throw UserError(message("Not safetensors: ", bytes.size(), " bytes, wanted at least ", kLengthBytes));
  }
  uint64_t headerBytes = 0;
  std::memcpy(&headerBytes, bytes.data(), kLengthBytes);
  if (bytes.size() > kLengthBytes && bytes[kLengthBytes] != std::byte{'{'}) {
    throw UserError("Not safetensors: the header is not a JSON object");
  }
  if (headerBytes > kMaxHeaderBytes) {
    throw UserError(message("Not safetensors: header of ", headerBytes, " bytes, at most ", kMaxHeaderBytes));
  }
  if (headerBytes > bytes.size() - kLengthBytes) {
    throw UserError(
        message("Safetensors are truncated: header of ", headerBytes, " bytes, found ", bytes.size() - kLengthBytes));
  }
  const char* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  return parseJson(std::string(text, headerBytes), "safetensors header");
}

Entry readEntry(const std::string& name, const Json& json, size_t dataBytes) {
  JsonReader reader(json, message("tensor '", name, "'"));
  Entry entry{name, reader.text("dtype"), Shape(reader.integers("shape")), 0, 0};
  std::vector<int64_t> offsets = reader.integers("data_offsets");
  reader.finish();
  bool ordered = offsets.size() == 2 && offsets[0] >= 0 && offsets[0] <= offsets[1];
  if (!ordered) throw UserError(message("Wrong data_offsets of tensor '", name, "'"));
  entry.begin = static_cast<size_t>(offsets[0]);
  entry.end = static_cast<size_t>(offsets[1]);
  if (entry.end > dataBytes) {
    throw UserError(
        message("Safetensors are truncated: tensor '", name, "' ends at byte ", entry.end, ", found ", dataBytes));
  }
  return entry;
}

void checkMetadata(const Json& json) {
  bool texts =
      json.is_object() && std::all_of(json.begin(), json.end(), [](const Json& value) { return value.is_string(); });
  if (!texts) throw UserError(message("Wrong ", kMetadata, " of safetensors: wanted texts"));
}

// Sorted by place, the tensors must fill the data from its first byte to its last.
void checkPlaces(std::vector<Entry> entries, size_t dataBytes) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  size_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end) {
      throw UserError(message(entry.begin < end ? "Tensors overlap" : "Data without a tensor", ": tensor '", entry.name,
                              "' begins at byte ", entry.begin, ", the one before ends at ", end));
    }
    end = entry.end;
  }
  if (end != dataBytes) throw UserError(message("Data without a tensor: ", dataBytes - end, " bytes at the end"));
}

void checkEntry(const Entry& entry, const Slice& slice) {
  if (entry.dtype != "F32") {
    throw UserError(message("Wrong type of tensor '", entry.name, "': ", entry.dtype, ", wanted F32"));
  }
  if (entry.shape != slice.shape) {
    throw UserError(message("Wrong shape of tensor '", entry.name, "': ", entry.shape.toString(), ", wanted ",
                            slice.shape.toString()));
  }
  if (entry.end - entry.begin != slice.size * sizeof(float)) {
    throw UserError(message("Wrong size of tensor '", entry.name, "': ", entry.end - entry.begin, " bytes, wanted ",
                            slice.size * sizeof(float)));
  }
}

// The bytes need not be aligned.
void checkFinite(const Entry& entry, std::span<const std::byte> data) {
  size_t size = (entry.end - entry.begin) / sizeof(float);
  for (size_t i = 0; i < size; ++i) {
    float value = 0;
    std::memcpy(&value, data.data() + entry.begin + i * sizeof(float), sizeof(float));
    if (std::isfinite(value)) continue;
    throw UserError(message("Weight is not finite: ", value, ", element ", i, " of tensor '", entry.name, "'"));
  }
}

}  // namespace

std::string writeSafetensors(const ArenaLayout& layout, const Arena& values,
                             const std::map<std::string, std::string>& metadata) {
  TensorPart weights{"", values.all()};
  std::string result;
  writeSafetensors(layout, std::span(&weights, 1), metadata, result);
  return result;
}

void writeSafetensors(const ArenaLayout& layout, std::span<const TensorPart> parts,
                      const std::map<std::string, std::string>& metadata, std::string& out) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  size_t dataBytes = 0;
  for (const TensorPart& part : parts) {
    for (const Slice& slice : layout.slices()) {
      size_t end = dataBytes + slice.size * sizeof(float);
      header[part.prefix + slice.name] = {
          {"dtype", "F32"}, {"shape", slice.shape.extents()}, {"data_offsets", {dataBytes, end}}};
      dataBytes = end;
    }
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');

  uint64_t headerBytes = text.size();
  out.clear();
  out.reserve(kLengthBytes + text.size() + dataBytes);
  out.append(reinterpret_cast<const char*>(&headerBytes), kLengthBytes);
  out.append(text);
  for (const TensorPart& part : parts) {
    for (const Slice& slice : layout.slices()) {
      out.append(reinterpret_cast<const char*>(part.values.data() + slice.offset), slice.size * sizeof(float));
    }
  }
}

namespace {

std::span<const std::byte> dataOf(std::span<const std::byte> bytes) {
  uint64_t headerBytes = 0;
  std::memcpy(&headerBytes, bytes.data(), kLengthBytes);
  return bytes.subspan(kLengthBytes + headerBytes);
}

std::vector<Entry> readEntries(const Json& header, std::span<const std::byte> data) {
  std::vector<Entry> entries;
  for (const auto& item : header.items()) {
    if (item.key() == kMetadata) {
      checkMetadata(item.value());
    } else {
      entries.push_back(readEntry(item.key(), item.value(), data.size()));
    }
  }
  checkPlaces(entries, data.size());
  return entries;
}

// Of entries that were checked.
void copyAll(const std::vector<Entry>& entries, const std::map<std::string, Target>& targets,
             std::span<const std::byte> data) {
  for (const Entry& entry : entries) {
    if (targets.at(entry.name).finite) checkFinite(entry, data);
  }
  for (const Entry& entry : entries) {
    const Target& target = targets.at(entry.name);
    std::memcpy(target.values, data.data() + entry.begin, target.slice->size * sizeof(float));
  }
}

void read(std::span<const std::byte> bytes, const ArenaLayout& layout, std::span<const TensorPart> parts,
          bool passesOverState) {
  Json header = readHeader(bytes);
  std::span<const std::byte> data = dataOf(bytes);
  std::vector<Entry> entries = readEntries(header, data);
  const std::map<std::string, Target> targets = targetsOf(layout, parts);
  if (passesOverState) {
    std::erase_if(entries, [&](const Entry& entry) {
      return entry.name.starts_with(kStatePrefix) && !targets.contains(entry.name);
    });
  }
  for (const Entry& entry : entries) {
    auto found = targets.find(entry.name);
    if (found == targets.end()) throw UserError(unknownName("tensor", entry.name, namesOf(targets)));
    checkEntry(entry, *found->second.slice);
  }
  for (const TensorPart& part : parts) {
    for (const Slice& slice : layout.slices()) {
      if (!header.contains(part.prefix + slice.name)) {
        throw UserError(message("Missing tensor: ", part.prefix, slice.name));
      }
    }
  }
  copyAll(entries, targets, data);
}

}  // namespace

void readSafetensors(std::span<const std::byte> bytes, const ArenaLayout& layout, const Arena& values) {
  TensorPart weights{"", values.all()};
  read(bytes, layout, std::span(&weights, 1), true);
}

void readSafetensors(std::span<const std::byte> bytes, const ArenaLayout& layout, std::span<const TensorPart> parts) {
  read(bytes, layout, parts, false);
}

std::vector<std::string> readMatching(std::span<const std::byte> bytes, const ArenaLayout& layout,
                                      const Arena& values) {
  Json header = readHeader(bytes);
  std::span<const std::byte> data = dataOf(bytes);
  std::vector<Entry> entries = readEntries(header, data);
  TensorPart weights{"", values.all()};
  const std::map<std::string, Target> targets = targetsOf(layout, std::span(&weights, 1));
  std::erase_if(entries, [&](const Entry& entry) { return !targets.contains(entry.name); });
  if (entries.empty() && !targets.empty()) {
    throw UserError(message("Weights are of another network: they have none of its tensors, such as '",
                            targets.begin()->first, "'"));
  }
  for (const Entry& entry : entries) checkEntry(entry, *targets.at(entry.name).slice);
  copyAll(entries, targets, data);
  std::vector<std::string> missing;
  for (const Slice& slice : layout.slices()) {
    if (!header.contains(slice.name)) missing.push_back(slice.name);
  }
  return missing;
}

std::string readMetadata(std::span<const std::byte> bytes, const std::string& key) {
  Json header = readHeader(bytes);
  if (!header.contains(kMetadata)) return "";
  checkMetadata(header.at(kMetadata));
  return header.at(kMetadata).value(key, "");
}

}  // namespace bloomery::checkpoint
