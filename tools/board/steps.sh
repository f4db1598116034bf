# SPDX-License-Identifier: GPL-2.0-or-later
#
# Functions shared by the build steps of the board.  Each step makes one directory in the cache.
#
# The name of the directory is NAME-KEY.  KEY is a hash of all inputs of the step (files, versions of
# packages, commands): if an input changes, another directory is made; otherwise the existing one is
# used.  A directory is built under a temporary name and renamed when it is complete, so that an
# interrupted build is never used.  A lock ensures that only one process builds a step.
#
# Source this file with `name` set to the script's name and `top` to the repository.  A script that is no
# step of the board also sets `tool` to its path, and `packages` to the set of tools/dependencies.

set -eu
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL
: "${tool:=tools/board/$name}" "${packages:=board}"

cache=$("$top/tools/cache-folder")/board
jobs=${JOBS:-$(nproc 2>/dev/null || echo 1)}
unused_days=14 # directories that were not used for this many days are removed

fail() { # MESSAGE
    echo "$tool: $1" >&2
    exit 1
}

need_commands() { # COMMAND...
    for command in "$@"; do
        command -v "$command" >/dev/null 2>&1 ||
            fail "the command '$command' is missing: run 'tools/dependencies $packages'"
    done
}

key_of() { # hash standard input; print 16 hexadecimal digits
    sha256sum | cut -c1-16
}

# Print the contents of files, each after its name relative to the repository.
inputs() { # FILE...
    for file in "$@"; do
        printf '== %s\n' "${file#"$top"/}"
        cat "$file"
    done
}

remove_unused() { # STEP
    find "$cache" -maxdepth 2 -path "$cache/$1-*/.used" -mtime +"$unused_days" | while read -r file; do
        rm -rf "${file%/.used}"
    done
}

# Unless the step's directory exists, call FUNCTION DIRECTORY in a subshell to fill it.  Sets `made` to
# the directory.  The function's output goes to a log, whose end is printed if the function fails.
make_once() { # STEP KEY FUNCTION
    made=$cache/$1-$2
    if [ ! -e "$made/.used" ]; then
        mkdir -p "$cache"
        exec 9> "$made.lock"
        if ! flock -n 9; then
            echo "$tool: another process is making $1, waiting for it" >&2
            flock 9
        fi
        if [ ! -e "$made/.used" ]; then
            echo "$tool: making $1 (log: $made.log)" >&2
            started=$(date +%s)
            rm -rf "$made" "$made.new"
            mkdir "$made.new"
            # Do not use `if`: it would disable `set -e` in the function.
            set +e
            (set -e; "$3" "$made.new") > "$made.log" 2>&1 9>&-
            status=$?
            set -e
            if [ $status != 0 ]; then
                tail -n 30 "$made.log" >&2
                rm -rf "$made.new"
                fail "making $1 failed: see above and $made.log"
            fi
            : > "$made.new/.used"
            mv -T "$made.new" "$made"
            echo "$tool: made $1 in $(($(date +%s) - started)) s" >&2
            remove_unused "$1"
        fi
        rm -f "$made.lock"
        exec 9>&-
    fi
    touch "$made/.used"
}

# Print the output of `apt-cache policy`.  It takes seconds if apt has no cache of its lists, so it is
# saved until one of the files that it depends on changes.
policy() { # PACKAGE
    policy=$cache/policy-$1
    for file in /var/lib/apt/lists /var/lib/dpkg/status /etc/apt /etc/apt/sources.list /etc/apt/sources.list.d \
        /etc/apt/preferences.d; do
        if [ ! -s "$policy" ] || [ "$file" -nt "$policy" ]; then
            mkdir -p "$cache"
            apt-cache policy "$1" > "$policy.$$" 2>/dev/null || true
            mv "$policy.$$" "$policy"
            break
        fi
    done
    cat "$policy"
}

# Print the version of a package that apt would install.
candidate() { # PACKAGE
    version=$(policy "$1" | sed -n 's/^  Candidate: \([^(].*\)/\1/p')
    [ -n "$version" ] || fail "apt offers no package '$1': run 'apt-get update'"
    echo "$version"
}

# Download a package, without installing it, and unpack a part of it into a directory.
unpack_package() { # PACKAGE VERSION DIRECTORY
    mkdir -p "$3/download"
    (cd "$3/download" && apt-get -q -o APT::Sandbox::User=root download "$1=$2")
    dpkg-deb -x "$3/download"/*.deb "$3/unpacked"
}
