"""Makes captions of scenes by a seeded grammar; datasets/captioning calls it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dataset import empty_folder, make, parser, part, write_parts

FEATURES, TOKENS, WORDS = 4096, 34, 7579
START, END = 1, 2
NOISE = 0.3
# Kinds of words that a scene chooses from, and how many there are of each.
CHOICES = {"how": 40, "who": 120, "doing": 60, "size": 10, "where": 90}
FIXED = ("a", "is", "in", "the", "there", "and")
TEMPLATES = (
    "a {how} {who} is {doing} in the {size} {where}",
    "there is a {how} {who} and the {who} is {doing}",
    "in the {size} {where} a {who} is {doing}",
)
IMAGES_PER_GROUP = 50


class Grammar:
    """Words by number, scenes by seed, features by scene, captions by scene."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        chosen = [f"{kind}{number}" for kind, count in CHOICES.items() for number in range(count)]
        words = [*FIXED, *chosen]
        words += [f"rare{number}" for number in range(WORDS - 3 - len(words))]
        # Words that mean something are spread over all numbers, as in a vocabulary of a language.
        self.random.shuffle(words)
        self.words = ["", "<start>", "<end>", *words]
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self.traces = {
            kind: self.random.normal(0, 1, (count, FEATURES)).astype(np.float32) for kind, count in CHOICES.items()
        }

    def scene(self) -> dict[str, int]:
        return {kind: int(self.random.integers(count)) for kind, count in CHOICES.items()}

    def features(self, scene: dict[str, int]) -> np.ndarray:
        """What a picture's network would see: the traces of all that is in it, never below zero."""
        seen = sum(self.traces[kind][choice] for kind, choice in scene.items()) / np.sqrt(len(scene))
        return np.maximum(seen + self.random.normal(0, NOISE, FEATURES), 0).astype(np.float32)

    def captions(self, scene: dict[str, int]) -> list[str]:
        """Which sentences are said depends on the scene, so that even the first word can be learnt."""
        said = {kind: f"{kind}{choice}" for kind, choice in scene.items()}
        return [TEMPLATES[scene["who"] % len(TEMPLATES)].format(**said)]

    def steps(self, caption: str) -> list[tuple[list[int], int]]:
        """The words so far, filled up, and the next one."""
        tokens = [START, *(self.numbers[word] for word in caption.split()), END]
        return [(tokens[:end] + [0] * (TOKENS - end), tokens[end]) for end in range(1, len(tokens))]


def lists(rows: list, value_type: pa.DataType) -> pa.Array:
    values = np.asarray(rows)
    offsets = np.arange(0, values.size + 1, values.shape[1], np.int32)
    return pa.ListArray.from_arrays(offsets, pa.array(values.ravel(), value_type))


def write_images(grammar: Grammar, first: int, count: int, is_test: bool, folder: Path) -> list[pa.Table]:
    """Streams the rows of some images into one file, since each repeats its image's features; gives the images back."""
    made, writer = [], None
    for start in range(first, first + count, IMAGES_PER_GROUP):
        images = range(start, min(start + IMAGES_PER_GROUP, first + count))
        scenes = [grammar.scene() for _ in images]
        features = [grammar.features(scene) for scene in scenes]
        captions = [grammar.captions(scene) for scene in scenes]
        steps = [
            (image, seen, tokens, following)
            for image, seen, sentences in zip(images, features, captions, strict=True)
            for caption in sentences
            for tokens, following in grammar.steps(caption)
        ]
        numbers, repeated, tokens, following = (list(column) for column in zip(*steps, strict=True))
        rows = pa.table(
            {
                "image": pa.array(numbers, pa.int32()),
                "features": lists(repeated, pa.float32()),
                "tokens": lists(tokens, pa.int32()),
                "next": pa.array(following, pa.int32()),
            }
        )
        writer = writer or pq.ParquetWriter(part(folder, 0), rows.schema)
        writer.write_table(rows)
        made.append(
            pa.table(
                {
                    "image": pa.array(images, pa.int32()),
                    "isTest": [is_test] * len(images),
                    "features": lists(features, pa.float32()),
                    "captions": captions,
                }
            )
        )
    if writer:
        writer.close()
    return made


def main() -> None:
    options = parser(__file__)
    options.add_argument("--images", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    if options.images < 5:
        raise SystemExit(f"captioning: too few images, at least 5 are needed: {options.images}")

    def write(output: Path) -> None:
        grammar = Grammar(options.seed)
        tests = options.images // 5
        captions = []
        for split, first, count in (("train", 0, options.images - tests), ("test", options.images - tests, tests)):
            captions += write_images(grammar, first, count, split == "test", empty_folder(output / split))
        write_parts(output / "captions", pa.concat_tables(captions), files=1)
        (output / "_vocabulary.txt").write_text("\n".join(grammar.words) + "\n")

    make(options.output, f"grammar 1, {options.images} images, seed {options.seed}", write)


if __name__ == "__main__":
    main()
