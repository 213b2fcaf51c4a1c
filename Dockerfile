# Bloomline in the official image of a Valkey or Redis server.
#
#   docker build -t bloomline .
#   docker build -t bloomline --build-arg SERVER_IMAGE=redis:8 .
#   docker build -t bloomline --platform linux/arm64 .
#
# SERVER_IMAGE may be any image of valkey/valkey and redis that is based on Debian. The -alpine
# images have another C library.
ARG RUST_IMAGE=rust:1.95-bookworm
ARG SERVER_IMAGE=valkey/valkey:8.1

FROM ${RUST_IMAGE} AS build
WORKDIR /bloomline
COPY . .
RUN scripts/deps.sh build && make build && make install DESTDIR=/installed

FROM ${SERVER_IMAGE}
# The image of Redis 8 loads every module of this folder, and RedisBloom has the same commands.
RUN rm -f /usr/local/lib/redis/modules/redisbloom.so
COPY --from=build /installed/usr/lib/redis/modules/bloomline.so /usr/lib/redis/modules/bloomline.so
COPY LICENSE packaging/THIRD-PARTY-LICENSES.txt /usr/share/doc/bloomline/
# The entrypoint of both images puts the server's name before arguments that begin with a dash.
CMD ["--loadmodule", "/usr/lib/redis/modules/bloomline.so"]
