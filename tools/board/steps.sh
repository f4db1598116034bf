# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the steps of the board have in common: each makes one directory in the cache, once.
#
# A step's directory is called NAME-KEY, where KEY is a hash of all that it is made of (files, versions
# of packages, commands), so that a changed input makes another directory and an unchanged one is
# found again.  It is built under another name and renamed when it is whole: what an interrupt leaves
# behind is never taken for a result.  A lock keeps two builders of the same step apart.
#
# To be sourced with `name` set to the script's name and `top` to the repository.

set -eu
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL

cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/pesa/board
jobs=${JOBS:-$(nproc 2>/dev/null || echo 1)}
unused_days=14 # results that nobody asked for in so many days are removed

fail() { # MESSAGE
    echo "tools/board/$name: $1" >&2
    exit 1
}

need_commands() { # COMMAND...
    for command in "$@"; do
        command -v "$command" >/dev/null 2>&1 ||
            fail "there is no '$command': run 'tools/dependencies board'"
    done
}

key_of() { # reads the inputs; prints 16 digits
    sha256sum | cut -c1-16
}

# The contents of files, each with its name relative to the repository.
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

# Calls FUNCTION DIRECTORY in a subshell, which fills the directory, unless that was done before;
# sets `made` to the directory.  What the function prints goes to a log, shown when it fails.
make_once() { # STEP KEY FUNCTION
    made=$cache/$1-$2
    if [ ! -e "$made/.used" ]; then
        mkdir -p "$cache"
        exec 9> "$made.lock"
        if ! flock -n 9; then
            echo "tools/board/$name: another process makes $1, waiting for it" >&2
            flock 9
        fi
        if [ ! -e "$made/.used" ]; then
            echo "tools/board/$name: making $1 (log: $made.log)" >&2
            started=$(date +%s)
            rm -rf "$made" "$made.new"
            mkdir "$made.new"
            # Not under `if`, which would switch `set -e` off in the function.
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
            echo "tools/board/$name: made $1 in $(($(date +%s) - started)) s" >&2
            remove_unused "$1"
        fi
        rm -f "$made.lock"
        exec 9>&-
    fi
    touch "$made/.used"
}

# What `apt-cache policy` says, which takes seconds where apt keeps no cache of its lists: remembered for as
# long as nothing that it depends on has changed.
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

# The version of a package that apt would install.
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
