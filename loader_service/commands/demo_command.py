"""The command `demo`, which the client has."""

from __future__ import annotations

import sys

import click

from loader_client.demo.__main__ import main as run_demo


@click.command("demo")
@click.option("--videos", type=int, help="Videos to train on; default: 400.")
@click.option("--epochs", type=int, help="Epochs of training; default: 6.")
@click.option("--workers", type=int, help="Worker processes that decode; default: 2.")
def demo_command(**given: int | None) -> None:
    """Write a small data set, serve it, and train a Keras model on it (needs the extra [tensorflow])."""
    sys.exit(run_demo([f"--{name}={value}" for name, value in given.items() if value is not None]))
