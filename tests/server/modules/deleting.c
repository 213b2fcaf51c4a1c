/* A module that deletes a key in the callback of one event of that key.
 *
 * Its only argument is the event, for example bloom.add. Servers advise against such callbacks, but
 * allow them. */

#include <string.h>

typedef struct Context Context;
typedef struct String String;
typedef struct Reply Reply;
typedef int (*Told)(Context *, int, const char *, String *);

/* The class of generic events, which belong to no type. */
static const int GENERIC = 1 << 2;

static Reply *(*call)(Context *, const char *, const char *, ...);
static void (*free_reply)(Reply *);
static int (*replicate)(Context *, const char *, const char *, ...);

static char wanted[64];

static int told(Context *context, int class, const char *event, String *key) {
    Reply *reply;
    (void)class;
    if (strcmp(event, wanted) != 0) return 0;
    reply = call(context, "DEL", "s", key);
    if (reply) free_reply(reply);
    replicate(context, "DEL", "s", key);
    return 0;
}

int RedisModule_OnLoad(Context *context, String **words, int count) {
    /* The context begins with the function that finds the other functions by name. */
    int (*find)(const char *, void *) = *(int (**)(const char *, void *))context;
    void (*set_name)(Context *, const char *, int, int);
    int (*subscribe)(Context *, int, Told);
    const char *(*text)(const String *, size_t *);
    size_t length;
    find("RedisModule_SetModuleAttribs", &set_name);
    find("RedisModule_SubscribeToKeyspaceEvents", &subscribe);
    find("RedisModule_StringPtrLen", &text);
    find("RedisModule_Call", &call);
    find("RedisModule_FreeCallReply", &free_reply);
    find("RedisModule_Replicate", &replicate);
    set_name(context, "deleting", 1, 1);
    if (count != 1) return 1;
    strncpy(wanted, text(words[0], &length), sizeof wanted - 1);
    return subscribe(context, GENERIC, told);
}
