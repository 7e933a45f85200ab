"""Features of videos and recordings of sound: a dataset or group for each, of different length."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Form, Layout, Refused, Serves, Value, Values, Video, case, rows_of
from tests.public_layouts.robots import numbers


@case("activitynet/ActivityNet: sub_activitynet_v1-3.c3d.hdf5 (v_xxx/c3d_features)")
def activitynet_c3d(folder: Path) -> Serves:
    """A group a video with one dataset of features."""
    videos = []
    with h5py.File(folder / "sub_activitynet_v1-3.c3d.hdf5", "w") as root:
        for number, name in enumerate(("v_--0edUL8zmA", "v_--1DO2V4K74", "v_zzz")):
            features = numbers(number, 5 + number, 50)
            root[f"{name}/c3d_features"] = features
            videos.append(Video(name, {"c3d_features": Array(features)}))
    return Serves(videos)


@case("hobincar/pytorch-video-feature-extractor: main.py (MSVD, MSR-VTT)")
def features_by_dataset(folder: Path) -> Serves:
    """A dataset a video in the root: as many videos, and not one table as long as the largest."""
    videos = []
    with h5py.File(folder / "MSR-VTT_ResNet152.hdf5", "w") as root:
        for number in (0, 1, 2, 10):
            features = numbers(number, 4 + number % 3, 64)
            root[f"video{number}"] = features
            videos.append(Video(f"video{number}", {"*": Array(features)}))
    return Serves(videos)


@case("hobincar/pytorch-video-feature-extractor: main.py, with equal lengths")
def features_by_dataset_of_equal_length(folder: Path) -> Serves:
    """Numbered names are videos of their own, though all have one length."""
    videos = []
    with h5py.File(folder / "MSVD_C3D.hdf5", "w") as root:
        for number in range(3):
            root[f"vid{number}"] = numbers(number, 8, 64)
            videos.append(Video(f"vid{number}", {"*": Array(numbers(number, 8, 64))}))
    return Serves(videos)


@case("KaiyangZhou/pytorch-vsumm-reinforce: README.md (eccv16_dataset_tvsum_google_pool5.h5)")
def tvsum(folder: Path) -> Serves:
    """Features of sampled frames, beside scores of users for all frames, shots, and scalars."""
    videos = []
    with h5py.File(folder / "eccv16_dataset_tvsum_google_pool5.h5", "w") as root:
        for number in (1, 2, 10):
            video, steps = root.create_group(f"video_{number}"), 6 + number
            video["features"], video["gtscore"] = numbers(number, steps, 32), numbers(number, steps)
            video["picks"], video["gtsummary"] = np.arange(steps) * 15, numbers(number + 1, steps)
            video["user_summary"], video["n_frames"] = np.zeros((3, 15 * steps), np.float32), 15 * steps
            video["change_points"] = np.array([[0, 9], [10, 15 * steps - 1]])
            video["n_frame_per_seg"], video["n_steps"] = np.array([10, 15 * steps - 10]), steps
            names = ("features", "gtscore", "picks", "gtsummary")
            fields: dict[str, Form] = {name: Array(video[name][()]) for name in names}
            fields |= {"n_frames": Value(15 * steps), "n_steps": Value(steps)}
            fields |= {name: Value(video[name][()].tolist()) for name in ("change_points", "n_frame_per_seg")}
            videos.append(Video(f"video_{number}", fields))
    return Serves(videos, left_out=["user_summary"])


@case("MRHiSum/MR.HiSum: preprocess/preprocess.py (features, gtscore, change_points of these rows)", option=True)
def mr_hisum(folder: Path) -> Layout:
    """Shots that divide the rows of a video cut no videos; the schema that a line shows does."""
    videos, parts = [], []
    with h5py.File(folder / "mr_hisum.h5", "w") as root:
        for number, ends in enumerate(([6, 12, 20], [5, 25], [30])):
            features, scores = numbers(number, ends[-1], 8), numbers(number + 9, ends[-1])
            video = root.create_group(f"video_{number}")
            video["features"], video["gtscore"] = features, scores
            video["change_points"] = np.column_stack([[0, *ends[:-1]], np.array(ends) - 1])
            videos.append(Video(f"video_{number}", {"features": Array(features), "gtscore": Array(scores)}))
            for part, (first, end) in enumerate(zip([0, *ends], ends, strict=False)):
                fields: dict[str, Form] = {"features": Array(features[first:end]), "gtscore": Array(scores[first:end])}
                parts.append(Video(f"video_{number}/{part}", fields))
    (folder / "parts.toml").write_text(
        'videos = "spans"\nfield = [{name = "features", kind = "array", dataset = "{video}/features"}, '
        '{name = "gtscore", kind = "array", dataset = "{video}/gtscore"}]\n'
    )
    undeclared = Serves(videos, left_out=["20 rows have 3 parts, as 'video_0/change_points'.*spans", "'?change_points"])
    return Layout(undeclared, {"schema": "./parts.toml"}, Serves(parts))


@case("una-dinosauria/3d-pose-baseline: src/data_utils.py (h36m/S1/MyPoses/3D_positions/*.h5)")
def human36m(folder: Path) -> Serves:
    """A file a sequence, whose only dataset lies below a group and has frames on its last axis: as in the file."""
    videos = []
    for number, action in enumerate(("Directions", "Eating")):
        poses = numbers(number, 96, 7 + number).astype(np.float64)
        with h5py.File(folder / f"{action}.h5", "w") as root:
            root["3D_positions"] = poses
        videos.append(Video(action, {"3D_positions": Array(poses)}))
    return Serves(videos, kind="rows|videos")


@case("qiuqiangkong/audioset_tagging_cnn: utils/dataset.py (pack_waveforms_to_hdf5)")
def audioset(folder: Path) -> Serves:
    """Waveforms of one length as int16, multi-hot targets as bool, names of fixed width."""
    columns: dict[str, Values] = {
        "waveform": np.arange(6 * 400, dtype=np.int16).reshape(6, 400),
        "target": np.eye(6, 20) > 0,
    }
    columns["audio_name"] = np.array([f"Y{number}abc.wav" for number in range(6)], "S20")
    with h5py.File(folder / "balanced_train.h5", "w") as root:
        for name, values in columns.items():
            root[name] = values
        root.attrs.create("sample_rate", data=32000, dtype=np.int32)
    return rows_of("balanced_train", **columns)


@case("kkoutini/PaSST: audioset/prepare_scripts (mp3 as vlen uint8)")
def mp3_in_hdf5(folder: Path) -> Refused:
    """Vlen uint8 that is MP3, and not JPEG, is refused by name before the first batch."""
    with h5py.File(folder / "balanced_train_segments_mp3.hdf", "w") as root:
        root["audio_name"] = np.array([b"Ya.mp3", b"Yb.mp3"], "S20")
        sounds = root.create_dataset("mp3", (2,), h5py.vlen_dtype(np.uint8))
        for number in range(2):
            sounds[number] = np.frombuffer(b"ID3\4\0\0\0\0\0#TSSE\0\0\0\x0f" + bytes(300 + number), np.uint8)
        root["target"] = np.zeros((2, 66), np.uint8)
    return Refused(["'mp3'", "MP3", r"--source|--schema"])


@case("BirdVox-14SD (waveforms/<clip>) and sound sets of a dataset a clip")
def sounds_by_dataset(folder: Path) -> Serves:
    """A group of sounds, one dataset each, of different length; the rate is one scalar of the file."""
    videos = []
    with h5py.File(folder / "BirdVox-14SD_1-1-1_original.h5", "w") as root:
        root["sample_rate"] = 24000
        for number, name in enumerate(("clip-10", "clip-2", "unit05")):
            sound = numbers(number, 300 + 10 * number)
            root[f"waveforms/{name}"] = sound
            videos.append(Video(f"waveforms/{name}|{name}", {"*": Array(sound)}))
    return Serves([videos[1], videos[0], videos[2]])


@case("LibriSpeech packed by group (speech exercises): audio, transcript, speaker")
def speech_with_transcripts(folder: Path) -> Serves:
    """A transcript is a text scalar, a speaker an attribute."""
    videos = []
    with h5py.File(folder / "dev-clean.h5", "w") as root:
        for number in range(3):
            group, sound = root.create_group(f"84-121123-000{number}"), numbers(number, 400 + 7 * number)
            group["audio"], group["transcript"] = sound, "GO DO YOU HEAR" + " ME" * number
            group.attrs["speaker_id"] = 84
            text = "GO DO YOU HEAR" + " ME" * number
            fields: dict[str, Form] = {"audio": Array(sound), "transcript": Value(text), "speaker_id": Value(84)}
            videos.append(Video(f"84-121123-000{number}", fields))
    return Serves(videos)


@case("Speech as vlen rows with texts (N, 1) (MATLAB-minded writers)")
def speech_rows_with_column_texts(folder: Path) -> Serves:
    """Texts of shape ``(N, 1)`` beside rows of sound."""
    sounds, texts = [numbers(number, 200 + number) for number in range(3)], [["one"], ["two"], ["three"]]
    with h5py.File(folder / "speech.h5", "w") as root:
        audio = root.create_dataset("audio", (3,), h5py.vlen_dtype(np.float32))
        for number, sound in enumerate(sounds):
            audio[number] = sound
        root.create_dataset("text", data=texts, dtype=h5py.string_dtype())
    values = [np.array([text.encode()]) for (text,) in texts]
    return Serves(
        [
            Video(f"audio/{n}", {"audio": Array(sound), "text": Value(value)})
            for n, (sound, value) in enumerate(zip(sounds, values, strict=True))
        ]
    )


@case("One text of shape (1,) a group (SQA3D and dialogue exercises)")
def text_of_shape_one(folder: Path) -> Serves:
    """A text of shape ``(1,)`` is a value of its video."""
    videos = []
    with h5py.File(folder / "clips.h5", "w") as root:
        for number in range(2):
            root[f"clip{number}/features"] = numbers(number, 4 + number, 8)
            root.create_dataset(f"clip{number}/caption", data=[f"caption {number}"], dtype=h5py.string_dtype())
            fields: dict[str, Form] = {"features": Array(numbers(number, 4 + number, 8))}
            caption = np.array([f"caption {number}".encode()])
            videos.append(Video(f"clip{number}", {**fields, "caption": Value(caption)}))
    return Serves(videos)


@case("no one project: features as MS-TCN keeps them, (channels, frames), with a text for each frame")
def breakfast_i3d(folder: Path) -> Refused:
    """Features are ``(2048, frames)`` and labels ``(frames,)``: which axis is time is asked."""
    with h5py.File(folder / "breakfast.h5", "w") as root:
        for number in range(2):
            frames = 6 + number
            root[f"P0{number}_cereals/features"] = numbers(number, 40, frames)
            root[f"P0{number}_cereals/groundTruth"] = np.array([b"SIL"] * frames)
    return Refused(["features", r"np\.moveaxis\(array, -1, 0\)", "--schema"])
