"""Videos that are a row each of one array ``(videos, frames, …)``, padded to one length."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Form, Layout, Serves, Value, Values, Video, case, rows_of
from tests.public_layouts.pictures import pixels
from tests.public_layouts.robots import numbers

_LENGTHS = np.array([3, 5, 2, 4])


def _pictures() -> Values:
    return pixels(1, 20, 16, 20).reshape(4, 5, 16, 20, 3)


@case("no one project: videos padded to one length (N, T, H, W, 3), with lengths and labels")
def padded_videos(folder: Path) -> Serves:
    """A row is a video of as many frames as its length says, with what has as many frames, and one entry, of each."""
    films, actions, goals = _pictures(), numbers(1, 4, 5, 7), numbers(2, 4, 3)
    videos = []
    for number, length in enumerate(_LENGTHS):
        fields: dict[str, Form] = {"videos|frames": Array(films[number, :length])}
        fields |= {"actions": Array(actions[number, :length]), "goals": Value(goals[number])}
        videos.append(Video(str(number), fields, 7 + number))
    with h5py.File(folder / "a.h5", "w") as root:
        root["videos"], root["lengths"], root["labels"] = films, _LENGTHS, np.arange(7, 11)
        root["actions"], root["goals"] = actions, goals
    return Serves(videos)


@case("no one project: padded videos (N, T, H, W, 3) with lengths, and actions (N, T - 1, 4) between their frames")
def padded_videos_with_actions_between(folder: Path) -> Serves:
    films, actions = _pictures(), numbers(1, 4, 4, 4)
    with h5py.File(folder / "a.h5", "w") as root:
        root["images"], root["actions"], root["lengths"] = films, actions, _LENGTHS
    return Serves(
        [
            Video(str(n), {"images|frames": Array(films[n, :length]), "actions": Array(actions[n, : length - 1])})
            for n, length in enumerate(_LENGTHS)
        ]
    )


@case("no one project: padded videos (N, T, H, W, 3) with lengths, four captions, and a name as a column")
def padded_videos_with_several_texts(folder: Path) -> Serves:
    """Texts of more than one axis were a catalog that could not be read."""
    films = _pictures()
    captions = np.array([[f"{n} as {k}".encode() for k in "abcd"] for n in range(len(films))])
    names = np.array([[f"film {n}".encode()] for n in range(len(films))])
    with h5py.File(folder / "a.h5", "w") as root:
        root["images"], root["lengths"], root["captions"], root["names"] = films, _LENGTHS, captions, names
    return Serves(
        [
            Video(
                str(n),
                {
                    "images|frames": Array(films[n, :length]),
                    "captions": Value(captions[n]),
                    "names": Value(names[n, 0]),
                },
            )
            for n, length in enumerate(_LENGTHS)
        ]
    )


@case("no one project: compressed videos (N, T, H, W, 3) of which only the real frames were written")
def padded_videos_of_which_the_rest_was_never_written(folder: Path) -> Serves:
    """Chunks of padding that no one wrote make no frame bad."""
    films = _pictures()
    with h5py.File(folder / "a.h5", "w") as root:
        dataset = root.create_dataset("data/clips", films.shape, "u1", chunks=(1, 1, 16, 10, 3), compression="gzip")
        for number, length in enumerate(_LENGTHS):
            dataset[number, :length] = films[number, :length]
        root["data/num_frames"], root["data/label"] = _LENGTHS, np.arange(1, 5)
    videos = [
        Video(f"data/{number}", {"*": Array(films[number, :length])}, 1 + number)
        for number, length in enumerate(_LENGTHS)
    ]
    return Serves(videos)


@case("no one project: grey videos (N, T, H, W) with lengths as floats")
def padded_grey_videos(folder: Path) -> Serves:
    films = _pictures()[..., 0]
    with h5py.File(folder / "a.h5", "w") as root:
        root["x"], root["seq_len"] = films, _LENGTHS.astype(np.float32)
    return Serves([Video(str(n), {"*": Array(films[n, :length])}) for n, length in enumerate(_LENGTHS)])


_REAL = np.arange(5) < _LENGTHS[:, None]


@case("no one project: videos padded to one length, with 0 and 1 of the real frames (N, T)")
def padded_videos_with_a_mask(folder: Path) -> Serves:
    """Flags say lengths as numbers do, of whatever type, if the real frames come first."""
    films = _pictures()
    with h5py.File(folder / "a.h5", "w") as root:
        root["videos"], root["mask"] = films, _REAL.astype(np.float32)
    return Serves(
        [
            Video(str(n), {"videos|frames": Array(films[n, :count]), "mask": Array(np.ones(count, np.float32))})
            for n, count in enumerate(_LENGTHS)
        ]
    )


@case("no one project: grey videos padded to one length, with flags of padding, as LeRobot calls them (is_pad)")
def padded_videos_with_flags_of_padding(folder: Path) -> Serves:
    films = _pictures()[..., 0]
    with h5py.File(folder / "a.h5", "w") as root:
        root["x"], root["frame_is_pad"] = films, ~_REAL
    return Serves(
        [
            Video(str(n), {"x": Array(films[n, :count]), "frame_is_pad": Array(np.zeros(count, bool))})
            for n, count in enumerate(_LENGTHS)
        ]
    )


@case("no one project: padded videos with flags whose name says nothing of it")
def padded_videos_with_other_flags(folder: Path) -> Serves:
    """They stay rows, with a line that says what helps."""
    columns = {"videos": _pictures(), "kept": _REAL, "score": numbers(2, 4)}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, values in columns.items():
            root[name] = values
    return Serves(rows_of("a", **columns).videos, "rows", left_out=["up to 5 frames.*'kept'.*as 'lengths'"])


@case("no one project: features padded to one length (N, T, D), with lengths and scores", option=True)
def padded_features(folder: Path) -> Layout:
    """Rows of numbers stay rows; a line names the schema that makes each a video, and that works."""
    columns = {"features": numbers(1, 4, 5, 8), "lengths": _LENGTHS, "score": numbers(2, 4)}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, values in columns.items():
            root[name] = values
    rows = Serves(rows_of("a", **columns).videos, "rows", left_out=["up to 5 frames.*'lengths'.*\"padded\"` and"])
    features = '{name = "features", kind = "array", dataset = "features", shape = [8]}'
    score = '{name = "score", kind = "value", dataset = "score"}'
    (folder / "s.toml").write_text(f'videos = "padded"\nfield = [{features}, {score}]\n')
    videos = []
    for number, length in enumerate(_LENGTHS):
        fields: dict[str, Form] = {"features": Array(columns["features"][number, :length])}
        videos.append(Video(str(number), {**fields, "score": Value(columns["score"][number])}))
    return Layout(rows, {"schema": "./s.toml"}, Serves(videos))


@case("no one project: clips of one length (N, T, H, W, 3) with labels", option=True)
def clips_of_one_length(folder: Path) -> Layout:
    """Without lengths they stay rows; the same schema serves all frames of each as a video."""
    films, labels = _pictures(), np.arange(4, 8)
    with h5py.File(folder / "a.h5", "w") as root:
        root["clips"], root["labels"] = films, labels
    field = '{name = "clips", kind = "image", dataset = "clips"}'
    (folder / "s.toml").write_text(f'videos = "padded"\nfield = [{field}]\n')
    videos = [Video(str(number), {"clips": Array(films[number])}, 4 + number) for number in range(4)]
    rows = Serves(rows_of("a", clips=films, labels=labels).videos, "rows")
    return Layout(rows, {"schema": "./s.toml"}, Serves(videos))


@case("no one project: one sample in a batch, images (1, T, H, W, 3) beside actions (1, T, 7)", option=True)
def batch_of_one(folder: Path) -> Layout:
    """It is one row, with a line; the schema of the line makes it a video, also in siblings of another length."""
    films, actions = _pictures()[:1], numbers(1, 1, 5, 7)
    with h5py.File(folder / "a.h5", "w") as root:
        root["images"], root["actions"] = films, actions
    images = '{name = "images", kind = "image", dataset = "images"}'
    fields = images + ', {name = "actions", kind = "array", dataset = "actions"}'
    (folder / "s.toml").write_text(f'videos = "padded"\nfield = [{fields}]\n')
    lines = [r"'images \(axes\)': its only row is \(5, 16, 20, 3\).*\"padded\"", r"'actions \(axes\)'"]
    rows = Serves(rows_of("a", images=films, actions=actions).videos, "rows", left_out=lines)
    served = Serves([Video("a", {"images": Array(films[0]), "actions": Array(actions[0])})])
    return Layout(rows, {"schema": "./s.toml"}, served)


@case("no one project: tokens (N, T) padded with zeros, with lengths")
def padded_tokens_with_lengths(folder: Path) -> Serves:
    """The count is said, and not that they end in zeros."""
    columns = {"tokens": (_REAL * 7).astype(np.int32), "lengths": _LENGTHS}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, values in columns.items():
            root[name] = values
    lines = [r"\A'tokens \(padded\)': [^\n]*\Z"]
    return Serves(rows_of("a", **columns).videos, "rows", left_out=lines)


@case("no one project: features and tokens padded with zeros, without a count")
def padded_rows_without_a_count(folder: Path) -> Serves:
    """They stay rows, and what their ends may be is said."""
    columns = {"features": numbers(1, 4, 5, 8) * _REAL[..., None], "tokens": (_REAL * 7).astype(np.int32)}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, values in columns.items():
            root[name] = values
    lines = [r"'features \(zeros\)'.*from entry 2 of 5 on.*\"padded\"", r"'tokens \(zeros\)'"]
    return Serves(rows_of("a", **columns).videos, "rows", left_out=lines)


@case("no one project: videos with black frames behind what was recorded")
def videos_that_end_in_zeros(folder: Path) -> Serves:
    films = _pictures()
    for film, count in zip(films, _LENGTHS, strict=True):
        film[count:] = 0
    with h5py.File(folder / "a.h5", "w") as root:
        for number, film in enumerate(films):
            root[f"v{number}/frames"] = film
    videos = [Video(f"v{number}", {"frames": Array(film)}) for number, film in enumerate(films)]
    return Serves(videos, left_out=[r"\(zeros\).*from entry 3 of 5 on in 'v0/frames'.*dataset\[:3\]"])


@case("XinhaoMei/DCASE2021_task6_v2: tools/dataset.py (waveform, audio_length, caption (N, 5))", option=True)
def waveforms_with_five_captions(folder: Path) -> Layout:
    """Rows are served whole; the schema that is shown makes each a video with its five captions."""
    waves, lengths = numbers(1, 4, 6), np.array([3, 6, 2, 4], "u4")
    captions = np.array([[f"{n} as {k}".encode() for k in range(5)] for n in range(4)])
    with h5py.File(folder / "val.h5", "w") as root:
        root["waveform"], root["audio_length"], root["caption"] = waves, lengths, captions
    (folder / "videos.toml").write_text(
        'videos = "padded"\nfield = [{name = "waveform", kind = "array", dataset = "waveform", shape = []}, '
        '{name = "caption", kind = "value", dataset = "caption"}]\n'
    )
    undeclared = rows_of("val", waveform=waves, audio_length=lengths, caption=captions)
    declared = Serves(
        [
            Video(str(n), {"waveform": Array(waves[n, :end]), "caption": Value(captions[n])})
            for n, end in enumerate(lengths)
        ]
    )
    return Layout(undeclared, {"schema": "./videos.toml"}, declared)
