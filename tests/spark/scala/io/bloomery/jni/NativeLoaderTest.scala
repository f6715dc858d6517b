package io.bloomery.jni

import java.io.File
import java.lang.reflect.InvocationTargetException

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Using

class NativeLoaderTest extends AnyFunSuite {

  /** Defines our classes anew, as Spark does for a jar of its own class loader. */
  private final class OwnClasses extends ClassLoader(getClass.getClassLoader) {
    override protected def loadClass(name: String, resolve: Boolean): Class[_] =
      if (!name.startsWith("io.bloomery.")) super.loadClass(name, resolve)
      else
        Option(findLoadedClass(name)).getOrElse {
          val resource = name.replace('.', '/') + ".class"
          val bytes = Using.resource(getParent.getResourceAsStream(resource))(_.readAllBytes())
          defineClass(name, bytes, 0, bytes.length)
        }

    private def call(className: String, method: String, arguments: String*): AnyRef =
      loadClass(className)
        .getMethod(method, arguments.map(_ => classOf[String]): _*)
        .invoke(null, arguments: _*)

    def load(): Unit = { call("io.bloomery.jni.NativeLoader", "load"); () }
    def engineInfo(): String = call("io.bloomery.jni.Native", "engineInfo").toString
    def describe(task: String): AnyRef = call("io.bloomery.jni.Native", "describe", task)
  }

  test("two class loaders of one JVM have an engine each, with exceptions of their own") {
    val loaders = Seq(new OwnClasses, new OwnClasses)
    loaders.foreach(_.load())
    loaders.foreach(_.load())
    assert(loaders.map(_.engineInfo()).distinct.size == 1)
    loaders.foreach { loader =>
      val error = intercept[InvocationTargetException](loader.describe("{}")).getCause
      assert(error.getClass.getName == "io.bloomery.UserError")
      assert(error.getClass.getClassLoader eq loader)
    }
  }

  test("no copy of a library stays on disk") {
    NativeLoader.load()
    val left = new File(System.getProperty("java.io.tmpdir")).list().filter(_.startsWith("bloomery-native-"))
    assert(left.isEmpty)
  }
}
