#!/bin/sh
# Prints PATH, and at its end the folders of Rust that a shell may not know: that of rustup, which
# is in a profile that only new shells read, and those of Ubuntu's packages with a version in their
# names, the newest first.
path=$PATH
for folder in "$HOME/.cargo/bin" $(printf '%s\n' /usr/lib/rust-*/bin | sort -rV); do
    case ":$path:" in
    *":$folder:"*) ;;
    *) [ ! -d "$folder" ] || path=$path:$folder ;;
    esac
done
echo "$path"
