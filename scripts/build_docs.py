#!/usr/bin/env python3
"""Builds the site into build/docs/site, offline, and checks all links: build_docs.py [--check-only].

The pages are those of the checkout, at their own places: all of docs/ and every README. A link to a page stays one; a link to anything else of the checkout becomes its name, since
the site has no sources; a link to nothing is an error. The API reference is made by api_pages.py. Needs mkdocs-material (PyPI) but for --check-only.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / 'build' / 'docs' / 'pages'
LINK = re.compile(r'(!?)\[([^\]]*)\]\(([^)\s]+)\)')
ASSETS = {'.css', '.js', '.svg', '.png', '.html', '.md'}


def tracked():
    """What belongs to the site: files known to git, so that builds and environments in the checkout stay out."""
    listed = subprocess.run(['git', '-C', ROOT, 'ls-files', '--cached', '--others', '--exclude-standard'], capture_output=True, text=True, check=True).stdout.split('\n')
    return [pathlib.Path(p) for p in listed if p and (ROOT / p).is_file()]


def outside_code(text):
    """Pieces of the page and whether links count in them: not in code."""
    for i, piece in enumerate(re.split(r'(^```.*?^```|`[^`\n]*`)', text, flags=re.M | re.S)):
        yield piece, i % 2 == 0


def main(arguments):
    files = tracked()
    pages = {p for p in files if p.suffix == '.md' and (p.parts[0] == 'docs' or p.name == 'README.md' or len(p.parts) == 1)}
    shown = pages | {p for p in files if p.parts[0] == 'docs' and p.suffix in ASSETS}
    # A page NAME.md becomes NAME.html.
    twice = sorted(p for p in shown if p.suffix == '.html' and p.with_suffix('.md') in pages)
    if twice:
        sys.exit('pages would take the place of these files:\n  ' + '\n  '.join(map(str, twice)))
    broken, made = [], {}
    for page in sorted(pages):
        text = (ROOT / page).read_text(encoding='utf-8')

        def link(match):
            image, words, target = match.groups()
            if re.match(r'[a-z]+:', target) or target.startswith('#'):
                return match[0]
            path, _, anchor = target.partition('#')
            there = pathlib.Path(os.path.normpath(page.parent / path))
            if not (ROOT / there).exists():
                broken.append(f'{page}: {target}')
            if there in shown:
                return match[0]
            if there / 'README.md' in pages:
                return f'{image}[{words}]({path.rstrip("/")}/README.md{"#" + anchor if anchor else ""})'
            return words

        text = ''.join(LINK.sub(link, piece) if prose else piece for piece, prose in outside_code(text))
        # A bar in code in a table: GitHub wants `\|`, Python-Markdown the bar itself.
        made[page] = re.sub(r'^\|.*', lambda row: re.sub(r'`[^`]*`', lambda code: code[0].replace('\\|', '|'), row[0]), text, flags=re.M)
    if broken:
        sys.exit('links to nothing:\n  ' + '\n  '.join(broken))
    print(f'{len(pages)} pages, all links lead somewhere')
    if arguments == ['--check-only']:
        return
    shutil.rmtree(PAGES, ignore_errors=True)
    for path in shown:
        (PAGES / path).parent.mkdir(parents=True, exist_ok=True)
        if path in made:
            (PAGES / path).write_text(made[path], encoding='utf-8')
        else:
            shutil.copy(ROOT / path, PAGES / path)
    subprocess.run([sys.executable, str(ROOT / 'scripts' / 'api_pages.py'), str(PAGES / 'docs' / 'api')], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, '-m', 'mkdocs', 'build', '--strict', '--quiet', '--config-file', str(ROOT / 'mkdocs.yml')], check=True)
    print(f'the site is {ROOT / "build" / "docs" / "site" / "index.html"}')


if __name__ == '__main__':
    main(sys.argv[1:])
