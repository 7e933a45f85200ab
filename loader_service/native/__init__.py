"""What is written in C because that is quickest: optional, compiled at installation, called through `ctypes`.

Everything works, with the same bytes, where it was not compiled or the processor is another one.
"""
