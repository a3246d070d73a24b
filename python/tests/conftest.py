"""What all tests of the Python package stand on: the program, nothing of this machine's user, no network, no Java.

RIPOSTE_BINARY names the program; without it, the tests take the one that `cargo build --release` has made.
"""

import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

sys.dont_write_bytecode = True
os.environ.setdefault("RIPOSTE_BINARY", str(REPOSITORY / "target/release/riposte"))
#: The user's own directory, where cargo is.
HOME = os.environ.get("HOME", "")
#: Where Java is, and the models, for the tests that ask for them.
JAVA_HOME = os.environ.get("JAVA_HOME", "")
MODELS = os.environ.get("RIPOSTE_TEST_MODELS", "")
_home = tempfile.TemporaryDirectory(prefix="riposte-tests-")
for name in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IR_DATASETS_HOME", "PYTERRIER_HOME", "RIPOSTE_MODELS", "WNSEARCHDIR"]:
    os.environ[name] = str(Path(_home.name, name.lower()))
os.environ["JAVA_HOME"] = str(Path(_home.name, "no-java"))
os.environ.pop("RIPOSTE_CONFIG", None)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_downloaded():
    """Connections to other machines fail the test that asks for them."""
    connect = socket.socket.connect

    def refuse(self, address):
        if self.family != getattr(socket, "AF_UNIX", None):
            raise AssertionError(f"a test asks for the network: {address}")
        return connect(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", refuse)
    yield
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def java_is_not_started():
    yield
    if "pyterrier" in sys.modules:
        assert not sys.modules["pyterrier"].java.started()
