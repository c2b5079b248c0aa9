// Times the encoder and the decoder of whisper.cpp as `quern bench` times ours:
//
//     peer MODEL THREADS TOKENS
//
// prints a JSON object for `whisper compare`. The npm package nodejs-whisper has
// the sources of whisper.cpp and builds them where it is installed, for the CPU
// at hand, and so is this built:
//
//     npm pack nodejs-whisper && tar xzf nodejs-whisper-*.tgz && cd package/cpp/whisper.cpp
//     cmake -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF && cmake --build build --target whisper
//     g++ -O2 -fopenmp -Iinclude -Iggml/include peer.cpp $(find build -name 'lib*.a') $(find build -name 'lib*.a') -o peer
#include "ggml-cpu.h"
#include "whisper.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

static double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char ** argv) {
    if (argc != 4) {
        fprintf(stderr, "peer: want MODEL THREADS TOKENS\n");
        return 2;
    }
    const int threads = atoi(argv[2]), tokens = atoi(argv[3]);
    whisper_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    whisper_context_params params = whisper_context_default_params();
    params.use_gpu = false;
    whisper_context * ctx = whisper_init_from_file_with_params(argv[1], params);
    if (!ctx || whisper_set_mel(ctx, nullptr, 0, whisper_model_n_mels(ctx))) {
        fprintf(stderr, "peer: %s does not load\n", argv[1]);
        return 1;
    }
    const whisper_token sot = whisper_token_sot(ctx);
    double encode = 0, decode = 0;
    for (int run = 0; run < 2; run++) { // the first one only warms up
        const double start = now();
        if (whisper_encode(ctx, 0, threads)) return 1;
        const double encoded = now();
        for (int i = 0; i < tokens; i++)
            if (whisper_decode(ctx, &sot, 1, i, threads)) return 1;
        encode = encoded - start;
        decode = (now() - encoded) / tokens;
    }
    printf("{\"encode_ms\": %.3f, \"token_ms\": %.4f, \"version\": \"whisper.cpp %s\", \"cpu_level\": \"%s\"}\n", encode, decode,
           whisper_version(), ggml_cpu_has_avx512() ? "avx512" : ggml_cpu_has_avx2() ? "avx2" : "baseline");
    whisper_free(ctx);
}
