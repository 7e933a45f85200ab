"""Keeps decoded frames between epochs and between runs: where they lie, whether they are whole, who has which share."""
