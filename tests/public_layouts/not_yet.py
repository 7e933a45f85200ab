"""Cases that do not hold yet, with what happens today; whoever makes one hold removes its line.

A key is the name of a case, `` + option`` behind it where it does not hold with its options, `` + service`` where a
service does not deliver what the catalog says. A reason begins with how the case ends today:

- ``wrong``: served without a word, and not what the file holds;
- ``late``: accepted by the scan, and of no use when a stream opens, or at its first batch;
- ``silent``: right as far as it goes, but something is missing without a line about it;
- ``partly``: right as far as it goes, and a line says what is missing;
- ``refused, remedy works``, ``… fails``, ``… none``: what the message advises helps, does not help, is not there;
- ``no option``: the option does not exist.
"""

from __future__ import annotations

NOT_YET: dict[str, str] = {
    # rows or lines
    # what does not fit exactly
    # splits, masks, and options that would help
}
