//! Bloom filters (`BF.*`) as a native data type of Redis and Valkey.
