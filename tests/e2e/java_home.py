"""Java homes of which executors get a JVM that is started in another way."""

import os
import shutil
from pathlib import Path


def java_home(folder: Path, script: str) -> Path:
    """Its java is a shell script, in which $JAVA is the real one."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    own = f"{os.environ['JAVA_HOME']}/bin/java" if "JAVA_HOME" in os.environ else shutil.which("java")
    java.write_text(f'#!/bin/sh\nJAVA="{own}"\n{script}\n')
    java.chmod(0o755)
    return folder
