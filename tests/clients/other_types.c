/* A module with the data types that RedisBloom has besides its filters: a stand-in for a server that
 * holds keys of these types.
 *
 * OTHERS top sketch digest creates one key of each type; the values are empty. The file
 * declares the part of the module interface that it uses, which no server has ever changed. */

#include <stddef.h>

typedef struct Context Context;
typedef struct String String;
typedef struct Key Key;
typedef struct Type Type;
typedef struct Stream Stream;
typedef int (*Handler)(Context *, String **, int);

/* The callbacks of a type, in the first version of the interface. */
typedef struct {
    unsigned long long version;
    void *(*load)(Stream *, int);
    void (*save)(Stream *, void *);
    void *unused[3];
    void (*free)(void *);
} Methods;

enum { KINDS = 3, READ_AND_WRITE = 3 };

static const char *const NAMES[KINDS] = {"TopK-TYPE", "CMSk-TYPE", "TDIS-TYPE"};
static Type *types[KINDS];
static char value;

static int (*reply)(Context *, const char *);
static Key *(*open_key)(Context *, String *, int);
static void (*close_key)(Key *);
static int (*set_value)(Key *, Type *, void *);

static void *load(Stream *stream, int version) {
    (void)stream;
    (void)version;
    return &value;
}

static void save(Stream *stream, void *saved) {
    (void)stream;
    (void)saved;
}

static void free_value(void *freed) { (void)freed; }

static int others(Context *context, String **words, int count) {
    for (int kind = 0; kind < KINDS && kind + 1 < count; kind++) {
        Key *key = open_key(context, words[kind + 1], READ_AND_WRITE);
        set_value(key, types[kind], &value);
        close_key(key);
    }
    return reply(context, "OK");
}

int RedisModule_OnLoad(Context *context, String **words, int count) {
    /* The context begins with the function that finds the others by name. */
    int (*find)(const char *, void *) = *(int (**)(const char *, void *))context;
    void (*set_name)(Context *, const char *, int, int);
    int (*create)(Context *, const char *, Handler, const char *, int, int, int);
    Type *(*create_type)(Context *, const char *, int, Methods *);
    (void)words;
    (void)count;
    find("RedisModule_SetModuleAttribs", &set_name);
    find("RedisModule_CreateCommand", &create);
    find("RedisModule_CreateDataType", &create_type);
    find("RedisModule_ReplyWithSimpleString", &reply);
    find("RedisModule_OpenKey", &open_key);
    find("RedisModule_CloseKey", &close_key);
    find("RedisModule_ModuleTypeSetValue", &set_value);
    set_name(context, "others", 1, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        Methods methods = {.version = 1, .load = load, .save = save, .free = free_value};
        types[kind] = create_type(context, NAMES[kind], 0, &methods);
        if (types[kind] == NULL) {
            return 1;
        }
    }
    return create(context, "others", others, "write", 1, -1, 1);
}
