#!/usr/bin/env python3
"""The API reference: one Markdown page per installed library, written from the comments of its public headers: api_pages.py [FOLDER].

Public headers are those of HDRS in the library's CMakeLists.txt. `///` comments (in C headers `//`) belong to the declaration behind them. Private members, what stands in a
namespace `internal` and the bodies of functions are left out. Without FOLDER only counts. scripts/build_docs.py calls it.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Folder, title, what it is for.
LIBRARIES = (
    ('client', 'Client', 'drives any PJRT plugin: [the guide](../client/README.md)'),
    ('client_c', 'C interface', 'the client behind a C interface, for C and other languages: [the guide](../c_api/README.md)'),
    ('builder', 'Builder', 'StableHLO programs written in C++: [the guide](../builder/README.md)'),
    ('gradient', 'Gradients', 'reverse-mode derivatives of what the builder wrote: [the guide](../builder/README.md)'),
    ('vhlo', 'Programs as data', 'reads StableHLO without LLVM, for compilers of plugins: [the guide](../sdk/README.md)'),
    ('plugin', 'Plugin SDK', 'PJRT plugins written by subclassing: [the guide](../sdk/README.md)'),
    ('discovery', 'Discovery', 'where plugins are found'),
    ('base', 'Base', 'status, shapes, element types: what all others speak'),
)


def headers(folder):
    text = (ROOT / 'tenon' / folder / 'CMakeLists.txt').read_text(encoding='utf-8')
    found = re.search(r'\bHDRS\s+([^\n]*(?:\n\s+(?!SRCS|PUBLIC|PRIVATE|LIBS|PCH)[^\n)]*)*)', text) or re.search(r'FILE_SET HEADERS.*?FILES ([^)]*)\)', text, re.S)
    return [ROOT / 'tenon' / folder / name for name in found[1].split() if name.endswith('.h')]


class Reader:
    """Declarations of one header, in order: (depth, kind, code, comment); kind is 'type', 'value' or 'end'."""

    def __init__(self, text, comment):
        self.items, self.comment_mark = [], comment
        # Text between the declarations that are told: (public, told) per open brace.
        scopes, doc, code = [(True, True)], [], ''
        lines = iter(text.split('\n'))
        for line in lines:
            stripped = line.strip()
            if not code:
                if stripped.startswith(self.comment_mark) and not stripped.startswith('//==='):
                    doc.append(stripped[len(self.comment_mark):].removeprefix('<').removeprefix(' '))
                    continue
                if not stripped or stripped.startswith('#') or stripped.startswith('//') or stripped == 'extern "C" {':
                    while stripped.endswith('\\'):
                        stripped = next(lines).strip()
                    doc = []
                    continue
                if re.match(r'(public|protected|private):', stripped):
                    scopes[-1] = (not stripped.startswith('private'), scopes[-1][1])
                    continue
                if stripped.startswith('}'):
                    scope = scopes.pop() if len(scopes) > 1 else scopes[0]
                    if scope[1]:
                        self.items.append((len(scopes), 'end', '', ''))
                    doc = []
                    continue
            # Behind the code: a comment of its own.
            tail = re.search(r'\s*///?<?\s?(.*)$', line) if re.search(r'[;,{)]\s*///?', line) else None
            if tail:
                doc.append(tail[1])
                line = line[:tail.start()]
            code += line.rstrip() + '\n'
            ended = self.ends(code)
            if ended is None:
                continue
            visible = all(s[0] and s[1] for s in scopes)
            opens = ended == '{'
            head = code.strip()
            if opens and re.match(r'(inline )?namespace\b', head):
                scopes.append((True, visible and 'internal' not in head))
                self.items += [(len(scopes) - 1, 'space', '', '')] if scopes[-1][1] else []
            elif opens and re.match(r'(template\s*<.*>\s*)?(requires .*?)?(class|struct|union)\b(?!.*\)\s*(const)?\s*\{$)', head, re.S):
                told = visible and not head.startswith('template <>')
                if told:
                    self.items.append((len(scopes), 'type', head.removesuffix('{').strip(), '\n'.join(doc)))
                scopes.append(((not re.search(r'\bclass\b', head)), told))
            else:
                if opens:  # A body, or the cases of an enumeration, which are shown.
                    depth, body = 1, ''
                    while depth > 0:
                        body += (piece := next(lines)) + '\n'
                        bare = re.sub(r'"(\\.|[^"])*"|\'(\\.|[^\'])\'|//.*', '', piece)
                        depth += bare.count('{') - bare.count('}')
                    head = head + '\n' + body.rstrip() if re.match(r'(typedef )?enum\b|typedef struct', head) else head.removesuffix('{').rstrip() + ';'
                hidden = re.match(r'(class|struct|friend|static_assert|using internal|TENON_|PJRT_DEFINE)', head) and '(' not in head.split('{')[0].removeprefix('static_assert(')
                if visible and not hidden and not re.match(r'(friend|static_assert|~)', head):
                    self.items.append((len(scopes), 'value', head, '\n'.join(doc)))
            code, doc = '', []

    @staticmethod
    def ends(code):
        """How a declaration ends: ';', '{', or not yet (None). Bodies on one line count as ';'."""
        bare = re.sub(r'"(\\.|[^"])*"|\'(\\.|[^\'])\'|//.*', '', code)
        round_, curly, equals = 0, 0, False
        for i, c in enumerate(bare):
            round_ += (c == '(') - (c == ')')
            # A variable's value, which goes on to the semicolon.
            equals |= c == '=' and round_ == 0 and curly == 0 and not re.search(r'operator\W*$', bare[:i + 1])
            if round_ == 0 and c == '{':
                curly += 1
            if round_ == 0 and c == '}':
                curly -= 1
                if curly == 0 and i + 1 < len(bare) and bare[i + 1:].strip() in ('', ';') and not equals:
                    return ';'
            if c == ';' and round_ == 0 and curly == 0:
                return ';'
        return '{' if curly == 1 and round_ == 0 and bare.rstrip().endswith('{') else None


def c_comments(text):
    """Comments of C as lines that begin with //; headings of sections are no comments of what follows."""
    text = re.sub(r'/\* -+.*?-+ \*/', '', text)
    return re.sub(r'/\*(.*?)\*/', lambda m: '\n'.join('// ' + line.strip() for line in m[1].split('\n')), text, flags=re.S)


def shorten(code):
    """A function's inline body and initialisers say nothing to its users."""
    code = re.sub(r'\)((?:\s*(?:const|noexcept|override))*)\s*(?::\s[^;{]*?(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\{[^{}]*\})\s*)?\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}\s*;?$', r')\1;', code, flags=re.S)
    lines = code.split('\n')
    margin = min((len(l) - len(l.lstrip()) for l in lines[1:] if l.strip()), default=0)
    return '\n'.join([lines[0]] + [l[min(margin, 2) if margin < 4 else margin - 4:] for l in lines[1:]])


def page(folder, title, purpose):
    out = [f'# {title}: reference', '', f'`tenon/{folder}`: {purpose}. Written from the comments of the public headers.', '']
    count = 0
    for header in headers(folder):
        text = header.read_text(encoding='utf-8')
        items = Reader(c_comments(text), '//').items if folder == 'client_c' else Reader(text, '///').items
        if not any(kind in ('type', 'value') for _, kind, _, _ in items):
            continue
        out += [f'## `#include "{header.relative_to(ROOT) if folder != "client_c" else header.name}"`', '']
        plain = []

        def flush():
            if plain:
                out.extend(['```cpp', *plain, '```', ''])
                plain.clear()

        for _, kind, code, comment in items:
            if kind in ('end', 'space'):
                flush()
                continue
            count += 1
            if kind == 'type':
                flush()
                name = re.search(r'(?:class|struct|union)\s+([\w:<>, *]+)', code)
                out += [f'### {name[1].split(":")[0].strip() if name else code}', '', '```cpp', code + ';', '```', '']
                out += [comment, ''] if comment else []
            elif comment:
                flush()
                out += ['```cpp', shorten(code), '```', '', comment, '']
            else:
                plain.append(shorten(code))
        flush()
    return '\n'.join(out) + '\n', count


def main(arguments):
    folder = pathlib.Path(arguments[0]) if arguments else None
    index = ['# API reference', '', 'Every public declaration of what is installed, by library.', '', '| library | |', '|---|---|']
    for name, title, purpose in LIBRARIES:
        text, count = page(name, title, purpose)
        if count < 3:
            sys.exit(f'{name}: {count} declarations found: the headers are read wrongly')
        index.append(f'| [{title}]({name}.md) | {purpose} ({count} declarations) |')
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f'{name}.md').write_text(text, encoding='utf-8')
        print(f'{name}: {count} declarations')
    if folder:
        (folder / 'README.md').write_text('\n'.join(index) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main(sys.argv[1:])
