#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The first process of the board: mounts what there is, runs the command, notes its status, and
# switches off.  tools/board/run puts this file beside the command into /board.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb

if [ "$0" = /board/init ]; then
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t debugfs debugfs /sys/kernel/debug
    mount -t tracefs tracefs /sys/kernel/tracing
    mkdir -p /dev/pts /dev/shm
    mount -t devpts devpts /dev/pts
    for directory in /dev/shm /tmp /run; do
        mount -t tmpfs -o mode=1777 tmpfs "$directory"
    done
    hostname -F /etc/hostname
    # A command may unmount /board for a while, when no file of it is open: 9p does not outlive suspend.
    cp "$0" /run/init
    exec sh /run/init
fi

finish() { # STATUS
    echo "$1" > /board/status
    sync
    echo o > /proc/sysrq-trigger
    while :; do sleep 60; done
}

. /board/parameters # shares, driver
for name in $shares; do
    mkdir -p "/$name"
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=mmap,access=any "$name" "/$name" || finish 125
done

# The ports that lead to the standard output and error of tools/board/run.
port() { # NAME
    for file in /sys/class/virtio-ports/*/name; do
        [ "$(cat "$file")" != "$1" ] || basename "${file%/name}"
    done
}
output=/dev/$(port output)
error=/dev/$(port error)
[ -c "$output" ] && [ -c "$error" ] || finish 125
if [ -n "$driver" ] && ! insmod "/board/$driver" 2> "$error"; then
    echo "the driver was not loaded: see the kernel's messages" > "$error"
    finish 125
fi
(cd /share && exec setsid -w sh /board/command < /dev/null > "$output" 2> "$error")
finish $?
