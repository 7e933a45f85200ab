"""Videos end to end in one dataset, whose ends only the rows, or an attribute, say."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import texts
from tests.public_layouts.expectations import Array, Encoded, Form, Layout, Refused, Serves, Video, case, rows_of
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers
from tests.public_layouts.trajectories import end_to_end


@case("no one project: pictures of several videos, of which a column has the number in each (frame_index from 0)")
def numbers_that_begin_anew(folder: Path) -> Serves:
    pictures, steps = pixels(1, 12, 16, 16), np.r_[np.arange(5), np.arange(7)]
    with h5py.File(folder / "walks.h5", "w") as root:
        root["obs/image"], root["frame_index"] = pictures, steps
    return Serves(end_to_end([5, 12], {"image|frames": pictures, "frame_index": steps}))


@case("no one project: JPEGs of several videos with the name of its video, and a label, for each")
def names_of_videos_by_row(folder: Path) -> Serves:
    """Labels of rows are a field, and not too many labels of videos."""
    frames, names, labels = jpegs(1, 12), texts(*(["vid_a"] * 5 + ["vid_b"] * 7)), np.repeat([3, 4], [5, 7])
    with h5py.File(folder / "clips.h5", "w") as root:
        write_vlen(root, "frames", frames)
        root["video_id"], root["labels"] = names, labels
    videos = []
    for start, end in ((0, 5), (5, 12)):
        arrays: dict[str, Form] = {"video_id": Array(names[start:end]), "labels": Array(labels[start:end])}
        videos.append(Video(f"*{start}", {"frames": Encoded(frames[start:end]), **arrays}))
    return Serves(videos)


@case("no one project: rows of features with the name of the video that each is of", option=True)
def features_with_names_of_videos(folder: Path) -> Layout:
    """Rows without pictures stay rows; a line says what would cut them, and that works."""
    features, names = numbers(1, 12, 8), texts(*(["a"] * 5 + ["b"] * 7))
    with h5py.File(folder / "feats.h5", "w") as root:
        root["features"], root["video"] = features, names
    rows = rows_of("feats", features=features, **{"./video": names})
    undeclared = Serves(rows.videos, "rows", left_out=["names or numbers of videos.*end 2 episodes.*spans"])
    field = '{name = "features", kind = "array", dataset = "features"}'
    (folder / "s.toml").write_text(f'videos = "spans"\nfield = [{field}]\n')
    return Layout(undeclared, {"schema": "./s.toml"}, Serves(end_to_end([5, 12], {"features": features})))


@case("no one project: data/img and data/action, with episode_ends as an attribute of data")
def ends_as_an_attribute(folder: Path) -> Serves:
    pictures, actions = pixels(2, 12, 16, 16), numbers(2, 12, 2)
    with h5py.File(folder / "pusht.h5", "w") as root:
        root["data/img"], root["data/action"] = pictures, actions
        root["data"].attrs["episode_ends"] = np.array([5, 12])
    return Serves(end_to_end([5, 12], {"img|frames": pictures, "action": actions}))


@case("no one project: JPEGs with their paths, of which the folder is the video", option=True)
def paths_of_frames(folder: Path) -> Layout:
    """A folder may be a class as well: it stays one video, with a line about what cuts it, and that works."""
    frames, paths = jpegs(3, 12), texts(*(f"{name}/{number:04d}.jpg" for name in "ab" for number in range(6)))
    with h5py.File(folder / "clips.h5", "w") as root:
        write_vlen(root, "jpeg", frames)
        root["path"] = paths
    undeclared = Serves(
        [Video("clips", {"frames": Encoded(frames), "path": Array(paths)})],
        left_out=["names or numbers of videos or pictures.*end 2 episodes.*spans"],
    )
    (folder / "s.toml").write_text('videos = "spans"\nfield = [{name = "jpeg", kind = "image", dataset = "jpeg"}]\n')
    served = [Video(f"*{start}", {"jpeg": Encoded(frames[start : start + 6])}) for start in (0, 6)]
    return Layout(undeclared, {"schema": "./s.toml"}, Serves(served))


@case("no one project: an index of videos, (N, 2), with the first row of each and its length")
def first_rows_with_lengths(folder: Path) -> Serves:
    """Pairs are rows from and to, or a row and a length; which of them, all of them together say."""
    frames = jpegs(4, 12)
    with h5py.File(folder / "clips.h5", "w") as root:
        write_vlen(root, "frames", frames)
        root["video_index"], root["label"] = np.array([[0, 5], [5, 3], [8, 4]]), np.array([7, 8, 9])
    bounds = [(0, 5), (5, 8), (8, 12)]
    return Serves(
        [Video(f"*{n}", {"frames": Encoded(frames[start:end])}, 7 + n) for n, (start, end) in enumerate(bounds)]
    )


@case("no one project: start_idx and end_idx of each episode, the last row included")
def first_and_last_rows_called_idx(folder: Path) -> Serves:
    pictures = pixels(5, 12, 16, 16)
    with h5py.File(folder / "demos.h5", "w") as root:
        root["images"], root["start_idx"], root["end_idx"] = pictures, np.array([0, 5, 9]), np.array([4, 8, 11])
    return Serves(end_to_end([5, 9, 12], {"images|frames": pictures}))


@case("no one project: all images of a set, one more an episode than actions, and the lengths of these")
def lengths_of_actions_between(folder: Path) -> Refused:
    """Rows that lengths do not count are no lone film whose clips cross episodes in silence."""
    lengths = np.array([4, 5, 3])
    with h5py.File(folder / "set.h5", "w") as root:
        root["observations"], root["actions"] = pixels(6, 15, 16, 16), numbers(1, 12, 2)
        root["lengths"] = lengths
    return Refused(["'lengths'", "in sum 12, one less for each", "15, the number of rows", "one video of all rows"])
