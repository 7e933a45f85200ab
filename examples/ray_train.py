"""A training by Ray Train: each worker has a service of its own, and reads its share of each epoch.

    python examples/ray_train.py 'data/*.h5' --workers 2 --decoders 4

`shard="auto"` finds rank and world in Ray Train's context. `TorchTrainer` and `TensorflowTrainer` take the same
function.
Needs `pip install 'ray[train]'`.
"""

import argparse
from typing import Any

from ray.train import ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer


def train(config: dict[str, Any]) -> None:
    """Run in each worker of the training."""
    import ray.train  # noqa: PLC0415 - in the worker's process

    import loader_client  # noqa: PLC0415
    from loader_client import Clip, Image  # noqa: PLC0415

    seen = []
    with loader_client.connect(config["files"], workers=config["decoders"]) as connection:
        batches = connection.batches(
            2,
            clip=Clip(frames=2),
            image=Image(size=(16, 16)),
            fields=("index", "frames"),
            shard="auto",
            epochs=1,
        )
        for batch in batches:
            frames = batch["frames"]  # (2, 2, 16, 16, 3) uint8, a step of the training
            seen += batch["index"][: len(frames)].tolist()
    print("samples", ray.train.get_context().get_world_rank(), *seen, flush=True)
    ray.train.report({"samples": len(seen)})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", help="a pattern of HDF5 files that all nodes see")
    parser.add_argument("--workers", type=int, default=2, help="of the training")
    parser.add_argument("--decoders", type=int, default=1, help="worker processes of each one's service")
    args = parser.parse_args()
    scaling = ScalingConfig(num_workers=args.workers, resources_per_worker={"CPU": args.decoders})
    settings = {"files": args.files, "decoders": args.decoders}
    result = DataParallelTrainer(train, train_loop_config=settings, scaling_config=scaling).fit()
    print("trained on", result.metrics["samples"], "samples a worker", flush=True)


if __name__ == "__main__":
    main()
