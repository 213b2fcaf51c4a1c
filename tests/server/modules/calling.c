/* A module whose commands call other commands: caller.write FLAGS COMMAND KEY [ARGUMENT ...],
 * and caller.read, which a read-only replica accepts as well.
 *
 * FLAGS are those of the format of RedisModule_Call; "-" stands for none. The reply is an array:
 * the type of the command's reply, and that reply.
 *
 * The module declares the functions of the module interface that it uses. No server has ever
 * changed them. */

#include <stddef.h>

typedef struct Context Context;
typedef struct String String;
typedef struct Reply Reply;
typedef int (*Handler)(Context *, String **, int);

static Reply *(*call)(Context *, const char *, const char *, ...);
static int (*type_of)(Reply *);
static int (*pass_on)(Context *, Reply *);
static void (*free_reply)(Reply *);
static const char *(*bytes_of)(const String *, size_t *);
static int (*reply_array)(Context *, long);
static int (*reply_integer)(Context *, long long);
static int (*reply_error)(Context *, const char *);

static int run(Context *context, String **words, int count) {
    char format[16];
    size_t length, used = 0;
    Reply *reply;
    const char *flags;
    if (count < 4) return reply_error(context, "ERR caller.write FLAGS COMMAND KEY [ARGUMENT ...]");
    for (flags = bytes_of(words[1], &length); *flags && *flags != '-' && used < 8; flags++) {
        format[used++] = *flags;
    }
    format[used++] = 'v';
    format[used] = 0;
    reply = call(context, bytes_of(words[2], &length), format, words + 3, (size_t)(count - 3));
    if (reply == NULL) return reply_error(context, "ERR the server did not run the command");
    reply_array(context, 2);
    reply_integer(context, type_of(reply));
    pass_on(context, reply);
    free_reply(reply);
    return 0;
}

int RedisModule_OnLoad(Context *context, String **words, int count) {
    /* The context begins with the function that finds the other functions by name. */
    int (*find)(const char *, void *) = *(int (**)(const char *, void *))context;
    void (*set_name)(Context *, const char *, int, int);
    int (*create)(Context *, const char *, Handler, const char *, int, int, int);
    (void)words;
    (void)count;
    find("RedisModule_SetModuleAttribs", &set_name);
    find("RedisModule_CreateCommand", &create);
    find("RedisModule_Call", &call);
    find("RedisModule_CallReplyType", &type_of);
    find("RedisModule_ReplyWithCallReply", &pass_on);
    find("RedisModule_FreeCallReply", &free_reply);
    find("RedisModule_StringPtrLen", &bytes_of);
    find("RedisModule_ReplyWithArray", &reply_array);
    find("RedisModule_ReplyWithLongLong", &reply_integer);
    find("RedisModule_ReplyWithError", &reply_error);
    set_name(context, "caller", 1, 1);
    return create(context, "caller.write", run, "write", 3, 3, 1)
        || create(context, "caller.read", run, "readonly", 3, 3, 1);
}
