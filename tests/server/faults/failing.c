/* A module that loads another one, whose allocations fail where a test requires it:
 * loadmodule failing.so MODULE [ARGUMENT ...].
 *
 * The other module finds the functions of the server through this one, which replaces those that
 * allocate and may fail. It adds two commands:
 *
 *     FAILING.AFTER COUNT   the allocation after the next COUNT ones fails; no one with -1
 *     FAILING.DONE          1 if one has failed since then, else 0; -1 if the server lacks the
 *                           functions
 */

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

typedef struct Context Context;
typedef struct String String;
typedef int (*Handler)(Context *, String **, int);
typedef int (*Find)(const char *, void *);

static Find find;
static void *(*try_alloc)(size_t);
static void *(*try_calloc)(size_t, size_t);
static void *(*try_realloc)(void *, size_t);
static size_t (*size_of)(void *);
static int (*to_integer)(const String *, long long *);
static int (*reply_integer)(Context *, long long);

static long long left = -1;
static int has_failed = 0;

static int fails(void) {
    if (left < 0 || left-- > 0) return 0;
    has_failed = 1;
    return 1;
}

static void *failing_alloc(size_t size) {
    return fails() ? NULL : try_alloc(size);
}

static void *failing_calloc(size_t count, size_t size) {
    return fails() ? NULL : try_calloc(count, size);
}

/* A smaller block is always granted. */
static void *failing_realloc(void *block, size_t size) {
    return size > size_of(block) && fails() ? NULL : try_realloc(block, size);
}

static int find_failing(const char *name, void *function) {
    static const struct { const char *name; void *original, *failing; } replaced[] = {
        {"RedisModule_TryAlloc", &try_alloc, (void *)failing_alloc},
        {"RedisModule_TryCalloc", &try_calloc, (void *)failing_calloc},
        {"RedisModule_TryRealloc", &try_realloc, (void *)failing_realloc},
    };
    int result = find(name, function);
    for (size_t at = 0; at < sizeof replaced / sizeof *replaced; at++) {
        if (result == 0 && strcmp(name, replaced[at].name) == 0) {
            memcpy(replaced[at].original, function, sizeof(void *));
            memcpy(function, &replaced[at].failing, sizeof(void *));
        }
    }
    return result;
}

static int after(Context *context, String **words, int count) {
    if (count == 2) to_integer(words[1], &left);
    has_failed = 0;
    return reply_integer(context, left);
}

static int done(Context *context, String **words, int count) {
    (void)words;
    (void)count;
    left = -1;
    return reply_integer(context, try_alloc && try_calloc && try_realloc ? has_failed : -1);
}

int RedisModule_OnLoad(Context *context, String **words, int count) {
    int (*create)(Context *, const char *, Handler, const char *, int, int, int);
    const char *(*text)(const String *, size_t *);
    int (*load)(Context *, String **, int);
    size_t length;
    void *module;
    int status;
    /* The context begins with the function that finds the other functions by name. */
    find = *(Find *)context;
    find("RedisModule_CreateCommand", &create);
    find("RedisModule_StringPtrLen", &text);
    find("RedisModule_StringToLongLong", &to_integer);
    find("RedisModule_ReplyWithLongLong", &reply_integer);
    find("RedisModule_MallocSize", &size_of);
    module = dlopen(text(words[0], &length), RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) return 1;
    *(void **)&load = dlsym(module, "RedisModule_OnLoad");
    *(Find *)context = find_failing;
    status = load(context, words + 1, count - 1);
    *(Find *)context = find;
    return status || create(context, "failing.after", after, "write allow-loading", 0, 0, 0)
        || create(context, "failing.done", done, "readonly", 0, 0, 0);
}
