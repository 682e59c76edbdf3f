#!/usr/bin/env python3
"""Checks that every folder imports only what scripts/layers.txt allows: #include lines, link lines and LLVM/MLIR headers.

usage: check_layers.py [ROOT]      prints each violation; exit status 1 when there is one.
"""
import pathlib
import re
import sys

SOURCE = {'.h', '.cc', '.inc', '.def', '.in'}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)
LIBRARY = re.compile(r'tenon_library\((.*?)\)', re.S)


def read_layers(path):
    """{folder: (allowed folders, may include LLVM)}"""
    layers = {}
    for line in path.read_text().splitlines():
        line = line.split('#')[0].strip()
        if not line:
            continue
        name, allowed = line.split(':')
        name = name.strip()
        llvm = name.endswith('+')
        layers[name.rstrip('+ ')] = (set(allowed.split()), llvm)
    return layers


def folder_of(relative, layers):
    """The longest listed folder that holds the file; internal/, test/ and testing/ belong to their parent."""
    parts = relative.parts[:-1]
    for n in range(len(parts), 0, -1):
        if '/'.join(parts[:n]) in layers:
            return '/'.join(parts[:n])
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    layers = read_layers(root / 'scripts' / 'layers.txt')
    targets = {name.replace('/', '_'): name for name in layers}
    named = set(layers).union(*(allowed for allowed, _ in layers.values()))
    bad = [f'scripts/layers.txt names {name}, which is no folder' for name in sorted(named) if not (root / 'tenon' / name).is_dir()]
    for path in sorted((root / 'tenon').rglob('*')):
        relative = path.relative_to(root / 'tenon')
        if path.name == 'CMakeLists.txt':
            folder = folder_of(relative, layers)
            for body in LIBRARY.findall(path.read_text()) if folder else []:
                words = body.split()
                name = words[words.index('NAME') + 1]
                inside = False
                for word in words:
                    if word.isupper():
                        inside = word in ('PUBLIC_DEPS', 'PRIVATE_DEPS')
                    elif inside and word in targets and targets[word] != folder and targets[word] not in layers[folder][0]:
                        bad.append(f'{path.relative_to(root)}: {name} may not link {word}')
            continue
        if path.suffix not in SOURCE:
            continue
        folder = folder_of(relative, layers)
        if folder is None:
            bad.append(f'{path.relative_to(root)}: its folder is not in scripts/layers.txt')
            continue
        allowed, llvm = layers[folder]
        # Tests may use what they test with.
        is_test = path.stem.endswith(('_test', '_bench', '_fuzz')) or 'testing' in relative.parts
        for include in INCLUDE.findall(path.read_text(errors='replace')):
            if include.startswith(('llvm/', 'mlir/', 'llvm-c/')) and not llvm:
                bad.append(f'{path.relative_to(root)}: includes {include}, but {folder} may not use LLVM or MLIR')
            if not include.startswith('tenon/') or is_test:
                continue
            target = folder_of(pathlib.Path(include[len('tenon/'):]), layers)
            if target is None:
                bad.append(f'{path.relative_to(root)}: includes {include}, whose folder is not in scripts/layers.txt')
            elif target != folder and target not in allowed:
                bad.append(f'{path.relative_to(root)}: {folder} may not import {target} ({include})')
    for line in bad:
        print(line)
    print(f'{len(layers)} folders, {len(bad)} violations')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
