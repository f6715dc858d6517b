"""Makes the flights' Parquet files out of the npm package vega-datasets; datasets/flights calls it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from dataset import make, package_parser, write_parts
from packages import npm

FILE = "package/data/flights-3m.parquet"
LATE = 15  # minutes
EVERY = 10  # flights, one is for the test
FILES = {"train": 8, "test": 2}
ROWS_PER_GROUP = 50000


def circle(values: np.ndarray, period: int) -> list[np.ndarray]:
    """Numbers that come around, without a jump where they do."""
    angle = values * (2 * np.pi / period)
    return [np.sin(angle), np.cos(angle)]


def derive(flights: pa.Table) -> pa.Table:
    date = flights["date"]
    minute = pc.add(pc.multiply(pc.hour(date), 60), pc.minute(date)).to_numpy()
    weekday, month = pc.day_of_week(date).to_numpy(), pc.month(date).to_numpy()
    delay, distance = flights["delay"].to_numpy(), flights["distance"].to_numpy()
    times = [*circle(minute, 1440), *circle(weekday, 7), *circle(month, 12), weekday >= 5]
    features = np.stack([(distance - 1000) / 1000, *times], axis=1).astype(np.float32)
    offsets = np.arange(0, features.size + 1, features.shape[1], np.int32)
    return pa.table(
        {
            "date": date,
            "month": month.astype(np.int32),
            "weekday": weekday.astype(np.int32),
            "minute": minute.astype(np.int32),
            "distance": distance.astype(np.float32),
            "origin": flights["origin"].cast(pa.string()),
            "destination": flights["destination"].cast(pa.string()),
            "features": pa.ListArray.from_arrays(offsets, features.ravel()),
            "delay": delay.astype(np.float32),
            "late": (delay >= LATE).astype(np.int32),
        }
    )


def main() -> None:
    options = package_parser(__file__).parse_args()

    def write(output: Path) -> None:
        with npm(options.package, options.sha256) as archive:
            flights = pq.read_table(pa.BufferReader(archive.extractfile(FILE).read()))
        table = derive(flights)
        is_test = np.arange(table.num_rows) % EVERY == EVERY - 1
        for split, chosen in (("train", ~is_test), ("test", is_test)):
            write_parts(output / split, table.filter(pa.array(chosen)), FILES[split], ROWS_PER_GROUP)

    make(options.output, f"{options.package} {options.sha256}", write)


if __name__ == "__main__":
    main()
