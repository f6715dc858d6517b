// The native methods of io.bloomery.jni.Native: unpack, call, pack. Nothing else happens here.
#include <jni.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/JsonValue.h"
#include "base/NamedThread.h"
#include "base/RestingPages.h"
#include "comm/Credentials.h"
#include "data/arrow/ArrowIngest.h"
#include "data/arrow/ParquetScan.h"
#include "data/arrow/PickedRows.h"
#include "jni/AttachedThread.h"
#include "jni/Guard.h"
#include "jni/HandleTable.h"
#include "jni/JavaSource.h"
#include "jni/Text.h"
#include "train/Describe.h"
#include "train/EngineInfo.h"
#include "train/Evaluator.h"
#include "train/ExportOnnx.h"
#include "train/Predictor.h"
#include "train/ScanFeed.h"
#include "train/Trainer.h"

using bloomery::Json;
using bloomery::data::ParquetScan;
using bloomery::data::PickedRows;
using bloomery::jni::guard;
using bloomery::jni::HandleTable;
using bloomery::jni::JavaSource;
using bloomery::jni::toBytes;
using bloomery::jni::toDoubles;
using bloomery::jni::toInts;
using bloomery::jni::toJava;
using bloomery::jni::toJavaByteArrays;
using bloomery::jni::toJavaBytes;
using bloomery::jni::toJavaDoubles;
using bloomery::jni::toUtf8;
using bloomery::train::Evaluator;
using bloomery::train::Predictor;
using bloomery::train::Snapshot;
using bloomery::train::Trainer;

namespace {

HandleTable<Trainer> trainers("trainer");
HandleTable<Predictor> predictors("predictor");
HandleTable<Evaluator> evaluators("evaluator");
HandleTable<ParquetScan> scans("scan");
HandleTable<PickedRows> picks("picked rows");

void* pointer(jlong address) { return reinterpret_cast<void*>(address); }
float* floats(jlong address) { return reinterpret_cast<float*>(address); }

}  // namespace

extern "C" {

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
  bloomery::jni::rememberJavaVm(vm);
  bool loaded = bloomery::jni::loadExceptionClasses(env) && bloomery::jni::loadSourceClass(env);
  return loaded ? JNI_VERSION_1_8 : JNI_ERR;
}

JNIEXPORT void JNICALL JNI_OnUnload(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_8) != JNI_OK) return;
  bloomery::jni::unloadSourceClass(env);
  bloomery::jni::unloadExceptionClasses(env);
}

JNIEXPORT jstring JNICALL Java_io_bloomery_jni_Native_engineInfo(JNIEnv* env, jclass) {
  return guard(env, [&] { return toJava(env, bloomery::train::engineInfo()); });
}

JNIEXPORT jstring JNICALL Java_io_bloomery_jni_Native_describe(JNIEnv* env, jclass, jstring task) {
  return guard(env, [&] { return toJava(env, bloomery::train::describe(toUtf8(env, task))); });
}

JNIEXPORT jbyteArray JNICALL Java_io_bloomery_jni_Native_exportOnnx(JNIEnv* env, jclass, jstring task,
                                                                    jbyteArray weights) {
  return guard(env, [&] {
    std::string bytes = toBytes(env, weights);
    return toJavaBytes(env, bloomery::train::exportOnnx(toUtf8(env, task), std::as_bytes(std::span(bytes))));
  });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_openTrainer(JNIEnv* env, jclass, jstring task, jbyteArray weights) {
  return guard(env, [&] {
    std::string bytes = toBytes(env, weights);
    return trainers.add(std::make_shared<Trainer>(toUtf8(env, task), std::as_bytes(std::span(bytes))));
  });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_openTrainerOverRows(JNIEnv* env, jclass, jlong finished,
                                                                        jstring task, jbyteArray weights) {
  return guard(env, [&] {
    std::string bytes = toBytes(env, weights);
    return trainers.add(
        std::make_shared<Trainer>(toUtf8(env, task), std::as_bytes(std::span(bytes)), *trainers.get(finished)));
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_bloomery_jni_Native_trainerAddress(JNIEnv* env, jclass, jlong trainer) {
  return guard(env, [&] { return toJavaBytes(env, trainers.get(trainer)->address()); });
}

JNIEXPORT jobjectArray JNICALL Java_io_bloomery_jni_Native_issueCredentials(JNIEnv* env, jclass, jint numWorkers,
                                                                            jint attempt, jboolean encrypt) {
  return guard(env, [&] {
    return toJavaByteArrays(env, bloomery::comm::issueCredentials(numWorkers, attempt, encrypt == JNI_TRUE));
  });
}

JNIEXPORT jstring JNICALL Java_io_bloomery_jni_Native_takeLog(JNIEnv* env, jclass, jlong trainer) {
  return guard(env, [&] { return toJava(env, trainers.get(trainer)->takeLog().dump()); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_connectTrainer(JNIEnv* env, jclass, jlong trainer,
                                                                  jobjectArray addresses, jbyteArray credentials) {
  guard(env, [&] {
    std::vector<std::string> all(static_cast<size_t>(env->GetArrayLength(addresses)));
    for (size_t rank = 0; rank < all.size(); ++rank) {
      jobject element = env->GetObjectArrayElement(addresses, static_cast<jsize>(rank));
      if (env->ExceptionCheck()) throw bloomery::jni::JavaExceptionPending();
      all[rank] = toBytes(env, static_cast<jbyteArray>(element));
      env->DeleteLocalRef(element);
    }
    trainers.get(trainer)->connect(all, toBytes(env, credentials));
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_ingestSchema(JNIEnv* env, jclass, jlong trainer, jlong arrowSchema) {
  guard(env, [&] { trainers.get(trainer)->ingestSchema(pointer(arrowSchema)); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_ingest(JNIEnv* env, jclass, jlong trainer, jlong arrowArray,
                                                          jint partition, jlong firstRow) {
  guard(env, [&] { trainers.get(trainer)->ingest(pointer(arrowArray), partition, firstRow); });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_openScan(JNIEnv* env, jclass, jlong trainer, jlong fileColumns,
                                                             jlong constantColumns, jint threads) {
  return guard(env, [&] {
    return scans.add(
        bloomery::train::openScan(*trainers.get(trainer), pointer(fileColumns), pointer(constantColumns), threads));
  });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_openPredictScan(JNIEnv* env, jclass, jlong fileColumns) {
  return guard(env, [&] { return scans.add(bloomery::train::openScan(pointer(fileColumns))); });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_nextOfScan(JNIEnv* env, jclass, jlong scan, jlong waitMillis) {
  return guard(env,
               [&] { return reinterpret_cast<jlong>(scans.get(scan)->next(std::chrono::milliseconds(waitMillis))); });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_scannedRows(JNIEnv* env, jclass, jlong scan) {
  return guard(env, [&] { return jlong{scans.get(scan)->numRows()}; });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_scanFile(JNIEnv* env, jclass, jlong scan, jobject source,
                                                            jstring name, jlong size, jint index, jintArray rowGroups,
                                                            jlong constants) {
  guard(env, [&] {
    scans.get(scan)->add(std::make_shared<JavaSource>(env, source, toUtf8(env, name), size), index,
                         toInts(env, rowGroups), pointer(constants));
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_scanMore(JNIEnv* env, jclass, jlong scan, jintArray rowGroups) {
  guard(env, [&] { scans.get(scan)->addMore(toInts(env, rowGroups)); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_finishScan(JNIEnv* env, jclass, jlong scan) {
  guard(env, [&] { scans.get(scan)->finish(); });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_ingestScan(JNIEnv* env, jclass, jlong trainer, jlong scan,
                                                               jlong waitMillis) {
  return guard(env, [&] {
    return jlong{
        bloomery::train::feed(*trainers.get(trainer), *scans.get(scan), std::chrono::milliseconds(waitMillis))};
  });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_scannedFiles(JNIEnv* env, jclass, jlong scan) {
  return guard(env, [&] { return jlong{scans.get(scan)->numFilesDone()}; });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_openPicks(JNIEnv* env, jclass, jlong scan, jlong fileColumns,
                                                              jlong ownColumns) {
  return guard(env, [&] {
    return picks.add(std::make_shared<PickedRows>(scans.get(scan), pointer(fileColumns), pointer(ownColumns)));
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_pick(JNIEnv* env, jclass, jlong rows, jlong arrowArray, jint file) {
  guard(env, [&] { picks.get(rows)->pick(pointer(arrowArray), file); });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_ingestPicks(JNIEnv* env, jclass, jlong trainer, jlong rows,
                                                                jint partition, jlong firstRow, jlong waitMillis) {
  return guard(env, [&] {
    return jlong{bloomery::train::feed(*trainers.get(trainer), *picks.get(rows), partition, firstRow,
                                       std::chrono::milliseconds(waitMillis))};
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_closePicks(JNIEnv* env, jclass, jlong rows) {
  guard(env, [&] { picks.close(rows); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_closeScan(JNIEnv* env, jclass, jlong scan) {
  guard(env, [&] { scans.close(scan); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_finishIngest(JNIEnv* env, jclass, jlong trainer) {
  guard(env, [&] { trainers.get(trainer)->finishIngest(); });
}

JNIEXPORT jstring JNICALL Java_io_bloomery_jni_Native_pollTrainer(JNIEnv* env, jclass, jlong trainer,
                                                                  jlong waitMillis) {
  return guard(env,
               [&] { return toJava(env, trainers.get(trainer)->poll(std::chrono::milliseconds(waitMillis)).dump()); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_answerTrainer(JNIEnv* env, jclass, jlong trainer, jboolean stop) {
  guard(env, [&] { trainers.get(trainer)->answer(stop == JNI_TRUE); });
}

JNIEXPORT jbyteArray JNICALL Java_io_bloomery_jni_Native_trainerWeights(JNIEnv* env, jclass, jlong trainer) {
  return guard(env, [&] { return toJavaBytes(env, trainers.get(trainer)->weights()); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_addToState(JNIEnv* env, jclass, jlong trainer, jboolean shared,
                                                              jbyteArray bytes) {
  guard(env, [&] {
    auto target = trainers.get(trainer);
    (shared == JNI_TRUE ? target->saved().shared : target->saved().own) += toBytes(env, bytes);
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_restoreTrainer(JNIEnv* env, jclass, jlong trainer,
                                                                  jboolean weightsOnly, jboolean recovers) {
  guard(env, [&] {
    auto target = trainers.get(trainer);
    target->saved().recovers = recovers == JNI_TRUE;
    weightsOnly == JNI_TRUE ? target->restoreWeights() : target->restore();
  });
}

JNIEXPORT jstring JNICALL Java_io_bloomery_jni_Native_awaitCheckpoint(JNIEnv* env, jclass, jlong trainer,
                                                                      jlong waitMillis) {
  return guard(env, [&] {
    auto target = trainers.get(trainer);
    const Snapshot* snapshot = target->checkpoints().await(std::chrono::milliseconds(waitMillis));
    if (snapshot == nullptr) return toJava(env, "");
    Json json = {{"epoch", snapshot->epoch},
                 {"step", snapshot->step},
                 {"finished", snapshot->finished},
                 {"sharedBytes", snapshot->shared.size()},
                 {"ownBytes", snapshot->own.size()}};
    return toJava(env, json.dump());
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_bloomery_jni_Native_checkpointBytes(JNIEnv* env, jclass, jlong trainer,
                                                                         jboolean shared, jlong offset, jint length) {
  return guard(env, [&] {
    auto target = trainers.get(trainer);
    const Snapshot* snapshot = target->checkpoints().await(std::chrono::milliseconds(0));
    bloomery::check(snapshot != nullptr, "No checkpoint to take bytes of");
    const std::string& all = shared == JNI_TRUE ? snapshot->shared : snapshot->own;
    return toJavaBytes(env, all.substr(static_cast<size_t>(offset), static_cast<size_t>(length)));
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_releaseCheckpoint(JNIEnv* env, jclass, jlong trainer) {
  guard(env, [&] { trainers.get(trainer)->checkpoints().release(); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_cancelTrainer(JNIEnv* env, jclass, jlong trainer) {
  guard(env, [&] { trainers.get(trainer)->cancel(); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_closeTrainer(JNIEnv* env, jclass, jlong trainer) {
  guard(env, [&] { trainers.close(trainer); });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_openPredictor(JNIEnv* env, jclass, jstring task,
                                                                  jbyteArray weights) {
  return guard(env, [&] {
    std::string bytes = toBytes(env, weights);
    return predictors.add(std::make_shared<Predictor>(toUtf8(env, task), std::as_bytes(std::span(bytes))));
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_predict(JNIEnv* env, jclass, jlong predictor, jlong arrowSchema,
                                                           jlong arrowArray, jint partition, jlong firstRow, jlong raw,
                                                           jlong probability) {
  guard(env, [&] {
    predictors.get(predictor)->predict(pointer(arrowSchema), pointer(arrowArray), partition, firstRow, floats(raw),
                                       floats(probability));
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_closePredictor(JNIEnv* env, jclass, jlong predictor) {
  guard(env, [&] { predictors.close(predictor); });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_openEvaluator(JNIEnv* env, jclass, jstring task,
                                                                  jbyteArray weights) {
  return guard(env, [&] {
    std::string bytes = toBytes(env, weights);
    return evaluators.add(std::make_shared<Evaluator>(toUtf8(env, task), std::as_bytes(std::span(bytes))));
  });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_evaluate(JNIEnv* env, jclass, jlong evaluator, jlong arrowSchema,
                                                            jlong arrowArray, jint partition, jlong firstRow) {
  guard(env, [&] { evaluators.get(evaluator)->add(pointer(arrowSchema), pointer(arrowArray), partition, firstRow); });
}

JNIEXPORT jdoubleArray JNICALL Java_io_bloomery_jni_Native_evaluatorSums(JNIEnv* env, jclass, jlong evaluator) {
  return guard(env, [&] { return toJavaDoubles(env, evaluators.get(evaluator)->sums()); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_closeEvaluator(JNIEnv* env, jclass, jlong evaluator) {
  guard(env, [&] { evaluators.close(evaluator); });
}

JNIEXPORT jstring JNICALL Java_io_bloomery_jni_Native_measures(JNIEnv* env, jclass, jstring task, jdoubleArray sums) {
  return guard(
      env, [&] { return toJava(env, bloomery::train::measuresOf(toUtf8(env, task), toDoubles(env, sums)).dump()); });
}

JNIEXPORT jstring JNICALL Java_io_bloomery_jni_Native_liveResources(JNIEnv* env, jclass) {
  return guard(env, [&] {
    Json live = {{"handles", trainers.size() + predictors.size() + evaluators.size() + scans.size() + picks.size()},
                 {"arrowBytes", bloomery::data::arrowBytesAllocated()},
                 {"threads", bloomery::countNamedThreads()}};
    return toJava(env, live.dump());
  });
}

JNIEXPORT jlong JNICALL Java_io_bloomery_jni_Native_restingBytes(JNIEnv* env, jclass) {
  return guard(env, [&] { return static_cast<jlong>(bloomery::numRestingBytes()); });
}

JNIEXPORT void JNICALL Java_io_bloomery_jni_Native_returnRestedMemory(JNIEnv* env, jclass, jlong ageMillis) {
  guard(env, [&] { bloomery::returnRestedPages(std::chrono::milliseconds(ageMillis)); });
}

}  // extern "C"
