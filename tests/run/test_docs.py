#!/usr/bin/python3
"""Every option of the table is in --help, in the man pages, in the completions and in the manual, whose tables are
the generated ones; every link between the pages leads somewhere. Runs the built binary: TPROF names it (by default that
of the tree's build)."""
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TPROF = os.environ.get("TPROF", os.path.join(ROOT, "build", "tools", "tprof"))
README = os.path.join(ROOT, "README.md")
MANUAL = os.path.join(ROOT, "tools", "manual")
SHELLS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"]}


def table():
    """(flag, variable) of each row of options.def, read from the source and not from the binary."""
    with open(os.path.join(ROOT, "src", "base", "options.def")) as f:
        rows = re.findall(r'^OPTION\((\w+), (\w+), "(\w+)", "(--[\w-]+)"', f.read(), re.M)
    return [(flag, "TPROF_" + env) for _, _, env, flag in rows]


def page(path):
    with open(path) as f:
        return f.read()


def pages():
    """README.md, CONTRIBUTING.md, SECURITY.md and the pages of the manual."""
    return [README, os.path.join(ROOT, "CONTRIBUTING.md"), os.path.join(ROOT, "SECURITY.md"),
            *(os.path.join(MANUAL, name) for name in sorted(os.listdir(MANUAL)) if name.endswith(".md"))]


def anchors(text):
    """What GitHub makes of the titles of a page."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), re.M)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def printed(*words):
    return subprocess.run([TPROF, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


class Docs(unittest.TestCase):
    def test_table_is_read(self):
        self.assertGreater(len(table()), 15)

    def test_help(self):
        text = printed("run", "--help")
        for flag, variable in table():
            self.assertIn(flag, text)
            self.assertIn(variable, text)

    def test_man_pages(self):
        for page in ("man", "man-run"):
            text = printed("options", "--format", page)
            self.assertTrue(text.startswith(".\\\""))
            for flag, variable in table():
                self.assertIn(flag.replace("-", "\\-"), text)
                self.assertIn(variable, text)

    def test_completions(self):
        for shell, check in SHELLS.items():
            text = printed("options", "--format", shell)
            for flag, _ in table():
                self.assertIn(flag, text)
            try:
                subprocess.run(check, input=text, text=True, check=True)
            except FileNotFoundError:
                pass  # that shell is not installed here

    def test_tables_of_the_manual(self):
        for name, table_format in (("options", "markdown"), ("stats", "stats"), ("tables", "tables")):
            text = page(os.path.join(MANUAL, name + ".md"))
            block = re.search(r"<!-- %s:begin -->\n(.*?)<!-- %s:end -->" % (name, name), text, re.S)
            self.assertIsNotNone(block, "tools/manual/%s.md has no block of %s" % (name, name))
            self.assertEqual(block.group(1), printed("options", "--format", table_format),
                             "the table of tools/manual/%s.md is old; put there what `tprof options --format %s` prints"
                             % (name, table_format))

    def test_every_page_is_in_the_index_and_every_link_leads_somewhere(self):
        index = page(os.path.join(MANUAL, "README.md"))
        for path in pages():
            name = os.path.relpath(path, MANUAL)
            if os.path.dirname(name) == "" and name != "README.md":
                self.assertIn("(%s)" % name, index)
            links = re.findall(r"\]\(([^)\s]+)\)", page(path))
            self.assertTrue(links, path)
            for link in links:
                if "://" in link:
                    continue
                name, _, anchor = link.partition("#")
                target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
                self.assertTrue(os.path.exists(target), "%s: %s" % (path, link))
                if anchor:
                    self.assertIn(anchor, anchors(page(target)), "%s: %s" % (path, link))

    def test_readme_is_short_and_names_options_that_there_are(self):
        self.assertLessEqual(len(page(README).split()), 2500)
        known = {flag for flag, _ in table()} | set(re.findall(r"--[\w-]+", printed("run", "--help")))
        rows = re.findall(r"^\| (`-.*?) \|", page(README), re.M)
        self.assertGreater(len(rows), 5)
        for flag in re.findall(r"--[\w-]+", " ".join(rows)):
            self.assertIn(flag, known)

    def test_words_of_stats_are_in_help_completions_and_the_answer_to_a_wrong_one(self):
        with open(os.path.join(ROOT, "tools", "tprof", "stats_words.cpp")) as f:
            words = re.findall(r'^      \{"([\w+-]+)", "', f.read(), re.M)
        self.assertGreater(len(words), 15)
        refused = subprocess.run([TPROF, "stats", "--by", "nothing", ROOT], stderr=subprocess.PIPE, text=True)
        self.assertEqual(refused.returncode, 2)
        for word in words:
            self.assertIn(word + ":", printed("stats", "--help").replace("\n", " "))
            self.assertIn(" " + word, refused.stderr)
            for shell in SHELLS:
                self.assertRegex(printed("options", "--format", shell), r"[ ('\"]%s[ )'\"]" % re.escape(word))

    def test_bash_completes_the_words_of_stats(self):
        script = printed("options", "--format", "bash") + "COMP_WORDS=(tprof stats --by cri) COMP_CWORD=3; _tprof; " \
            'echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, "critical-path\n")

    def test_every_command_has_help_and_a_place_in_the_readme(self):
        readme = page(README)
        commands = re.findall(r"^  (\w+) {2,}", printed("--help"), re.M)
        self.assertIn("convert", commands)
        for command in commands:
            self.assertIn("usage: tprof " + command, printed(command, "--help"))
            self.assertIn("tprof " + command, readme)


if __name__ == "__main__":
    unittest.main()
