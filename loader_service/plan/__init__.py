"""Which samples make a step and which frames make a sample: pure arithmetic on a few numbers and one column."""
