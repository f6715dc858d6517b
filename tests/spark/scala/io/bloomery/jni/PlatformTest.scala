package io.bloomery.jni

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class PlatformTest extends AnyFunSuite {
  private val flags = "flags\t\t: fpu sse4_2 fma avx avx2 bmi2"

  test("a machine that cannot run the engine is told why") {
    val machines = Table(
      ("os", "architecture", "flags", "said"),
      ("Mac OS X", "aarch64", "", "Linux x86_64 only, and this is: Mac OS X aarch64"),
      ("Linux", "aarch64", "", "Linux x86_64 only, and this is: Linux aarch64"),
      ("Windows 11", "amd64", flags, "Linux x86_64 only"),
      ("Linux", "amd64", "flags\t\t: fpu sse4_2 avx", "AVX2"),
      ("Linux", "amd64", "flags\t\t: fpu avx2_fake fma", "AVX2"),
      ("Linux", "amd64", "", "AVX2"))
    forAll(machines) { (os, architecture, flags, said) =>
      assert(Platform.unsupported(os, architecture, flags).get().contains(said))
    }
  }

  test("a machine that can run it is not") {
    assert(Platform.unsupported("Linux", "amd64", flags).isEmpty)
    assert(Platform.unsupported("Linux", "x86_64", flags).isEmpty)
  }

  test("the linker's complaint becomes a sentence") {
    val complaints = Table(
      ("linker", "said"),
      (
        "/tmp/libbloomery.so: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by x)",
        "needs a newer glibc"),
      (
        "/tmp/libbloomery.so: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by x)",
        "needs a newer libstdc++"),
      (
        "/tmp/libbloomery.so: libgomp.so.1: cannot open shared object file: No such file or directory",
        "neither in the jar nor on this machine; install it or add it to the folder of" +
          " -Dbloomery.native.path: libgomp.so.1"),
      ("/tmp/libbloomery.so: undefined symbol: _ZN5arrow3fooE", "LD_LIBRARY_PATH"),
      ("/tmp/libbloomery.so: failed to map segment from shared object: Operation not permitted", "noexec"),
      ("Native Library /x/libbloomery.so already loaded in another classloader", "unset it"),
      ("something else", "cannot be loaded: something else"))
    forAll(complaints)((linker, said) => assert(Platform.explain(linker).contains(said)))
  }
}
