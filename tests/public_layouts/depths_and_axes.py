"""Videos at several depths of a file, and arrays whose axes or sides are told by what lies beside them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from loader_service.schema import Schema, SchemaField
from tests.public_layouts.columns import whole, write
from tests.public_layouts.expectations import Array, Encoded, Form, Layout, Refused, Serves, Value, Video, case
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.public_layouts.robots import numbers


@case("footwear and gait as HDF5: barefoot/data beside shod_common/fast/data, clips (N, T, H, W, 3)")
def videos_at_two_depths(folder: Path) -> Serves:
    """A group that holds what the others do is a video, at any depth; the schema that is printed says the same."""
    videos = []
    with h5py.File(folder / "colourvideo_seg.h5", "w") as root:
        for count, name in enumerate(("barefoot", "shod_common/fast", "shod_common/natural", "shod_other"), 3):
            columns = {"data": whole(count, count, 6, 12, 20, 3, below=256, dtype="u1")}
            columns |= {"metadata": whole(count, count, 3), "timestamps": np.sort(numbers(count, count, 6))}
            for key, values in columns.items():
                root[f"{name}/{key}"] = values
            videos.append(Video(name, {key: Array(values) for key, values in columns.items()}))
    return Serves(videos)


@case("SensorsINI/ddd20-utils: a group a signal with its rate, and dvs/frame/data beside them", option=True)
def signals_beside_a_camera(folder: Path) -> Layout:
    """Signals of one recording are no videos of which the camera's frames would be left out."""
    frames = whole(1, 9, 26, 34, below=256, dtype="u1")
    with h5py.File(folder / "rec.hdf5", "w") as root:
        for seed, (name, count) in enumerate((("accelerator", 17), ("steering_wheel", 31), ("speed", 17))):
            root[f"{name}/data"], root[f"{name}/timestamp"] = numbers(seed, count), np.arange(count) / 10
        root["dvs/frame/data"], root["dvs/frame/timestamp"] = frames, np.arange(9) / 5
    schema = Schema(("table",), (SchemaField("dvs_frame_data", "array", ("dvs/frame/data",)),))
    served = Serves([Video("rec", {"dvs_frame_data": Array(frames)})], "rows")
    return Layout(Refused(["rows of 'dvs/frame/data'"]), {"schema": schema}, served)


@case("satellite time series: bands of one size (tile_0/2019-01-15/B2, B3, B4), uint16", option=True)
def bands_of_one_size_by_date(folder: Path) -> Layout:
    """Lines that bands share are no more frames than those of one band."""
    bands, samples = ("B2", "B3", "B4"), []
    with h5py.File(folder / "tiles.h5", "w") as root:
        for tile, date in ((0, "2019-01-15"), (0, "2019-02-15"), (1, "2019-01-15")):
            columns = {band: whole(tile, 32, 32, below=9000, dtype="u2") for band in bands}
            for band, values in columns.items():
                root[f"tile_{tile}/{date}/{band}"] = values
            samples.append(Video(f"tile_{tile}/{date}", {band: Array(each[None]) for band, each in columns.items()}))
    fields = tuple(SchemaField(band, "array", (f"{{video}}/{band}",), "", (32, 32)) for band in bands)
    return Layout(
        Refused(["one picture", r"shape = \[-1, -1\]"]), {"schema": Schema(("groups",), fields)}, Serves(samples)
    )


@case("two depth cameras of a rig: depth_1, depth_2 (frames, height, width), a file a recording", option=True)
def depth_cameras_with_numbers(folder: Path) -> Layout:
    """Two sequences are no video of two frames, each of which would be a sequence."""
    videos = []
    for count in (6, 8):
        columns = {f"depth_{camera}": numbers(camera, count, 24, 32) for camera in (1, 2)}
        write(folder / f"rec{count}.h5", columns)
        videos.append(Video(f"rec{count}", {name: Array(values) for name, values in columns.items()}))
    fields = tuple(SchemaField(f"depth_{camera}", "array", (f"depth_{camera}",)) for camera in (1, 2))
    asked = Refused(["fields of one table", "videos of their own"])
    return Layout(asked, {"schema": Schema(("table",), fields)}, Serves(videos, "rows"))


@case("CAMUS as HDF5, its test part: '2ch frames' beside '4ch frames'")
def views_with_a_number_before_a_word(folder: Path) -> Refused:
    """Each view has a picture of each patient, or is a recording; only its user knows."""
    write(folder / "images.hdf5", {f"{view}ch frames": numbers(view, 3, 24, 24, 1) for view in (2, 4)})
    return Refused(["fields of one table", "videos of their own"])


@case("GE ultrasound exports: tissue/data (width, height, frames) beside tissue/times", option=True)
def times_of_the_last_axis(folder: Path) -> Layout:
    """Times that count the last axis say that the first one is lines, in a single file too."""
    films = {f"film{count:02d}": whole(count, 30, 24, count, below=256, dtype="u1") for count in (9, 12)}
    for count, (name, film) in zip((9, 12), films.items(), strict=True):
        write(folder / f"{name}.h5", {"tissue/data": film, "tissue/times": np.arange(count) / 50})
    schema = Schema(("files",), (SchemaField("film", "array", ("tissue/data",), "", (30, 24, 0)),))
    served = Serves([Video(name, {"film": Array(film[None])}) for name, film in sorted(films.items())])
    return Layout(Refused(["'tissue/times'", r"shape = \[-1, -1, 0\]"]), {"schema": schema}, served)


@case("Flickr30k as HDF5: image (height, width, 3) of any size in groups called by their long ids", option=True)
def pictures_of_any_size_by_long_ids(folder: Path) -> Layout:
    """The schema that is shown fits all of them, and not the first alone."""
    videos = []
    with h5py.File(folder / "f.h5", "w") as root:
        for number in range(4):
            name, picture = str(1000092795 + 7919 * number), whole(number, 20 + number, 32, 3, below=256, dtype="u1")
            root[f"{name}/image"] = picture
            videos.append(Video(name, {"image": Array(picture[None])}))
    schema = Schema(("groups",), (SchemaField("image", "image", ("{video}/image",), "", (0, 32, 3)),))
    return Layout(Refused([r"shape = \[0, -1, 3\]"]), {"schema": schema}, Serves(videos))


@case("no one project: a schema with the sides of one picture for pictures of any size", option=True)
def groups_that_a_schema_does_not_fit(folder: Path) -> Layout:
    """Groups that are called as its videos, and have another form, have a line."""
    pictures = {
        name: whole(rows, rows, 32, 3, below=256, dtype="u1") for rows, name in ((20, "a"), (21, "b"), (20, "c"))
    }
    with h5py.File(folder / "f.h5", "w") as root:
        for name, picture in pictures.items():
            root[f"{name}/image"] = picture
    fields = {name: Array(picture[None]) for name, picture in pictures.items()}
    schema = Schema(("groups",), (SchemaField("image", "image", ("{video}/image",), "", (20, 32, 3)),))
    left_out = [r"'b': 1 group without all fields of the schema, or of another form.*\(21, 32, 3\)"]
    some = Serves([Video(name, {"image": fields[name]}) for name in ("a", "c")], left_out=left_out)
    found = Serves([Video(name, {"image|frames": fields[name]}) for name in pictures])
    return Layout(found, {"schema": schema}, some)


@case("ACDC as HDF5: patient001/frame01/image (height, width, slices)", option=True)
def volumes_of_two_times(folder: Path) -> Layout:
    """What lies in numbered groups and differs in a side is shown as a sample each, too."""
    videos = []
    with h5py.File(folder / "acdc.h5", "w") as root:
        for patient in range(3):
            for time in ("01", "12"):
                name, volume = f"patient{patient:03d}/frame{time}", numbers(patient, 24, 20, 6 + patient)
                root[f"{name}/image"] = volume
                videos.append(Video(name, {"image": Array(volume[None])}))
    schema = Schema(("groups",), (SchemaField("image", "array", ("{video}/image",), "", (24, 20, 0)),))
    return Layout(Refused(["one sample a group", r"shape = \[-1, -1, 0\]"]), {"schema": schema}, Serves(videos))


@case("CASIA-B as HDF5: 001/nm-01/090, silhouettes (frames, height, width), a view a dataset", option=True)
def silhouettes_by_view(folder: Path) -> Layout:
    """A video each is among what is shown."""
    videos = []
    with h5py.File(folder / "casia.h5", "w") as root:
        for subject in (1, 2):
            for condition in ("bg-01", "nm-01"):
                for view in (0, 18, 36):
                    name, count = f"{subject:03d}/{condition}/{view:03d}", 8 + subject + view // 18
                    root[name] = whole(view, count, 32, 22, below=256, dtype="u1")
                    videos.append(Video(name, {"values": Array(root[name][()])}))
    schema = Schema(("groups",), (SchemaField("values", "array", ("{video}",)),))
    return Layout(Refused([r"videos of their own, `.*dataset = \"\{video\}\"\}"]), {"schema": schema}, Serves(videos))


@case("eagomez2/h5pack: data/audio, vlen float32, with its rate as an attribute, and data/metric")
def sounds_with_an_attribute(folder: Path) -> Serves:
    """An attribute of the dataset whose rows are videos is a value of each, as the schema that is printed says."""
    videos = []
    with h5py.File(folder / "part0.h5", "w") as root:
        sounds = root.create_dataset("data/audio", (3,), h5py.vlen_dtype(np.float32))
        sounds.attrs["sample_rate"] = 16000
        root["data/metric"] = np.arange(3, dtype="f4")
        for row in range(3):
            sounds[row] = numbers(row, 100 + 7 * row)
            fields: dict[str, Form] = {"audio": Array(sounds[row]), "metric": Value(np.float32(row))}
            videos.append(Video(f"data/audio/{row}", {**fields, "sample_rate": Value(16000)}))
    return Serves(videos)


@case("SudeepDasari/one_shot_transformers: <t>/obs/image beside <t>/action and <t>/reward, a file a trajectory")
def steps_with_their_observations_inside(folder: Path) -> Serves:
    """The group of a step is its video, with what lies beside the group of its picture; that it counts is said."""
    videos = []
    with h5py.File(folder / "traj0.h5", "w") as root:
        for step in range(5):
            picture, values = whole(step, 24, 32, 3, below=256, dtype="u1"), numbers(step, 7)
            root[f"{step}/obs/image"], root[f"{step}/obs/joint_pos"] = picture, values
            root[f"{step}/reward"] = float(step)
            fields: dict[str, Form] = {"frames|image": Array(picture[None]), "joint_pos": Array(values[None])}
            videos.append(Video(str(step), {**fields, "reward": Value(float(step))}))
    return Serves(videos, left_out=[r"if their numbers count frames.*'|dataset = \"\*/obs/image\""])


@case("frames of films and their flow as JPEGs: rgb/v_1 beside flow_x/v_1 and flow_y/v_1, one less", option=True)
def flow_of_one_frame_less(folder: Path) -> Layout:
    """Flow in groups of its own is no film of its own without a word."""
    videos = []
    with h5py.File(folder / "films.h5", "w") as root:
        for number, count in ((1, 5), (2, 7)):
            for seed, group in enumerate(("flow_x", "flow_y", "rgb")):
                frames = jpegs(10 * seed + number, count - (group != "rgb"))
                write_vlen(root.require_group(group), f"v_{number:03d}", frames)
            videos.append(Video(f"rgb/v_{number:03d}", {"rgb": Encoded(frames)}))
    schema = Schema(("groups",), (SchemaField("rgb", "image", ("rgb/{video}",)),))
    asked = Refused(["5 frames in 'rgb/v_001'", "which end with the shortest", "videos by 'rgb' alone"])
    return Layout(asked, {"schema": schema}, Serves(videos))


@case("a writer of samples of a walk: sequence_0/event_voxel, depth, pose, a file a sequence with its own number")
def lone_sequences_with_numbers(folder: Path) -> Serves:
    """The only group of a file is its video, also of arrays alone, whatever number it has."""
    videos = []
    for number, count in ((0, 5), (1, 7)):
        columns = {"depth": numbers(number, count, 1, 12, 16), "pose": numbers(number, count, 7)}
        write(folder / f"walk{number}.h5", {f"sequence_{number}/{name}": each for name, each in columns.items()})
        videos.append(Video(f"walk{number}", {name: Array(values) for name, values in columns.items()}))
    return Serves(videos)


@case("duguyue100/spikefuel: <list>/<film>/timestamps, x_pos, y_pos, pol beside bounding_box (frames, 9)", option=True)
def boxes_by_film_in_lists(folder: Path) -> Layout:
    """Films of one list are no fields of one video, of which those of another length would be left out."""
    videos = []
    with h5py.File(folder / "tracking.hdf5", "w") as root:
        for seed, group in enumerate(("Babenko", "Kalal")):
            for film, count in (("car", 7), ("david", 7), ("girl", 9 + seed)):
                root[f"{group}/{film}/timestamps"] = np.arange(8 * count)
                root[f"{group}/{film}/bounding_box"] = numbers(seed, count, 9)
                videos.append(Video(f"{group}/{film}", {"values": Array(numbers(seed, count, 9))}))
    schema = Schema(("groups",), (SchemaField("values", "array", ("{video}/bounding_box",)),))
    return Layout(Refused([r"dataset = \"\{video\}/bounding_box\""]), {"schema": schema}, Serves(videos))


@case("MATLAB -v7.3: a film a group with its label as a matrix (1, 1)")
def labels_of_one_by_one(folder: Path) -> Serves:
    videos = []
    with h5py.File(folder / "films.h5", "w") as root:
        for number in range(3):
            frames = jpegs(number, 4 + number)
            write_vlen(root.create_group(f"clip_{number}"), "frames", frames)
            root[f"clip_{number}/label"] = np.array([[number + 5]])
            videos.append(Video(f"clip_{number}", {"frames": Encoded(frames)}, label=number + 5))
    return Serves(videos)


@case("recorders that call a frame str(time.time()): run0/1690000000.25 behind run0/1690000000.125")
def frames_called_by_seconds_of_any_digits(folder: Path) -> Serves:
    """Digits behind a point are no whole number: 0.5 comes behind 0.125."""
    videos = []
    with h5py.File(folder / "runs.h5", "w") as root:
        for run, ending in enumerate(("", ".jpg")):
            frames = jpegs(run, 12)
            for number, frame in enumerate(frames):
                root[f"run{run}/{1690000000 + number / 8}{ending}"] = np.void(frame)
            videos.append(Video(f"run{run}", {"frames": Encoded(frames)}))
    return Serves(videos)


@case("grey films of which all have three frames: clip_0/frames (3, height, width)")
def films_of_three_grey_frames(folder: Path) -> Serves:
    """What is called frames is no picture whose colours come first."""
    videos = []
    with h5py.File(folder / "films.h5", "w") as root:
        for number in range(3):
            film = whole(number, 3, 24, 32, below=256, dtype="u1")
            root[f"clip_{number}/frames"] = film
            videos.append(Video(f"clip_{number}", {"./frames": Array(film)}))
    return Serves(videos)
