"""Let the tests of this folder import the writer and the oracle that stand beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
