"""Which axis of an array is time, where the file or the numbers beside it say so; and what MATLAB and Octave note."""
