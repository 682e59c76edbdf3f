"""Artifacts of the builder, read by StableHLO's own deserializer in jaxlib: python jaxlib_test.py FOLDER.

Each NAME.bc there must be the program of NAME.mlir. Exits with 77 where jaxlib is not there."""

import pathlib
import sys

try:
  from jax._src.interpreters import mlir as jax_mlir
  from jaxlib.mlir import ir
  from jaxlib.mlir.dialects import stablehlo
except ImportError as error:
  print(f"not run: {error}")
  sys.exit(77)


def main(folder):
  wrong, read = [], 0
  for artifact in sorted(pathlib.Path(folder).glob("*.bc")):
    context = jax_mlir.make_ir_context()
    with context, ir.Location.unknown(context):
      text = artifact.with_suffix(".mlir").read_text()
      try:
        want = ir.Module.parse(text)
        # Written and read once, so that the text loses what a default stands for.
        want = stablehlo.deserialize_portable_artifact(context, stablehlo.serialize_portable_artifact(want, "1.13.0"))
      except Exception as error:  # pylint: disable=broad-except
        print(f"{artifact.stem}: left out, jaxlib does not take the text: {str(error)[:150]}")
        continue
      read += 1
      try:
        got = stablehlo.deserialize_portable_artifact(context, artifact.read_bytes())
        if str(got) != str(want):
          wrong.append(f"{artifact.stem}: got\n{got}\nwanted\n{want}")
      except Exception as error:  # pylint: disable=broad-except
        wrong.append(f"{artifact.stem}: {error}")
  print("\n".join(wrong))
  print(f"{read} artifacts read, {len(wrong)} wrong")
  return 1 if wrong or read < 100 else 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1]))
