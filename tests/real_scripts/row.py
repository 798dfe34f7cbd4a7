"""What is said of a script, see README.md."""
import dataclasses


@dataclasses.dataclass
class Row:
    name: str
    repo: str  # owner/name, a checkout in CHECKOUTS/owner+name
    script: str  # its path in the checkout, or -m module
    args: str = ""  # {work} is the directory it runs in, {checkout} the repository's
    truth: str = ""  # an expression: turns("first words of a line"), updates, printed(r"regex"); see README.md
    set: str = "first"
    on: tuple = ("host", "trixie", "sid")  # torch 1.13, 2.6, 2.14; where sid is, pip is too, 2.15
    not_pip: str = ""  # why not there
    images: tuple = ()  # pictures in torchvision's data sets: training, testing
    stubs: str = ""
    paths: str = ""  # checkouts (and directories in them) that it imports from
    setup: str = ""  # setups/NAME.py, in this order
    cwd: str = ""  # a directory of the checkout to copy and run in; default: an empty one
    edits: dict = dataclasses.field(default_factory=dict)  # text: text, in a copy: sizes, and what torch has removed
    options: dict = dataclasses.field(default_factory=dict)  # for the setup
    timeout: int = 120

    def places(self):
        return (*self.on, "pip") if "sid" in self.on and not self.not_pip else self.on

    def repos(self):
        names = [self.repo] + [path.split("/")[0].replace("+", "/", 1) for path in self.paths.split()]
        return sorted(set(names) - {""})


GYM = {"paths": "Farama-Foundation+Gymnasium", "stubs": "farama_notifications pygame"}
