"""One process of a training of several: its share of each epoch, and a state with which any number of processes go on.

    torchrun --nproc-per-node 4 examples/ranks_from_environment.py 'data/*.h5' --save first --stop-after 20
    torchrun --nproc-per-node 2 examples/ranks_from_environment.py 'data/*.h5' --save second --resume first

The second run goes on where the first one stopped, with two ranks in place of four: each sample comes once an epoch.
`shard="auto"` finds rank and world in what torchrun, srun, mpirun, Ray Train or TF_CONFIG say. Needs no framework.
"""

import argparse
from pathlib import Path

import loader_client
from loader_client import Frame, RankState


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", help="a pattern of HDF5 files, for a service of this process, or ipc:///path of one")
    parser.add_argument("--save", type=Path, required=True, help="folder for the states of all ranks")
    parser.add_argument("--resume", type=Path, help="folder of those of an earlier run; else a new training begins")
    parser.add_argument("--stop-after", type=int, default=0, help="steps after which to stop and save; 0: the epoch's")
    parser.add_argument("--batch-size", type=int, default=2)
    args = parser.parse_args()

    saved = sorted(args.resume.glob("rank-*.json")) if args.resume else []
    states = [RankState.from_json(path.read_text()) for path in saved]
    is_service = args.source.startswith("ipc://")
    with loader_client.connect(args.source, workers=None if is_service else 1) as connection:
        batches = connection.batches(
            args.batch_size,
            clip=Frame(),
            fields=("index", "frames"),
            shard="auto",
            start=states or (0, 0),
            drop_remainder=False,
        )
        for step, batch in enumerate(batches, 1):
            print("samples", *batch["index"], flush=True)  # a step of the training
            if step == args.stop_after:
                break
        state = batches.state()
        batches.close()

    # A training would save it with its weights, on each rank.
    args.save.mkdir(parents=True, exist_ok=True)
    rank, world = state.shard
    (args.save / f"rank-{rank}.json").write_text(state.to_json())
    print("saved", rank, world, state.epoch, state.step, flush=True)


if __name__ == "__main__":
    main()
