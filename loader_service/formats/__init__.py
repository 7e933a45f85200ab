"""Files of other programs, as pure functions of their bytes: TFRecord, `tf.train.Example`, WebDataset tars.

Knows no HDF5, no catalog and no process. What it needs beside NumPy comes with the extra ``[pack]``.
"""
