"""What runs inside a program under trial: marks, outputs, actions, and a process's report.

It is started by ``inject/sitecustomize.py``, before the program's first line, and needs the
standard library alone; torch is used once the program itself has imported it. Whatever fails in
here is written into the report, and the program runs as it is.
"""
