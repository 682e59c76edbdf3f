#!/usr/bin/env python3
"""Checks that no number that decides stands outside the target and the policy files, and that nothing in the compiler names a machine or asks the environment.

usage: check_thresholds.py [ROOT]      prints each violation; exit status 1 when there is one.

In compiler/, kir/, plan/ and emit_llvm/ (tests apart), files that are not called policy.h must not hold
  - a comparison (< <= > >=) with a number beyond 4, or such a number in min, max or clamp;
  - a constexpr number.
What is no choice but follows from a format or a definition (bit widths, depths of recursion, sizes of tables) is marked on its line, or on a line of its own
above, with `// structural: why`; comparisons of DTypeBits and ByteWidth are widths and need no mark. Coefficients of math functions (kir/math_*.cc) are definitions as a whole, and so are scalar arithmetic in kir/internal and emit_llvm, and the encodings of emit_llvm/internal/x64.
Nothing in compiler/, kir/ and plan/, comments included, may name an instruction set, a cache line or a thread: that is the target's. ("Thread-safe" is about callers.)
Nor may anything there read environment variables: what a program compiles to follows from it, the target and the options, all of them values.
"""
import pathlib
import re
import sys

FOLDERS = ('compiler', 'kir', 'plan', 'emit_llvm')
OF_MACHINES = ('emit_llvm',)
NUMBER = r"(?:0[xX][0-9a-fA-F']+|\d[\d']*(?:\.\d*)?(?:[eE][+-]?\d+)?)"
# clang-format puts spaces around operators, and none inside of template arguments.
COMPARED = re.compile(rf'\s(?:<=|>=|<|>)\s(?:-\s*)?(?:int64_t\{{)?({NUMBER})\b')
REVERSED = re.compile(rf'(?<![\w.])({NUMBER})\b\s(?:<=|>=|<|>)\s[\w(]')
PICKED = re.compile(r'\b(?:min|max|clamp)(?:<[^<>]*>)?\(')
CONSTANT = re.compile(rf'\bconstexpr\s+[\w:\s]+\bk?[A-Za-z_]\w*(?:\s*=\s*|\{{)(?:-\s*)?(?:int64_t\{{|size_t\{{)?({NUMBER})')
MARK = re.compile(r'//.*\bstructural: \S')
STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'')
WIDTHS = re.compile(r'\b(?:DTypeBits|ByteWidth)\([^()]*(?:\([^()]*\)[^()]*)*\)\s(?:<=|>=|<|>)\s\d+')
MACHINE = re.compile(r'\bx86|\bavx|\bsse\d?\b|\bcache[ -]lines?\b|\bthreads?\b(?!-safe)', re.I)
ENVIRONMENT = re.compile(r'\b(?:secure_)?getenv\b|\benviron\b')
ALLOWED = 4


def value_of(text):
    text = text.replace("'", '')
    return int(text, 16) if text[:2].lower() == '0x' else float(text)


def arguments_of(code, at):
    """The text between the parenthesis before `at` and the one that closes it, or the line's end."""
    depth = 1
    for end in range(at, len(code)):
        depth += {'(': 1, ')': -1}.get(code[end], 0)
        if depth == 0:
            return code[at:end]
    return code[at:]


def numbers_that_decide(code):
    for pattern in (COMPARED, REVERSED):
        for match in pattern.finditer(code):
            if value_of(match[1]) > ALLOWED:
                yield match[0].strip()
    for match in PICKED.finditer(code):
        for word in re.findall(rf'(?<![\w.]){NUMBER}\b', arguments_of(code, match.end())):
            if value_of(word) > ALLOWED:
                yield f'{match[0]}... {word}'
    match = CONSTANT.search(code)
    if match:
        yield match[0].strip()


def is_exempt(relative):
    name = relative.name
    parts = relative.parts
    return ('test' in parts or 'testing' in parts or name.endswith('_test.cc') or name.endswith('_bench.cc'))


def is_definition(relative):
    folder, name = relative.parts[0], relative.name
    if folder == 'kir':
        return name.startswith('math_') or 'internal' in relative.parts
    return folder == 'emit_llvm' and (name.startswith('scalar_') or 'x64' in relative.parts)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    bad = []
    files = 0
    for folder in FOLDERS:
        for path in sorted((root / 'tenon' / folder).rglob('*')):
            relative = path.relative_to(root / 'tenon')
            if path.suffix not in ('.h', '.cc', '.def', '.inc') or is_exempt(relative):
                continue
            files += 1
            numbers = path.name != 'policy.h' and not is_definition(relative)
            marked = False
            for n, line in enumerate(path.read_text().splitlines(), 1):
                where = f'{path.relative_to(root)}:{n}'
                if line.lstrip().startswith('#include'):
                    continue
                machine = folder not in OF_MACHINES and MACHINE.search(line)
                if machine:
                    bad.append(f"{where}: names a machine ('{machine[0]}')")
                asks = folder not in OF_MACHINES and ENVIRONMENT.search(line.split('//')[0])
                if asks:
                    bad.append(f"{where}: asks the environment ('{asks[0]}'); options come as values")
                here = bool(MARK.search(line))
                if numbers and not here and not marked:
                    code = WIDTHS.sub('', STRING.sub('""', line.split('//')[0]))
                    bad.extend(f'{where}: {what} is a number that decides' for what in numbers_that_decide(code))
                marked = here and line.lstrip().startswith('//')
    print('\n'.join(bad))
    print(f'{files} files, {len(bad)} violations')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
