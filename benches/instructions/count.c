/* A plugin of qemu that counts the instructions of a program, and prints the number at its end.
 *
 * Built without qemu's header, which Debian does not package: these are the declarations of version
 * 1 of the interface that are needed (qemu, docs/devel/tcg-plugins). */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb;
typedef uint64_t qemu_plugin_id_t;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(
    qemu_plugin_id_t id, void (*translated)(qemu_plugin_id_t, struct qemu_plugin_tb *));
/* `operation` 0 adds a constant to a counter. */
void qemu_plugin_register_vcpu_tb_exec_inline(
    struct qemu_plugin_tb *tb, int operation, void *counter, uint64_t added);
void qemu_plugin_register_atexit_cb(
    qemu_plugin_id_t id, void (*ended)(qemu_plugin_id_t, void *), void *data);
void qemu_plugin_outs(const char *text);

int qemu_plugin_version = 1;
static uint64_t instructions;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &instructions, qemu_plugin_tb_n_insns(tb));
}

static void ended(qemu_plugin_id_t id, void *data) {
    char text[32];
    (void)id;
    (void)data;
    snprintf(text, sizeof text, "%" PRIu64 "\n", instructions);
    qemu_plugin_outs(text);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
