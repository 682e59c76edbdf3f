#!/usr/bin/env python3
"""Lists the fields of every argument struct, and the functions of every extension, from the headers of tenon/abi.

usage: make_fields.py ABI_FOLDER            prints fields.def
       make_fields.py ABI_FOLDER --check FILE   exit status 1 when FILE is not what would be printed
"""
import pathlib
import re
import sys

STRUCT = re.compile(r'^struct (PJRT_\w+) \{\n(.*?)^\};', re.M | re.S)
POINTER_TO_FUNCTION = re.compile(r'^(.*?)\(\*\s*(\w+)\)\s*\((.*)\)$', re.S)
VARIABLE = re.compile(r'^(.*?[\s*])(\w+)$', re.S)
TABLE = re.compile(r'PJRT_FN\((\w+), (\w+), (\d+), (\w+)\)')
SLOT_TYPE = re.compile(r'typedef (?:PJRT_Error\*|void) \(?\*?(\w+)\)?\(\s*(\w+_Args)\* args\);')
EXTENSION_TYPES = {
    'PJRT_Layouts_Extension': 'Layouts', 'PJRT_FFI_Extension': 'FFI', 'PJRT_Shardings_Extension': 'Shardings',
    'PJRT_MemoryDescriptions_Extension': 'MemoryDescriptions', 'PJRT_Stream_Extension': 'Stream',
    'PJRT_PhaseCompile_Extension': 'PhaseCompile', 'PJRT_RawBuffer_Extension': 'RawBuffer',
    'PJRT_HostAllocator_Extension': 'HostAllocator', 'PJRT_HostMemoryAllocator_Extension': 'HostMemoryAllocator',
    'PJRT_AbiVersion_Extension': 'AbiVersion', 'PJRT_Callback_Extension': 'Callback',
    'PJRT_CrossHostTransfers_Extension': 'CrossHostTransfers', 'PJRT_ExecutableMetadata_Extension': 'ExecutableMetadata',
}
# Counts whose names do not follow from the array's.
COUNTS = {'create_options': 'num_options', 'transfer_metadata': 'num_metadata', 'serialized_bytes': 'serialized_bytes_size',
          'send_events': 'num_buffers'}
# Of one struct: counts, and None for arrays of arrays and for what is written behind a pointer later, of which pointers alone are told.
COUNTS_OF = {
    'PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args': {'shape_num_dims': None, 'num_dims': None},
    'PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args': {'shape_num_dims': None, 'num_dims': None, 'buffers': 'num_shapes'},
    'PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args': {'serialized_descriptor': None},
}


def members(body):
    """(type, name, out) of each member."""
    out = []
    statement, comment = '', ''
    for line in body.splitlines():
        code, _, note = line.partition('//')
        statement += code.strip() + ' '
        comment += note
        if statement.rstrip().endswith(';') and statement.count('(') == statement.count(')'):
            text = statement.strip().rstrip(';').strip()
            match = POINTER_TO_FUNCTION.match(text)
            if match:
                kind, name = 'function', match.group(2)
            else:
                match = VARIABLE.match(text)
                kind, name = match.group(1).replace(' *', '*').strip(), match.group(2)
            note = comment.strip()
            out.append((kind, name, note == 'out' or note.startswith(('out,', 'out:'))))
            statement, comment = '', ''
    return out


def count_of(struct, kind, name, names):
    if not kind.endswith('*'):
        return None
    if name in COUNTS_OF.get(struct, ()):
        return COUNTS_OF[struct][name]
    if name in COUNTS and COUNTS[name] in names:
        return COUNTS[name]
    stem = name[6:] if name.startswith('shape_') else name
    for guess in (f'{name}_size', f'num_{name}', f'num_{stem}', f'shape_num_{stem}', f'{name}_num'):
        if guess in names:
            return guess
    if name.endswith('dims') and 'num_dims' in names:
        return 'num_dims'
    if name.endswith('dim_indices') and 'num_dynamic_dims' in names:
        return 'num_dynamic_dims'
    return None


def generate(folder):
    sources = {path: path.read_text() for path in sorted(folder.glob('pjrt*.h'))}
    structs, slots = {}, {}
    for text in sources.values():
        for name, body in STRUCT.findall(text):
            if name.endswith(('_Args', '_Extension')):
                structs[name] = members(body)
        for function, args in SLOT_TYPE.findall(text):
            slots[function] = args
    lines = ['// Written by make_fields.py from the headers in tenon/abi; the test trace_fields keeps the two in agreement.',
             '//   TRACE_ARGS(struct) TRACE_FIELD(struct, field, direction) TRACE_ARRAY(struct, field, direction, count) TRACE_END(struct)',
             '//   TRACE_EXTENSION(struct, type) TRACE_SLOT(struct, slot, args struct)',
             '// Includers define what they want of these.']
    macros = {'TRACE_ARGS': 'args', 'TRACE_FIELD': 'args, field, direction', 'TRACE_ARRAY': 'args, field, direction, count',
              'TRACE_END': 'args', 'TRACE_EXTENSION': 'extension, type', 'TRACE_SLOT': 'extension, slot, args'}
    for macro, parameters in macros.items():
        lines += [f'#ifndef {macro}', f'#define {macro}({parameters})', '#endif']

    def args(struct):
        members_of = structs[struct]
        names = {name for _, name, _ in members_of}
        lines.append(f'TRACE_ARGS({struct})')
        for kind, name, out in members_of:
            if name in ('struct_size', 'extension_start'):
                continue
            direction = 'kOut' if out else 'kIn'
            count = count_of(struct, kind, name, names)
            if count:
                lines.append(f'TRACE_ARRAY({struct}, {name}, {direction}, {count})')
            else:
                lines.append(f'TRACE_FIELD({struct}, {name}, {direction})')
        lines.append(f'TRACE_END({struct})')

    for _, struct, _, _ in TABLE.findall((folder / 'api.def').read_text()):
        args(struct)
    extensions = []
    for struct, tag in EXTENSION_TYPES.items():
        extensions.append(f'TRACE_EXTENSION({struct}, PJRT_Extension_Type_{tag})')
        for kind, name, _ in structs[struct]:
            function = kind.rstrip('*').strip()
            if function in slots:
                args(slots[function])
                extensions.append(f'TRACE_SLOT({struct}, {name}, {slots[function]})')

    extensions += [f'#undef {macro}' for macro in macros]
    return '\n'.join(lines + extensions) + '\n'


def main():
    text = generate(pathlib.Path(sys.argv[1]))
    if len(sys.argv) > 3 and sys.argv[2] == '--check':
        if pathlib.Path(sys.argv[3]).read_text() != text:
            print(f'{sys.argv[3]} is out of date: run make_fields.py')
            return 1
        return 0
    sys.stdout.write(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
