# SPDX-License-Identifier: GPL-2.0-or-later
#
# Functions for tests in a clean system: a minimal Debian, made by debootstrap, that has apt and nothing else.
# Source this file with `top` set to the repository.  They need root, debootstrap and unshare.
#
# MIRROR: the URL of Debian's packages (default: the mirror of this machine's apt); the security suite is beside it.

cache=$("$top/tools/cache-folder")/fresh
MIRROR=${MIRROR:-$("$top/tools/apt-mirror")}
MIRROR=${MIRROR:-http://deb.debian.org/debian}

fresh_possible() { # fails with a message where it cannot be done
    [ "$(id -u)" = 0 ] || { echo "$0: needs root, for chroot" >&2; return 1; }
    for command in debootstrap unshare git; do
        command -v $command > /dev/null || { echo "$0: needs the package $command" >&2; return 1; }
    done
}

# Make a minimal system.  What debootstrap made is kept for a week.
fresh_root() { # SUITE DIRECTORY
    minimal=$cache/$1.tar
    if [ -z "$(find "$minimal" -mtime -7 2>/dev/null)" ]; then
        mkdir -p "$cache"
        rm -rf "$minimal.new"
        debootstrap --variant=minbase "$1" "$minimal.new" "$MIRROR" > "$minimal.log" 2>&1 ||
            { tail -n 20 "$minimal.log" >&2; return 1; }
        rm -f "$minimal.new"/var/cache/apt/archives/*.deb
        tar -c -f "$minimal" -C "$minimal.new" . && rm -rf "$minimal.new"
    fi
    remove_root "$2"
    mkdir -p "$2"
    tar -x -f "$minimal" -C "$2"
    printf 'deb %s\n' "$MIRROR $1 main" "$MIRROR $1-updates main" "${MIRROR%/debian}/debian-security $1-security main" \
        > "$2/etc/apt/sources.list"
    cp /etc/resolv.conf "$2/etc/resolv.conf"
}

remove_root() { # DIRECTORY
    rm -rf --one-file-system "${1:?}"
}

# The tracked files, as they are, and the commit that they are of.
copy_source() { # DIRECTORY
    mkdir -p "$1"
    (cd "$top" && git -c safe.directory='*' ls-files -z | tar -c -f - --null --ignore-failed-read -T -) | tar -x -f - -C "$1"
    make -s -C "$top" version | sed -n 's/^commit //p' > "$1/COMMIT"
}

# Run a command in it, with mounts and processes of its own, which end with it.
in_root() { # DIRECTORY COMMAND...
    unshare -m -p --fork --kill-child sh -c '
        mount -t proc proc "$1/proc" && mount -t sysfs sys "$1/sys" && mount -t tmpfs dev "$1/dev" -o mode=755 || exit
        for name in null zero full random urandom tty; do
            touch "$1/dev/$name" && mount --bind "/dev/$name" "$1/dev/$name"
        done
        mkdir "$1/dev/pts" "$1/dev/shm" && mount -t devpts -o newinstance,ptmxmode=666 pts "$1/dev/pts"
        ln -s pts/ptmx "$1/dev/ptmx" && ln -s /proc/self/fd "$1/dev/fd" && mount -t tmpfs shm "$1/dev/shm"
        root=$1
        shift
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LANG=C.UTF-8 TERM=dumb \
            DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} "$@"' sh "$@"
}

# Without what apt keeps: its lists, and the files that it downloaded.
megabytes_of() { # DIRECTORY
    du -sx --block-size=1000000 --exclude="$1/var/cache/apt" --exclude="$1/var/lib/apt" "$1" | cut -f1
}
