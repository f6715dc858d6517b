"""Draws pictures of fish that can be told apart; datasets/fish calls it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from dataset import images, make, parser, write_parts

HEIGHT, WIDTH, CLASSES = 197, 148, 9
SHAPES = (0.28, 0.45, 0.75)  # height of a body for its length
ROWS_PER_GROUP = 200


def draw(label: int, random: np.random.Generator) -> np.ndarray:
    """Bytes [HEIGHT, WIDTH]; a third of the label is the shape, the rest of it the pattern."""
    shape, pattern = divmod(label, 3)
    length = random.uniform(35, 55)
    centre = random.uniform((60, 60), (HEIGHT - 60, WIDTH - 60))
    angle = random.uniform(-0.5, 0.5) + np.pi * random.integers(2)
    y, x = np.mgrid[:HEIGHT, :WIDTH] - centre[:, None, None]
    # Along the fish and across it, in units of half its length.
    along = (x * np.cos(angle) + y * np.sin(angle)) / length
    across = (y * np.cos(angle) - x * np.sin(angle)) / length
    body = along**2 + (across / SHAPES[shape]) ** 2 < 1
    tail = (along < -0.9) & (along > -1.35) & (np.abs(across) < (-0.8 - along) * SHAPES[shape])
    bright = random.uniform(120, 200)
    colour = np.full((HEIGHT, WIDTH), bright)
    if pattern == 1:
        colour -= 90 * (np.sin(along * 14 + random.uniform(0, 6)) > 0)
    elif pattern == 2:
        colour -= 90 * (np.sin(along * 16 + random.uniform(0, 6)) * np.sin(across * 16 + random.uniform(0, 6)) > 0.25)
    picture = np.where(body | tail, colour, random.uniform(20, 80))
    return np.clip(picture + random.normal(0, 12, picture.shape), 0, 255).astype(np.uint8)


def main() -> None:
    options = parser(__file__)
    options.add_argument("--rows", type=int, default=3240)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    if options.rows < 6 * CLASSES:
        raise SystemExit(f"fish: too few rows for all classes, at least {6 * CLASSES} are needed: {options.rows}")

    def write(output: Path) -> None:
        random = np.random.default_rng(options.seed)
        tests = options.rows // 6
        for split, rows, files in (("train", options.rows - tests, 4), ("test", tests, 2)):
            labels = random.permutation(np.arange(rows, dtype=np.int32) % CLASSES)
            pixels = [draw(int(label), random).tobytes() for label in labels]
            write_parts(output / split, images(pixels, labels), files, ROWS_PER_GROUP)

    make(options.output, f"drawing 1, {options.rows} rows, seed {options.seed}", write)


if __name__ == "__main__":
    main()
