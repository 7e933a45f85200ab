"""Goes through one epoch without TensorFlow: batches are dicts of NumPy arrays over shared memory.

python examples/numpy_loop.py 'data/train/*.h5'
"""

import sys

import loader_client
from loader_client import Clip


def main(pattern: str) -> None:
    """Print the mean brightness of each batch."""
    with loader_client.connect(pattern, workers=2) as connection:  # a private service, which ends with the connection
        print(connection.catalog)
        for number, batch in enumerate(connection.batches(batch_size=8, clip=Clip(frames=8), epochs=1)):
            print(number, batch["video"], batch["frames"].mean())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give one pattern of HDF5 files, in quotes, such as 'data/train/*.h5'")
    main(sys.argv[1])
