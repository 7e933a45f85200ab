"""Which encoded frames that lie in groups or under numbers make a video."""
