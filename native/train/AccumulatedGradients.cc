#include "train/AccumulatedGradients.h"

#include "optim/Gradients.h"

namespace bloomery::train {

namespace {

ArenaLayout layoutIf(bool needed, const ArenaLayout& layout) { return needed ? layout : ArenaLayout(); }

}  // namespace

AccumulatedGradients::AccumulatedGradients(bool needed, const ArenaLayout& layout, const Arena& gradients,
                                           const GradientRows& rows)
    : layout_(layoutIf(needed, layout)),
      gradients_(gradients.all()),
      rows_(rows),
      sums_(layout_),
      sumRows_(sums_, layout_, needed ? rows.slices() : std::vector<size_t>()) {}

void AccumulatedGradients::add() {
  for (size_t i = 0; i < layout_.slices().size(); ++i) {
    const Slice& slice = layout_.slices()[i];
    auto addPart = [&](size_t first, size_t size) {
      optim::addTo(simdLevel(), sums_.all().subspan(slice.offset + first, size),
                   gradients_.subspan(slice.offset + first, size));
    };
    TouchedRows* touched = rows_.find(i);
    if (touched == nullptr) {
      addPart(0, slice.size);
    } else {
      sumRows_.find(i)->mark(*touched);
      touched->forStretches(addPart);
    }
  }
}

void AccumulatedGradients::markRows() {
  for (size_t slice : sumRows_.slices()) rows_.find(slice)->mark(*sumRows_.find(slice));
}

GradientSink& AccumulatedGradients::before(GradientSink& next) {
  next_ = &next;
  return *this;
}

void AccumulatedGradients::ready(size_t sliceIndex) {
  const Slice& slice = layout_.slices()[sliceIndex];
  auto addPart = [&](size_t first, size_t size) {
    optim::addTo(simdLevel(), gradients_.subspan(slice.offset + first, size),
                 sums_.all().subspan(slice.offset + first, size));
  };
  if (TouchedRows* touched = sumRows_.find(sliceIndex)) {
    touched->forStretches(addPart);
  } else {
    addPart(0, slice.size);
  }
  next_->ready(sliceIndex);
}

}  // namespace bloomery::train
