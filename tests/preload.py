"""LD_PRELOAD cannot name a path with a blank or a colon: a link to it stands in for it."""
import pathlib
import tempfile

links = []  # the directories, as long as this process lives


def preloadable(library):
    if not set(" :") & set(str(library)):
        return library
    links.append(tempfile.TemporaryDirectory())
    link = pathlib.Path(links[-1].name) / library.name
    link.symlink_to(library)
    return link
