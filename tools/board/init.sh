#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The first process of the board: mounts what there is, runs the command, notes its status, and
# switches off.  tools/board/run puts this file beside the command into /board, and says there in
# `parameters` which driver there is, and in two tables what to mount.
#
# A process costs some 50 ms of the emulator, which translates its libraries anew at each address: so
# the shell does what it can, and until the command begins addresses are not random.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb

if [ "$0" = /board/init ]; then
    mount -a -T /board/mounts # a kernel has not all of them
    read -r name < /etc/hostname
    echo "$name" > /proc/sys/kernel/hostname
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

. /board/parameters # driver
mount -a -T /board/shares || finish 125

# The ports that lead to the standard output and error of tools/board/run.
output='' error=''
for file in /sys/class/virtio-ports/*/name; do
    read -r name < "$file"
    device=${file%/name}
    case $name in
    output) output=/dev/${device##*/} ;;
    error) error=/dev/${device##*/} ;;
    esac
done
[ -c "$output" ] && [ -c "$error" ] || finish 125
if [ -n "$driver" ] && ! insmod "/board/$driver" 2> "$error"; then
    echo "the driver was not loaded: see the kernel's messages" > "$error"
    finish 125
fi
echo 2 > /proc/sys/kernel/randomize_va_space
(cd /share && exec setsid -w sh /board/command < /dev/null > "$output" 2> "$error")
finish $?
