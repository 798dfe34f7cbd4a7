#!/usr/bin/python3
"""embed.py FILE.sql...: prints them as rows of the table in views.cpp."""
import pathlib
import sys

for path in map(pathlib.Path, sys.argv[1:]):
    print(f'{{"{path.stem}", R"sql({path.read_text()})sql"}},')
