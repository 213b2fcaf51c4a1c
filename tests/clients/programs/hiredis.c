/* Runs commands through hiredis: see ../programs.py for what it reads and writes.
 *
 * The first argument is the server's socket, the second the protocol; hiredis before 1.0 has only 2.
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 4096 };

static void print_hex(const char *bytes, size_t length) {
    putchar('"');
    for (size_t i = 0; i < length; i++) printf("%02x", (unsigned char)bytes[i]);
    putchar('"');
}

/* The texts of errors hold no quotes or backslashes that JSON would need escaped. */
static void print_error(const char *name, const redisReply *reply) {
    printf("{\"%s\": \"%.*s\"}", name, (int)reply->len, reply->str);
}

static void print_reply(const redisReply *reply, const char *error_name) {
    switch (reply->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS: print_hex(reply->str, reply->len); break;
    case REDIS_REPLY_INTEGER: printf("%lld", reply->integer); break;
    case REDIS_REPLY_NIL: printf("null"); break;
    case REDIS_REPLY_ERROR: print_error(error_name, reply); break;
    case REDIS_REPLY_ARRAY:
        putchar('[');
        for (size_t i = 0; i < reply->elements; i++) {
            if (i > 0) putchar(',');
            print_reply(reply->element[i], "error");
        }
        putchar(']');
        break;
#if HIREDIS_MAJOR >= 1
    case REDIS_REPLY_BOOL: printf(reply->integer ? "true" : "false"); break;
    case REDIS_REPLY_MAP:
        printf("{\"map\": [");
        for (size_t i = 0; i < reply->elements; i++) {
            printf(i % 2 ? "," : i > 0 ? ",[" : "[");
            print_reply(reply->element[i], "error");
            if (i % 2) putchar(']');
        }
        printf("]}");
        break;
#endif
    default: printf("\"unknown type %d\"", reply->type);
    }
}

/* Splits a line of hexadecimal words at its commas, and decodes the words in place. */
static int decode(char *line, const char **words, size_t *lengths) {
    int count = 0;
    char *end = line + strcspn(line, "\n");
    while (count < MOST_WORDS) {
        size_t digits = strcspn(line, ",\n");
        for (size_t i = 0; i < digits / 2; i++) {
            char pair[3] = {line[2 * i], line[2 * i + 1], 0};
            line[i] = (char)strtol(pair, NULL, 16);
        }
        words[count] = line;
        lengths[count] = digits / 2;
        count += 1;
        line += digits;
        if (line >= end) break;
        line += 1;
    }
    return count;
}

int main(int argc, char **argv) {
    redisContext *context = argc == 3 ? redisConnectUnix(argv[1]) : NULL;
    if (!context || context->err) return 1;
    redisReply *hello = redisCommand(context, "HELLO %s", argv[2]);
    if (!hello || hello->type == REDIS_REPLY_ERROR) return 1;
    freeReplyObject(hello);
    static const char *words[MOST_WORDS];
    static size_t lengths[MOST_WORDS];
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        int count = decode(line, words, lengths);
        redisReply *reply = redisCommandArgv(context, count, words, lengths);
        if (!reply) {
            fprintf(stderr, "%s\n", context->errstr);
            return 1;
        }
        print_reply(reply, "raised");
        putchar('\n');
        fflush(stdout);
        freeReplyObject(reply);
    }
    free(line);
    redisFree(context);
    return 0;
}
