"""check_docs.py PAGE FOLDER: every code block of the page after a line `<!-- FILE -->` must be a part of FOLDER/FILE, and every file must appear."""

import pathlib
import re
import sys

page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
blocks = re.findall(r"<!-- (\w+\.cc?) -->\n```c(?:pp)?\n(.*?)```", page.read_text(), re.S)
bad = False
for name, block in blocks:
    source = (folder / name).read_text()
    if block.strip() not in source:
        bad = True
        print(f"{page}: the block of {name} is not in {folder / name}")
missing = {p.name for p in folder.glob("*.c*") if p.suffix in (".c", ".cc")} - {name for name, _ in blocks}
if missing:
    bad = True
    print(f"{page}: shows nothing of {', '.join(sorted(missing))}")
sys.exit(bad)
