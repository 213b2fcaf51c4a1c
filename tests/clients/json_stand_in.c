/* JSON.SET, JSON.GET and JSON.NUMINCRBY of flat objects: a stand-in for the JSON module, which the
 * queue of crawlee needs besides Bloom filters.
 *
 * An object is a string of JSON. A path is $ or the name of a member, as in $.name. Each command
 * runs a script, since the server has a JSON library for scripts. The file declares the part of the
 * module interface that it uses, which no server has ever changed. */

#include <stddef.h>

typedef struct Context Context;
typedef struct String String;
typedef struct Reply Reply;
typedef int (*Handler)(Context *, String **, int);

static Reply *(*call)(Context *, const char *, const char *, ...);
static int (*reply_with)(Context *, Reply *);
static int (*reply_error)(Context *, const char *);
static void (*free_reply)(Reply *);

static const char *const SET =
    "local key, path, value = KEYS[1], ARGV[1], ARGV[2] "
    "local old = redis.call('GET', key) "
    "if path == '$' then return redis.call('SET', key, value) end "
    "if not old then return redis.error_reply('ERR no object') end "
    "local object = cjson.decode(old) "
    "object[path:sub(3)] = cjson.decode(value) "
    "return redis.call('SET', key, cjson.encode(object))";

static const char *const GET = "return redis.call('GET', KEYS[1])";

static const char *const NUMINCRBY =
    "local object = cjson.decode(redis.call('GET', KEYS[1])) "
    "local name = ARGV[1]:sub(3) "
    "object[name] = object[name] + tonumber(ARGV[2]) "
    "redis.call('SET', KEYS[1], cjson.encode(object)) "
    "return '[' .. object[name] .. ']'";

/* Runs a script with the key and the further words of a command. */
static int run(Context *context, const char *script, String **words, int count) {
    if (count < 2) return reply_error(context, "ERR wrong number of arguments");
    Reply *reply = call(context, "EVAL", "ccv", script, "1", words + 1, (size_t)count - 1);
    if (reply == NULL) return reply_error(context, "ERR no script can run");
    reply_with(context, reply);
    free_reply(reply);
    return 0;
}

static int set(Context *context, String **words, int count) {
    return run(context, SET, words, count);
}

static int get(Context *context, String **words, int count) {
    return run(context, GET, words, count);
}

static int increment(Context *context, String **words, int count) {
    return run(context, NUMINCRBY, words, count);
}

int RedisModule_OnLoad(Context *context, String **words, int count) {
    /* The context begins with the function that finds the others by name. */
    int (*find)(const char *, void *) = *(int (**)(const char *, void *))context;
    void (*set_name)(Context *, const char *, int, int);
    int (*create)(Context *, const char *, Handler, const char *, int, int, int);
    (void)words;
    (void)count;
    find("RedisModule_SetModuleAttribs", &set_name);
    find("RedisModule_CreateCommand", &create);
    find("RedisModule_Call", &call);
    find("RedisModule_ReplyWithCallReply", &reply_with);
    find("RedisModule_ReplyWithError", &reply_error);
    find("RedisModule_FreeCallReply", &free_reply);
    set_name(context, "json_stand_in", 1, 1);
    return create(context, "json.set", set, "write", 1, 1, 1) ||
           create(context, "json.get", get, "readonly", 1, 1, 1) ||
           create(context, "json.numincrby", increment, "write", 1, 1, 1);
}
