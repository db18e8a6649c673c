"""Writes a wheel in place of `langchain-protocol`, which has only types, for indexes without it.

It has the lowest version that LangChain accepts, so that pip prefers the one of an index.
"""
import pathlib
import sys
import zipfile

NAME, INFO = "langchain_protocol", "langchain_protocol-0.0.17.dist-info"
ANY = "def __getattr__(name):\n    if name.startswith('__'):\n        raise AttributeError(name)\n    return dict\n"
FILES = {
    f"{NAME}/__init__.py": ANY,
    f"{NAME}/protocol.py": ANY,
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: langchain-protocol\nVersion: 0.0.17\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/RECORD": "",
}
with zipfile.ZipFile(pathlib.Path(sys.argv[1]) / f"{NAME}-0.0.17-py3-none-any.whl", "w") as wheel:
    for path, text in FILES.items():
        wheel.writestr(path, text)
