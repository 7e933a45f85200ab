"""What every conversion of files needs once: pieces, worker processes, work that outlives a kill, names, progress.

Knows neither where samples come from nor what they are written as.
"""
