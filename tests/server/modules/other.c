/* A module that owns BF.ADD, like a server's own build of Bloom filters. Its name is NAME, by
 * default `other`.
 *
 * The module declares the three functions of the module interface that it uses. No server has ever
 * changed them. */

#ifndef NAME
#define NAME "other"
#endif

typedef struct Context Context;
typedef struct String String;
typedef int (*Handler)(Context *, String **, int);

static int (*reply)(Context *, const char *);

static int add(Context *context, String **words, int count) {
    (void)words;
    (void)count;
    return reply(context, "the other module");
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
    find("RedisModule_ReplyWithSimpleString", &reply);
    set_name(context, NAME, 1, 1);
    return create(context, "bf.add", add, "write", 1, 1, 1);
}
