#include "comm/GradientWire.h"

#include <algorithm>
#include <cmath>

namespace bloomery::comm {

namespace {

size_t sizeOf(std::span<const std::span<float>> parts) {
  size_t size = 0;
  for (std::span<float> part : parts) size += part.size();
  return size;
}

}  // namespace

GradientWire::GradientWire(const WireSpec& spec)
    : format_(spec.format), scale_(std::exp2(static_cast<float>(std::ilogb(std::max(spec.globalBatch, 1.0))))) {
  if (format_) halves_.resize(kMessageFloats);
}

void GradientWire::reduce(Communicator& communicator, std::span<float> values, Timeout timeout) {
  if (!format_ || values.size() < kFewestFloats) return communicator.allreduce(values, timeout);
  for (size_t first = 0; first < values.size(); first += kMessageFloats) {
    std::span<float> part = values.subspan(first, std::min(kMessageFloats, values.size() - first));
    reduceMessage(communicator, std::span(&part, 1), timeout);
  }
}

void GradientWire::reduceMessage(Communicator& communicator, std::span<const std::span<float>> parts, Timeout timeout) {
  std::span<uint16_t> halves = std::span(halves_).first(sizeOf(parts));
  SimdLevel level = simdLevel();
  size_t first = 0;
  for (std::span<float> part : parts) {
    toHalves(*format_, level, part, scale_, halves.subspan(first, part.size()));
    first += part.size();
  }
  communicator.allreduceHalves(halves, *format_, timeout);
  if (!allFinite(*format_, halves)) {
    ++repeats_;
    for (std::span<float> part : parts) communicator.allreduce(part, timeout);
    return;
  }
  first = 0;
  for (std::span<float> part : parts) {
    fromHalves(*format_, level, halves.subspan(first, part.size()), 1 / scale_, part);
    first += part.size();
  }
}

MixedReduction::MixedReduction(GradientWire& wire, std::span<float> bucket, const GradientWire::Parts& exact)
    : wire_(wire), exact_(exact) {
  const float* done = bucket.data();
  for (std::span<float> part : exact) {
    addMessage(bucket.subspan(static_cast<size_t>(done - bucket.data()), static_cast<size_t>(part.data() - done)));
    done = part.data() + part.size();
  }
  addMessage(bucket.subspan(static_cast<size_t>(done - bucket.data())));
  exactValues_.resize(sizeOf(exact_));
}

void MixedReduction::addMessage(std::span<float> values) {
  while (!values.empty()) {
    if (messages_.empty() || sizeOf(messages_.back()) == GradientWire::kMessageFloats) messages_.emplace_back();
    size_t room = GradientWire::kMessageFloats - sizeOf(messages_.back()), size = std::min(room, values.size());
    messages_.back().push_back(values.first(size));
    values = values.subspan(size);
  }
}

void MixedReduction::run(Communicator& communicator, Timeout timeout) {
  if (!exact_.empty()) {
    auto to = exactValues_.begin();
    for (std::span<float> part : exact_) to = std::ranges::copy(part, to).out;
    communicator.allreduce(exactValues_, timeout);
    auto from = exactValues_.begin();
    for (std::span<float> part : exact_) {
      std::copy_n(from, part.size(), part.begin());
      from += static_cast<ptrdiff_t>(part.size());
    }
  }
  for (const GradientWire::Parts& parts : messages_) wire_.reduceMessage(communicator, parts, timeout);
}

}  // namespace bloomery::comm
