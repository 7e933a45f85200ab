"""Writes what a catalog holds as files of other programs; a target is a file here and a row of `targets.TARGETS`."""
