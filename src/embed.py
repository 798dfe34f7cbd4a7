"""embed.py FILE OUT: writes the text of a file as a literal of C++, for an #include where the text is wanted."""
import pathlib
import sys

source, out = map(pathlib.Path, sys.argv[1:])
out.write_bytes(b'R"embedded(' + source.read_bytes() + b')embedded"\n')
