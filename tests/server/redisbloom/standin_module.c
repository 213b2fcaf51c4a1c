/* Takes the place of RedisBloom on a replica: a type with its name that cannot be copied, and
 * the commands that reach a replica.
 *
 * bf.loadchunk KEY 1 HEADER creates a value, and is an error if the key exists; further chunks
 * add their bytes to it. bf.add and bf.madd create a missing value, as RedisBloom creates a
 * default filter. standin.look KEY returns how the value was created: "loaded HEADER-BYTES
 * BIT-BYTES SUM", or "default"; an empty text if there is no value. SUM is the sum of all bytes,
 * each multiplied by the position of its chunk.
 *
 * The module declares what it uses of the module interface. No server has ever changed that. */

#include <stddef.h>
#include <stdio.h>

typedef struct Context Context;
typedef struct String String;
typedef struct Key Key;
typedef struct Type Type;
typedef int (*Handler)(Context *, String **, int);

/* The first fields of version 1 of the type's methods. */
typedef struct {
    unsigned long version;
    void *(*load)(void *, int);
    void (*save)(void *, void *);
    void (*rewrite)(void *, String *, void *);
    size_t (*usage)(const void *);
    void (*digest)(void *, void *);
    void (*free)(void *);
} Methods;

typedef struct {
    int is_loaded;
    unsigned long header, bits, sum;
} Value;

static Key *(*open_key)(Context *, String *, int);
static void (*close_key)(Key *);
static void *(*value_of)(Key *);
static int (*set_value)(Key *, Type *, void *);
static const char *(*bytes_of)(const String *, size_t *);
static int (*integer_of)(const String *, long long *);
static int (*reply_text)(Context *, const char *, size_t);
static int (*reply_error)(Context *, const char *);
static void *(*allocate)(size_t);
static void (*release)(void *);
static Type *type;

enum { READ = 1, WRITE = 2 };

static unsigned long sum(const char *bytes, size_t length, unsigned long position) {
    unsigned long total = 0;
    size_t i;
    for (i = 0; i < length; i++) total += (unsigned char)bytes[i];
    return total * position;
}

static Value *make(Key *key, int is_loaded) {
    Value *value = allocate(sizeof *value);
    value->is_loaded = is_loaded;
    value->header = value->bits = value->sum = 0;
    set_value(key, type, value);
    return value;
}

static int load_chunk(Context *context, String **words, int count) {
    Key *key;
    Value *value;
    long long iterator = 0;
    size_t length;
    const char *bytes;
    if (count != 4 || integer_of(words[2], &iterator)) return reply_error(context, "ERR bad call");
    bytes = bytes_of(words[3], &length);
    key = open_key(context, words[1], READ | WRITE);
    value = value_of(key);
    if ((iterator == 1) == (value != NULL)) {
        close_key(key);
        return reply_error(context, "ERR received bad data");
    }
    if (iterator == 1) {
        make(key, 1)->header = length;
    } else {
        value->bits += length;
        value->sum += sum(bytes, length, (unsigned long)iterator);
    }
    close_key(key);
    return reply_text(context, "OK", 2);
}

static int add(Context *context, String **words, int count) {
    Key *key;
    (void)count;
    key = open_key(context, words[1], READ | WRITE);
    if (value_of(key) == NULL) make(key, 0);
    close_key(key);
    return reply_text(context, "1", 1);
}

static int look(Context *context, String **words, int count) {
    char text[96] = "";
    Key *key = open_key(context, words[1], READ);
    Value *value = value_of(key);
    int length = 0;
    (void)count;
    if (value != NULL && value->is_loaded) {
        length = sprintf(text, "loaded %lu %lu %lu", value->header, value->bits, value->sum);
    } else if (value != NULL) {
        length = sprintf(text, "default");
    }
    close_key(key);
    return reply_text(context, text, (size_t)length);
}

int RedisModule_OnLoad(Context *context, String **words, int count) {
    /* The context begins with the function that finds the other functions by name. */
    int (*find)(const char *, void *) = *(int (**)(const char *, void *))context;
    void (*set_name)(Context *, const char *, int, int);
    int (*create)(Context *, const char *, Handler, const char *, int, int, int);
    Type *(*create_type)(Context *, const char *, int, Methods *);
    Methods methods = {1, NULL, NULL, NULL, NULL, NULL, NULL};
    (void)words;
    (void)count;
    find("RedisModule_SetModuleAttribs", &set_name);
    find("RedisModule_CreateCommand", &create);
    find("RedisModule_CreateDataType", &create_type);
    find("RedisModule_OpenKey", &open_key);
    find("RedisModule_CloseKey", &close_key);
    find("RedisModule_ModuleTypeGetValue", &value_of);
    find("RedisModule_ModuleTypeSetValue", &set_value);
    find("RedisModule_StringPtrLen", &bytes_of);
    find("RedisModule_StringToLongLong", &integer_of);
    find("RedisModule_ReplyWithStringBuffer", &reply_text);
    find("RedisModule_ReplyWithError", &reply_error);
    find("RedisModule_Alloc", &allocate);
    find("RedisModule_Free", &release);
    set_name(context, "bf", 80000, 1);
    methods.free = release;
    type = create_type(context, "MBbloom--", 4, &methods);
    return type == NULL || create(context, "bf.loadchunk", load_chunk, "write", 1, 1, 1)
        || create(context, "bf.add", add, "write", 1, 1, 1)
        || create(context, "bf.madd", add, "write", 1, 1, 1)
        || create(context, "standin.look", look, "readonly", 1, 1, 1);
}
