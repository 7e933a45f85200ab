"""Packs of pictures for vision: resolutions and classes as groups, boxes beside pictures, splits that lack labels."""

from __future__ import annotations

from pathlib import Path

import h5py

from tests.public_layouts.expectations import Array, Layout, Refused, Serves, Video, case
from tests.public_layouts.pictures import pixels


@case("nmhkahn/CARN-pytorch: dataset/div2h5.py (HR/0, X2/0, X4/0 of any size)", option=True)
def resolutions_by_group(folder: Path) -> Layout:
    """A resolution is no video whose fields are pictures; a schema makes each number a sample."""
    videos = []
    with h5py.File(folder / "DIV2K_train.h5", "w") as root:
        for number in range(3):
            pictures = {f"X{scale}": pixels(number, 1, 48 // scale, (64 + 8 * number) // scale) for scale in (2, 4)}
            pictures["HR"] = pixels(number, 1, 48, 64 + 8 * number)
            for name, picture in pictures.items():
                root[f"{name}/{number}"] = picture[0]
            videos.append(Video(f"HR/{number}", {name: Array(picture) for name, picture in pictures.items()}))
    fields = [
        f'{{name = "{name}", kind = "image", dataset = "{name}/{{video}}", shape = [{height}, 0, 3]}}'
        for name, height in (("HR", 48), ("X2", 24), ("X4", 12))
    ]
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{", ".join(fields)}]\n')
    refused = Refused([", ".join(fields).replace("[", r"\["), r'"frames", kind = "image", dataset = "\{video\}"'])
    return Layout(refused, {"schema": "./s.toml"}, Serves(videos))


@case("no one project: pictures of any size, numbered anew in each class (cat/0, cat/1, dog/0)", option=True)
def pictures_numbered_by_class(folder: Path) -> Layout:
    """A class is no video whose fields are its pictures; a schema makes each a sample."""
    videos = []
    with h5py.File(folder / "train.h5", "w") as root:
        for seed, name in enumerate(("cat/0", "cat/1", "dog/0", "dog/1")):
            root[name] = pixels(seed, 1, 24, 32 + seed)[0]
            videos.append(Video(name, {"frames": Array(pixels(seed, 1, 24, 32 + seed))}))
    field = '{name = "frames", kind = "image", dataset = "{video}", shape = [24, 0, 3]}'
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{field}]\n')
    return Layout(Refused([field.replace("[", r"\[")]), {"schema": "./s.toml"}, Serves(videos))
