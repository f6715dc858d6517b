"""Makes the sunshine's Parquet files out of the PyPI package pvlib; datasets/solar calls it."""

import csv
import io
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from dataset import make, package_parser, write_parts
from packages import pypi

HOURS = 8760
WINDOW = 50
LAST_TRAINING_DAY = 24
DAYS = np.concatenate([np.arange(1, days + 1) for days in (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)])


@dataclass(frozen=True)
class Station:
    file: str
    header: int  # lines before the first value
    column: int  # of global horizontal irradiance, in W per square metre
    every: int = 1  # lines an hour


STATIONS = {
    "sand-point": Station("703165TY.csv", 2, 4),
    "greensboro": Station("723170TYA.CSV", 2, 4),
    "burlington": Station(
        "Burlington, United States SolarAnywhere Time Series 2021 Lat_44_465 Lon_-73_205 TMY3 format.csv", 2, 4
    ),
    "amsterdam": Station("NLD_Amsterdam062400_IWEC.epw", 8, 13),
    "piedmont": Station("tmy_45.000_8.000_2005_2023.csv", 17, 3),
    "colorado": Station("test_read_psm3.csv", 3, 6, every=2),
}


def year(station: Station, text: str) -> np.ndarray:
    """The hours of a year, in kW per square metre."""
    lines = list(csv.reader(io.StringIO(text)))[station.header :][: HOURS * station.every]
    values = np.array([float(line[station.column]) for line in lines], np.float32) / 1000
    if values.size != HOURS * station.every or values.min() < 0 or values.max() > 1.5:
        raise SystemExit(f"solar: not the file expected: {station.file}, {values.size} values")
    return values.reshape(HOURS, station.every).mean(axis=1)


def windows(name: str, hours: np.ndarray) -> pa.Table:
    features = np.lib.stride_tricks.sliding_window_view(hours, WINDOW)[:-1]
    offsets = np.arange(0, features.size + 1, WINDOW, np.int32)
    return pa.table(
        {
            "features": pa.ListArray.from_arrays(offsets, np.ascontiguousarray(features).ravel()),
            "irradiance": hours[WINDOW:],
            "station": [name] * len(features),
            "hour": np.arange(WINDOW, HOURS, dtype=np.int32),
        }
    )


def main() -> None:
    options = package_parser(__file__).parse_args()

    def write(output: Path) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            zipfile.ZipFile(pypi(options.package, options.sha256, Path(folder))) as wheel,
        ):
            tables = [
                windows(name, year(station, wheel.read(f"pvlib/data/{station.file}").decode("utf-8", "replace")))
                for name, station in STATIONS.items()
            ]
        table = pa.concat_tables(tables).combine_chunks()
        days = DAYS[table["hour"].to_numpy() // 24]
        for split, chosen in (("train", days <= LAST_TRAINING_DAY), ("test", days > LAST_TRAINING_DAY)):
            write_parts(output / split, table.filter(pa.array(chosen)), files=2)

    make(options.output, f"{options.package} {options.sha256}", write)


if __name__ == "__main__":
    main()
