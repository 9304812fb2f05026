"""Records a process of the program through CUPTI: raw records to disk, decoded elsewhere.

Nothing here decodes what it records while the program runs. CUPTI fills buffers, the buffers go to
a file as they are, and ``tailwave record`` makes a timeline of them when the program has ended.
"""
