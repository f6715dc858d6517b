"""Makes the Fashion-MNIST Parquet files out of a Debian package; datasets/fashion-mnist calls it."""

import gzip
import subprocess
import tempfile
from pathlib import Path

import idx
from dataset import make, package_parser
from packages import debian


def main() -> None:
    options = package_parser(__file__).parse_args()

    def write(output: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            archive = debian(options.package, options.sha256, Path(folder))
            subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)
            files = Path(folder) / "usr/share/datasets/fashion-mnist"
            idx.write(lambda name: gzip.decompress((files / f"{name}.gz").read_bytes()), output)

    make(options.output, f"{options.package} {options.sha256}", write)


if __name__ == "__main__":
    main()
