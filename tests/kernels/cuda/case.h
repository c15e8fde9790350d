// Host side of a kernel test: makes inputs, takes expected outputs computed by host code, writes one JSON case.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

struct Lcg {
    uint64_t s;
    explicit Lcg(uint64_t seed) : s(seed * 6364136223846793005ull + 1442695040888963407ull) {}
    uint32_t next() { s = s * 6364136223846793005ull + 1442695040888963407ull; return (uint32_t)(s >> 33); }
    float unit() { return (next() & 0xffffff) / 16777216.0f; }
};

template <class T> const char *type_name();
template <> inline const char *type_name<float>() { return "float32"; }
template <> inline const char *type_name<double>() { return "float64"; }
template <> inline const char *type_name<int32_t>() { return "int32"; }
template <> inline const char *type_name<uint32_t>() { return "uint32"; }
template <> inline const char *type_name<int64_t>() { return "int64"; }
template <> inline const char *type_name<uint64_t>() { return "uint64"; }
template <> inline const char *type_name<uint8_t>() { return "uint8"; }
template <> inline const char *type_name<uint16_t>() { return "uint16"; }

struct Case {
    std::string head, args, text;
    Case(const char *kernel, int grid, int block, int shared = 0, int gy = 1, int by = 1) {
        char b[256];
        snprintf(b, sizeof b, "{\"kernel\": \"%s\", \"grid\": [%d, %d], \"block\": [%d, %d], \"shared\": %d", kernel, grid, gy, block, by, shared);
        head = b;
    }
    template <class T> static std::string hex(const std::vector<T> &v) {
        std::string s;
        const uint8_t *p = (const uint8_t *)v.data();
        char b[4];
        for (size_t i = 0; i < v.size() * sizeof(T); i++) { snprintf(b, sizeof b, "%02x", p[i]); s += b; }
        return s;
    }
    void add(const std::string &a) { args += (args.empty() ? "" : ",\n  ") + a; }
    template <class T> void input(const std::vector<T> &v) {
        add(std::string("{\"in\": \"") + type_name<T>() + "\", \"data\": \"" + hex(v) + "\"}");
    }
    // tol: largest relative error allowed (0: bit-exact)
    template <class T> void output(const std::vector<T> &start, const std::vector<T> &want, double tol = 0) {
        char b[64];
        snprintf(b, sizeof b, "\", \"tol\": %g}", tol);
        add(std::string("{\"out\": \"") + type_name<T>() + "\", \"data\": \"" + hex(start) + "\", \"want\": \"" + hex(want) + b);
    }
    template <class T> void output(const std::vector<T> &want, double tol = 0) { output(std::vector<T>(want.size()), want, tol); }
    template <class T> void scalar(T v) { add(std::string("{\"scalar\": \"") + type_name<T>() + "\", \"data\": \"" + hex(std::vector<T>{v}) + "\"}"); }
    template <class T> void bytes(const T &v) {
        std::vector<uint8_t> b(sizeof(T));
        memcpy(b.data(), &v, sizeof(T));
        add(std::string("{\"bytes\": \"") + hex(b) + "\"}");
    }
    void printed(const std::string &s) {
        text = ", \"printed\": \"";
        for (char c : s) { if (c == '\n') text += "\\n"; else if (c == '"') text += "\\\""; else text += c; }
        text += "\"";
    }
    void done() { printf("%s%s, \"args\": [\n  %s\n]}\n", head.c_str(), text.c_str(), args.c_str()); }
};
